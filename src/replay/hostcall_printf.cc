// printf of kernels. Each conversion is printed alone, by the C library, after its parts were checked:
// the format comes from a kernel.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "replay/hostcall.h"

namespace wavetap::replay {
namespace {

constexpr int kMostWidth = 4096;

// Takes arguments one by one; zeros when there are no more.
class Arguments {
 public:
  explicit Arguments(std::span<const uint64_t> words) : words_(words) {}

  bool empty() const { return next_ >= words_.size(); }
  uint64_t number() { return empty() ? 0 : words_[next_++]; }
  std::string text() {
    if (empty()) return "";
    const char* begin = reinterpret_cast<const char*>(&words_[next_]);
    const size_t most = (words_.size() - next_) * sizeof(uint64_t);
    const size_t length = ::strnlen(begin, most);
    next_ += length / sizeof(uint64_t) + 1;
    return {begin, length};
  }

 private:
  std::span<const uint64_t> words_;
  size_t next_ = 0;
};

// "%-*.3lld": what stands between the percent sign and the conversion.
struct Conversion {
  std::string flags;
  int width = -1;
  int precision = -1;
  std::string length;
  char kind = 0;  // 0: not a conversion
  size_t size = 0;
};

int take_number(std::string_view format, size_t& at, Arguments& arguments, std::string& flags) {
  if (at < format.size() && format[at] == '*') {
    ++at;
    int value = static_cast<int>(static_cast<int32_t>(arguments.number()));
    if (value < 0 && value >= -kMostWidth) {
      flags += '-';
      value = -value;
    }
    return std::clamp(value, 0, kMostWidth);
  }
  int value = -1;
  for (; at < format.size() && format[at] >= '0' && format[at] <= '9'; ++at)
    value = std::min(std::max(value, 0) * 10 + (format[at] - '0'), kMostWidth);
  return value;
}

Conversion parse(std::string_view format, Arguments& arguments) {
  Conversion found;
  size_t at = 1;
  while (at < format.size() && std::strchr("-+ #0", format[at]) != nullptr)
    found.flags += format[at++];
  found.width = take_number(format, at, arguments, found.flags);
  if (at < format.size() && format[at] == '.') {
    ++at;
    std::string ignored;
    found.precision = std::max(take_number(format, at, arguments, ignored), 0);
  }
  while (at < format.size() && std::strchr("hljztL", format[at]) != nullptr)
    found.length += format[at++];
  if (at < format.size() && std::strchr("diouxXcsfFeEgGaApn", format[at]) != nullptr)
    found.kind = format[at++];
  found.size = at;
  return found;
}

// The C library's rendering of one argument.
template <class T>
std::string print(const Conversion& how, const char* length, T value) {
  std::string format = "%" + how.flags;
  if (how.width >= 0) format += std::to_string(how.width);
  if (how.precision >= 0) format += "." + std::to_string(how.precision);
  format += length;
  format += how.kind;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
  const int size = std::snprintf(nullptr, 0, format.c_str(), value);
  if (size <= 0) return "";
  std::string text(static_cast<size_t>(size) + 1, '\0');
  std::snprintf(text.data(), text.size(), format.c_str(), value);
#pragma GCC diagnostic pop
  text.pop_back();
  return text;
}

std::string print_integer(const Conversion& how, uint64_t value) {
  const bool is_signed = how.kind == 'd' || how.kind == 'i';
  if (how.length == "hh")
    return is_signed ? print(how, "ll", static_cast<long long>(static_cast<int8_t>(value)))
                     : print(how, "ll", static_cast<unsigned long long>(value & 0xff));
  if (how.length == "h")
    return is_signed ? print(how, "ll", static_cast<long long>(static_cast<int16_t>(value)))
                     : print(how, "ll", static_cast<unsigned long long>(value & 0xffff));
  if (how.length.empty())
    return is_signed ? print(how, "", static_cast<int>(value))
                     : print(how, "", static_cast<unsigned>(value));
  return is_signed ? print(how, "ll", static_cast<long long>(value))
                   : print(how, "ll", static_cast<unsigned long long>(value));
}

std::string print_argument(const Conversion& how, Arguments& arguments) {
  switch (how.kind) {
    case 'c': return print(how, "", static_cast<int>(arguments.number() & 0xff));
    case 's': return print(how, "", arguments.text().c_str());
    case 'p': return print(how, "", reinterpret_cast<void*>(arguments.number()));
    case 'n': arguments.number(); return "";  // writes nothing: there is nowhere to
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X': return print_integer(how, arguments.number());
    default: {
      const uint64_t bits = arguments.number();
      double value = 0;
      std::memcpy(&value, &bits, sizeof value);
      return print(how, "", value);
    }
  }
}

}  // namespace

std::string format_printf(std::span<const uint64_t> words) {
  Arguments arguments(words);
  const std::string format = arguments.text();
  std::string text;
  for (size_t at = 0; at < format.size();) {
    const size_t percent = std::min(format.find('%', at), format.size());
    text.append(format, at, percent - at);
    at = percent;
    if (at >= format.size()) break;
    if (at + 1 < format.size() && format[at + 1] == '%') {
      text += '%';
      at += 2;
      continue;
    }
    const Conversion found = parse(std::string_view(format).substr(at), arguments);
    if (found.kind == 0) break;  // not a format: what follows cannot be told apart
    text += print_argument(found, arguments);
    at += found.size;
  }
  return text;
}

}  // namespace wavetap::replay
