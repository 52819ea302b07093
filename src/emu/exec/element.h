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

// 32, 64, 96 or 128 bits in as many registers.
template <int N>
struct Dwords {
  static constexpr uint32_t kBytes = 4 * N;
  static constexpr int kRows = N;
  static constexpr uint8_t kDataByte = 0;

  static void load(const std::byte* at, uint32_t* row, size_t stride) {
    uint32_t value[N];
    std::memcpy(value, at, kBytes);
    for (int i = 0; i < N; ++i) row[i * stride] = value[i];
  }
  static void store(std::byte* at, const uint32_t* row, size_t stride) {
    uint32_t value[N];
    for (int i = 0; i < N; ++i) value[i] = row[i * stride];
    std::memcpy(at, value, kBytes);
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

  static void load(const std::byte* at, uint32_t* row, size_t) {
    T value;
    std::memcpy(&value, at, sizeof value);
    const uint32_t bits = static_cast<uint32_t>(static_cast<int32_t>(value));
    const uint32_t kept = kClears ? 0 : *row;
    if constexpr (kHalf == Half::kWhole) *row = bits;
    if constexpr (kHalf == Half::kLow) *row = (kept & 0xffff0000u) | (bits & 0xffffu);
    if constexpr (kHalf == Half::kHigh) *row = (kept & 0xffffu) | bits << 16;
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

// A dword of memory, at any alignment.
using Unaligned32 [[gnu::aligned(1), gnu::may_alias]] = uint32_t;

// Row copies, of all lanes or of the first kLanes. The multi-dword ones are written out so that
// compilers see a transposition and use the host's interleaving loads and stores.
template <class T, int L, int kLanes = L>
void load_row(const std::byte* __restrict from, uint32_t* __restrict rows) {
  const auto* words = reinterpret_cast<const Unaligned32*>(from);
  if constexpr (std::is_same_v<T, Dwords<1>>) {
    std::memcpy(rows, from, size_t{4} * kLanes);
  } else if constexpr (std::is_same_v<T, Dwords<2>>) {
    for (int lane = 0; lane < kLanes; ++lane) {
      rows[lane] = words[2 * lane];
      rows[lane + L] = words[2 * lane + 1];
    }
  } else if constexpr (std::is_same_v<T, Dwords<4>>) {
    for (int lane = 0; lane < kLanes; ++lane) {
      rows[lane] = words[4 * lane];
      rows[lane + L] = words[4 * lane + 1];
      rows[lane + 2 * L] = words[4 * lane + 2];
      rows[lane + 3 * L] = words[4 * lane + 3];
    }
  } else {
    for (int lane = 0; lane < kLanes; ++lane)
      T::load(from + size_t{T::kBytes} * lane, rows + lane, L);
  }
}

template <class T, int L, int kLanes = L>
void store_row(std::byte* __restrict to, const uint32_t* __restrict rows) {
  auto* words = reinterpret_cast<Unaligned32*>(to);
  if constexpr (std::is_same_v<T, Dwords<1>>) {
    std::memcpy(to, rows, size_t{4} * kLanes);
  } else if constexpr (std::is_same_v<T, Dwords<2>>) {
    for (int lane = 0; lane < kLanes; ++lane) {
      words[2 * lane] = rows[lane];
      words[2 * lane + 1] = rows[lane + L];
    }
  } else if constexpr (std::is_same_v<T, Dwords<4>>) {
    for (int lane = 0; lane < kLanes; ++lane) {
      words[4 * lane] = rows[lane];
      words[4 * lane + 1] = rows[lane + L];
      words[4 * lane + 2] = rows[lane + 2 * L];
      words[4 * lane + 3] = rows[lane + 3 * L];
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
  std::memcpy(element, from, T::kBytes);
  for (int lane = 0; lane < kLanes; ++lane) T::load(element, rows + lane, L);
}

}  // namespace wavetap::emu
