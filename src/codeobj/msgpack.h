// A reader for MessagePack, the form of a code object's metadata note. Builds a tree that points
// into the input; refuses what is cut short, nested deeper than 32, or larger than its bytes allow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace wavetap::codeobj {

struct MsgpackMember;

struct MsgpackValue {
  enum class Kind : uint8_t { kNil, kBool, kInt, kUint, kFloat, kString, kBinary, kArray, kMap };

  Kind kind = Kind::kNil;
  // kBool, kUint, kInt (two's complement), kFloat (bits of a double).
  uint64_t number = 0;
  std::string_view text;               // kString, kBinary
  std::vector<MsgpackValue> items;     // kArray
  std::vector<MsgpackMember> members;  // kMap; keys that are strings

  // The member called `name` of a map, or null.
  const MsgpackValue* find(std::string_view name) const;
  // The number, or `otherwise` when this is none.
  uint64_t as_uint(uint64_t otherwise = 0) const;
};

struct MsgpackMember {
  std::string_view name;
  MsgpackValue value;
};

std::optional<MsgpackValue> parse_msgpack(std::span<const std::byte> bytes);

}  // namespace wavetap::codeobj
