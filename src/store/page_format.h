// Encodings of SQLite's file format that everything here that writes pages needs
// (https://www.sqlite.org/fileformat2.html).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wavetap::store {

inline constexpr size_t kPageBytes = 4096;
inline constexpr size_t kLeafHeader = 8;
inline constexpr size_t kInteriorHeader = 12;

inline void put16(uint8_t* at, size_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}
inline void put32(uint8_t* at, uint32_t value) {
  const uint32_t big =
      std::endian::native == std::endian::little ? __builtin_bswap32(value) : value;
  std::memcpy(at, &big, sizeof big);
}
inline uint32_t get32(const uint8_t* at) {
  uint32_t big;
  std::memcpy(&big, at, sizeof big);
  return std::endian::native == std::endian::little ? __builtin_bswap32(big) : big;
}

// A variable-length integer: seven bits a byte, the most significant first; a ninth byte holds
// eight.
inline size_t put_varint(uint8_t* at, uint64_t value) {
  if (value < 0x80) {
    at[0] = static_cast<uint8_t>(value);
    return 1;
  }
  if ((value >> 56) != 0) {
    at[8] = static_cast<uint8_t>(value);
    value >>= 8;
    for (int i = 7; i >= 0; --i, value >>= 7) at[i] = static_cast<uint8_t>(0x80 | (value & 0x7f));
    return 9;
  }
  size_t length = 1;
  for (uint64_t rest = value >> 7; rest != 0; rest >>= 7) ++length;
  for (size_t i = length; i-- > 0; value >>= 7)
    at[i] = static_cast<uint8_t>((i + 1 == length ? 0 : 0x80) | (value & 0x7f));
  return length;
}

// An integer in the narrowest of the widths a record has. Returns the serial type; `bytes` gets up
// to eight bytes, their number in `width`.
inline uint8_t put_integer(int64_t value, uint8_t (&bytes)[8], size_t& width) {
  width = 0;
  if (value == 0 || value == 1) return static_cast<uint8_t>(8 + value);
  const auto folded = static_cast<uint64_t>(value < 0 ? ~value : value);
  uint8_t type;
  if (folded < 0x80) type = 1, width = 1;
  else if (folded < 0x8000) type = 2, width = 2;
  else if (folded < 0x80'0000) type = 3, width = 3;
  else if (folded < 0x8000'0000) type = 4, width = 4;
  else if (folded < 0x8000'0000'0000) type = 5, width = 6;
  else type = 6, width = 8;
  const auto bits = static_cast<uint64_t>(value) << (64 - 8 * width);
  const uint64_t big = std::endian::native == std::endian::little ? __builtin_bswap64(bits) : bits;
  std::memcpy(bytes, &big, sizeof big);
  return type;
}

}  // namespace wavetap::store
