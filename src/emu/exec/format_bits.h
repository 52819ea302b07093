// Elements of formatted memory (buffers and images): components in and out of their bits, and in
// and out of registers, 32 bits each or (d16) two to a register.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emu/exec/buffer_format.h"
#include "emu/exec/float_ops.h"

namespace wavetap::emu {

inline constexpr size_t kElementBytes =
    16 + 8;  // and room for a 64-bit window at the last component

// Bits [at, at + count) of an element.
inline uint32_t extract_bits(const std::byte* element, uint32_t at, uint32_t count) {
  uint64_t window = 0;
  std::memcpy(&window, element + at / 8, 8);
  return static_cast<uint32_t>(window >> at % 8 & (count == 32 ? 0xffffffffu : (1u << count) - 1));
}

inline void insert_bits(std::byte* element, uint32_t at, uint32_t value) {
  uint64_t window = 0;
  std::memcpy(&window, element + at / 8, 8);
  window |= uint64_t{value} << at % 8;
  std::memcpy(element + at / 8, &window, 8);
}

// A resource's destination select: 0, 1, or one of the components.
inline uint32_t select_component(uint32_t select, const uint32_t (&component)[4], uint32_t one) {
  if (select >= 4) return component[select - 4];
  return select == 1 ? one : 0;
}

inline uint32_t to_d16(uint32_t value, bool is_integer) {
  return is_integer ? value & 0xffff : float_to_half(f32_of(value));
}

inline uint32_t from_d16(uint32_t value, const BufferFormat& format) {
  if (format.number == NumberFormat::kSint)
    return static_cast<uint32_t>(static_cast<int32_t>(value << 16) >> 16);
  return format.is_integer() ? value : bits_of(half_to_float(value));
}

}  // namespace wavetap::emu
