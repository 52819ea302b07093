#include "swap/manifest.h"

#include <charconv>
#include <optional>

#include "swap/legality.h"
#include "swap/table.h"

namespace wavetap::swap {
namespace {

// The words of a line; nothing when a quote stays open. A # begins a comment where a word could begin.
std::optional<std::vector<std::string>> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (size_t at = 0; at < line.size();) {
    const char c = line[at];
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at;
    } else if (c == '#') {
      break;
    } else if (c == '"') {
      const size_t end = line.find('"', at + 1);
      if (end == std::string_view::npos) return std::nullopt;
      words.emplace_back(line.substr(at + 1, end - at - 1));
      at = end + 1;
    } else {
      const size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
      words.emplace_back(line.substr(at, end - at));
      at = end;
    }
  }
  return words;
}

bool take_setting(std::string_view word, Rule& rule) {
  if (word.starts_with("kernel=")) {
    rule.kernel = word.substr(7);
    return !rule.kernel.empty();
  }
  if (word.starts_with("hash=")) {
    word.remove_prefix(5);
    const auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), rule.original_hash, 16);
    return error == std::errc() && end == word.data() + word.size() && rule.original_hash != 0;
  }
  if (word == "variables=own") rule.allowed |= kAllowOwnVariables;
  else if (word == "wave-size=any") rule.allowed |= kAllowOtherWaveSize;
  else if (word == "object=whole") rule.allowed |= kOfferWhole | kOnlyWhole;
  else return false;
  return true;
}

}  // namespace

Result<std::vector<Rule>> parse_manifest(std::string_view text, const std::string& folder) {
  std::vector<Rule> rules;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::optional<std::vector<std::string>> words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!words) return errorf("line %zu: a quote is not closed; close it", number);
    if (words->empty()) continue;
    if (words->size() < 2)
      return errorf(
          "line %zu: no file behind %s; write PATTERN FILE [kernel=NAME] [hash=HEX] "
          "[variables=own] [wave-size=any] [object=whole]",
          number, words->front().c_str());
    Rule rule{.pattern = (*words)[0], .path = (*words)[1], .kernel = {}};
    if (rule.pattern.empty() || rule.path.empty())
      return errorf("line %zu: an empty name; write PATTERN FILE", number);
    for (size_t i = 2; i < words->size(); ++i)
      if (!take_setting((*words)[i], rule))
        return errorf(
            "line %zu: %s: not understood; write kernel=NAME, hash=HEX, variables=own, "
            "wave-size=any or object=whole",
            number, (*words)[i].c_str());
    if ((rule.allowed & kOnlyWhole) != 0 && !rule.kernel.empty())
      return errorf(
          "line %zu: a whole code object runs under the names it has; leave out "
          "kernel=%s or object=whole",
          number, rule.kernel.c_str());
    if ((rule.allowed & kOnlyWhole) != 0 && (rule.allowed & kAllowOwnVariables) != 0)
      return errorf(
          "line %zu: a whole code object takes the place of the program's variables as well; "
          "leave out variables=own or object=whole",
          number);
    if (rule.path.front() != '/') rule.path = folder + "/" + rule.path;
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace wavetap::swap
