#include "store/call_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_map>

namespace wavetap::store {
namespace {

std::optional<ArgSpec> parse_one(std::string_view item) {
  const size_t colon = item.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  ArgSpec spec;
  spec.name = item.substr(0, colon);
  std::string_view code = item.substr(colon + 1);
  if (const size_t second = code.find(':'); second != std::string_view::npos) {
    spec.type = code.substr(second + 1);
    code = code.substr(0, second);
  }
  // What an out-pointer pointed to is shown like an argument of that type.
  if (code.size() > 1 && code[0] == 'o') code.remove_prefix(1);
  struct Simple {
    std::string_view text;
    ArgCode code;
    uint32_t words;
  };
  static constexpr Simple kSimple[] = {
      {"p", ArgCode::kPointer, 1},  {"z", ArgCode::kSize, 1},       {"u", ArgCode::kUnsigned32, 1},
      {"i", ArgCode::kSigned32, 1}, {"U", ArgCode::kUnsigned64, 1}, {"I", ArgCode::kSigned64, 1},
      {"f", ArgCode::kFloat, 1},    {"d", ArgCode::kDouble, 1},     {"b", ArgCode::kBool, 1},
      {"e", ArgCode::kEnum, 1},     {"s", ArgCode::kString, 1},     {"d3", ArgCode::kDim3, 2},
  };
  for (const Simple& simple : kSimple) {
    if (code != simple.text) continue;
    spec.code = simple.code;
    spec.words = simple.words;
    return spec;
  }
  if (!code.starts_with('x') && !code.starts_with('v')) return std::nullopt;
  uint32_t bytes = 0;
  const auto [end, error] = std::from_chars(code.data() + 1, code.data() + code.size(), bytes);
  if (error != std::errc() || end != code.data() + code.size() || bytes == 0 || bytes > 4096)
    return std::nullopt;
  spec.code = ArgCode::kStructure;
  spec.words = (bytes + 7) / 8;
  return spec;
}

template <class T>
T low(uint64_t word) {
  T value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

void append_real(std::string& out, double value) {
  char text[32];
  const auto done = std::to_chars(text, text + sizeof text, value);
  out.append(text, done.ptr);
}

// Texts of the program: the separator and control characters would break the line apart.
void append_quoted(std::string& out, std::string_view text, uint32_t truncated) {
  out += '"';
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == '|' ? ' ' : c;
  if (truncated != 0) out += "…";
  out += '"';
}

void append_value(std::string& out, const ArgSpec& spec, const uint64_t* words) {
  const uint64_t word = words[0];
  switch (spec.code) {
    case ArgCode::kPointer: append_hex(out, word); break;
    case ArgCode::kSize:
    case ArgCode::kUnsigned64: {
      char text[24];
      out.append(text, std::to_chars(text, text + sizeof text, word).ptr);
      break;
    }
    case ArgCode::kUnsigned32: append_decimal(out, low<uint32_t>(word)); break;
    case ArgCode::kSigned32: append_decimal(out, low<int32_t>(word)); break;
    case ArgCode::kSigned64: append_decimal(out, static_cast<int64_t>(word)); break;
    case ArgCode::kFloat: append_real(out, low<float>(word)); break;
    case ArgCode::kDouble: append_real(out, low<double>(word)); break;
    case ArgCode::kBool: out += (word & 1) != 0 ? "true" : "false"; break;
    case ArgCode::kEnum: {
      const std::string_view name = enum_name(spec.type, low<int32_t>(word));
      if (name.empty()) append_decimal(out, low<int32_t>(word));
      else out += name;
      break;
    }
    case ArgCode::kDim3:
      append_decimal(out, low<uint32_t>(words[0]));
      out += ',';
      append_decimal(out, low<uint32_t>(words[0] >> 32));
      out += ',';
      append_decimal(out, low<uint32_t>(words[1]));
      break;
    case ArgCode::kStructure:
      for (uint32_t i = 0; i < spec.words; ++i) {
        if (i > 0) out += ' ';
        append_hex(out, words[i]);
      }
      break;
    case ArgCode::kString: break;  // append_arguments
  }
}

}  // namespace

RecordedCall::RecordedCall(const format::CallRecord& call) : duration_(call.duration) {
  std::span<const std::byte> rest(reinterpret_cast<const std::byte*>(&call),
                                  size_t{call.header.words} * 8);
  rest = rest.subspan(sizeof call);
  if ((call.header.flags & format::kCallLongDuration) != 0 && rest.size() >= 8) {
    std::memcpy(&duration_, rest.data(), sizeof duration_);
    rest = rest.subspan(8);
  }
  if ((call.header.flags & format::kCallHasArguments) != 0) {
    recorded_ = rest;
    arguments_ = CallWords(rest);
  } else if ((call.header.flags & format::kCallPackedArguments) != 0) {
    recorded_ = rest;
    unpack();
  }
}

// Records end at a multiple of eight bytes, so zeros that pad one look like pairs of zero words:
// they do no harm, words that no argument has are not asked for.
void RecordedCall::unpack() {
  size_t count = 0;
  const auto add = [&](uint64_t word) {
    if (count < kFewWords) {
      few_[count++] = word;
      return;
    }
    if (many_.empty()) many_.assign(few_, few_ + kFewWords);
    many_.push_back(word);
    ++count;
  };
  for (size_t at = 0; at < recorded_.size();) {
    const auto lengths = static_cast<uint8_t>(recorded_[at++]);
    for (const size_t length : {size_t{lengths} & 15, size_t{lengths} >> 4}) {
      const size_t bytes = std::min<size_t>({length, sizeof(uint64_t), recorded_.size() - at});
      uint64_t word = 0;
      std::memcpy(&word, recorded_.data() + at, bytes);
      at += bytes;
      add(word);
    }
  }
  const uint64_t* const words = many_.empty() ? few_ : many_.data();
  arguments_ = CallWords({reinterpret_cast<const std::byte*>(words), count * sizeof(uint64_t)});
}

CallLayout CallLayout::parse(std::string_view text) {
  CallLayout layout;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    std::optional<ArgSpec> spec = parse_one(text.substr(0, comma));
    if (!spec) break;
    layout.args_.push_back(std::move(*spec));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return layout;
}

std::optional<CallLayout::Place> CallLayout::find(std::string_view name) const {
  size_t word = 0;
  for (const ArgSpec& spec : args_) {
    if (spec.name == name) return Place{word, &spec};
    if (spec.code == ArgCode::kString) return std::nullopt;
    word += spec.words;
  }
  return std::nullopt;
}

void append_arguments(std::string& out, const CallLayout& layout, const CallWords& words) {
  std::span<const std::byte> rest = words.bytes();
  bool first = true;
  for (const ArgSpec& spec : layout.args()) {
    if (rest.size() < size_t{spec.words} * 8) return;
    if (!first) out += " | ";
    first = false;
    out += spec.name;
    out += " = ";
    if (spec.code == ArgCode::kString) {
      format::Text head;
      std::memcpy(&head, rest.data(), sizeof head);
      rest = rest.subspan(sizeof head);
      const size_t length = std::min<size_t>(head.bytes, rest.size());
      append_quoted(out, {reinterpret_cast<const char*>(rest.data()), length}, head.truncated);
      rest = rest.subspan(std::min(rest.size(), (length + 7) & ~size_t{7}));
      continue;
    }
    append_value(out, spec, reinterpret_cast<const uint64_t*>(rest.data()));
    rest = rest.subspan(size_t{spec.words} * 8);
  }
}

std::string_view enum_name(std::string_view type, int64_t value) {
  struct Entry {
    std::string_view type;
    int64_t value;
    std::string_view name;
  };
  static constexpr Entry kEntries[] = {
#define WT_ENUM(type, value, name) {#type, value, name},
#include "store/hip_enums.inc"
#undef WT_ENUM
  };
  static const auto* const by_type = [] {
    auto* map =
        new std::unordered_map<std::string_view, std::unordered_map<int64_t, std::string_view>>;
    for (const Entry& entry : kEntries) (*map)[entry.type].emplace(entry.value, entry.name);
    return map;
  }();
  const auto of_type = by_type->find(type);
  if (of_type == by_type->end()) return {};
  const auto found = of_type->second.find(value);
  return found == of_type->second.end() ? std::string_view() : found->second;
}

void append_hex(std::string& out, uint64_t value) {
  char text[20] = {'0', 'x'};
  out.append(text, std::to_chars(text + 2, text + sizeof text, value, 16).ptr);
}

void append_decimal(std::string& out, int64_t value) {
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

}  // namespace wavetap::store
