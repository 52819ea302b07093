#include <cxxabi.h>

#include <cstdlib>

#include "codeobj/code_object.h"

namespace wavetap::codeobj {
namespace {

std::string_view without_kd(std::string_view name) {
  return name.ends_with(".kd") ? name.substr(0, name.size() - 3) : name;
}

// "operator", "ns::Index::operator"
bool is_operator(std::string_view name) {
  return name == "operator" || name.ends_with("::operator");
}

}  // namespace

std::string demangle(std::string_view name) {
  const std::string mangled(without_kd(name));
  if (!mangled.starts_with("_Z")) return mangled;
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  if (status != 0 || text == nullptr) {
    std::free(text);
    return mangled;
  }
  std::string result = text;
  std::free(text);
  return result;
}

std::string short_name(std::string_view name) {
  const std::string full = demangle(name);
  if (!name.starts_with("_Z")) return full;
  // The parameter list is the last parenthesis that opens at depth 0 of both () and <>; the return
  // type of a template ends at the last space before it at depth 0.
  const std::string_view text = full;
  size_t end = text.size();
  int depth = 0;
  for (size_t i = text.size(); i-- > 0;) {
    const char c = text[i];
    if (c == ')' || c == '>') ++depth;
    if (c == '(' || c == '<') --depth;
    if (c == '(' && depth == 0) {
      end = i;
      break;
    }
  }
  size_t begin = 0;
  depth = 0;
  for (size_t i = 0; i < end; ++i) {
    const char c = text[i];
    if (c == '(' || c == '<') ++depth;
    if (c == ')' || c == '>') --depth;
    if (c != ' ' || depth != 0) continue;
    // What follows is the type that is converted to: "ns::Index::operator unsigned int".
    if (is_operator(text.substr(begin, i - begin))) break;
    begin = i + 1;
  }
  return std::string(text.substr(begin, end - begin));
}

}  // namespace wavetap::codeobj
