// LaunchList: which launches of a kernel a command's --launch asks for, "3,7-9" from 1. The command line checks the text,
// hands it on as it is, and what runs in the program reads it again: this is the one place that knows how it is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace wavetap::format {

class LaunchList {
 public:
  LaunchList() = default;
  // No value when the text is not such a list. An empty text is an empty list: all launches.
  static std::optional<LaunchList> parse(std::string_view text);
  // Of a text that a command has checked; one that is damaged on its way asks for nothing.
  static LaunchList of_checked(std::string_view text);

  bool empty() const { return ranges_.empty(); }
  bool contains(uint64_t launch) const;

 private:
  struct Range {
    uint64_t first = 0;
    uint64_t last = 0;
  };
  std::vector<Range> ranges_;
};

}  // namespace wavetap::format
