// Element policies: how one lane's element looks in memory and in registers.
//
// `row` points at the lane's entry of the first register; `stride` is the row length, so register r
// of the element is row[r * stride]. kDataByte is the byte of the registers at which the element
// begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "emu/wave.h"
#include "isa/inst.h"

namespace wavetap::emu {

inline uint32_t* data_rows(Wave& wave, const isa::Operand& operand) {
  return operand.is(isa::OperandKind::kAgpr) ? wave.arow(operand.index) : wave.vrow(operand.index);
}

// Elements of 8 and 16 bytes that lie at a multiple of their size move in one access of the host: a
// GPU never shows half of such a load or store, and programs count on it. They publish a flag and its
// value in one of 16 bytes (rocPRIM's look-back). Left to itself the compiler takes an element apart.
using Unaligned64 [[gnu::aligned(1), gnu::may_alias]] = uint64_t;

inline uint64_t load_whole(const std::byte* at) {
  return *reinterpret_cast<const volatile Unaligned64*>(at);
}
inline void store_whole(std::byte* at, uint64_t value) {
  *reinterpret_cast<volatile Unaligned64*>(at) = value;
}

struct Whole16 {
  uint64_t low = 0, high = 0;
};

#if defined(__aarch64__)
// One access with FEAT_LSE2 by the architecture, and before it on every core we know of.
inline Whole16 load_whole16(const std::byte* at) {
  Whole16 value;
  asm volatile("ldp %0, %1, [%2]" : "=r"(value.low), "=r"(value.high) : "r"(at) : "memory");
  return value;
}
inline void store_whole16(std::byte* at, Whole16 value) {
  asm volatile("stp %0, %1, [%2]" : : "r"(value.low), "r"(value.high), "r"(at) : "memory");
}
#else
// One access on x86-64 wherever there is AVX, by its makers' word.
typedef uint64_t Unaligned128 __attribute__((vector_size(16), aligned(1), may_alias));
inline Whole16 load_whole16(const std::byte* at) {
  const Unaligned128 value = *reinterpret_cast<const volatile Unaligned128*>(at);
  return {value[0], value[1]};
}
inline void store_whole16(std::byte* at, Whole16 value) {
  *reinterpret_cast<volatile Unaligned128*>(at) = Unaligned128{value.low, value.high};
}
#endif

// memcpy() of one element, whole as above.
inline void copy_element(std::byte* to, const std::byte* from, uint32_t size_bytes) {
  if (size_bytes == 16) store_whole16(to, load_whole16(from));
  else if (size_bytes == 8) store_whole(to, load_whole(from));
  else std::memcpy(to, from, size_bytes);
}

// 32, 64, 96 or 128 bits in as many registers.
template <int N>
struct Dwords {
  static constexpr uint32_t kBytes = 4 * N;
  static constexpr int kRows = N;
  static constexpr uint8_t kDataByte = 0;

  static void load(const std::byte* at, uint32_t* row, size_t stride) {
    if constexpr (N == 2) {
      const uint64_t value = load_whole(at);
      put(row, stride, value);
    } else if constexpr (N == 4) {
      const Whole16 value = load_whole16(at);
      put(row, stride, value.low);
      put(row + 2 * stride, stride, value.high);
    } else {
      uint32_t value[N];
      std::memcpy(value, at, kBytes);
      for (int i = 0; i < N; ++i) row[i * stride] = value[i];
    }
  }
  static void store(std::byte* at, const uint32_t* row, size_t stride) {
    if constexpr (N == 2) {
      store_whole(at, get(row, stride));
    } else if constexpr (N == 4) {
      store_whole16(at, {get(row, stride), get(row + 2 * stride, stride)});
    } else {
      uint32_t value[N];
      for (int i = 0; i < N; ++i) value[i] = row[i * stride];
      std::memcpy(at, value, kBytes);
    }
  }

 private:
  static void put(uint32_t* row, size_t stride, uint64_t value) {
    row[0] = static_cast<uint32_t>(value);
    row[stride] = static_cast<uint32_t>(value >> 32);
  }
  static uint64_t get(const uint32_t* row, size_t stride) {
    return row[0] | uint64_t{row[stride]} << 32;
  }
};

// Which bits of the register an 8- or 16-bit element occupies. A load into one half keeps the
// other, or clears it: with SRAM ECC a register is written whole (Dispatch::sram_ecc).
enum class Half : uint8_t { kWhole, kLow, kHigh };

template <class T, Half kHalf = Half::kWhole, bool kClears = false>
struct Small {
  static constexpr uint32_t kBytes = sizeof(T);
  static constexpr int kRows = 1;
  static constexpr uint8_t kDataByte = kHalf == Half::kHigh ? 2 : 0;
  using Whole = Small<T>;  // the same in memory, a register of its own

  // Puts what a register of its own would have got into `to`.
  static void put(uint32_t bits, uint32_t* to) {
    const uint32_t kept = kClears ? 0 : *to;
    if constexpr (kHalf == Half::kWhole) *to = bits;
    if constexpr (kHalf == Half::kLow) *to = (kept & 0xffff0000u) | (bits & 0xffffu);
    if constexpr (kHalf == Half::kHigh) *to = (kept & 0xffffu) | bits << 16;
  }
  static void load(const std::byte* at, uint32_t* row, size_t) {
    T value;
    std::memcpy(&value, at, sizeof value);
    put(static_cast<uint32_t>(static_cast<int32_t>(value)), row);
  }
  static void store(std::byte* at, const uint32_t* row, size_t) {
    const T value = static_cast<T>(kHalf == Half::kHigh ? *row >> 16 : *row);
    std::memcpy(at, &value, sizeof value);
  }
};

// What a lane outside a buffer or outside LDS reads.
template <class T>
void load_zero(uint32_t* row, size_t stride) {
  static constexpr std::byte kZero[16] = {};
  T::load(kZero, row, stride);
}

// Four dwords, at any alignment: one access of the host, and no second one where a compiler would
// rather read twice than keep a register.
typedef uint32_t Quad __attribute__((vector_size(16)));
typedef uint32_t UnalignedQuad __attribute__((vector_size(16), aligned(1), may_alias));
inline Quad load_quad(const void* from) {
  return *static_cast<const volatile UnalignedQuad*>(from);
}
inline void store_quad(void* to, Quad quad) { *static_cast<volatile UnalignedQuad*>(to) = quad; }

// Rows and columns of four quads, exchanged.
inline void transpose(Quad (&q)[4]) {
  const Quad low01 = __builtin_shufflevector(q[0], q[1], 0, 4, 1, 5);
  const Quad high01 = __builtin_shufflevector(q[0], q[1], 2, 6, 3, 7);
  const Quad low23 = __builtin_shufflevector(q[2], q[3], 0, 4, 1, 5);
  const Quad high23 = __builtin_shufflevector(q[2], q[3], 2, 6, 3, 7);
  q[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
  q[1] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  q[2] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
  q[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}

// Row copies, of all lanes or of the first kLanes. The host's interleaving loads and stores would do
// the same with elements of four bytes, each for itself.
template <class T, int L, int kLanes = L>
void load_row(const std::byte* __restrict from, uint32_t* __restrict rows) {
  static_assert(kLanes % 4 == 0);
  if constexpr (std::is_same_v<T, Dwords<1>>) {
    std::memcpy(rows, from, size_t{4} * kLanes);
  } else if constexpr (std::is_same_v<T, Dwords<2>>) {
    for (int lane = 0; lane < kLanes; lane += 4) {
      const Quad first = load_quad(from + 8 * lane), second = load_quad(from + 8 * lane + 16);
      store_quad(rows + lane, __builtin_shufflevector(first, second, 0, 2, 4, 6));
      store_quad(rows + lane + L, __builtin_shufflevector(first, second, 1, 3, 5, 7));
    }
  } else if constexpr (std::is_same_v<T, Dwords<4>>) {
    for (int lane = 0; lane < kLanes; lane += 4) {
      Quad quads[4];
      for (int i = 0; i < 4; ++i) quads[i] = load_quad(from + 16 * (lane + i));
      transpose(quads);
      for (int i = 0; i < 4; ++i) store_quad(rows + lane + i * L, quads[i]);
    }
  } else {
    for (int lane = 0; lane < kLanes; ++lane)
      T::load(from + size_t{T::kBytes} * lane, rows + lane, L);
  }
}

template <class T, int L, int kLanes = L>
void store_row(std::byte* __restrict to, const uint32_t* __restrict rows) {
  static_assert(kLanes % 4 == 0);
  if constexpr (std::is_same_v<T, Dwords<1>>) {
    std::memcpy(to, rows, size_t{4} * kLanes);
  } else if constexpr (std::is_same_v<T, Dwords<2>>) {
    for (int lane = 0; lane < kLanes; lane += 4) {
      const Quad low = load_quad(rows + lane), high = load_quad(rows + lane + L);
      store_quad(to + 8 * lane, __builtin_shufflevector(low, high, 0, 4, 1, 5));
      store_quad(to + 8 * lane + 16, __builtin_shufflevector(low, high, 2, 6, 3, 7));
    }
  } else if constexpr (std::is_same_v<T, Dwords<4>>) {
    for (int lane = 0; lane < kLanes; lane += 4) {
      Quad quads[4];
      for (int i = 0; i < 4; ++i) quads[i] = load_quad(rows + lane + i * L);
      transpose(quads);
      for (int i = 0; i < 4; ++i) store_quad(to + 16 * (lane + i), quads[i]);
    }
  } else {
    for (int lane = 0; lane < kLanes; ++lane)
      T::store(to + size_t{T::kBytes} * lane, rows + lane, L);
  }
}

// One element for all lanes.
template <class T, int L, int kLanes = L>
void broadcast_row(const std::byte* from, uint32_t* rows) {
  std::byte element[16];
  copy_element(element, from, T::kBytes);
  for (int lane = 0; lane < kLanes; ++lane) T::load(element, rows + lane, L);
}

}  // namespace wavetap::emu
