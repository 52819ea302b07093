#include "replay/kernel_argument.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>

#include "replay/half.h"
#include "util/file.h"
#include "util/text.h"

namespace wavetap::replay {
namespace {

// Calls visit(T{}) with the C++ type a type name stands for. False when there is none.
template <class Visitor>
bool with_type(const std::string& name, Visitor&& visit) {
  if (name == "i8") visit(int8_t{});
  else if (name == "u8") visit(uint8_t{});
  else if (name == "i16") visit(int16_t{});
  else if (name == "u16") visit(uint16_t{});
  else if (name == "i32") visit(int32_t{});
  else if (name == "u32") visit(uint32_t{});
  else if (name == "i64") visit(int64_t{});
  else if (name == "u64") visit(uint64_t{});
  else if (name == "f16") visit(Half{});
  else if (name == "bf16") visit(BrainHalf{});
  else if (name == "f32") visit(float{});
  else if (name == "f64") visit(double{});
  else return false;
  return true;
}

template <class T>
bool parse_plain(std::string_view text, T* value) {
  if constexpr (std::is_integral_v<T>) {
    if (text.starts_with("0x")) {
      // The bits, so that 0xffffffff is a fine i32.
      std::make_unsigned_t<T> bits = 0;
      const auto [end, error] =
          std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
      *value = static_cast<T>(bits);
      return error == std::errc() && end == text.data() + text.size();
    }
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BrainHalf>;

template <class T>
bool parse_number(std::string_view text, T* value) {
  if constexpr (kIsHalf<T>) {
    float wide = 0;
    if (!parse_plain(text, &wide)) return false;
    *value = T::from_float(wide);
    return true;
  } else {
    return parse_plain(text, value);
  }
}

template <class T>
std::vector<std::byte> bytes_of(const T& value) {
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

// The bytes of one value of `type`, or nothing when type or value is no good.
std::vector<std::byte> scalar(const std::string& type, std::string_view text) {
  std::vector<std::byte> bytes;
  with_type(type, [&](auto value) {
    if (parse_number(text, &value)) bytes = bytes_of(value);
  });
  return bytes;
}

Error bad_argument(const std::string& text, const char* why) {
  return errorf("--arg %s: %s; write TYPE:VALUE, buf:SIZE[:INIT] or raw:HEX",
                util::escape_control(text).c_str(), why);
}

Status fill_buffer(const std::string& text, const std::string& init,
                   std::vector<std::byte>& bytes) {
  const size_t equals = init.find('=');
  const std::string head = init.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : init.substr(equals + 1);
  const size_t dot = head.find('.');
  const std::string kind = head.substr(0, dot);
  const std::string type = dot == std::string::npos ? "i32" : head.substr(dot + 1);

  if (kind == "zero") return {};
  if (kind == "iota") {
    const bool known = with_type(type, [&](auto element) {
      using T = decltype(element);
      for (size_t i = 0; (i + 1) * sizeof(T) <= bytes.size(); ++i) {
        if constexpr (kIsHalf<T>) element = T::from_float(static_cast<float>(i));
        else element = static_cast<T>(i);
        std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
      }
    });
    return known ? Status() : Status(bad_argument(text, "unknown type after iota."));
  }
  if (kind == "fill") {
    const std::vector<std::byte> element = scalar(type, value);
    if (element.empty()) return bad_argument(text, "fill needs a type and a value, fill.f32=1.5");
    for (size_t at = 0; at + element.size() <= bytes.size(); at += element.size()) {
      std::memcpy(bytes.data() + at, element.data(), element.size());
    }
    return {};
  }
  if (kind == "random") {
    std::mt19937_64 generator(value.empty() ? 1 : util::parse_unsigned(value).value_or(1));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(generator() >> 56);
    return {};
  }
  if (kind == "file") {
    const Result<std::vector<std::byte>> file = util::read_file(value);
    if (!file.ok()) return file.error();
    std::copy_n(file->begin(), std::min(bytes.size(), file->size()), bytes.begin());
    return {};
  }
  return bad_argument(text, "unknown initial content");
}

}  // namespace

Result<KernelArgument> parse_argument(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return bad_argument(text, "no colon");
  const std::string type = text.substr(0, colon);
  const std::string rest = text.substr(colon + 1);
  KernelArgument argument{text, false, {}};

  if (type == "buf") {
    const size_t second = rest.find(':');
    const std::optional<uint64_t> size = util::parse_unsigned(rest.substr(0, second));
    if (!size || *size == 0 || *size > (uint64_t{1} << 34))
      return bad_argument(text, "not a size up to 16g");
    argument.is_buffer = true;
    argument.bytes.resize(*size);
    if (second != std::string::npos) {
      const Status filled = fill_buffer(text, rest.substr(second + 1), argument.bytes);
      if (!filled.ok()) return filled.error();
    }
    return argument;
  }
  if (type == "raw") {
    for (size_t i = 0; i + 1 < rest.size(); i += 2) {
      uint8_t byte = 0;
      const auto [end, error] = std::from_chars(rest.data() + i, rest.data() + i + 2, byte, 16);
      if (error != std::errc() || end != rest.data() + i + 2)
        return bad_argument(text, "not hexadecimal");
      argument.bytes.push_back(static_cast<std::byte>(byte));
    }
    if (rest.empty() || rest.size() % 2 != 0) return bad_argument(text, "not whole bytes");
    return argument;
  }
  if (element_bytes(type) == 0) return bad_argument(text, "unknown type");
  argument.bytes = scalar(type, rest);
  if (argument.bytes.empty()) return bad_argument(text, "not a value of this type");
  return argument;
}

Result<std::vector<std::string>> format_elements(std::span<const std::byte> bytes,
                                                 const std::string& type, size_t count) {
  std::vector<std::string> elements;
  const bool known = with_type(type, [&](auto element) {
    using T = decltype(element);
    for (size_t i = 0; i < count && (i + 1) * sizeof(T) <= bytes.size(); ++i) {
      std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
      if constexpr (sizeof(T) == 1)
        elements.push_back(fmt::format("{}", static_cast<int>(element)));
      else if constexpr (kIsHalf<T>) elements.push_back(fmt::format("{}", element.to_float()));
      else elements.push_back(fmt::format("{}", element));
    }
  });
  if (!known)
    return errorf("%s: unknown type; use i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 or f64",
                  type.c_str());
  return elements;
}

std::string first_element_text(std::span<const std::byte> bytes, const std::string& type) {
  const auto text = format_elements(bytes, type, 1);
  return text.ok() && !text->empty() ? text->front() : "?";
}

size_t element_bytes(const std::string& type) {
  size_t size = 0;
  with_type(type, [&](auto element) { size = sizeof element; });
  return size;
}

}  // namespace wavetap::replay
