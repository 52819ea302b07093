#include "profile/numbers.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "util/text.h"

namespace wavetap::profile {

std::string percent_text(double share) {
  const double percent = 100 * share;
  return percent != 0 && percent < 9.95 ? fmt::format("{:.1f} %", percent)
                                        : fmt::format("{:.0f} %", percent);
}

std::string rate_text(double per_second, const char* unit) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  size_t prefix = 0;
  while (per_second >= 1000 && prefix + 1 < std::size(kPrefixes)) per_second /= 1000, ++prefix;
  const int digits = per_second < 10 ? 2 : per_second < 100 ? 1 : 0;
  return fmt::format("{:.{}f} {}{}", per_second, digits, kPrefixes[prefix], unit);
}

std::string bytes_text(double bytes) {
  return util::human_bytes(static_cast<uint64_t>(std::llround(std::max(bytes, 0.0))));
}

std::string gain_text(double gain) { return gain > 10 ? "over 10x" : fmt::format("{:.1f}x", gain); }

std::string short_kernel(const std::string& name) {
  const size_t end = name.find_first_of("(<");
  return util::escape_control(name.substr(0, end == 0 ? name.size() : end));
}

}  // namespace wavetap::profile
