// CSV as RFC 4180 has it.
#pragma once

#include <string>
#include <string_view>

namespace wavetap::util {

// One field: quoted when it holds a comma, a quote or the end of a line.
inline std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace wavetap::util
