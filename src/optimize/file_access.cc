// A directive is what the compiler takes for one: after lines that end with a backslash are joined and comments are gone,
// which may stand between its words. So the text is read as a compiler reads it, as far as strings and comments
// go; where the two could disagree, this one sees more code, not less.
#include "optimize/file_access.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "util/text.h"

namespace wavetap::optimize {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string joined_lines(const std::string& text) {
  std::string made;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t next = i + 1 < text.size() && text[i + 1] == '\r' ? i + 2 : i + 1;
    if (text[i] == '\\' && next < text.size() && text[next] == '\n') i = next;
    else made += text[i];
  }
  return made;
}

// Of a raw string literal that begins with the quote at `at`; 0: it is none.
size_t raw_string_end(const std::string& text, size_t at) {
  size_t begin = at;
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  const std::string prefix = text.substr(begin, at - begin);
  if (prefix != "R" && prefix != "LR" && prefix != "uR" && prefix != "UR" && prefix != "u8R")
    return 0;
  const size_t open = text.find('(', at);
  if (open == std::string::npos || open - at > 17) return 0;
  const std::string close = ")" + text.substr(at + 1, open - at - 1) + "\"";
  const size_t end = text.find(close, open);
  return end == std::string::npos ? 0 : end + close.size();
}

// Comments are a space each, and strings stay.
std::string without_comments(const std::string& text) {
  std::string made;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    const char next = end < text.size() ? text[end] : '\0';
    const bool is_separator =
        text[i] == '\'' && i > 0 && is_word(text[i - 1]) && is_word(next);  // 1'000
    if (text[i] == '/' && next == '/') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (text[i] == '/' && next == '*') {
      end = text.find("*/", i + 2);
      if (end == std::string::npos) break;
      made += ' ';
      i = end + 2;
      continue;
    }
    if (const size_t raw = text[i] == '"' ? raw_string_end(text, i) : 0; raw != 0) {
      end = raw;
    } else if (text[i] == '"' || (text[i] == '\'' && !is_separator)) {
      while (end < text.size() && text[end] != text[i] && text[end] != '\n')
        end += text[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, text.size());
    }
    made += text.substr(i, end - i);
    i = end;
  }
  return made;
}

// The rest of a line behind #include and its like; nothing for other lines.
std::string directive(const std::string& line, std::string& word) {
  size_t at = line.find_first_not_of(" \t\f\v");
  if (at == std::string::npos) return "";
  if (line[at] == '#') at += 1;
  else if (line.compare(at, 2, "%:") == 0) at += 2;
  else return "";
  at = std::min(line.find_first_not_of(" \t\f\v", at), line.size());
  size_t end = at;
  while (end < line.size() && is_word(line[end])) ++end;
  word = line.substr(at, end - at);
  if (word != "include" && word != "include_next" && word != "import" && word != "embed") return "";
  const size_t rest = line.find_first_not_of(" \t\f\v", end);
  return rest == std::string::npos ? " " : line.substr(rest);
}

// <hip/hip_fp16.h>: a header of the compiler's or of a library's.
bool is_plain_header(const std::string& rest) {
  return rest[0] == '<' && rest.size() > 1 && rest[1] != '/' &&
         rest.find("..") == std::string::npos;
}

bool is_own(const Sources& sources, const std::string& rest) {
  return rest[0] == '"' && sources.contains(rest.substr(1, rest.find('"', 1) - 1));
}

// What a text takes from files, one description each.
std::set<std::string> accesses_of(const Sources& sources, const std::string& text) {
  std::set<std::string> found;
  const std::string code = without_comments(joined_lines(text));
  for (const char* name : {"__has_include", "__has_embed", ".incbin", ".include"})
    if (code.find(name) != std::string::npos) found.insert(name);
  for (size_t at = 0; at < code.size();) {
    const size_t end = std::min(code.find('\n', at), code.size());
    std::string word;
    const std::string rest = directive(code.substr(at, end - at), word);
    at = end + 1;
    if (rest.empty() || is_own(sources, rest)) continue;
    if (word == "embed" || !is_plain_header(rest)) found.insert("#" + word + " " + rest);
  }
  return found;
}

}  // namespace

std::string find_file_access(const Sources& before, const std::string& text) {
  std::set<std::string> known;
  for (const auto& [name, old] : before) known.merge(accesses_of(before, old));
  for (const std::string& one : accesses_of(before, text))
    if (!known.contains(one)) return one;
  return "";
}

}  // namespace wavetap::optimize
