#include "util/extended_pattern.h"

#include <cstdint>

namespace wavetap::util {
namespace {

constexpr std::string_view kSpecial = "^$\\.*+?()[]{}|";

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// What may stand between brackets for a class of characters; empty: no such class.
std::string_view members_of(char letter) {
  switch (letter) {
    case 'd': return "0-9";
    case 'w': return "[:alnum:]_";
    case 's': return "[:space:]";
    default: return "";
  }
}

// A control character by its letter; 0: none.
char control_of(char letter) {
  switch (letter) {
    case 't': return '\t';
    case 'n': return '\n';
    case 'v': return '\v';
    case 'f': return '\f';
    case 'r': return '\r';
    default: return 0;
  }
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  Result<std::string> run() {
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_];
      const bool was_quantifier = is_quantifier_;
      is_quantifier_ = false;
      if (c == '\\') {
        if (const Status good = escape(); !good.ok()) return good.error();
      } else if (c == '[') {
        if (const Status good = brackets(); !good.ok()) return good.error();
      } else if (pattern_.substr(at_).starts_with("(?")) {
        if (const Status good = group(); !good.ok()) return good.error();
      } else if (c == '?' && was_quantifier) {
        ++at_;  // as few as will do: where it is found is the same
      } else {
        is_quantifier_ = c == '*' || c == '+' || c == '?' || c == '}';
        out_ += c;
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  Error refuse(const char* what) const {
    return errorf("%.*s: %s", static_cast<int>(pattern_.size()), pattern_.data(), what);
  }

  void literal(char c) {
    if (kSpecial.find(c) != std::string_view::npos) out_ += '\\';
    out_ += c;
  }

  // \xHH, \uHHHH: the character; moves behind it. 0: none.
  char coded() {
    const size_t digits = pattern_[at_ + 1] == 'x' ? 2 : 4;
    uint32_t code = 0;
    for (size_t i = 0; i < digits; ++i) {
      const int digit = at_ + 2 + i < pattern_.size() ? digit_of(pattern_[at_ + 2 + i]) : -1;
      if (digit < 0) return 0;
      code = code * 16 + static_cast<uint32_t>(digit);
    }
    at_ += 2 + digits;
    return code < 0x80 ? static_cast<char>(code) : 0;
  }

  Status escape() {
    if (at_ + 1 == pattern_.size()) return refuse("ends in a backslash; write \\\\ for one");
    const char c = pattern_[at_ + 1];
    if (c == 'x' || c == 'u') {
      const char coded_as = coded();
      if (coded_as == 0) return refuse("\\x and \\u take the code of an ASCII character");
      literal(coded_as);
      return {};
    }
    at_ += 2;
    if (c >= '0' && c <= '9')
      return refuse("refers to a group, which is not understood; repeat what the group says");
    const auto lower = static_cast<char>(c | 0x20);
    if (const std::string_view members = members_of(lower); !members.empty()) {
      out_ += lower == c ? "[" : "[^";
      out_ += members;
      out_ += ']';
    } else if (control_of(c) != 0) {
      out_ += control_of(c);
    } else if (lower == 'b') {
      out_ += {'\\', c};  // at an end of a word, or not
    } else if (lower >= 'a' && lower <= 'z') {
      return refuse("has a backslash before a letter that means nothing with one");
    } else {
      literal(c);
    }
    return {};
  }

  // A backslash between brackets escapes there, which it does not in an extended pattern.
  Status brackets() {
    size_t at = at_ + 1;
    std::string members;
    const bool is_not = at < pattern_.size() && pattern_[at] == '^';
    at += is_not;
    bool has_close = at < pattern_.size() && pattern_[at] == ']', has_dash = false;
    at += has_close;
    for (; at < pattern_.size() && pattern_[at] != ']'; ++at) {
      if (pattern_.substr(at).starts_with("[:")) {
        const size_t end = pattern_.find(":]", at + 2);
        if (end == std::string_view::npos) return refuse("has a [: without its :]");
        members += pattern_.substr(at, end + 2 - at);
        at = end + 1;
      } else if (pattern_[at] != '\\' || at + 1 == pattern_.size()) {
        members += pattern_[at];
      } else {
        const char c = pattern_[++at];
        if (!members_of(c).empty()) members += members_of(c);
        else if (control_of(c) != 0) members += control_of(c);
        else if (c == ']') has_close = true;
        else if (c == '-') has_dash = true;
        else if (digit_of(c) >= 0 || (c | 0x20) == 'u' || (c | 0x20) == 'x' ||
                 !members_of(static_cast<char>(c | 0x20)).empty())
          return refuse("has a backslash between brackets that is not understood there");
        else members += c;
      }
    }
    if (at >= pattern_.size()) return refuse("has a [ without its ]");
    at_ = at + 1;
    // ^ alone and not first, which would mean all others.
    if (!is_not && !has_close && members.starts_with('^')) {
      members.erase(0, 1);
      members += '^';
      if (members == "^" && !has_dash) {
        out_ += "\\^";
        return {};
      }
    }
    out_ += is_not ? "[^" : "[";
    if (has_close) out_ += ']';
    out_ += members;
    if (has_dash) out_ += '-';
    out_ += ']';
    return {};
  }

  Status group() {
    if (!pattern_.substr(at_).starts_with("(?:"))
      return refuse(
          "looks ahead or behind, which is not understood; use two commands, or a list of names");
    out_ += '(';
    at_ += 3;
    return {};
  }

  std::string_view pattern_;
  size_t at_ = 0;
  bool is_quantifier_ = false;  // the last character
  std::string out_;
};

}  // namespace

Result<std::string> to_extended_pattern(std::string_view pattern) {
  return Translator(pattern).run();
}

}  // namespace wavetap::util
