// Format: github.com/msgpack/msgpack/blob/master/spec.md. Numbers are big-endian.

#include "codeobj/msgpack.h"

#include <bit>
#include <utility>

#include "base/byte_cursor.h"

namespace wavetap::codeobj {
namespace {

constexpr int kMaxDepth = 32;

class Parser {
 public:
  explicit Parser(std::span<const std::byte> bytes) : cursor_(bytes) {}

  bool value(MsgpackValue& out, int depth);

 private:
  bool number(unsigned width, uint64_t& out);
  bool text(uint64_t size, MsgpackValue::Kind kind, MsgpackValue& out);
  bool array(uint64_t count, MsgpackValue& out, int depth);
  bool map(uint64_t count, MsgpackValue& out, int depth);
  bool sized(unsigned width, uint64_t& size) { return number(width, size); }

  ByteCursor cursor_;
};

bool Parser::number(unsigned width, uint64_t& out) {
  const auto bytes = cursor_.take_bytes(width);
  if (!bytes) return false;
  out = 0;
  for (const std::byte byte : *bytes) out = out << 8 | static_cast<uint8_t>(byte);
  return true;
}

bool Parser::text(uint64_t size, MsgpackValue::Kind kind, MsgpackValue& out) {
  const auto bytes = cursor_.take_bytes(size);
  if (!bytes) return false;
  out.kind = kind;
  out.text = {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
  return true;
}

bool Parser::array(uint64_t count, MsgpackValue& out, int depth) {
  out.kind = MsgpackValue::Kind::kArray;
  if (count > cursor_.size()) return false;  // each item takes at least a byte
  for (uint64_t i = 0; i < count; ++i)
    if (!value(out.items.emplace_back(), depth + 1)) return false;
  return true;
}

bool Parser::map(uint64_t count, MsgpackValue& out, int depth) {
  out.kind = MsgpackValue::Kind::kMap;
  if (count > cursor_.size() / 2) return false;
  for (uint64_t i = 0; i < count; ++i) {
    MsgpackValue key;
    MsgpackValue member;
    if (!value(key, depth + 1) || !value(member, depth + 1)) return false;
    if (key.kind == MsgpackValue::Kind::kString)
      out.members.push_back({key.text, std::move(member)});
  }
  return true;
}

bool Parser::value(MsgpackValue& out, int depth) {
  using Kind = MsgpackValue::Kind;
  const std::optional<uint8_t> tag = cursor_.take<uint8_t>();
  if (!tag || depth > kMaxDepth) return false;
  const uint8_t t = *tag;
  uint64_t size = 0;
  const auto as = [&](Kind kind, unsigned width) {
    out.kind = kind;
    return number(width, out.number);
  };
  const auto as_signed = [&](unsigned width) {
    if (!as(Kind::kInt, width)) return false;
    const unsigned shift = 64 - 8 * width;
    out.number = static_cast<uint64_t>(static_cast<int64_t>(out.number << shift) >> shift);
    return true;
  };
  if (t <= 0x7f || t >= 0xe0) {
    out.kind = t <= 0x7f ? Kind::kUint : Kind::kInt;
    out.number = static_cast<uint64_t>(int64_t{static_cast<int8_t>(t)});
    return true;
  }
  if (t <= 0x8f) return map(t & 0xf, out, depth);
  if (t <= 0x9f) return array(t & 0xf, out, depth);
  if (t <= 0xbf) return text(t & 0x1f, Kind::kString, out);
  switch (t) {
    case 0xc0: return true;
    case 0xc2:
    case 0xc3:
      out.kind = Kind::kBool;
      out.number = t & 1;
      return true;
    case 0xc4: return sized(1, size) && text(size, Kind::kBinary, out);
    case 0xc5: return sized(2, size) && text(size, Kind::kBinary, out);
    case 0xc6: return sized(4, size) && text(size, Kind::kBinary, out);
    case 0xc7: return sized(1, size) && text(size + 1, Kind::kBinary, out);
    case 0xc8: return sized(2, size) && text(size + 1, Kind::kBinary, out);
    case 0xc9: return sized(4, size) && text(size + 1, Kind::kBinary, out);
    case 0xca: {
      if (!as(Kind::kFloat, 4)) return false;
      out.number = std::bit_cast<uint64_t>(
          static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(out.number))));
      return true;
    }
    case 0xcb: return as(Kind::kFloat, 8);
    case 0xcc: return as(Kind::kUint, 1);
    case 0xcd: return as(Kind::kUint, 2);
    case 0xce: return as(Kind::kUint, 4);
    case 0xcf: return as(Kind::kUint, 8);
    case 0xd0: return as_signed(1);
    case 0xd1: return as_signed(2);
    case 0xd2: return as_signed(4);
    case 0xd3: return as_signed(8);
    case 0xd4: return text(2, Kind::kBinary, out);
    case 0xd5: return text(3, Kind::kBinary, out);
    case 0xd6: return text(5, Kind::kBinary, out);
    case 0xd7: return text(9, Kind::kBinary, out);
    case 0xd8: return text(17, Kind::kBinary, out);
    case 0xd9: return sized(1, size) && text(size, Kind::kString, out);
    case 0xda: return sized(2, size) && text(size, Kind::kString, out);
    case 0xdb: return sized(4, size) && text(size, Kind::kString, out);
    case 0xdc: return sized(2, size) && array(size, out, depth);
    case 0xdd: return sized(4, size) && array(size, out, depth);
    case 0xde: return sized(2, size) && map(size, out, depth);
    case 0xdf: return sized(4, size) && map(size, out, depth);
    default: return false;  // 0xc1 is never used
  }
}

}  // namespace

const MsgpackValue* MsgpackValue::find(std::string_view name) const {
  for (const MsgpackMember& member : members)
    if (member.name == name) return &member.value;
  return nullptr;
}

uint64_t MsgpackValue::as_uint(uint64_t otherwise) const {
  return kind == Kind::kUint || kind == Kind::kInt || kind == Kind::kBool ? number : otherwise;
}

std::optional<MsgpackValue> parse_msgpack(std::span<const std::byte> bytes) {
  MsgpackValue root;
  if (!Parser(bytes).value(root, 0)) return std::nullopt;
  return root;
}

}  // namespace wavetap::codeobj
