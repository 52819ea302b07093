// CSV as RFC 4180 has it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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

// A line of fields, its end included.
inline std::string csv_line(const std::vector<std::string>& fields) {
  std::string out;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) out += ',';
    out += csv_field(fields[i]);
  }
  return out + '\n';
}

}  // namespace wavetap::util
