// Argument texts of calls: "ptr = 0x7f00 | size = 4096", with or without the spaces around '='.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace wavetap::analysis {

inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Calls f(key, value) for each pair; what has no '=' is skipped.
template <class F>
void for_each_arg(std::string_view args, F&& f) {
  while (!args.empty()) {
    const size_t bar = args.find('|');
    const std::string_view pair = args.substr(0, bar);
    if (const size_t equals = pair.find('='); equals != std::string_view::npos)
      f(trimmed(pair.substr(0, equals)), trimmed(pair.substr(equals + 1)));
    if (bar == std::string_view::npos) return;
    args.remove_prefix(bar + 1);
  }
}

// Value of the first argument called `key`, or "".
inline std::string_view find_arg(std::string_view args, std::string_view key) {
  std::string_view found;
  for_each_arg(args, [&](std::string_view k, std::string_view v) {
    if (found.empty() && k == key) found = v;
  });
  return found;
}

// Decimal or 0x-hexadecimal.
inline std::optional<uint64_t> parse_number(std::string_view text) {
  if (text.empty() || text.size() > 30) return std::nullopt;
  const std::string copy(text);
  char* rest = nullptr;
  const uint64_t value = std::strtoull(copy.c_str(), &rest, 0);
  if (*rest != '\0') return std::nullopt;
  return value;
}

}  // namespace wavetap::analysis
