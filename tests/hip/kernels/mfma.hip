// Matrix-core instructions of gfx90a: every shape and type, with the operand and result layouts
// written down here independently (from AMD's CDNA2 instruction set guide, chapter on matrix
// instructions). Inputs are small integers, so every result is exact whatever the order of
// accumulation.
#include "check.h"

typedef float Float4 __attribute__((ext_vector_type(4)));
typedef float Float16 __attribute__((ext_vector_type(16)));
typedef float Float32 __attribute__((ext_vector_type(32)));
typedef int Int4 __attribute__((ext_vector_type(4)));
typedef int Int16 __attribute__((ext_vector_type(16)));
typedef int Int32 __attribute__((ext_vector_type(32)));
typedef double Double4 __attribute__((ext_vector_type(4)));
typedef _Float16 Half4 __attribute__((ext_vector_type(4)));
typedef short Short2 __attribute__((ext_vector_type(2)));
typedef short Short4 __attribute__((ext_vector_type(4)));

struct Bf16 {
  uint16_t bits;
};

// What an instruction computes: `blocks` independent products of rows x depth by depth x rows
// matrices; each lane holds `packed` consecutive depth elements of A and of B.
struct Shape {
  int rows, depth, blocks, packed, results;
};

// Which (row, depth, block) of A the given element of a lane is; B is the same with columns for
// rows.
struct Place {
  int row, depth, block;
};
Place input_place(const Shape& s, int lane, int element, bool f64) {
  if (f64 && s.rows == 4) return {lane % 4, lane / 16, lane / 4 % 4};
  const int group = lane / s.rows;
  const int depth_groups = s.depth / s.packed;
  return {lane % s.rows, group % depth_groups * s.packed + element, group / depth_groups};
}

// Row, column and block of one result register of a lane.
struct Cell {
  int row, column, block;
};
Cell result_cell(const Shape& s, int lane, int r, bool f64) {
  if (f64 && s.rows == 4) return {lane / 16, lane % 4, lane / 4 % 4};
  if (f64) return {4 * r + lane / 16, lane % 16, 0};
  if (s.rows == 32) return {8 * (r % 16 / 4) + 4 * (lane / 32) + r % 4, lane % 32, r / 16};
  if (s.rows == 16) return {4 * (lane / 16) + r % 4, lane % 16, r / 4};
  return {r, lane % 4, lane / 4};
}

template <class Vector, class Element>
__device__ Vector load(const Element* in) {
  Vector v;
  __builtin_memcpy(&v, in, sizeof v);
  return v;
}

#if defined(__gfx90a__)
#define WT_MFMA_BODY(builtin, Input, Result, cbsz, abid, blgp)                                  \
  const Result d =                                                                              \
      builtin(load<Input>(a + threadIdx.x * (sizeof(Input) / sizeof(*a))),                      \
              load<Input>(b + threadIdx.x * (sizeof(Input) / sizeof(*b))),                      \
              load<Result>(c + threadIdx.x * (sizeof(Result) / sizeof(*c))), cbsz, abid, blgp); \
  __builtin_memcpy(c + threadIdx.x * (sizeof(Result) / sizeof(*c)), &d, sizeof d)
#else
#define WT_MFMA_BODY(...)
#endif

// name, builtin, operand vector, operand element, accumulator vector, accumulator element, shape
#define WT_MFMA_TABLE(X)                                                                          \
  X(f32_32x32x1, __builtin_amdgcn_mfma_f32_32x32x1f32, float, float, Float32, float,              \
    (Shape{32, 1, 2, 1, 32}))                                                                     \
  X(f32_16x16x1, __builtin_amdgcn_mfma_f32_16x16x1f32, float, float, Float16, float,              \
    (Shape{16, 1, 4, 1, 16}))                                                                     \
  X(f32_4x4x1, __builtin_amdgcn_mfma_f32_4x4x1f32, float, float, Float4, float,                   \
    (Shape{4, 1, 16, 1, 4}))                                                                      \
  X(f32_32x32x2, __builtin_amdgcn_mfma_f32_32x32x2f32, float, float, Float16, float,              \
    (Shape{32, 2, 1, 1, 16}))                                                                     \
  X(f32_16x16x4, __builtin_amdgcn_mfma_f32_16x16x4f32, float, float, Float4, float,               \
    (Shape{16, 4, 1, 1, 4}))                                                                      \
  X(f16_32x32x4, __builtin_amdgcn_mfma_f32_32x32x4f16, Half4, _Float16, Float32, float,           \
    (Shape{32, 4, 2, 4, 32}))                                                                     \
  X(f16_16x16x4, __builtin_amdgcn_mfma_f32_16x16x4f16, Half4, _Float16, Float16, float,           \
    (Shape{16, 4, 4, 4, 16}))                                                                     \
  X(f16_4x4x4, __builtin_amdgcn_mfma_f32_4x4x4f16, Half4, _Float16, Float4, float,                \
    (Shape{4, 4, 16, 4, 4}))                                                                      \
  X(f16_32x32x8, __builtin_amdgcn_mfma_f32_32x32x8f16, Half4, _Float16, Float16, float,           \
    (Shape{32, 8, 1, 4, 16}))                                                                     \
  X(f16_16x16x16, __builtin_amdgcn_mfma_f32_16x16x16f16, Half4, _Float16, Float4, float,          \
    (Shape{16, 16, 1, 4, 4}))                                                                     \
  X(bf16_32x32x2, __builtin_amdgcn_mfma_f32_32x32x2bf16, Short2, Bf16, Float32, float,            \
    (Shape{32, 2, 2, 2, 32}))                                                                     \
  X(bf16_16x16x2, __builtin_amdgcn_mfma_f32_16x16x2bf16, Short2, Bf16, Float16, float,            \
    (Shape{16, 2, 4, 2, 16}))                                                                     \
  X(bf16_4x4x2, __builtin_amdgcn_mfma_f32_4x4x2bf16, Short2, Bf16, Float4, float,                 \
    (Shape{4, 2, 16, 2, 4}))                                                                      \
  X(bf16_32x32x4, __builtin_amdgcn_mfma_f32_32x32x4bf16, Short2, Bf16, Float16, float,            \
    (Shape{32, 4, 1, 2, 16}))                                                                     \
  X(bf16_16x16x8, __builtin_amdgcn_mfma_f32_16x16x8bf16, Short2, Bf16, Float4, float,             \
    (Shape{16, 8, 1, 2, 4}))                                                                      \
  X(bf16_32x32x4_1k, __builtin_amdgcn_mfma_f32_32x32x4bf16_1k, Short4, Bf16, Float32, float,      \
    (Shape{32, 4, 2, 4, 32}))                                                                     \
  X(bf16_16x16x4_1k, __builtin_amdgcn_mfma_f32_16x16x4bf16_1k, Short4, Bf16, Float16, float,      \
    (Shape{16, 4, 4, 4, 16}))                                                                     \
  X(bf16_4x4x4_1k, __builtin_amdgcn_mfma_f32_4x4x4bf16_1k, Short4, Bf16, Float4, float,           \
    (Shape{4, 4, 16, 4, 4}))                                                                      \
  X(bf16_32x32x8_1k, __builtin_amdgcn_mfma_f32_32x32x8bf16_1k, Short4, Bf16, Float16, float,      \
    (Shape{32, 8, 1, 4, 16}))                                                                     \
  X(bf16_16x16x16_1k, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k, Short4, Bf16, Float4, float,     \
    (Shape{16, 16, 1, 4, 4}))                                                                     \
  X(i8_32x32x4, __builtin_amdgcn_mfma_i32_32x32x4i8, int, int8_t, Int32, int,                     \
    (Shape{32, 4, 2, 4, 32}))                                                                     \
  X(i8_16x16x4, __builtin_amdgcn_mfma_i32_16x16x4i8, int, int8_t, Int16, int,                     \
    (Shape{16, 4, 4, 4, 16}))                                                                     \
  X(i8_4x4x4, __builtin_amdgcn_mfma_i32_4x4x4i8, int, int8_t, Int4, int, (Shape{4, 4, 16, 4, 4})) \
  X(i8_32x32x8, __builtin_amdgcn_mfma_i32_32x32x8i8, int, int8_t, Int16, int,                     \
    (Shape{32, 8, 1, 4, 16}))                                                                     \
  X(i8_16x16x16, __builtin_amdgcn_mfma_i32_16x16x16i8, int, int8_t, Int4, int,                    \
    (Shape{16, 16, 1, 4, 4}))                                                                     \
  X(f64_16x16x4, __builtin_amdgcn_mfma_f64_16x16x4f64, double, double, Double4, double,           \
    (Shape{16, 4, 1, 1, 4}))                                                                      \
  X(f64_4x4x4, __builtin_amdgcn_mfma_f64_4x4x4f64, double, double, double, double,                \
    (Shape{4, 4, 4, 1, 1}))

template <class T>
T from_int(int value) {
  return static_cast<T>(value);
}
template <>
Bf16 from_int<Bf16>(int value) {
  const float wide = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &wide, 4);
  return {static_cast<uint16_t>(bits >> 16)};
}

#define WT_KERNEL(name, builtin, Input, Element, Result, Accumulator, shape)          \
  __global__ void kernel_##name(const Element* a, const Element* b, Accumulator* c) { \
    WT_MFMA_BODY(builtin, Input, Result, 0, 0, 0);                                    \
  }
WT_MFMA_TABLE(WT_KERNEL)
#undef WT_KERNEL

// Broadcast controls: CBSZ/ABID take one block of A for a group of blocks, BLGP replaces lanes of
// B.
__global__ void kernel_broadcast_a(const float* a, const float* b, float* c) {
  WT_MFMA_BODY(__builtin_amdgcn_mfma_f32_16x16x1f32, float, Float16, 2, 3, 0);
}
__global__ void kernel_broadcast_b(const float* a, const float* b, float* c) {
  WT_MFMA_BODY(__builtin_amdgcn_mfma_f32_32x32x1f32, float, Float32, 0, 0, 1);
}

template <class Element, class Accumulator>
void run(const char* name, void (*kernel)(const Element*, const Element*, Accumulator*),
         const Shape& s, int only_a_block = -1, int only_b_block = -1) {
  constexpr bool kF64 = std::is_same_v<Element, double>;
  check::Rng rng(s.rows * 100 + s.depth);
  const auto index = [&](int row, int depth, int block) {
    return (block * s.rows + row) * s.depth + depth;
  };
  std::vector<int> a(s.rows * s.depth * s.blocks), b(a.size());
  for (int& v : a) v = static_cast<int>(rng.below(15)) - 7;
  for (int& v : b) v = static_cast<int>(rng.below(15)) - 7;
  std::vector<Element> lane_a, lane_b;
  for (int lane = 0; lane < 64; ++lane) {
    for (int e = 0; e < s.packed; ++e) {
      const Place p = input_place(s, lane, e, kF64);
      lane_a.push_back(from_int<Element>(a[index(p.row, p.depth, p.block)]));
      lane_b.push_back(from_int<Element>(b[index(p.row, p.depth, p.block)]));
    }
  }
  std::vector<Accumulator> c(64 * s.results), want(64 * s.results);
  for (int lane = 0; lane < 64; ++lane) {
    for (int r = 0; r < s.results; ++r) {
      const Cell cell = result_cell(s, lane, r, kF64);
      const int start = static_cast<int>(rng.below(1000)) - 500;
      int sum = start;
      for (int k = 0; k < s.depth; ++k) {
        sum += a[index(cell.row, k, only_a_block >= 0 ? only_a_block : cell.block)] *
               b[index(cell.column, k, only_b_block >= 0 ? only_b_block : cell.block)];
      }
      c[lane * s.results + r] = static_cast<Accumulator>(start);
      want[lane * s.results + r] = static_cast<Accumulator>(sum);
    }
  }
  check::Buffer<Element> device_a(lane_a), device_b(lane_b);
  check::Buffer<Accumulator> device_c(c);
  kernel<<<1, 64>>>(device_a, device_b, device_c);
  check::sync();
  check::equal(name, device_c.read(), want);
}

int main() {
  if (check::target() != "gfx90a") check::skip("the device has no matrix cores of the gfx90a kind");
#define WT_RUN(name, builtin, Input, Element, Result, Accumulator, shape) \
  run<Element, Accumulator>(#name, kernel_##name, Shape shape);
  WT_MFMA_TABLE(WT_RUN)
#undef WT_RUN
  run<float, float>("CBSZ 2, ABID 3: block 3 of A for all four", kernel_broadcast_a,
                    Shape{16, 1, 4, 1, 16}, 3);
  run<float, float>("BLGP 1: the first 32 lanes of B for all", kernel_broadcast_b,
                    Shape{32, 1, 2, 1, 32}, -1, 0);
  return check::finish();
}
