// Accesses past the end of an allocation or of LDS that do not fault, and the same kernels done right.
// labelled.py reads the labels; races.hip says how they look. memory_bugs.hip has those that fault.
//
// `data` is 1000 bytes long: 250 ints, 125 of 8 bytes, 62.5 of 16. LDS is 1024 bytes, asked for at launch.
#include "check.h"

constexpr int kThreads = 256;
constexpr int kBytes = 1000;
constexpr int kInts = kBytes / 4;

#define KERNEL         \
  template <bool kBug> \
  __global__ void
#define T const int t = threadIdx.x

// ---- Global memory.

// store_past: out-of-bounds @250
KERNEL store_past(int* data, int*) {
  T;
  if (t < kInts + kBug) data[t] = t;  // <a>
}
// load_past: out-of-bounds @250
KERNEL load_past(int* data, int* out) {
  T;
  if (t < kInts + kBug) out[t] = data[t];  // <a>
}
// byte_store_past: out-of-bounds @255
KERNEL byte_store_past(int* data, int*) {
  T;
  reinterpret_cast<char*>(data)[kBytes - kThreads + kBug + t] = static_cast<char>(t);  // <a>
}
// byte_load_past: out-of-bounds @254-255
KERNEL byte_load_past(int* data, int* out) {
  T;
  out[t] = reinterpret_cast<char*>(data)[kBytes - kThreads + 2 * kBug + t];  // <a>
}
// short_load_past: out-of-bounds @255
KERNEL short_load_past(int* data, int* out) {
  T;
  out[t] = reinterpret_cast<short*>(data)[kBytes / 2 - kThreads + kBug + t];  // <a>
}
// short_store_past: out-of-bounds @253-255
KERNEL short_store_past(int* data, int*) {
  T;
  short* const halves = reinterpret_cast<short*>(data);
  halves[kBytes / 2 - kThreads + 3 * kBug + t] = static_cast<short>(t);  // <a>
}
// long_store_past: out-of-bounds @125
KERNEL long_store_past(int* data, int*) {
  T;
  if (t < 125 + kBug) reinterpret_cast<long*>(data)[t] = t;  // <a>
}
// long_load_past: out-of-bounds @125-127
KERNEL long_load_past(int* data, int* out) {
  T;
  if (t < 125 + 3 * kBug) out[t] = int(reinterpret_cast<long*>(data)[t]);  // <a>
}
// The last element is in by half.
// wide_load_past: out-of-bounds @62
KERNEL wide_load_past(int* data, int* out) {
  T;
  if (t < 62 + kBug) {
    const int4 four = reinterpret_cast<int4*>(data)[t];  // <a>
    out[t] = four.x + four.y + four.z + four.w;
  }
}
// wide_store_past: out-of-bounds @62-63
KERNEL wide_store_past(int* data, int*) {
  T;
  if (t < 62 + 2 * kBug) reinterpret_cast<int4*>(data)[t] = make_int4(t, t, t, t);  // <a>
}
// pair_store_past: out-of-bounds @125
KERNEL pair_store_past(int* data, int*) {
  T;
  if (t < 125 + kBug) reinterpret_cast<float2*>(data)[t] = make_float2(t, 1);  // <a>
}
// atomic_past: out-of-bounds @250
KERNEL atomic_past(int* data, int*) {
  T;
  if (t < kInts + kBug) atomicAdd(data + t, 1);  // <a>
}
// wide_atomic_past: out-of-bounds @125
KERNEL wide_atomic_past(int* data, int*) {
  T;
  if (t < 125 + kBug) atomicAdd(reinterpret_cast<unsigned long long*>(data) + t, 1ull);  // <a>
}
// exchange_past: out-of-bounds @250-252
KERNEL exchange_past(int* data, int* out) {
  T;
  if (t < kInts + 3 * kBug) out[t] = atomicExch(data + t, t);  // <a>
}
// far_past: out-of-bounds @7
KERNEL far_past(int* data, int*) {
  T;
  data[t == 7 && kBug ? 900 : t % kInts] = 1;  // <a>
}
// strided: out-of-bounds @63-255
KERNEL strided(int* data, int*) {
  T;
  if (kBug || t < 63) data[t * 4] = t;  // <a>
}
// row_past: out-of-bounds @250-255
KERNEL row_past(int* data, int* out) {
  T;
  const int row = t / 10, column = t % 10;
  if (kBug || row < 25) out[t] = data[row * 10 + column];  // <a>
}
// reversed: out-of-bounds @0
KERNEL reversed(int* data, int* out) {
  T;
  if (t < kInts) out[t] = data[kInts - 1 + kBug - t];  // <a>
}
// stencil: out-of-bounds @249
KERNEL stencil(int* data, int* out) {
  T;
  if (t < kInts - 1 + kBug) out[t] = data[t + 1];  // <a>
}
// gathered: out-of-bounds @125-255
KERNEL gathered(int* data, int* out) {
  T;
  const int from = out[kThreads + t] + t * (kBug ? 2 : 0);
  if (kBug || t < kInts) out[t] = data[from];  // <a>
}
// odd_lanes: out-of-bounds @1-255/2
KERNEL odd_lanes(int* data, int*) {
  T;
  data[t % 2 == 1 && kBug ? kInts + t : t / 2] = t;  // <a>
}
// uniform_past: out-of-bounds @(t < W if O0 else t == 0)
KERNEL uniform_past(int* data, int* out) {
  out[threadIdx.x] = data[kBug ? 300 : 200];  // <a>
}
// volatile_past: out-of-bounds @250
KERNEL volatile_past(int* data, int* out) {
  T;
  volatile int* there = data;
  if (t < kInts + kBug) out[t] = there[t];  // <a>
}
// looped: out-of-bounds @250
KERNEL looped(int* data, int* out) {
  int sum = 0;
#pragma unroll 1
  for (int i = threadIdx.x; i < kInts + kBug; i += 256) sum += data[i];  // <a>
  out[threadIdx.x] = sum;
}
// Two halves of one allocation: nobody can know.
KERNEL inside(int* data, int* out) {
  T;
  if (t < 100) out[t] = data[100 + t + (kBug ? 10 : 0)];
}

// ---- LDS.

// lds_store_past: lds-out-of-bounds @255  [by way of a flat address, which faults]
KERNEL lds_store_past(int*, int* out) {
  extern __shared__ int shared[];
  T;
  shared[t + kBug] = t;  // <a>
  out[t] = t;
}
// lds_load_past: lds-out-of-bounds @255  [by way of a flat address, which faults]
KERNEL lds_load_past(int*, int* out) {
  extern __shared__ int shared[];
  T;
  shared[t] = t;
  __syncthreads();
  out[t] = shared[t + kBug];  // <a>
}
// lds_half: lds-out-of-bounds @128-255  [by way of a flat address, which faults]
KERNEL lds_half(int*, int* out) {
  extern __shared__ int shared[];
  T;
  shared[t] = t;
  __syncthreads();
  out[t] = shared[kBug ? t + 128 : t];  // <a>
}
// lds_before: lds-out-of-bounds @0  [by way of a flat address, which faults]
KERNEL lds_before(int*, int* out) {
  extern __shared__ int shared[];
  T;
  shared[t] = t;
  __syncthreads();
  out[t] = shared[t - (kBug ? 1 : 0)];  // <a>
}
// lds_atomic_past: lds-out-of-bounds @200-255  [by way of a flat address, which faults]
KERNEL lds_atomic_past(int*, int* out) {
  extern __shared__ int shared[];
  T;
  shared[t] = 0;
  __syncthreads();
  atomicAdd(&shared[kBug ? t + 56 : t], 1);  // <a>
  __syncthreads();
  out[t] = shared[t];
}
// lds_byte_past: lds-out-of-bounds @254-255  [by way of a flat address, which faults]
KERNEL lds_byte_past(int*, int* out) {
  extern __shared__ int shared[];
  T;
  reinterpret_cast<char*>(shared)[1024 - kThreads + 2 * kBug + t] = 1;  // <a>
  out[t] = t;
}
// lds_wide_past: lds-out-of-bounds @63  [by way of a flat address, which faults]
KERNEL lds_wide_past(int*, int* out) {
  extern __shared__ int shared[];
  T;
  if (t < 64) reinterpret_cast<long*>(shared)[2 * t + 1 + kBug] = t;  // <a>
  out[t] = t;
}
// lds_far: lds-out-of-bounds @3  [by way of a flat address, which faults]
KERNEL lds_far(int*, int* out) {
  extern __shared__ int shared[];
  T;
  shared[t == 3 && kBug ? 9000 : t] = t;  // <a>
  out[t] = t;
}

int* g_out = nullptr;

template <class F>
void launch(const char* name, F&& run) {
  for (const bool bug : {false, true}) {
    int* data = nullptr;
    WT_HIP(hipMalloc(&data, kBytes));
    WT_HIP(hipMemset(data, 0, kBytes));
    WT_HIP(hipMemset(g_out, 0, 4096));
    run(data, bug);
    check::expect(hipDeviceSynchronize() == hipSuccess, "%s<%s>", name, bug ? "true" : "false");
    WT_HIP(hipFree(data));
  }
}

#define RUN(name)                                            \
  launch(#name, [&](int* data, bool bug) {                   \
    if (bug) name<true><<<1, kThreads, 1024>>>(data, g_out); \
    else name<false><<<1, kThreads, 1024>>>(data, g_out);    \
  })

// Any argument: without LDS.
int main(int argc, char**) {
  WT_HIP(hipMalloc(&g_out, 4096));
  RUN(store_past), RUN(load_past), RUN(byte_store_past), RUN(byte_load_past), RUN(short_load_past);
  RUN(short_store_past), RUN(long_store_past), RUN(long_load_past), RUN(wide_load_past);
  RUN(wide_store_past), RUN(pair_store_past), RUN(atomic_past), RUN(wide_atomic_past);
  RUN(exchange_past), RUN(far_past), RUN(strided), RUN(row_past), RUN(reversed), RUN(stencil);
  RUN(gathered), RUN(odd_lanes), RUN(uniform_past), RUN(volatile_past), RUN(looped), RUN(inside);
  if (argc > 1) return check::finish();
  RUN(lds_store_past), RUN(lds_load_past), RUN(lds_half), RUN(lds_before), RUN(lds_atomic_past);
  RUN(lds_byte_past), RUN(lds_wide_past), RUN(lds_far);
  return check::finish();
}
