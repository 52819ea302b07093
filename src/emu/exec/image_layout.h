// Where the texels of an image are: linear, or in blocks of 256 bytes to 256 KiB inside which the
// bits of the coordinates are interleaved (a swizzle mode).
#pragma once

#include <cstdint>

#include "amd/gfx_target.h"

namespace wavetap::emu {

// Bit `first_bit + i` of a texel's place in its block is the exclusive or of the coordinates' bits in
// mask[i]: x in bits 15:0, y in 31:16, z in 47:32.
struct Swizzle {
  uint8_t first_bit = 0;                                    // log2 of the texel's bytes
  uint8_t bits = 0;                                         // 0: no swizzle
  uint8_t log2_width = 0, log2_height = 0, log2_depth = 0;  // of a block, in texels
  uint64_t mask[18] = {};
};

// The swizzle of a mode, `code` as the image resource has it, for texels of 1 << log2_bytes bytes.
// Null when the mode is not one that AMD's runtime gives to images of a GPU with one memory pipe,
// which is what the virtual GPU says it has.
const Swizzle* find_swizzle(amd::GfxTarget target, uint32_t code, bool is_3d, uint32_t log2_bytes);

struct ImageLayout {
  const Swizzle* swizzle = nullptr;  // null: linear
  uint32_t bytes = 4;                // of a texel
  uint32_t pitch = 0;                // texels from row to row, whole blocks
  uint32_t height = 0;               // rows from slice to slice, whole blocks

  // Byte of the image at which texel (x, y) of slice, or plane, z begins.
  uint64_t place(uint32_t x, uint32_t y, uint32_t z) const;
};

}  // namespace wavetap::emu
