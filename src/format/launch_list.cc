#include "format/launch_list.h"

#include <algorithm>
#include <charconv>

namespace wavetap::format {
namespace {

// All of the text as a number from 1; 0: it is none.
uint64_t number_of(std::string_view text) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && next == end ? value : 0;
}

}  // namespace

std::optional<LaunchList> LaunchList::parse(std::string_view text) {
  LaunchList list;
  if (text.empty()) return list;
  for (;;) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const size_t dash = part.find('-');
    const uint64_t first = number_of(part.substr(0, dash));
    const uint64_t last = dash == std::string_view::npos ? first : number_of(part.substr(dash + 1));
    if (first == 0 || last < first) return std::nullopt;
    list.ranges_.push_back({first, last});
    if (comma == std::string_view::npos) return list;
    text.remove_prefix(comma + 1);
  }
}

LaunchList LaunchList::of_checked(std::string_view text) {
  std::optional<LaunchList> list = parse(text);
  if (list) return std::move(*list);
  LaunchList none;
  none.ranges_.push_back({});  // launches begin with 1
  return none;
}

bool LaunchList::contains(uint64_t launch) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [launch](const Range& range) {
    return range.first <= launch && launch <= range.last;
  });
}

}  // namespace wavetap::format
