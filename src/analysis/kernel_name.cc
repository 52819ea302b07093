#include "analysis/kernel_name.h"

#include <cxxabi.h>

#include <cstdlib>

namespace wavetap::analysis {
namespace {

std::string demangled(std::string_view name) {
  if (!name.starts_with("_Z")) return std::string(name);
  // ".kd" and clone suffixes are not part of it.
  const std::string copy(name.substr(0, name.find('.')));
  int status = 0;
  char* text = abi::__cxa_demangle(copy.c_str(), nullptr, nullptr, &status);
  if (status != 0 || text == nullptr) return std::string(name);
  std::string out = text;
  std::free(text);
  return out;
}

void drop_all(std::string& text, std::string_view part) {
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at))
    text.erase(at, part.size());
}

}  // namespace

std::string short_kernel_name(std::string_view name) {
  std::string text = demangled(name);
  drop_all(text, "(anonymous namespace)::");

  // Copy what stands outside brackets; the first '(' at the outside begins the parameters, unless
  // it is the call operator's own.
  std::string out;
  bool has_parameters = false;
  int angle = 0;
  // Parentheses open within template arguments: a '>' there compares, it does not close.
  int inside = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (angle > 0 && (c == '(' || c == ')')) {
      inside += c == '(' ? 1 : -1;
      continue;
    }
    if (c == '<' && inside == 0 && !out.ends_with("operator") && text.compare(i, 2, "<=") != 0) {
      if (angle++ == 0) out += "<…>";
      continue;
    }
    if (c == '>' && inside == 0 && angle > 0 && text[i - 1] != '-') {
      --angle;
      continue;
    }
    if (angle > 0) continue;
    if (c == '(') {
      if (text.compare(i, 2, "()") != 0 || !out.ends_with("operator")) {
        has_parameters = true;
        break;
      }
      out += "()";
      ++i;
      continue;
    }
    out.push_back(c);
  }
  // What precedes the last outside space of a function is the return type: "void ",
  // "std::enable_if<…>::type ". Other names keep their spaces.
  if (const size_t space = out.rfind(' '); (has_parameters || out.starts_with("void ")) &&
                                           space != std::string::npos && space + 1 < out.size() &&
                                           out.find("operator ") == std::string::npos)
    out.erase(0, space + 1);
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out.empty() ? std::string(name) : out;
}

}  // namespace wavetap::analysis
