// The device code of the trials: one short kernel per capability, each with a result the host can compute.
// OpenCL C without any library, so that clang alone builds it for every target.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef unsigned int u32;
typedef half half2 __attribute__((ext_vector_type(2)));

#define BLOCK 64

static inline u32 local_id(void) { return __builtin_amdgcn_workitem_id_x(); }
static inline u32 global_id(void) { return __builtin_amdgcn_workgroup_id_x() * BLOCK + local_id(); }
static inline void barrier_here(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

__attribute__((reqd_work_group_size(BLOCK, 1, 1)))
kernel void saxpy(u32 n, float a, global const float* x, global float* y) {
  const u32 i = global_id();
  if (i < n) y[i] = a * x[i] + y[i];
}

// Reverses each group of 64 through LDS.
__attribute__((reqd_work_group_size(BLOCK, 1, 1)))
kernel void lds_reverse(global const u32* in, global u32* out) {
  local u32 tile[BLOCK];
  tile[local_id()] = in[global_id()];
  barrier_here();
  out[global_id()] = tile[BLOCK - 1 - local_id()];
}

__attribute__((reqd_work_group_size(BLOCK, 1, 1)))
kernel void atomics(global u32* counters) {
  __opencl_atomic_fetch_add((global atomic_uint*)&counters[0], 1u, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
  __opencl_atomic_fetch_max((global atomic_uint*)&counters[1], global_id(), __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
  u32 seen = counters[2];
  while (!__opencl_atomic_compare_exchange_weak((global atomic_uint*)&counters[2], &seen, seen ^ global_id(), __ATOMIC_RELAXED,
                                                __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE)) {
  }
}

// An array per work-item that cannot live in registers.
__attribute__((reqd_work_group_size(BLOCK, 1, 1)))
kernel void scratch(global const u32* in, global u32* out) {
  volatile u32 own[64];
  const u32 i = global_id();
  for (u32 k = 0; k < 64; ++k) own[k] = in[i] + k * k;
  u32 sum = 0;
  for (u32 k = 0; k < 64; ++k) sum += own[(k * 7 + i) % 64];
  out[i] = sum;
}

// Answers the host: words[1] follows words[0]. Gives up when the host stops.
kernel void ping(global u32* words, u32 rounds) {
  for (u32 round = 1; round <= rounds; ++round) {
    u32 tries = 0;
    while (__opencl_atomic_load((global atomic_uint*)&words[0], __ATOMIC_ACQUIRE, __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES) < round) {
      if (++tries > 100000000u) return;
      __builtin_amdgcn_s_sleep(1);
    }
    __opencl_atomic_store((global atomic_uint*)&words[1], round, __ATOMIC_RELEASE, __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES);
  }
}

// C = A * B, n x n, n a multiple of 8; one work-item per element, 8 x 8 tiles in LDS.
__attribute__((reqd_work_group_size(BLOCK, 1, 1)))
kernel void gemm(u32 n, global const float* a, global const float* b, global float* c) {
  local float ta[64];
  local float tb[64];
  const u32 tiles = n / 8, group = __builtin_amdgcn_workgroup_id_x();
  const u32 ly = local_id() / 8, lx = local_id() % 8;
  const u32 row = group / tiles * 8 + ly, column = group % tiles * 8 + lx;
  float sum = 0;
  for (u32 t = 0; t < tiles; ++t) {
    ta[local_id()] = a[row * n + t * 8 + lx];
    tb[local_id()] = b[(t * 8 + ly) * n + column];
    barrier_here();
    for (u32 k = 0; k < 8; ++k) sum += ta[ly * 8 + k] * tb[k * 8 + lx];
    barrier_here();
  }
  c[row * n + column] = sum;
}

// 3 x 3 convolution of an n x n image with a border of zeros.
__attribute__((reqd_work_group_size(BLOCK, 1, 1)))
kernel void conv_f32(u32 n, global const float* in, global const float* weight, global float* out) {
  const u32 i = global_id();
  if (i >= n * n) return;
  const int y = i / n, x = i % n;
  float sum = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      if (y + dy >= 0 && y + dy < (int)n && x + dx >= 0 && x + dx < (int)n)
        sum += in[(y + dy) * n + x + dx] * weight[(dy + 1) * 3 + dx + 1];
  out[i] = sum;
}

// The same over two channels of half precision, as libraries write it where the chip has dot products.
__attribute__((reqd_work_group_size(BLOCK, 1, 1)))
kernel void conv_f16(u32 n, global const half2* in, global const half2* weight, global float* out) {
  const u32 i = global_id();
  if (i >= n * n) return;
  const int y = i / n, x = i % n;
  float sum = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      if (y + dy >= 0 && y + dy < (int)n && x + dx >= 0 && x + dx < (int)n) {
        const half2 v = in[(y + dy) * n + x + dx], w = weight[(dy + 1) * 3 + dx + 1];
#if WT_HAS_DOT2
        sum = __builtin_amdgcn_fdot2(v, w, sum, false);
#else
        sum += (float)v.x * (float)w.x + (float)v.y * (float)w.y;
#endif
      }
  out[i] = sum;
}

// Ceilings, for wavetap profile --empirical: each kernel keeps one resource busy and does little else. A sum that no
// input makes is written, so that nothing is left out.
#define WIDE 256
#define WIDE_KERNEL __attribute__((reqd_work_group_size(WIDE, 1, 1))) kernel void
#define UNLIKELY 12344.0f

// Eight chains of multiply-adds, sixteen steps a round: 256 operations for each element of TYPE.
#define RATE(NAME, TYPE)                                                                                       \
  WIDE_KERNEL NAME(u32 rounds, global float* out) {                                                            \
    TYPE x[8];                                                                                                 \
    for (u32 i = 0; i < 8; ++i) x[i] = (TYPE)(local_id() + i);                                                 \
    const TYPE a = (TYPE)0.5f, b = (TYPE)1.0f;                                                                 \
    for (u32 round = 0; round < rounds; ++round)                                                               \
      _Pragma("unroll") for (u32 step = 0; step < 16; ++step)                                                  \
        _Pragma("unroll") for (u32 i = 0; i < 8; ++i) x[i] = __builtin_elementwise_fma(x[i], a, b);            \
    TYPE sum = x[0];                                                                                           \
    for (u32 i = 1; i < 8; ++i) sum += x[i];                                                                   \
    if (ELEMENT(sum) == UNLIKELY) out[local_id()] = 1.0f;                                                      \
  }
#define ELEMENT(v) (float)(v)
RATE(rate_vector_f32, float)
RATE(rate_vector_f64, double)
#undef ELEMENT
#define ELEMENT(v) (float)((v).x)
RATE(rate_packed_f16, half2)

// Four chains of matrix multiply-adds, four steps a round.
#define MATRIX_RATE(NAME, SUM, FACTOR, MULTIPLY)                                                               \
  WIDE_KERNEL NAME(u32 rounds, global float* out) {                                                            \
    SUM sum[4] = {(SUM)0, (SUM)1, (SUM)2, (SUM)3};                                                             \
    const FACTOR a = (FACTOR)(0.5f + local_id()), b = (FACTOR)0.25f;                                           \
    for (u32 round = 0; round < rounds; ++round)                                                               \
      _Pragma("unroll") for (u32 step = 0; step < 4; ++step)                                                   \
        _Pragma("unroll") for (u32 i = 0; i < 4; ++i) sum[i] = MULTIPLY;                                       \
    if (sum[0].x + sum[1].x + sum[2].x + sum[3].x == UNLIKELY) out[local_id()] = 1.0f;                         \
  }
typedef float float16_ __attribute__((ext_vector_type(16)));
typedef float float8_ __attribute__((ext_vector_type(8)));
typedef half half4_ __attribute__((ext_vector_type(4)));
typedef half half16_ __attribute__((ext_vector_type(16)));
#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__)
MATRIX_RATE(rate_matrix_f32, float16_, float, __builtin_amdgcn_mfma_f32_32x32x2f32(a, b, sum[i], 0, 0, 0))
MATRIX_RATE(rate_matrix_f16, float16_, half4_, __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, sum[i], 0, 0, 0))
#elif defined(__gfx1100__) || defined(__gfx1101__) || defined(__gfx1102__) || defined(__gfx1103__) || \
    defined(__gfx1150__) || defined(__gfx1151__)
MATRIX_RATE(rate_matrix_f16, float8_, half16_, __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, sum[i]))
#endif

// Every work-item reads `count` vectors of 16 bytes, all of them together one stretch after the other, from a buffer
// of mask + 1 vectors: what level of memory answers is a matter of its size.
WIDE_KERNEL read_vectors(global const float4* in, u32 mask, u32 count, global float* out) {
  const u32 step = __builtin_amdgcn_grid_size_x();
  u32 at = __builtin_amdgcn_workgroup_id_x() * WIDE + local_id();
  float4 sum = (float4)0;
  for (u32 i = 0; i < count; i += 4)
    _Pragma("unroll") for (u32 k = 0; k < 4; ++k) {
      sum += in[at & mask];
      at += step;
    }
  if (sum.x + sum.y + sum.z + sum.w == UNLIKELY) out[local_id()] = 1.0f;
}

// The same from LDS, after the first vectors have been put there.
WIDE_KERNEL read_lds(global const float4* in, u32 mask, u32 count, global float* out) {
  local float4 tile[WIDE];
  tile[local_id()] = in[local_id() & mask];
  barrier_here();
  u32 at = local_id();
  float4 sum = (float4)0;
  for (u32 i = 0; i < count; i += 4)
    _Pragma("unroll") for (u32 k = 0; k < 4; ++k) {
      sum += tile[at & (WIDE - 1)];
      at += 16;
    }
  if (sum.x + sum.y + sum.z + sum.w == UNLIKELY) out[local_id()] = 1.0f;
}
