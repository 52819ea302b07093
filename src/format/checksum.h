// CRC-32C (Castagnoli), as ChunkHeader::checksum wants it. Byte by byte from a table: headers are
// small.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace wavetap::format {

namespace checksum_detail {
constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82f63b78u : 0u);
    table[i] = value;
  }
  return table;
}
inline constexpr std::array<uint32_t, 256> kTable = make_table();
}  // namespace checksum_detail

inline uint32_t crc32c(const void* data, size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  uint32_t crc = 0xffffffffu;
  for (size_t i = 0; i < bytes; ++i)
    crc = checksum_detail::kTable[(crc ^ at[i]) & 0xff] ^ (crc >> 8);
  return ~crc;
}

}  // namespace wavetap::format
