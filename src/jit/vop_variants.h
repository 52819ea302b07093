// Modifiers of vector operations, as bits of their encodings. Test-only.
#pragma once

#include <cstdint>
#include <span>

#include "emu/testing/vop_sweep.h"

namespace wavetap::jit {

// The first of each encoding are none.
struct Variant {
  const char* name;
  emu::VopFields fields;
};
inline constexpr uint32_t dpp16(uint32_t control, uint32_t more = 0xff000000) {
  return emu::kSweepSource | control << 8 | more;
}
inline constexpr uint32_t kZeroBound = 0xff080000;
inline constexpr uint32_t kSomeRows = 0x5b000000;

inline constexpr Variant kShort[] = {
    {"", {}},
    {"quad_perm", {0, dpp16(0x1b), 0xfa}},
    {"quad_perm, some", {0, dpp16(0x4e, kSomeRows), 0xfa}},
    {"row_shl", {0, dpp16(0x103), 0xfa}},
    {"row_shr", {0, dpp16(0x111), 0xfa}},
    {"row_shr, bound", {0, dpp16(0x112, kZeroBound), 0xfa}},
    {"row_shr, -|a|", {0, dpp16(0x118, 0xff300000), 0xfa}},
    {"row_ror", {0, dpp16(0x125), 0xfa}},
    {"wave_shr", {0, dpp16(0x138), 0xfa}},
    {"wave_rol", {0, dpp16(0x134, kZeroBound), 0xfa}},
    {"row_mirror", {0, dpp16(0x140), 0xfa}},
    {"row_half_mirror", {0, dpp16(0x141, kSomeRows), 0xfa}},
    {"row_bcast:15", {0, dpp16(0x142, 0xaf000000), 0xfa}},
    {"row_bcast:31", {0, dpp16(0x143, 0xcf000000), 0xfa}},
    {"row_share", {0, dpp16(0x154), 0xfa}},
    {"row_xmask", {0, dpp16(0x161), 0xfa}},
    {"row_xmask, fi", {0, dpp16(0x168, 0xff040000), 0xfa}},
    {"dpp8", {0, emu::kSweepSource | 0xa54e1200, 0xe9}},
    {"dpp8, fi", {0, emu::kSweepSource | 0x39777700, 0xea}},
    {"sdwa words", {0, 0x05040000 | 4u << 8 | emu::kSweepSource, 0xf9}},
    {"sdwa high word, kept", {0, 0x04050000 | 5u << 8 | 2u << 11 | emu::kSweepSource, 0xf9}},
    {"sdwa bytes", {0, 0x0a090000 | 6u << 8 | emu::kSweepSource, 0xf9}},
    {"sdwa byte, sign", {0, 0x03020000 | 1u << 8 | 1u << 11 | emu::kSweepSource, 0xf9}},
    {"sdwa byte, kept", {0, 0x06060000 | 2u << 8 | 2u << 11 | emu::kSweepSource, 0xf9}},
    {"sdwa -a, |b|", {0, 0x26160000 | 6u << 8 | emu::kSweepSource, 0xf9}},
    {"sdwa clamp", {0, 0x06060000 | 6u << 8 | 1u << 13 | emu::kSweepSource, 0xf9}},
};
inline constexpr Variant kLong[] = {
    {"", {}},
    {"-a", {0, 1u << 29, 0}},
    {"|b|", {1u << 9, 0, 0}},
    {"-|a|, -c", {1u << 8, 5u << 29, 0}},
    {"clamp", {1u << 15, 0, 0}},
    {"mul:2", {0, 1u << 27, 0}},
    {"high a", {1u << 11, 0, 0}},
    {"high b and result", {9u << 11, 0, 0}},
};
inline constexpr uint32_t kBothHalves = 3u << 27;
inline constexpr Variant kPacked[] = {
    {"", {0x4000, kBothHalves, 0}},
    {"low halves", {}},
    {"swapped a", {0x4000 | 1u << 11, 2u << 27, 0}},
    {"high b, c", {0x4000 | 6u << 11, kBothHalves, 0}},
    {"-a, -b high", {0x4000 | 1u << 9, kBothHalves | 1u << 29, 0}},
    {"-c, a high", {1u << 10 | 1u << 8, 1u << 31 | 1u << 27, 0}},
    {"clamp", {0x4000 | 1u << 15, kBothHalves, 0}},
};

inline std::span<const Variant> variants_of(emu::VopEncoding encoding) {
  if (encoding == emu::VopEncoding::kVop3) return kLong;
  if (encoding == emu::VopEncoding::kVop3p) return kPacked;
  return kShort;
}

}  // namespace wavetap::jit
