// Rows of halves to floats, by the host's own conversion where it has one.
//
// The engine's half_to_float() keeps signalling NaNs as they are, hosts quiet them, so a row with a
// NaN in it is left to the caller. So is every row on hosts without the instruction.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emu/exec/float_ops.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__F16C__) && defined(__AVX2__)
#include <immintrin.h>
#endif

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {
namespace matrix {

// The low and the high halves of kCount registers. kFlush: denormals become zeros. False, and
// nothing of use in `low` and `high`, when there is a NaN.
template <int kCount, bool kFlush>
bool read_finite_halves([[maybe_unused]] const uint32_t* words, [[maybe_unused]] float* low,
                        [[maybe_unused]] float* high) {
#if defined(__aarch64__)
  static_assert(kCount % 4 == 0);
  uint16x8_t nan = vdupq_n_u16(0);
  for (int i = 0; i < kCount; i += 4) {
    uint16x8_t halves = vreinterpretq_u16_u32(vld1q_u32(words + i));
    nan = vorrq_u16(nan, vcgtq_u16(vbicq_u16(halves, vdupq_n_u16(0x8000)), vdupq_n_u16(0x7c00)));
    if constexpr (kFlush) {
      const uint16x8_t normal = vtstq_u16(halves, vdupq_n_u16(0x7c00));
      halves = vandq_u16(halves, vorrq_u16(normal, vdupq_n_u16(0xfc00)));
    }
    const uint32x4_t pairs = vreinterpretq_u32_u16(halves);
    vst1q_f32(low + i, vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32(pairs))));
    vst1q_f32(high + i, vcvt_f32_f16(vreinterpret_f16_u16(vshrn_n_u32(pairs, 16))));
  }
  return vmaxvq_u16(nan) == 0;
#elif defined(__F16C__) && defined(__AVX2__)
  static_assert(kCount % 8 == 0);
  const __m128i exponent = _mm_set1_epi16(0x7c00);
  __m128i nan = _mm_setzero_si128();
  // Two times four registers, whose halves are brought together eight by eight.
  for (int i = 0; i < kCount; i += 8) {
    __m128i pairs[2];
    for (int part = 0; part < 2; ++part) {
      __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(words + i + 4 * part));
      const __m128i magnitude = _mm_and_si128(halves, _mm_set1_epi16(0x7fff));
      nan = _mm_or_si128(nan, _mm_cmpgt_epi16(magnitude, exponent));
      if constexpr (kFlush) {
        const __m128i tiny = _mm_cmpeq_epi16(_mm_and_si128(halves, exponent), _mm_setzero_si128());
        halves = _mm_andnot_si128(_mm_and_si128(tiny, _mm_set1_epi16(0x03ff)), halves);
      }
      pairs[part] = halves;
    }
    const __m128i low_word = _mm_set1_epi32(0xffff);
    const __m128i low_halves =
        _mm_packus_epi32(_mm_and_si128(pairs[0], low_word), _mm_and_si128(pairs[1], low_word));
    const __m128i high_halves =
        _mm_packus_epi32(_mm_srli_epi32(pairs[0], 16), _mm_srli_epi32(pairs[1], 16));
    _mm256_storeu_ps(low + i, _mm256_cvtph_ps(low_halves));
    _mm256_storeu_ps(high + i, _mm256_cvtph_ps(high_halves));
  }
  return _mm_movemask_epi8(nan) == 0;
#else
  return false;
#endif
}

}  // namespace matrix
}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
