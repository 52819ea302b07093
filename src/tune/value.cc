#include "tune/value.h"

#include <fmt/format.h>

#include <cmath>

namespace wavetap::tune {

std::string to_text(const Value& value) {
  if (!is_number(value)) return std::get<std::string>(value);
  const double number = std::get<double>(value);
  if (std::floor(number) == number && std::fabs(number) < 1e15)
    return fmt::format("{}", static_cast<long long>(number));
  return fmt::format("{}", number);
}

std::string substitute(const std::string& text, const Values& values) {
  std::string made;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text[at] == '{' ? text.find('}', at) : std::string::npos;
    if (end != std::string::npos) {
      const auto found = values.find(text.substr(at + 1, end - at - 1));
      if (found != values.end()) {
        made += to_text(found->second);
        at = end + 1;
        continue;
      }
    }
    made += text[at++];
  }
  return made;
}

}  // namespace wavetap::tune
