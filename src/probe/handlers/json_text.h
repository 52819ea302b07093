// JSON as handlers write it: built up in a string, value by value.
#pragma once

#include <charconv>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace wavetap::probe {

class JsonText {
 public:
  JsonText& begin_object() { return open('{'); }
  JsonText& end_object() { return close('}'); }
  JsonText& begin_array() { return open('['); }
  JsonText& end_array() { return close(']'); }

  JsonText& key(std::string_view name) {
    separate();
    quote(name);
    text_ += ':';
    fresh_ = true;
    return *this;
  }
  JsonText& number(uint64_t value) {
    char digits[24];
    const auto size = std::to_chars(digits, digits + sizeof digits, value).ptr - digits;
    return plain({digits, static_cast<size_t>(size)});
  }
  JsonText& signed_number(int64_t value) {
    char digits[24];
    const auto size = std::to_chars(digits, digits + sizeof digits, value).ptr - digits;
    return plain({digits, static_cast<size_t>(size)});
  }
  // Addresses and masks, which JSON numbers do not hold exactly.
  JsonText& hex(uint64_t value) {
    char digits[24];
    const int size = std::snprintf(digits, sizeof digits, "\"0x%" PRIx64 "\"", value);
    return plain({digits, static_cast<size_t>(size)});
  }
  // As text where JSON has no number for it.
  JsonText& real(double value) {
    char digits[40];
    const bool finite = value - value == 0;
    const int size = std::snprintf(digits, sizeof digits, finite ? "%.9g" : "\"%g\"", value);
    return plain({digits, static_cast<size_t>(size)});
  }
  JsonText& text(std::string_view value) {
    separate();
    quote(value);
    return *this;
  }
  // JSON already.
  JsonText& raw(std::string_view json) { return plain(json); }

  const std::string& string() const { return text_; }
  size_t size() const { return text_.size(); }
  void clear() { text_.clear(), fresh_ = true; }
  // Between records of a file of lines.
  void end_line() { text_ += '\n', fresh_ = true; }

 private:
  void separate() {
    if (!fresh_) text_ += ',';
    fresh_ = false;
  }
  JsonText& plain(std::string_view value) {
    separate();
    text_ += value;
    return *this;
  }
  JsonText& open(char bracket) {
    separate();
    text_ += bracket;
    fresh_ = true;
    return *this;
  }
  JsonText& close(char bracket) {
    text_ += bracket;
    fresh_ = false;
    return *this;
  }
  void quote(std::string_view value) {
    text_ += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
        text_ += escaped;
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }

  std::string text_;
  bool fresh_ = true;
};

}  // namespace wavetap::probe
