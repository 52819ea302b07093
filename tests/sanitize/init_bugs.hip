// LDS that is read before anybody has written it, and the same kernels done right. labelled.py reads the
// labels; races.hip says how they look. Findings have one place here: <a> or <b>.
#include "check.h"

constexpr int kThreads = 256;

#define KERNEL         \
  template <bool kBug> \
  __global__ void

// forgotten_store: uninitialised-lds
KERNEL forgotten_store(int* out) {
  __shared__ int line[kThreads];
  const int t = threadIdx.x;
  if (!kBug || t < 200) line[t] = t;
  __syncthreads();
  out[t] = line[kThreads - 1 - t];  // <a>
}
// A halo of which one cell is never filled.
// halo: uninitialised-lds
KERNEL halo(int* out) {
  __shared__ int line[kThreads + 2];
  const int t = threadIdx.x;
  line[t + 1] = out[t];
  if (t == 0) line[0] = 0;
  if (t == 1 && !kBug) line[kThreads + 1] = 0;
  __syncthreads();
  out[kThreads + t] = line[t] + line[t + 2];  // <a>
}
// histogram: uninitialised-lds
KERNEL histogram(int* out) {
  __shared__ int bins[64];
  const int t = threadIdx.x;
  if (t < (kBug ? 32 : 64)) bins[t] = 0;
  __syncthreads();
  atomicAdd(&bins[t % 64], 1);  // <a>
  __syncthreads();
  if (t < 64) out[t] = bins[t];
}
// counter: uninitialised-lds
KERNEL counter(int* out) {
  __shared__ int count;
  if (!kBug && threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1);  // <a>
  __syncthreads();
  out[threadIdx.x] = count;
}
// dynamic: uninitialised-lds
KERNEL dynamic(int* out) {
  extern __shared__ int shared[];
  const int t = threadIdx.x;
  shared[t] = t;
  __syncthreads();
  out[t] = shared[t + (kBug && t >= 250 ? kThreads : 0)];  // <a>
}
// bytes: uninitialised-lds
KERNEL bytes(int* out) {
  __shared__ unsigned char line[kThreads * 4];
  const int t = threadIdx.x;
  line[t * 4] = static_cast<unsigned char>(t);
  __syncthreads();
  out[t] = line[(t * 4 + 4) % (kThreads * 4) + (kBug ? 1 : 0)];  // <a>
}
// A struct with padding is copied whole.
struct Padded {
  int number;
  char letter;
};
KERNEL padding(Padded* out) {
  __shared__ Padded line[kThreads];
  const int t = threadIdx.x;
  line[t].number = t;
  line[t].letter = kBug ? 'b' : 'a';
  __syncthreads();
  out[t] = line[kThreads - 1 - t];
}
// The first wave fills in for all.
KERNEL first_wave(int* out) {
  __shared__ int line[kThreads];
  const int t = threadIdx.x;
  if (t < 64)
    for (int i = t; i < kThreads; i += 64) line[i] = i + (kBug ? 1 : 0);
  __syncthreads();
  out[t] = line[t];
}

int* g_data = nullptr;

template <class F>
void launch(const char* name, F&& run) {
  for (const bool bug : {false, true}) {
    WT_HIP(hipMemset(g_data, 0, 4096 * sizeof(int)));
    run(bug);
    check::expect(hipDeviceSynchronize() == hipSuccess, "%s<%s>", name, bug ? "true" : "false");
  }
}

#define RUN(name, data)                                                     \
  launch(#name, [&](bool bug) {                                             \
    if (bug) name<true><<<2, kThreads, 2 * kThreads * sizeof(int)>>>(data); \
    else name<false><<<2, kThreads, 2 * kThreads * sizeof(int)>>>(data);    \
  })

int main() {
  WT_HIP(hipMalloc(&g_data, 4096 * sizeof(int)));
  int* const data = g_data;
  RUN(forgotten_store, data);
  RUN(halo, data);
  RUN(histogram, data);
  RUN(counter, data);
  RUN(dynamic, data);
  RUN(bytes, data);
  RUN(padding, reinterpret_cast<Padded*>(data));
  RUN(first_wave, data);
  return check::finish();
}
