// Arguments of `wavetap gpu exec`: from text to bytes, and back.
//
//   TYPE:VALUE            i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64, decimal or 0x…
//   buf:SIZE[:INIT]       a buffer of SIZE bytes (k, m, g allowed); the kernel gets its address
//   raw:HEX               bytes as they are, for arguments passed by value
//
// INIT is zero (the default), iota[.TYPE] (0, 1, 2 …), fill.TYPE=VALUE, random[=SEED] or file=PATH.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace wavetap::replay {

struct KernelArgument {
  std::string text;  // as the user wrote it
  bool is_buffer = false;
  std::vector<std::byte> bytes;  // the value, or the buffer's initial content
};

Result<KernelArgument> parse_argument(const std::string& text);

// `count` elements of `type` at the start of `bytes`, as text; fewer when the bytes end. An unknown
// type is an error.
Result<std::vector<std::string>> format_elements(std::span<const std::byte> bytes,
                                                 const std::string& type, size_t count);
// The first of them, or "?" where it cannot be had.
std::string first_element_text(std::span<const std::byte> bytes, const std::string& type);

// Bytes of one element, 0 for an unknown type.
size_t element_bytes(const std::string& type);

}  // namespace wavetap::replay
