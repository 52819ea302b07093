// Regular expressions given by a user, over texts taken from a file.
#pragma once

#include <regex>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wavetap::util {

inline Result<std::regex> compile_pattern(const std::string& pattern) {
  try {
    return std::regex(pattern, std::regex::optimize);
  } catch (const std::regex_error&) {
    return errorf("%s: not a regular expression; correct it", pattern.c_str());
  }
}

// Whether the pattern is found in the text. Only its beginning is searched: std::regex calls itself
// once per character it takes, and a name of megabytes would overflow the stack.
inline bool is_found(const std::regex& pattern, std::string_view text) {
  text = text.substr(0, 4096);
  return std::regex_search(text.begin(), text.end(), pattern);
}

}  // namespace wavetap::util
