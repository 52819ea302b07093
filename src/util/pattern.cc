#include "util/pattern.h"

#include <regex>

namespace wavetap::util {

struct Pattern::Compiled {
  std::regex regex;
};

Result<Pattern> compile_pattern(const std::string& pattern, Syntax syntax) {
  const auto flags = syntax == Syntax::kExtended ? std::regex::extended : std::regex::ECMAScript;
  try {
    Pattern made;
    made.compiled_ = std::make_shared<const Pattern::Compiled>(
        Pattern::Compiled{std::regex(pattern, flags | std::regex::optimize)});
    return made;
  } catch (const std::regex_error&) {
    return errorf("%s: not a regular expression; correct it", pattern.c_str());
  }
}

unsigned Pattern::groups() const {
  return compiled_ ? static_cast<unsigned>(compiled_->regex.mark_count()) : 0;
}

bool Pattern::is_in(std::string_view text) const {
  return compiled_ && std::regex_search(text.begin(), text.end(), compiled_->regex);
}

std::optional<std::string> Pattern::first_group(std::string_view text) const {
  std::cmatch match;
  if (!compiled_ ||
      !std::regex_search(text.data(), text.data() + text.size(), match, compiled_->regex))
    return std::nullopt;
  return match[1].str();
}

bool is_found(const Pattern& pattern, std::string_view text) {
  return pattern.is_in(text.substr(0, 4096));
}

}  // namespace wavetap::util
