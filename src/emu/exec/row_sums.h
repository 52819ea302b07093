// RowSums: rows of a matrix product, kept in the host's vector registers while k goes by.
//
// A matrix instruction is sum[i][j] += a[i][k] * b[k][j], k ascending. A few rows i are summed at a
// time, so that each vector of b is loaded once for all of them and no sum is stored before the last
// k. Rows are chosen in such a number that sums, one vector of b and one factor fit the host's
// registers. Which elements share a vector changes no result: each sum has its own lane.
//
// Hosts with a fused multiply-add have an instruction for vectors of it, which neither compiler
// makes of a loop here; on others fused() asks the C library, lane by lane.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "emu/exec/float_ops.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__FMA__)
#include <immintrin.h>
#endif

namespace wavetap::emu {
WT_VOP_DEFAULT_VARIANT
namespace WT_VOP_VARIANT {
namespace matrix {

#if defined(__AVX2__)
inline constexpr size_t kHostVectorBytes = 32;
#else
inline constexpr size_t kHostVectorBytes = 16;
#endif
#if defined(__aarch64__)
inline constexpr int kSumVectors = 16;  // of 32 registers
#else
inline constexpr int kSumVectors = 8;  // of 16 registers
#endif

// How one product gets into its sum.
enum class SumStep : uint8_t {
  kFused,    // one rounding
  kRounded,  // the product is rounded, then the sum
  // kRounded, where products are exact: fused where the host can, unless a sum comes out as a NaN,
  // which of several it is being the only thing the two disagree on.
  kFusedIfNumber,
};

#if defined(__aarch64__) || defined(__FMA__)
inline constexpr bool kHostFuses = true;
#else
inline constexpr bool kHostFuses = false;
#endif

template <class Value, int M>
struct HostVector {
  static constexpr int kLanes =
      M < static_cast<int>(kHostVectorBytes / sizeof(Value)) ? M : kHostVectorBytes / sizeof(Value);
  static constexpr int kBytes = kLanes * static_cast<int>(sizeof(Value));
  typedef Value Type __attribute__((vector_size(kBytes)));

  static Type load(const void* from) {
    Type value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  static Type broadcast(Value value) {
    // An initialiser, which compilers know as one instruction; of a loop they make several.
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return Type{(static_cast<void>(I), value)...};
    }
    (std::make_index_sequence<static_cast<size_t>(kLanes)>());
  }
  // a * b + sum, rounded once.
  static Type fused(Type a, Type b, Type sum) {
#if defined(__aarch64__)
    if constexpr (std::is_same_v<Value, float>) {
      return (Type)vfmaq_f32((float32x4_t)sum, (float32x4_t)a, (float32x4_t)b);
    } else {
      return (Type)vfmaq_f64((float64x2_t)sum, (float64x2_t)a, (float64x2_t)b);
    }
#elif defined(__FMA__)
    if constexpr (std::is_same_v<Value, float> && kBytes == 32) {
      return (Type)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)sum);
    } else if constexpr (std::is_same_v<Value, float>) {
      return (Type)_mm_fmadd_ps((__m128)a, (__m128)b, (__m128)sum);
    } else if constexpr (kBytes == 32) {
      return (Type)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)sum);
    } else {
      return (Type)_mm_fmadd_pd((__m128d)a, (__m128d)b, (__m128d)sum);
    }
#else
    for (int i = 0; i < kLanes; ++i) sum[i] = std::fma(a[i], b[i], sum[i]);
    return sum;
#endif
  }
  // Denormals become zeros of the same sign. Of floats only.
  static Type flush(Type value) {
    typedef uint32_t Bits __attribute__((vector_size(kBytes)));
    const Bits bits = (Bits)value;
    return (Type)(bits & ((Bits)((bits & 0x7f800000u) != 0) | 0x80000000u));
  }
};

// kRows rows of M sums.
template <class Value, int M, int kRows>
class RowSums {
  using Vector = HostVector<Value, M>;
  using Type = typename Vector::Type;
  static constexpr int kVectors = M / Vector::kLanes;

 public:
  // `row`: M values each, of any type as large.
  [[gnu::always_inline]] explicit RowSums(const void* const* row) {
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < kVectors; ++v)
        sum_[r][v] = Vector::load(static_cast<const std::byte*>(row[r]) + v * Vector::kBytes);
  }

  // Row r += factor[r] * values.
  template <bool kFused>
  [[gnu::always_inline]] void add(const Value* factor, const Value* values) {
    Type factors[kRows];
    for (int r = 0; r < kRows; ++r) factors[r] = Vector::broadcast(factor[r]);
    for (int v = 0; v < kVectors; ++v) {
      const Type column = Vector::load(values + v * Vector::kLanes);
      for (int r = 0; r < kRows; ++r) {
        if constexpr (kFused) {
          sum_[r][v] = Vector::fused(factors[r], column, sum_[r][v]);
        } else {
          sum_[r][v] = sum_[r][v] + factors[r] * column;
        }
      }
    }
  }

  [[gnu::always_inline]] void flush() {
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < kVectors; ++v) sum_[r][v] = Vector::flush(sum_[r][v]);
  }

  // Whether a sum may be a NaN; certain when it says no. (Infinities of both signs make one here.)
  [[gnu::always_inline]] bool may_have_nan() const {
    Type all[4] = {};  // several, so that no one has to wait for the last
    int n = 0;
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < kVectors; ++v) all[n % 4] = all[n % 4] + sum_[r][v], ++n;
    const Type total = (all[0] + all[1]) + (all[2] + all[3]);
    const auto nan = total != total;
    uint64_t part[sizeof nan / 8], any = 0;
    std::memcpy(part, &nan, sizeof nan);
    for (const uint64_t bits : part) any |= bits;
    return any != 0;
  }

  [[gnu::always_inline]] void store(void* const* row) const {
    for (int r = 0; r < kRows; ++r) {
      auto* to = static_cast<std::byte*>(row[r]);
      for (int v = 0; v < kVectors; ++v)
        std::memcpy(to + v * Vector::kBytes, &sum_[r][v], sizeof sum_[r][v]);
    }
  }

 private:
  Type sum_[kRows][kVectors];
};

// The number of rows to sum together.
template <class Value, int M>
inline constexpr int kRowsTogether = [] {
  constexpr int kVectors = M / HostVector<Value, M>::kLanes;
  constexpr int kRows = kVectors >= kSumVectors ? 1 : kSumVectors / kVectors;
  return kRows < M ? kRows : M;
}();

// to[r][j] = from[r][j] + sum of a(k)[first + r] * b(k)[j], for all k: `a` and `b` are functions from
// k to M values. kFlush: denormals of `from` and of the result become zeros.
template <SumStep kStep, bool kFlush, int M, int K, int kRows, class Value, class A, class B>
[[gnu::noinline]] void sum_products(const A& a, int first, const B& b, const void* const* from,
                                    void* const* to) {
  constexpr bool kTriesFused = kStep == SumStep::kFusedIfNumber && kHostFuses;
  RowSums<Value, M, kRows> sums(from);
  if constexpr (kFlush) sums.flush();
  for (int k = 0; k < K; ++k)
    sums.template add<kStep == SumStep::kFused || kTriesFused>(a(k) + first, b(k));
  if constexpr (kTriesFused)
    if (sums.may_have_nan()) [[unlikely]]
      return sum_products<SumStep::kRounded, kFlush, M, K, kRows, Value>(a, first, b, from, to);
  if constexpr (kFlush) sums.flush();
  sums.store(to);
}

}  // namespace matrix
}  // namespace WT_VOP_VARIANT
}  // namespace wavetap::emu
