// How DWARF writes numbers and strings, for its readers in this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/byte_cursor.h"
#include "codeobj/elf.h"

namespace wavetap::codeobj {

inline std::optional<uint64_t> take_uleb(ByteCursor& cursor) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const std::optional<uint8_t> byte = cursor.take<uint8_t>();
    if (!byte) return std::nullopt;
    value |= uint64_t{*byte & 0x7fu} << shift;
    if ((*byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

inline std::optional<int64_t> take_sleb(ByteCursor& cursor) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64;) {
    const std::optional<uint8_t> byte = cursor.take<uint8_t>();
    if (!byte) return std::nullopt;
    value |= uint64_t{*byte & 0x7fu} << shift;
    shift += 7;
    if ((*byte & 0x80) != 0) continue;
    if (shift < 64 && (*byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
    return static_cast<int64_t>(value);
  }
  return std::nullopt;
}

inline std::optional<std::string_view> take_string(ByteCursor& cursor) {
  const std::string_view text = string_at(cursor.rest(), 0);
  const bool terminated =
      !cursor.empty() && text.size() < cursor.size() && cursor.rest()[text.size()] == std::byte{0};
  if (!terminated) return std::nullopt;
  cursor.skip(text.size() + 1);
  return text;
}

// An offset into another section: four bytes, or eight in 64-bit DWARF.
inline std::optional<uint64_t> take_offset(ByteCursor& cursor, bool is_64) {
  if (is_64) return cursor.take<uint64_t>();
  return cursor.take<uint32_t>();
}

// The length at the head of a unit, which also says whether it is 64-bit DWARF.
struct UnitLength {
  uint64_t bytes = 0;
  bool is_64 = false;
};
inline std::optional<UnitLength> take_unit_length(ByteCursor& cursor) {
  const std::optional<uint32_t> narrow = cursor.take<uint32_t>();
  if (!narrow) return std::nullopt;
  if (*narrow != 0xffffffff) return UnitLength{*narrow, false};
  const std::optional<uint64_t> wide = cursor.take<uint64_t>();
  if (!wide) return std::nullopt;
  return UnitLength{*wide, true};
}

// A section's bytes; empty when it is missing or compressed.
std::span<const std::byte> debug_section(const ElfView& elf, std::string_view name);

}  // namespace wavetap::codeobj
