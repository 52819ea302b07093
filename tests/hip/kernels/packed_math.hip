// Two-element vectors: packed 16-bit integers, packed f16 and packed f32 (one instruction each
// where the target has it), with wrap-around, saturating, shifting and selecting operations.
#include "check.h"

typedef short Short2 __attribute__((ext_vector_type(2)));
typedef unsigned short UShort2 __attribute__((ext_vector_type(2)));
typedef _Float16 Half2 __attribute__((ext_vector_type(2)));
typedef float Float2 __attribute__((ext_vector_type(2)));

struct IntOut {
  Short2 add, subtract, multiply, multiply_add, minimum, maximum, shift_right;
  UShort2 shift_left, unsigned_max, unsigned_shift;
};

template <class T>
__host__ __device__ T pick_min(T a, T b) {
  return T{a.x < b.x ? a.x : b.x, a.y < b.y ? a.y : b.y};
}
template <class T>
__host__ __device__ T pick_max(T a, T b) {
  return T{a.x > b.x ? a.x : b.x, a.y > b.y ? a.y : b.y};
}

__host__ __device__ IntOut compute(Short2 a, Short2 b) {
  // Through unsigned, so that wrap-around is defined.
  const UShort2 ua = __builtin_bit_cast(UShort2, a), ub = __builtin_bit_cast(UShort2, b);
  const UShort2 amount = ub & static_cast<unsigned short>(15);
  IntOut o;
  o.add = __builtin_bit_cast(Short2, static_cast<UShort2>(ua + ub));
  o.subtract = __builtin_bit_cast(Short2, static_cast<UShort2>(ua - ub));
  o.multiply = __builtin_bit_cast(Short2, static_cast<UShort2>(ua * ub));
  o.multiply_add = __builtin_bit_cast(Short2, static_cast<UShort2>(ua * ub + ua));
  o.minimum = pick_min(a, b);
  o.maximum = pick_max(a, b);
  o.shift_right = a >> __builtin_bit_cast(Short2, amount);
  o.shift_left = ua << amount;
  o.unsigned_max = pick_max(ua, ub);
  o.unsigned_shift = ua >> amount;
  return o;
}

// The host has no half-precision fma; double holds the exact product and rounds only once more.
__host__ __device__ _Float16 fused(_Float16 a, _Float16 b, _Float16 c) {
#if defined(__HIP_DEVICE_COMPILE__)
  return static_cast<_Float16>(__builtin_fmaf16(a, b, c));
#else
  return static_cast<_Float16>(
      std::fma(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c)));
#endif
}

struct FloatOut {
  Half2 half_fused, half_swapped, half_negated;
  Float2 sum, product, fused, crossed;
};

__host__ __device__ FloatOut compute(Half2 h, Half2 k, Float2 a, Float2 b) {
#pragma clang fp contract(off)
  FloatOut o;
  o.half_fused = Half2{fused(h.x, k.x, h.x), fused(h.y, k.y, h.y)};
  o.half_swapped = h.yx * k;
  o.half_negated = Half2{h.x, -h.y} + k.yx;
  o.sum = a + b;
  o.product = a * b;
  o.fused = Float2{fmaf(a.x, b.x, a.x), fmaf(a.y, b.y, a.y)};
  o.crossed = a.yx * b + Float2{-b.y, b.x};
  return o;
}

__global__ void run_int(const Short2* a, const Short2* b, IntOut* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = compute(a[i], b[i]);
}

__global__ void run_float(const Half2* h, const Half2* k, const Float2* a, const Float2* b,
                          FloatOut* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = compute(h[i], k[i], a[i], b[i]);
}

int main() {
  check::Rng rng(2);
  const int count = 600;
  std::vector<Short2> a(count), b(count);
  const short special[] = {0, 1, -1, 32767, -32768, 255, -256, 2};
  for (int i = 0; i < count; ++i) {
    a[i] = i < 64 ? Short2{special[i % 8], special[(i + 3) % 8]}
                  : Short2{static_cast<short>(rng.next()), static_cast<short>(rng.next())};
    b[i] = i < 64 ? Short2{special[i / 8], special[i % 5]}
                  : Short2{static_cast<short>(rng.next()), static_cast<short>(rng.next())};
  }
  std::vector<IntOut> want;
  for (int i = 0; i < count; ++i) want.push_back(compute(a[i], b[i]));
  check::Buffer<Short2> device_a(a), device_b(b);
  check::Buffer<IntOut> out(count);
  run_int<<<check::blocks_for(count, 64), 64>>>(device_a, device_b, out, count);
  check::sync();
  check::equal("packed 16-bit integers, ten operations", out.read(), want);

  std::vector<Half2> h(count), k(count);
  std::vector<Float2> x(count), y(count);
  std::vector<FloatOut> want_float;
  for (int i = 0; i < count; ++i) {
    h[i] = Half2{static_cast<_Float16>(rng.uniform(-50, 50)),
                 static_cast<_Float16>(rng.uniform(-50, 50))};
    k[i] = Half2{static_cast<_Float16>(rng.uniform(-50, 50)),
                 static_cast<_Float16>(rng.uniform(-50, 50))};
    x[i] = Float2{rng.uniform(-1, 1), rng.uniform(-1e6f, 1e6f)};
    y[i] = Float2{rng.uniform(-1e-3f, 1), rng.uniform(-1, 1)};
    want_float.push_back(compute(h[i], k[i], x[i], y[i]));
  }
  check::Buffer<Half2> device_h(h), device_k(k);
  check::Buffer<Float2> device_x(x), device_y(y);
  check::Buffer<FloatOut> float_out(count);
  run_float<<<check::blocks_for(count, 64), 64>>>(device_h, device_k, device_x, device_y, float_out,
                                                  count);
  check::sync();
  const std::vector<FloatOut> got = float_out.read();
  const auto compare = [&](const char* name, auto get) {
    std::vector<std::decay_t<decltype(get(got[0]))>> g, w;
    for (int i = 0; i < count; ++i) g.push_back(get(got[i])), w.push_back(get(want_float[i]));
    check::equal(name, g, w);
  };
  compare("half: fused", [](const FloatOut& o) { return o.half_fused; });
  compare("half: swapped factor", [](const FloatOut& o) { return o.half_swapped; });
  compare("half: one negated", [](const FloatOut& o) { return o.half_negated; });
  compare("float: sum", [](const FloatOut& o) { return o.sum; });
  compare("float: product", [](const FloatOut& o) { return o.product; });
  compare("float: fused", [](const FloatOut& o) { return o.fused; });
  compare("float: crossed", [](const FloatOut& o) { return o.crossed; });
  return check::finish();
}
