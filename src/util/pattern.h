// Regular expressions given by a user, over texts taken from a file.
//
// The standard library's are known to pattern.cc alone: they take longer to compile than most files that need one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wavetap::util {

enum class Syntax { kEcmaScript, kExtended };

class Pattern {
 public:
  Pattern() = default;  // is found nowhere

  // How many groups it has.
  unsigned groups() const;

  // Whether it is found in the text.
  bool is_in(std::string_view text) const;

  // What the first group took where the pattern is found first; nothing where it is not found.
  std::optional<std::string> first_group(std::string_view text) const;

 private:
  friend Result<Pattern> compile_pattern(const std::string& pattern, Syntax syntax);
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

Result<Pattern> compile_pattern(const std::string& pattern, Syntax syntax = Syntax::kEcmaScript);

// Whether the pattern is found in the text. Only its beginning is searched: std::regex calls itself
// once per character it takes, and a name of megabytes would overflow the stack.
bool is_found(const Pattern& pattern, std::string_view text);

}  // namespace wavetap::util
