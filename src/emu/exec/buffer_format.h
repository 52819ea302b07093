// Buffer data formats: how the components of a typed buffer element look in memory.
//
// A format is a layout (component sizes) and a number format. gfx9 encodes the two separately
// (DFMT, NFMT), gfx10 and gfx11 number the combinations that exist, each in its own way.
#pragma once

#include <cstdint>

#include "amd/gfx_target.h"

namespace wavetap::emu {

enum class NumberFormat : uint8_t { kUnorm, kSnorm, kUscaled, kSscaled, kUint, kSint, kFloat };

struct BufferFormat {
  uint8_t components = 0;  // 0: no such format
  uint8_t bits[4] = {};    // of x, y, z, w; x is in the lowest bits
  NumberFormat number = NumberFormat::kUint;

  uint32_t size_bytes() const { return (bits[0] + bits[1] + bits[2] + bits[3]) / 8u; }
  bool is_integer() const { return number == NumberFormat::kUint || number == NumberFormat::kSint; }
};

// `code`: dfmt | nfmt << 4 on gfx9, the unified format on gfx10 and gfx11.
BufferFormat buffer_format(uint32_t code, amd::GfxTarget target);

// One component's `bits` bits in memory as the 32 bits a register gets: a float, or an integer.
uint32_t widen_component(uint32_t raw, uint32_t bits, NumberFormat number);
// The reverse. Out-of-range values saturate, numbers round to nearest even.
uint32_t narrow_component(uint32_t value, uint32_t bits, NumberFormat number);

}  // namespace wavetap::emu
