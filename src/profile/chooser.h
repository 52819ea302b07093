// Chooser: which dispatches a user asked for.
#pragma once

#include <map>
#include <regex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "profile/selection.h"

namespace wavetap::profile {

class Chooser {
 public:
  static Result<Chooser> make(const Selection& selection) {
    Chooser chooser;
    chooser.launches_ = selection.launches;
    chooser.is_all_ = selection.pattern.empty();
    try {
      chooser.pattern_ = std::regex(selection.pattern, std::regex::extended);
    } catch (const std::regex_error&) {
      return errorf("-k %s: is not a regular expression; see grep -E", selection.pattern.c_str());
    }
    return chooser;
  }

  // Asked once for each dispatch, in the order of time.
  bool wants(std::string_view kernel) {
    const auto [found, is_new] = kernels_.try_emplace(std::string(kernel));
    Kernel& state = found->second;
    if (is_new)
      state.matches = is_all_ || std::regex_search(kernel.begin(), kernel.end(), pattern_);
    if (!state.matches) return false;
    return ++state.launches, launches_.empty() || launches_.contains(state.launches);
  }

 private:
  struct Kernel {
    bool matches = false;
    uint64_t launches = 0;
  };
  std::regex pattern_;
  bool is_all_ = true;
  format::LaunchList launches_;
  std::map<std::string, Kernel, std::less<>> kernels_;
};

}  // namespace wavetap::profile
