// Operations that a compiler seldom or never chooses for plain C++, for generated kernels: packed
// values in a register, loads into half a register, buffers that end, lanes that read each other's
// registers (DPP); images.h and tiles.h have more. Each is one thing with two bodies, the device's
// instruction and the host's arithmetic. Where a target lacks the instruction, its device body is
// the arithmetic.
#pragma once

#include <cstdint>

#define WT_BOTH __host__ __device__

template <class To, class From>
WT_BOTH inline To bit_copy(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

// --- Pairs of floats: v_pk_add_f32, v_pk_mul_f32, v_pk_fma_f32 with op_sel and neg.

typedef float Pair __attribute__((ext_vector_type(2)));

#if defined(__HIP_DEVICE_COMPILE__)
__device__ Pair wt_fma_v2(Pair a, Pair b, Pair c) __asm("llvm.fma.v2f32");
#endif
WT_BOTH inline Pair pair_fma(Pair a, Pair b, Pair c) {
#if defined(__HIP_DEVICE_COMPILE__)
  return wt_fma_v2(a, b, c);
#else
  return Pair{__builtin_fmaf(a.x, b.x, c.x), __builtin_fmaf(a.y, b.y, c.y)};
#endif
}
// Both halves count, so that none can be dropped. Exact: the sign of a zero does not matter.
WT_BOTH inline float fold(Pair p) { return p.x - p.y; }

// --- Pairs of halves and of 16-bit integers, four bytes.

typedef _Float16 HalfPair __attribute__((ext_vector_type(2)));
typedef uint16_t WordPair __attribute__((ext_vector_type(2)));
typedef int16_t SignedWordPair __attribute__((ext_vector_type(2)));
typedef uint8_t Bytes __attribute__((ext_vector_type(4)));

// Words whose values the compiler cannot know. Compilers before LLVM 19 take a negative inline constant
// of a packed instruction for one with a high half of zero, where the sign is extended: they add {5, 0}
// by `v_pk_sub_u16 v0, v0, -5`.
template <class T>
WT_BOTH inline T words_of(uint32_t value) {
#if defined(__HIP_DEVICE_COMPILE__)
  asm("" : "+v"(value));
#endif
  return bit_copy<T>(value);
}
WT_BOTH inline uint32_t words_add(uint32_t a, uint32_t b) {
  return bit_copy<uint32_t>(static_cast<WordPair>(words_of<WordPair>(a) + words_of<WordPair>(b)));
}
WT_BOTH inline uint32_t words_sub_crossed(uint32_t a, uint32_t b) {
  return bit_copy<uint32_t>(
      static_cast<WordPair>(words_of<WordPair>(a) - words_of<WordPair>(b).yx));
}
WT_BOTH inline uint32_t words_mul_add(uint32_t a, uint32_t b, uint32_t c) {
  return bit_copy<uint32_t>(static_cast<WordPair>(words_of<WordPair>(a) * words_of<WordPair>(b).xx +
                                                  words_of<WordPair>(c)));
}
WT_BOTH inline uint32_t words_max(uint32_t a, uint32_t b) {
  const SignedWordPair x = words_of<SignedWordPair>(a), y = words_of<SignedWordPair>(b);
  return bit_copy<uint32_t>(SignedWordPair{x.x > y.x ? x.x : y.x, x.y > y.y ? x.y : y.y});
}
WT_BOTH inline uint32_t words_shift(uint32_t a, uint32_t by) {
  return bit_copy<uint32_t>(
      static_cast<SignedWordPair>(words_of<SignedWordPair>(a) >> static_cast<int16_t>(by & 15)));
}
WT_BOTH inline uint32_t bytes_mix(uint32_t a, uint32_t b) {
  const Bytes x = bit_copy<Bytes>(a), y = bit_copy<Bytes>(b);
  return bit_copy<uint32_t>(static_cast<Bytes>(x.wzyx + y * x));
}
// A byte of one value, sign-extended, times a word of another: what SDWA is for.
WT_BOTH inline int32_t byte_times_word(uint32_t a, uint32_t b, int byte, int word) {
  return static_cast<int8_t>(a >> 8 * byte) * static_cast<int16_t>(b >> 16 * word);
}
// Bytes of two values in any order, v_perm_b32: selectors 0 to 3 are bytes of `low`, 4 to 7 of
// `high`, 12 is zero, 13 and above 0xff.
WT_BOTH inline uint32_t permute_bytes(uint32_t high, uint32_t low, uint32_t selectors) {
#if defined(__HIP_DEVICE_COMPILE__)
  return __builtin_amdgcn_perm(high, low, selectors);
#else
  const uint64_t both = uint64_t{high} << 32 | low;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t s = selectors >> 8 * i & 0xff;
    const uint32_t byte = s < 8 ? both >> 8 * s & 0xff : s == 12 ? 0 : 0xff;
    result |= byte << 8 * i;
  }
  return result;
#endif
}
WT_BOTH inline _Float16 halves_fold(_Float16 a, _Float16 b, _Float16 c, _Float16 d) {
  const HalfPair product = HalfPair{a, b} * HalfPair{c, d}.yx;
  const HalfPair sum = product + HalfPair{d, a};
  return static_cast<_Float16>(sum.x - sum.y);
}

// --- 16-bit loads into one half of a register. With SRAM ECC they clear the other half.

// Of the device whose results the host computes; set before the first kernel.
inline bool& device_has_sram_ecc() {
  static bool has = false;
  return has;
}
WT_BOTH inline uint32_t load_half(uint32_t old, const void* base, uint32_t index, bool high) {
  const uint16_t* from = static_cast<const uint16_t*>(base) + index;
#if defined(__HIP_DEVICE_COMPILE__)
#if defined(__gfx1100__)
  if (high)
    asm volatile("global_load_d16_hi_b16 %0, %1, off\n\ts_waitcnt vmcnt(0)"
                 : "+&v"(old)
                 : "v"(from));
  else
    asm volatile("global_load_d16_b16 %0, %1, off\n\ts_waitcnt vmcnt(0)" : "+&v"(old) : "v"(from));
#else
  // Compilers do not look into this: what gfx908 wants between an accumulation register and an address.
  if (high)
    asm volatile("s_nop 0\n\ts_nop 0\n\tglobal_load_short_d16_hi %0, %1, off\n\ts_waitcnt vmcnt(0)"
                 : "+&v"(old)
                 : "v"(from));
  else
    asm volatile("s_nop 0\n\ts_nop 0\n\tglobal_load_short_d16 %0, %1, off\n\ts_waitcnt vmcnt(0)"
                 : "+&v"(old)
                 : "v"(from));
#endif
  return old;
#else
  const uint32_t kept = device_has_sram_ecc() ? 0 : old & (high ? 0xffffu : 0xffff0000u);
  return kept | uint32_t{*from} << (high ? 16 : 0);
#endif
}

// --- Raw buffers: what is outside reads zero and is not written, dword by dword.

typedef int32_t Resource __attribute__((ext_vector_type(4)));
typedef uint32_t Dwords2 __attribute__((ext_vector_type(2)));
typedef uint32_t Dwords3 __attribute__((ext_vector_type(3)));
typedef uint32_t Dwords4 __attribute__((ext_vector_type(4)));

#if defined(__HIP_DEVICE_COMPILE__)
__device__ uint32_t wt_buffer_load_1(Resource, int, int,
                                     int) __asm("llvm.amdgcn.raw.buffer.load.i32");
__device__ Dwords2 wt_buffer_load_2(Resource, int, int,
                                    int) __asm("llvm.amdgcn.raw.buffer.load.v2i32");
__device__ Dwords3 wt_buffer_load_3(Resource, int, int,
                                    int) __asm("llvm.amdgcn.raw.buffer.load.v3i32");
__device__ Dwords4 wt_buffer_load_4(Resource, int, int,
                                    int) __asm("llvm.amdgcn.raw.buffer.load.v4i32");
__device__ void wt_buffer_store_2(Dwords2, Resource, int, int,
                                  int) __asm("llvm.amdgcn.raw.buffer.store.v2i32");
__device__ void wt_buffer_store_4(Dwords4, Resource, int, int,
                                  int) __asm("llvm.amdgcn.raw.buffer.store.v4i32");

__device__ inline Resource buffer_resource(const void* base, uint32_t bytes) {
  const uint64_t address = reinterpret_cast<uint64_t>(base);
#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__)
  const uint32_t word3 = 0x00020000;
#else
  const uint32_t word3 = 0x31004000;  // checked as a raw buffer
#endif
  return Resource{static_cast<int32_t>(address), static_cast<int32_t>(address >> 32 & 0xffff),
                  static_cast<int32_t>(bytes), static_cast<int32_t>(word3)};
}
#endif

// Up to four dwords at `offset` of a buffer, folded into one.
template <int kDwords>
WT_BOTH inline uint32_t buffer_load(const void* base, uint32_t bytes, uint32_t offset) {
  uint32_t dword[4] = {};
#if defined(__HIP_DEVICE_COMPILE__)
  const Resource resource = buffer_resource(base, bytes);
  const int at = static_cast<int>(offset);
  if constexpr (kDwords == 1) {
    dword[0] = wt_buffer_load_1(resource, at, 0, 0);
  } else if constexpr (kDwords == 2) {
    const Dwords2 loaded = wt_buffer_load_2(resource, at, 0, 0);
    dword[0] = loaded.x, dword[1] = loaded.y;
  } else if constexpr (kDwords == 3) {
    const Dwords3 loaded = wt_buffer_load_3(resource, at, 0, 0);
    dword[0] = loaded.x, dword[1] = loaded.y, dword[2] = loaded.z;
  } else {
    const Dwords4 loaded = wt_buffer_load_4(resource, at, 0, 0);
    dword[0] = loaded.x, dword[1] = loaded.y, dword[2] = loaded.z, dword[3] = loaded.w;
  }
#else
  for (int i = 0; i < kDwords; ++i)
    if (uint64_t{offset} + 4 * i + 4 <= bytes)
      __builtin_memcpy(&dword[i], static_cast<const char*>(base) + offset + 4 * i, 4);
#endif
  return dword[0] + 3 * dword[1] + 5 * dword[2] + 7 * dword[3];
}

// Two or four dwords made from `value`.
template <int kDwords>
WT_BOTH inline void buffer_store(void* base, uint32_t bytes, uint32_t offset, uint32_t value) {
  const uint32_t dword[4] = {value, value * 3, ~value, value ^ 0x55aa55aa};
#if defined(__HIP_DEVICE_COMPILE__)
  const Resource resource = buffer_resource(base, bytes);
  const int at = static_cast<int>(offset);
  if constexpr (kDwords == 2) wt_buffer_store_2(Dwords2{dword[0], dword[1]}, resource, at, 0, 0);
  else wt_buffer_store_4(Dwords4{dword[0], dword[1], dword[2], dword[3]}, resource, at, 0, 0);
#else
  for (int i = 0; i < kDwords; ++i)
    if (uint64_t{offset} + 4 * i + 4 <= bytes)
      __builtin_memcpy(static_cast<char*>(base) + offset + 4 * i, &dword[i], 4);
#endif
}

// --- DPP: a lane reads another one's register within its row of 16.

// The lane of a row that `lane` reads by control word `control`, or -1.
WT_BOTH inline int dpp_source(int control, int lane) {
  const int amount = control & 15;
  if (control < 0x100) return (lane & ~3) | (control >> 2 * (lane & 3) & 3);
  if (control >= 0x101 && control <= 0x10f) return lane + amount < 16 ? lane + amount : -1;
  if (control >= 0x111 && control <= 0x11f) return lane - amount;
  if (control >= 0x121 && control <= 0x12f) return (lane - amount) & 15;
  if (control == 0x140) return 15 - lane;
  return (lane & 8) | (7 - (lane & 7));  // 0x141
}
