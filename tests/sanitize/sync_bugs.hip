// Barriers and shuffles that not everybody takes part in, and the same kernels done right. labelled.py
// reads the labels; races.hip says how they look. Findings have one place here: <a> or <b>.
#include "check.h"

#include <hip/hip_cooperative_groups.h>

constexpr int kThreads = 256;

#define KERNEL         \
  template <bool kBug> \
  __global__ void

// Half of the lanes of each wave.
// half_a_wave: divergent-barrier @(t % 2 == 0)
KERNEL half_a_wave(int* out) {
  const int t = threadIdx.x;
  out[t] = t;
  if (!kBug || t % 2 == 0) {
    out[kThreads + t] = 1;
    __builtin_amdgcn_s_barrier();  // <a>
    out[kThreads + t] += out[t ^ 2];
  }
  out[2 * kThreads + t] = out[t];
}
// Each half has a barrier of its own.
// both_branches: divergent-barrier @(t % 4 < 2) @b(t % 4 >= 2)
KERNEL both_branches(int* out) {
  const int t = threadIdx.x;
  if (!kBug) {
    out[t] = t;
    __builtin_amdgcn_s_barrier();
  } else if (t % 4 < 2) {
    out[t] = t;
    __builtin_amdgcn_s_barrier();  // <a>
    out[t] += 5;
  } else {
    out[t] = -t;
    __builtin_amdgcn_s_barrier();  // <b>
    out[t] *= 3;
  }
  out[kThreads + t] = t;
}
// Lanes that go round a loop less often.
// trip_counts: divergent-barrier @(t % 2 == 1)
KERNEL trip_counts(int* out) {
  const int t = threadIdx.x;
  const int count = kBug ? 2 + t % 2 : 3;
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    out[t] += i;
    __builtin_amdgcn_s_barrier();  // <a>
  }
  out[kThreads + t] = out[t];
}
// Lanes that returned are not missed.
KERNEL early_return(int* out) {
  const int t = threadIdx.x;
  if (t % 2 == 1 && kBug) return;
  out[t] = t;
  __builtin_amdgcn_s_barrier();
  out[kThreads + t] = out[t ^ 2];
}
// The first wave waits at one barrier, the others at another.
// by_wave: different-barriers (warning) @wave
KERNEL by_wave(int* out) {
  const int t = threadIdx.x;
  const int wave = __builtin_amdgcn_readfirstlane(t / 64);
  if (kBug && wave == 0) {
    out[t] = 1;
    __builtin_amdgcn_s_barrier();  // <b>
    out[t] += 2;
  } else {
    out[t] = 7;
    __builtin_amdgcn_s_barrier();  // <a>
    out[t] *= 8;
  }
}
// wave_leaves: barrier-after-exit (warning) @wave
KERNEL wave_leaves(int* out) {
  const int t = threadIdx.x;
  if (kBug && t >= 192) return;
  out[t] = t;
  __syncthreads();  // <a>
  out[kThreads + t] = out[(t + 64) % 192];
}
// shuffle: inactive-lane (warning) @(t % 2 == 0)
KERNEL shuffle(int* out) {
  const int t = threadIdx.x;
  int value = t;
  if (!kBug || t % 2 == 0) value = __shfl_xor(t * 3, 1);  // <a>
  out[t] = value;
}
// A shuffle by lanes that all are on, in a branch.
KERNEL shuffle_in_branch(int* out) {
  const int t = threadIdx.x;
  int value = t;
  if (t % 2 == 0) value = __shfl_xor(t * 3, kBug ? 2 : 4);
  out[t] = value;
}
// grid_without_cooperation: grid-barrier @wave
KERNEL grid_without_cooperation(int* out) {
  out[threadIdx.x] = 1;
  if (kBug) cooperative_groups::this_grid().sync();  // <a>
}

// A quarter of each wave.
// quarter: divergent-barrier @(t % 4 == 3)
KERNEL quarter(int* out) {
  const int t = threadIdx.x;
  if (!kBug || t % 4 == 3) {
    out[t] = 1;
    __builtin_amdgcn_s_barrier();  // <a>
    out[t] += 2;
  }
  out[kThreads + t] = out[t];
}
// A barrier behind a test of what was loaded.
// by_value: divergent-barrier @(t % 16 >= 8)
KERNEL by_value(int* out) {
  const int t = threadIdx.x;
  const int value = out[t] + t;
  if (!kBug || (value & 8) != 0) {
    out[kThreads + t] = value;
    __builtin_amdgcn_s_barrier();  // <a>
    out[kThreads + t] += 1;
  }
  out[2 * kThreads + t] = value;
}
// In the inner of two branches.
// nested: divergent-barrier @(t % 8 < 5)
KERNEL nested(int* out) {
  const int t = threadIdx.x;
  if (t < 1000) {
    out[t] = t;
    if (!kBug || t % 8 < 5) {
      out[kThreads + t] = 3;
      __builtin_amdgcn_s_barrier();  // <a>
      out[kThreads + t] += 1;
    }
    out[2 * kThreads + t] = 1;
  }
}
// A loop that some lanes leave early.
// broken_loop: divergent-barrier @(t % 2 == 1)
KERNEL broken_loop(int* out) {
  const int t = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < 4; ++i) {
    if (kBug && i == 2 && t % 2 == 0) break;
    out[t] += i;
    __builtin_amdgcn_s_barrier();  // <a>
  }
  out[kThreads + t] = out[t];
}
// The last wave goes by a barrier of its own.
// last_wave: different-barriers (warning) @wave
KERNEL last_wave(int* out) {
  const int t = threadIdx.x;
  const int wave = __builtin_amdgcn_readfirstlane(t / 64);
  if (kBug && wave == 3) {
    out[t] = 4;
    __builtin_amdgcn_s_barrier();  // <b>
    out[t] += 9;
  } else {
    out[t] = 5;
    __builtin_amdgcn_s_barrier();  // <a>
    out[t] *= 6;
  }
}
// first_wave_leaves: barrier-after-exit (warning) @wave
KERNEL first_wave_leaves(int* out) {
  const int t = threadIdx.x;
  if (kBug && t < 64) return;
  out[t] = t;
  __syncthreads();  // <a>
  out[kThreads + t] = out[t];
}
// shuffle_down: inactive-lane (warning) @(t % 32 // 8 == 1)
KERNEL shuffle_down(int* out) {
  const int t = threadIdx.x;
  int value = t;
  if (!kBug || t % 32 < 16) value = __shfl_down(t * 5, 8);  // <a>
  out[t] = value;
}
// shuffle_from: inactive-lane (warning) @(t % 2 == 1)
KERNEL shuffle_from(int* out) {
  const int t = threadIdx.x;
  int value = t;
  if (!kBug || t % 2 == 1) value = __shfl(t * 7, kBug ? 4 : 5);  // <a>
  out[t] = value;
}
// Waves of their own branch, and a barrier that all share.
KERNEL shared_barrier(int* out) {
  const int t = threadIdx.x;
  const int wave = __builtin_amdgcn_readfirstlane(t / 64);
  if (kBug && wave == 1) out[t] = 1;
  __syncthreads();
  out[kThreads + t] = out[(t + 64) % kThreads];
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

#define RUN(name)                               \
  launch(#name, [&](bool bug) {                 \
    if (bug) name<true><<<1, kThreads>>>(data); \
    else name<false><<<1, kThreads>>>(data);    \
  })

int main() {
  WT_HIP(hipMalloc(&g_data, 4096 * sizeof(int)));
  int* const data = g_data;
  RUN(half_a_wave);
  RUN(both_branches);
  RUN(trip_counts);
  RUN(early_return);
  RUN(by_wave);
  RUN(wave_leaves);
  RUN(shuffle);
  RUN(shuffle_in_branch);
  RUN(quarter);
  RUN(by_value);
  RUN(nested);
  RUN(broken_loop);
  RUN(last_wave);
  RUN(first_wave_leaves);
  RUN(shuffle_down);
  RUN(shuffle_from);
  RUN(shared_barrier);
  RUN(grid_without_cooperation);
  return check::finish();
}
