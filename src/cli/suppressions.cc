#include "cli/suppressions.h"

#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "util/json.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

using Json = nlohmann::ordered_json;

bool is_match(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

// The fields of a line. False: a quote is not closed.
bool split_fields(std::string_view line, std::vector<std::string>& fields) {
  size_t at = 0;
  while (true) {
    at = std::min(line.find_first_not_of(" \t\r", at), line.size());
    if (at == line.size() || line[at] == '#') return true;
    const bool is_quoted = line[at] == '"';
    const size_t begin = is_quoted ? at + 1 : at;
    const size_t end = is_quoted ? line.find('"', begin) : line.find_first_of(" \t\r", begin);
    if (is_quoted && end == std::string_view::npos) return false;
    fields.emplace_back(line.substr(begin, end - begin));
    at = end == std::string_view::npos ? line.size() : end + 1;
  }
}

// A pattern that matches exactly this text, in quotes.
std::string exactly(const std::string& text) {
  std::string pattern = "\"";
  for (const char c : text) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += c == '"' ? '?' : c;
  }
  return pattern + '"';
}

// Everything that can stand for a place: "a.hip:3", "a.hip", "add".
std::vector<std::string> names_of_place(const Json& place) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& source) {
    if (source.empty()) return;
    names.push_back(source);
    names.push_back(source.substr(0, source.rfind(':')));
  };
  add(util::text_in(place, "source"));
  // "main at a.hip:3", of the host.
  for (const Json& frame : place.value("stack", Json::array())) {
    const std::string text = frame.get<std::string>();
    const size_t at = text.find(" at ");
    names.push_back(text.substr(0, at));
    if (at != std::string::npos) add(text.substr(at + 4));
  }
  for (const Json& frame : place.value("frames", Json::array())) {
    add(util::text_in(frame, "source"));
    names.push_back(util::text_in(frame, "function"));
  }
  return names;
}

}  // namespace

bool Suppression::matches(const Json& finding) const {
  if (!is_match(kind, util::text_in(finding, "kind")) &&
      !is_match(kind, util::text_in(finding, "tool")))
    return false;
  if (!is_match(kernel, util::text_in(finding, "kernel"))) return false;
  if (place.empty() || place == "*") return true;
  const std::vector<std::string> names = names_of_place(finding);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return is_match(place, name); });
}

Result<std::vector<Suppression>> parse_suppressions(std::string_view text,
                                                    const std::string& name) {
  std::vector<Suppression> suppressions;
  size_t number = 0;
  for (const std::string& line : util::split(text, '\n')) {
    ++number;
    std::vector<std::string> fields;
    const bool closed = split_fields(line, fields);
    if (closed && fields.empty()) continue;
    if (!closed || fields.size() < 2 || fields.size() > 3)
      return errorf(
          "%s:%zu: not a suppression; write KIND KERNEL [PLACE], each in double quotes "
          "where it has spaces",
          name.c_str(), number);
    fields.resize(3);
    suppressions.push_back({line, fields[0], fields[1], fields[2]});
  }
  return suppressions;
}

void suppress(const std::vector<Suppression>& suppressions, SanitizeReport& report) {
  std::vector<bool> used(suppressions.size());
  const auto is_suppressed = [&](const Json& finding) {
    bool found = false;
    for (size_t i = 0; i < suppressions.size(); ++i) {
      if (!suppressions[i].matches(finding)) continue;
      used[i] = true;
      found = true;
    }
    return found;
  };
  report.suppressed += std::erase_if(report.findings, is_suppressed);
  for (size_t i = 0; i < suppressions.size(); ++i)
    if (!used[i]) report.unused_suppressions.push_back(suppressions[i].text);
}

std::string write_suppressions(const SanitizeReport& report) {
  std::string text = "# KIND KERNEL PLACE; shell patterns, see docs/sanitize.md\n";
  std::set<std::string> known;
  for (const Json& finding : report.findings) {
    const std::string source = util::text_in(finding, "source");
    const std::string line = util::text_in(finding, "kind") + " " +
                             exactly(util::text_in(finding, "kernel")) + " " +
                             (source.empty() ? "*" : exactly(source)) + "\n";
    if (known.insert(line).second) text += line;
  }
  return text;
}

}  // namespace wavetap::cli
