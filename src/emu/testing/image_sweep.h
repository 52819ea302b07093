// sweep_image(): every image instruction that a target has, by trying all opcode numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "emu/testing/machine.h"
#include "emu/testing/sweep.h"

namespace wavetap::emu {

inline constexpr uint32_t kSweepImage = 8;     // s[8:15]
inline constexpr uint32_t kSweepSampler = 16;  // s[16:19]

// Data from v4 on, addresses from v8 on, two components.
inline std::vector<Swept> sweep_image(const Shape& shape, uint32_t dim) {
  std::vector<Swept> found;
  const int major = shape.target.major;
  for (uint32_t op = 0; op < 256; ++op) {
    uint32_t low = 0x3cu << 26 | 3u << 8;
    const uint32_t high = 8 | 4u << 8 | (kSweepImage / 4) << 16;
    if (major >= 11) {
      low |= op << 18 | dim << 2 | 1u << 7;
    } else {
      low |= (op & 0x7f) << 18 | 1u << 12;
      if (major == 10) low |= dim << 3 | op >> 7;
      else if (op >= 128) break;
    }
    // Without a sampler its field must be zero.
    for (const uint32_t sampler : {(kSweepSampler / 4) << (major >= 11 ? 26 : 21), 0u}) {
      Swept swept;
      if (!try_decode(low, high | sampler, shape, swept)) continue;
      if (swept.inst.family == isa::Family::kImage) found.push_back(std::move(swept));
      break;
    }
  }
  return found;
}

// A sound image: 8 by 8 floats, linear, and a sampler that takes the nearest texel.
inline void set_sound_image(TestMachine& machine, const Shape& shape) {
  const bool is_gfx9 = shape.target.major == 9;
  const uint32_t base = TestMachine::kData >> 8;
  const uint32_t word[8] = {base, is_gfx9 ? 4u << 20 | 7u << 26 : 22u << 20 | 3u << 30,
                            7u << 14 | (is_gfx9 ? 7u : 1u), 07654 | 9u << 28,
                            is_gfx9 ? 63u << 13 : 63u};
  for (uint32_t i = 0; i < 8; ++i) machine.set_s(kSweepImage + i, word[i]);
  machine.set_s(kSweepSampler, 2 * 0111 | 1u << 15);
}

}  // namespace wavetap::emu
