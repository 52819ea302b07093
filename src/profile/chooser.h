// Chooser: which dispatches a user asked for.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "profile/selection.h"
#include "util/pattern.h"

namespace wavetap::profile {

class Chooser {
 public:
  static Result<Chooser> make(const Selection& selection) {
    Chooser chooser;
    chooser.launches_ = selection.launches;
    chooser.is_all_ = selection.pattern.empty();
    const Result<util::Pattern> pattern =
        util::compile_pattern(selection.pattern, util::Syntax::kExtended);
    if (!pattern.ok())
      return errorf("-k %s: is not a regular expression; see grep -E", selection.pattern.c_str());
    chooser.pattern_ = *pattern;
    return chooser;
  }

  // Asked once for each dispatch, in the order of time.
  bool wants(std::string_view kernel) {
    const auto [found, is_new] = kernels_.try_emplace(std::string(kernel));
    Kernel& state = found->second;
    if (is_new) state.matches = is_all_ || pattern_.is_in(kernel);
    if (!state.matches) return false;
    return ++state.launches, launches_.empty() || launches_.contains(state.launches);
  }

 private:
  struct Kernel {
    bool matches = false;
    uint64_t launches = 0;
  };
  util::Pattern pattern_;
  bool is_all_ = true;
  format::LaunchList launches_;
  std::map<std::string, Kernel, std::less<>> kernels_;
};

}  // namespace wavetap::profile
