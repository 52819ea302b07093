// What each atomic operation computes, and how it is carried out on host memory.
//
// An operation is a pure function next(old, data, data2) from the value in memory and up to two
// operands to the new value; it returns `old` to the wave. In global memory the host may race with
// us (other workgroups, other queues, the CPU itself), so the update is a host atomic with
// sequential consistency: one read-modify-write where the host has one, a compare-and-swap loop
// otherwise. LDS belongs to the workgroup, whose waves share one host thread, so plain accesses do.
//
// Floating point: additions round to nearest even and keep denormals whatever MODE says (the memory
// pipeline, not the wave, computes them). min and max return the number when one operand is a NaN
// and order -0 below +0.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "emu/exec/float_ops.h"

namespace wavetap::emu::atomic {

inline constexpr std::memory_order kInOrder = std::memory_order_seq_cst;

// --- Integers. U is uint32_t or uint64_t.

template <class U>
struct Add {
  using Value = U;
  static U next(U old, U data, U) { return old + data; }
  static U fetch(std::atomic_ref<U> at, U data, std::memory_order order = kInOrder) {
    return at.fetch_add(data, order);
  }
};

template <class U>
struct Sub {
  using Value = U;
  static U next(U old, U data, U) { return old - data; }
  static U fetch(std::atomic_ref<U> at, U data, std::memory_order order = kInOrder) {
    return at.fetch_sub(data, order);
  }
};

template <class U>
struct And {
  using Value = U;
  static U next(U old, U data, U) { return old & data; }
  static U fetch(std::atomic_ref<U> at, U data, std::memory_order order = kInOrder) {
    return at.fetch_and(data, order);
  }
};

template <class U>
struct Or {
  using Value = U;
  static U next(U old, U data, U) { return old | data; }
  static U fetch(std::atomic_ref<U> at, U data, std::memory_order order = kInOrder) {
    return at.fetch_or(data, order);
  }
};

template <class U>
struct Xor {
  using Value = U;
  static U next(U old, U data, U) { return old ^ data; }
  static U fetch(std::atomic_ref<U> at, U data, std::memory_order order = kInOrder) {
    return at.fetch_xor(data, order);
  }
};

template <class U>
struct Swap {
  using Value = U;
  static U next(U, U data, U) { return data; }
  static U fetch(std::atomic_ref<U> at, U data, std::memory_order order = kInOrder) {
    return at.exchange(data, order);
  }
};

template <class U>
struct Rsub {
  using Value = U;
  static U next(U old, U data, U) { return data - old; }
};

template <class U>
struct Umin {
  using Value = U;
  static U next(U old, U data, U) { return data < old ? data : old; }
};

template <class U>
struct Umax {
  using Value = U;
  static U next(U old, U data, U) { return data > old ? data : old; }
};

template <class U>
struct Smin {
  using Value = U;
  using S = std::make_signed_t<U>;
  static U next(U old, U data, U) {
    return static_cast<S>(data) < static_cast<S>(old) ? data : old;
  }
};

template <class U>
struct Smax {
  using Value = U;
  using S = std::make_signed_t<U>;
  static U next(U old, U data, U) {
    return static_cast<S>(data) > static_cast<S>(old) ? data : old;
  }
};

// Counts up to `data`, then starts again at zero.
template <class U>
struct Inc {
  using Value = U;
  static U next(U old, U data, U) { return old >= data ? 0 : old + 1; }
};

// Counts down to zero, then starts again at `data`; so does a value above `data`.
template <class U>
struct Dec {
  using Value = U;
  static U next(U old, U data, U) { return old == 0 || old > data ? data : old - 1; }
};

// Subtracts, stopping at zero.
template <class U>
struct Csub {
  using Value = U;
  static U next(U old, U data, U) { return old >= data ? old - data : 0; }
};

// data: the new value, data2: the value that must be there.
template <class U>
struct CompareSwap {
  using Value = U;
  static U next(U old, U data, U data2) { return old == data2 ? data : old; }
};

// LDS: clears the bits of data, sets those of data2.
template <class U>
struct MaskOr {
  using Value = U;
  static U next(U old, U data, U data2) { return (old & ~data) | data2; }
};

// LDS: ring-buffer index.
template <class U>
struct Wrap {
  using Value = U;
  static U next(U old, U data, U data2) { return old >= data ? old - data : old + data2; }
};

// --- Floating point, on the bits.

template <class F>
struct BitsOf;
template <>
struct BitsOf<float> {
  using type = uint32_t;
};
template <>
struct BitsOf<double> {
  using type = uint64_t;
};

// Hosts disagree about the NaN that inf - inf makes; the engine has one.
template <class F>
F add_numbers(F a, F b) {
  const F sum = a + b;
  if (sum == sum) return sum;
  if (a != a) return quiet(a);
  if (b != b) return quiet(b);
  return std::numeric_limits<F>::quiet_NaN();
}

template <class F>
struct Fadd {
  using Value = typename BitsOf<F>::type;
  static Value next(Value old, Value data, Value) {
    return std::bit_cast<Value>(add_numbers(std::bit_cast<F>(old), std::bit_cast<F>(data)));
  }
};

template <class F>
struct Fmin {
  using Value = typename BitsOf<F>::type;
  static Value next(Value old, Value data, Value) {
    return std::bit_cast<Value>(
        min_number(std::bit_cast<F>(old), std::bit_cast<F>(data), /*ieee=*/false));
  }
};

template <class F>
struct Fmax {
  using Value = typename BitsOf<F>::type;
  static Value next(Value old, Value data, Value) {
    return std::bit_cast<Value>(
        max_number(std::bit_cast<F>(old), std::bit_cast<F>(data), /*ieee=*/false));
  }
};

// As CompareSwap, but the comparison is of numbers: -0 equals +0 and a NaN equals nothing.
template <class F>
struct FcompareSwap {
  using Value = typename BitsOf<F>::type;
  static Value next(Value old, Value data, Value data2) {
    return std::bit_cast<F>(old) == std::bit_cast<F>(data2) ? data : old;
  }
};

struct PkAddF16 {
  using Value = uint32_t;
  static uint16_t add(uint32_t a, uint32_t b) {
    // The f32 sum of two halves is exact or rounds innocuously: 24 >= 2 * 11 + 2 bits.
    return static_cast<uint16_t>(
        float_to_half(add_numbers(half_to_float(a & 0xffff), half_to_float(b & 0xffff))));
  }
  static uint32_t next(uint32_t old, uint32_t data, uint32_t) {
    return add(old, data) | uint32_t{add(old >> 16, data >> 16)} << 16;
  }
};

struct PkAddBf16 {
  using Value = uint32_t;
  static uint16_t add(uint32_t a, uint32_t b) {
    return static_cast<uint16_t>(
        float_to_bf16(add_numbers(bf16_to_float(a & 0xffff), bf16_to_float(b & 0xffff))));
  }
  static uint32_t next(uint32_t old, uint32_t data, uint32_t) {
    return add(old, data) | uint32_t{add(old >> 16, data >> 16)} << 16;
  }
};

// --- Carrying them out.

// Number of data operands an operation takes from registers.
template <class A>
inline constexpr int kOperands = 1;
template <class U>
inline constexpr int kOperands<CompareSwap<U>> = 2;
template <class F>
inline constexpr int kOperands<FcompareSwap<F>> = 2;
template <class U>
inline constexpr int kOperands<MaskOr<U>> = 2;
template <class U>
inline constexpr int kOperands<Wrap<U>> = 2;

// A 32- or 64-bit value in one or two registers of a lane.
template <class U>
U read_operand(const uint32_t* row, size_t stride) {
  if constexpr (sizeof(U) == 8) {
    return row[0] | U{row[stride]} << 32;
  } else {
    return row[0];
  }
}

template <class U>
void write_result(uint32_t* row, size_t stride, U value) {
  row[0] = static_cast<uint32_t>(value);
  if constexpr (sizeof(U) == 8) row[stride] = static_cast<uint32_t>(value >> 32);
}

// `at` is naturally aligned.
template <class A>
typename A::Value update_shared(std::byte* at, typename A::Value data, typename A::Value data2) {
  using U = typename A::Value;
  std::atomic_ref<U> ref(*reinterpret_cast<U*>(at));
  if constexpr (requires { A::fetch(ref, data); }) {
    return A::fetch(ref, data);
  } else {
    U old = ref.load(std::memory_order_relaxed);
    while (!ref.compare_exchange_weak(old, A::next(old, data, data2))) {
    }
    return old;
  }
}

template <class A>
typename A::Value update_private(std::byte* at, typename A::Value data, typename A::Value data2) {
  typename A::Value old;
  std::memcpy(&old, at, sizeof old);
  const typename A::Value value = A::next(old, data, data2);
  std::memcpy(at, &value, sizeof value);
  return old;
}

// As update_shared(), unordered: the caller has fences around it.
template <class A>
typename A::Value update_unordered(std::byte* at, typename A::Value data, typename A::Value data2) {
  using U = typename A::Value;
  std::atomic_ref<U> ref(*reinterpret_cast<U*>(at));
  if constexpr (requires { A::fetch(ref, data); }) {
    return A::fetch(ref, data, std::memory_order_relaxed);
  } else {
    U old = ref.load(std::memory_order_relaxed);
    while (!ref.compare_exchange_weak(old, A::next(old, data, data2), std::memory_order_relaxed)) {
    }
    return old;
  }
}

}  // namespace wavetap::emu::atomic
