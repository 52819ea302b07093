// Kernels with a race, and the same kernels without it. Every kernel is launched in both forms: <true>
// has the bug. tests/sanitize/labelled.py reads what must be found from the comments here:
//
//   // NAME: KIND[ (warning)][, KIND…]    before the kernel
//   // NAME on gfx9: …                    the same on one generation; on others another line, or nothing is to be found
//   //       … @THREADS                    that do it, of one workgroup; labelled.py says how they are written
//   //       …  [REMARK]                   not to be seen, or not so, in unoptimised code, and why
//   // <a>, // <b>                        on the lines of the two accesses; on one when that is both
//
// "read-write" is read-after-write or write-after-read: that depends on the order of the machine code.
//
// A kernel without such a comment must have no finding in either form.
#include "check.h"

#include <hip/hip_cooperative_groups.h>

constexpr int kThreads = 256;  // four waves of 64, eight of 32
constexpr int kGroups = 6;

#define KERNEL         \
  template <bool kBug> \
  __global__ void

// ---- LDS: barriers.

// lds_read_neighbour: read-write @(t % W == 0) @b(t % W == W - 1)
KERNEL lds_read_neighbour(int* out) {
  __shared__ int line[kThreads];
  const int t = threadIdx.x;
  line[t] = t;  // <a>
  if (!kBug) __syncthreads();
  out[t] = line[(t + 1) % kThreads];  // <b>
}
// lds_write_too_early: read-write @0-255
KERNEL lds_write_too_early(int* out) {
  __shared__ int line[kThreads];
  const int t = threadIdx.x;
  line[t] = t;
  __syncthreads();
  const int next = line[(t + 100) % kThreads];  // <a>
  if (!kBug) __syncthreads();
  line[t] = next * 3;  // <b>
  __syncthreads();
  out[t] = line[t];
}
// lds_two_writers: write-after-write @0-255
KERNEL lds_two_writers(int* out) {
  __shared__ int line[kThreads];
  const int t = threadIdx.x;
  line[kBug ? t % 128 : t] = t;  // <a> <b>
  __syncthreads();
  out[t] = line[t % 128];
}
// Everybody stores the same value: allowed.
KERNEL lds_same_value(int* out) {
  __shared__ int flag;
  const int t = threadIdx.x;
  if (t == 0) flag = 0;
  __syncthreads();
  if (t % 3 == 0 || kBug) flag = 1;
  __syncthreads();
  out[t] = flag;
}
// lds_lanes_collide: write-after-write @0-255
KERNEL lds_lanes_collide(int* out) {
  __shared__ int line[kThreads];
  const int t = threadIdx.x;
  line[t] = 0;
  __syncthreads();
  line[kBug ? t & ~1 : t] = t;  // <a> <b>
  __syncthreads();
  out[t] = line[t];
}
// lds_broadcast: read-write @(t == 0) @b(t >= W)
KERNEL lds_broadcast(int* out) {
  __shared__ int value;
  const int t = threadIdx.x;
  if (t == 0) value = out[0] + 5;  // <a>
  if (!kBug) __syncthreads();
  out[kThreads + t] = value;  // <b>
}
// lds_tree: read-write @(W <= t < 128) @b(t < 64)
KERNEL lds_tree(int* out) {
  __shared__ int sums[kThreads];
  const int t = threadIdx.x;
  sums[t] = t;
  __syncthreads();
  for (int stride = kThreads / 2; stride > 0; stride /= 2) {
    if (t < stride) {
      const int other = sums[t + stride];  // <b>
      sums[t] += other;                    // <a>
    }
    if (!kBug) __syncthreads();
  }
  if (t == 0) out[0] = sums[0];
}
// The barrier at the end of the loop body is missing: the next tile overwrites what others still read.
// lds_tile_reuse: read-write @((t * 7 + 64) % 256 // W != t // W) @b((t - 64) * 183 % 256 // W != t // W)
KERNEL lds_tile_reuse(int* out) {
  __shared__ int tile[kThreads];
  const int t = threadIdx.x;
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    tile[t] = out[t] + i;  // <b>
    __syncthreads();
    sum += tile[(t * 7 + 64) % kThreads];  // <a>
    if (!kBug) __syncthreads();
  }
  out[kThreads + t] = sum;
}
// Two buffers and one barrier are enough; one buffer and one barrier are not.
// lds_double_buffer: read-write @0-255
KERNEL lds_double_buffer(int* out) {
  __shared__ int tile[2][kThreads];
  const int t = threadIdx.x;
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < 6; ++i) {
    int* const now = tile[kBug ? 0 : i & 1];
    now[t] = out[t] + i;  // <b>
    __syncthreads();
    sum += now[(t + 128) % kThreads];  // <a>
  }
  out[kThreads + t] = sum;
}
// Hillis and Steele's scan in one array needs a barrier between reading and writing.
// lds_scan: read-write @(t >= W) @b(t < 256 - W)
KERNEL lds_scan(int* out) {
  __shared__ int line[kThreads];
  const int t = threadIdx.x;
  line[t] = 1;
  __syncthreads();
#pragma unroll 1
  for (int step = 1; step < kThreads; step *= 2) {
    const int before = t >= step ? line[t - step] : 0;  // <a>
    if (!kBug) __syncthreads();
    line[t] += before;  // <b>
    __syncthreads();
  }
  out[t] = line[t];
}
// lds_transpose: read-write @((t % 16 * 16 + t // 16) // W != t // W)
KERNEL lds_transpose(int* out) {
  __shared__ int tile[16][17];
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  tile[y][x] = out[threadIdx.x];  // <a>
  if (!kBug) __syncthreads();
  out[kThreads + threadIdx.x] = tile[x][y];  // <b>
}
// lds_dynamic: read-write @0-255
KERNEL lds_dynamic(int* out) {
  extern __shared__ int dynamic[];
  const int t = threadIdx.x;
  dynamic[t] = t * t;  // <a>
  if (!kBug) __syncthreads();
  out[t] = dynamic[kThreads - 1 - t];  // <b>
}
// Bytes of one word that belong to different waves are different bytes.
// lds_bytes: write-after-write @0-255
KERNEL lds_bytes(int* out) {
  __shared__ unsigned char bytes[kThreads + 8];
  const int t = threadIdx.x;
  bytes[t + 1] = static_cast<unsigned char>(t);
  __syncthreads();
  if (kBug) bytes[(t + 34) % kThreads / 2] = static_cast<unsigned char>(t);  // <a> <b>
  __syncthreads();
  out[t] = bytes[t + 1];
}
// lds_halves: read-write @0-255
KERNEL lds_halves(int* out) {
  __shared__ unsigned short halves[kThreads + 2];
  const int t = threadIdx.x;
  halves[t + 1] = static_cast<unsigned short>(t);  // <a>
  if (!kBug) __syncthreads();
  out[t] = halves[kThreads - t];  // <b>
}
// lds_wide: read-write @0-255
KERNEL lds_wide(int* out) {
  __shared__ int4 wide[kThreads];
  const int t = threadIdx.x;
  wide[t] = make_int4(t, t + 1, t + 2, t + 3);  // <a>
  if (!kBug) __syncthreads();
  out[t] = reinterpret_cast<int*>(wide)[t * 4 ^ 512];  // <b>
}
// Two arrays side by side in LDS do not disturb each other.
KERNEL lds_two_arrays(int* out) {
  __shared__ int one[kThreads];
  __shared__ int two[kThreads];
  const int t = threadIdx.x;
  one[t] = t;
  two[t] = out[t];
  if (t % 64 < 32 || kBug) out[kThreads + t] = one[t] + two[t];
}

// ---- LDS: atomics.

// lds_counter_init: atomic-and-plain @(t == 0) @b(t >= W)
KERNEL lds_counter_init(int* out) {
  __shared__ int count;
  const int t = threadIdx.x;
  if (t == 0) count = 0;  // <a>
  if (!kBug) __syncthreads();
  atomicAdd(&count, t & 1);  // <b>
  __syncthreads();
  out[t] = count;
}
// lds_histogram_read: atomic-and-plain @(t >= 0) @b(t >= 240)
KERNEL lds_histogram_read(int* out) {
  __shared__ int bins[16];
  const int t = threadIdx.x;
  if (t < 16) bins[t] = 0;
  __syncthreads();
  atomicAdd(&bins[t * 5 % 16], 1);  // <a>
  if (!kBug) __syncthreads();
  if (t >= kThreads - 16) out[t] = bins[t % 16];  // <b>
}
// A place in a list for each lane: what is stored there is nobody else's.
// lds_list: read-write @0-255
KERNEL lds_list(int* out) {
  __shared__ int count;
  __shared__ int list[kThreads];
  const int t = threadIdx.x;
  if (t == 0) count = 0;
  __syncthreads();
  const int at = atomicAdd(&count, 1);
  list[at] = t;  // <a>
  if (!kBug) __syncthreads();
  out[t] = list[(t + 64) % kThreads];  // <b>
}
// Lane 0 of each wave takes a lock.
// lds_lock: read-write, write-after-write @(t % W == 0)
KERNEL lds_lock(int* out) {
  __shared__ int lock;
  __shared__ int total;
  const int t = threadIdx.x;
  if (t == 0) lock = total = 0;
  __syncthreads();
  if (t % 32 == 0 && t % warpSize == 0) {
    if (!kBug) {
      while (atomicCAS(&lock, 0, 1) != 0) __builtin_amdgcn_s_sleep(1);
      __threadfence_block();
    }
    total += t;  // <a> <b>
    if (!kBug) {
      __threadfence_block();
      atomicExch(&lock, 0);
    }
  }
  __syncthreads();
  out[t] = total;
}
// The wave that comes last, by a counter in LDS.
// lds_last_wave: read-write @(t % W == 0)
KERNEL lds_last_wave(int* out) {
  __shared__ int parts[8];
  __shared__ int done;
  const int t = threadIdx.x, wave = t / warpSize;
  if (t == 0) done = 0;
  __syncthreads();
  if (t % warpSize == 0) {
    if (!kBug) {
      parts[wave] = wave + 1;
      __threadfence_block();
    }
    const int before = atomicAdd(&done, 1);
    if (kBug) parts[wave] = wave + 1;  // <a>
    __threadfence_block();
    if (before == kThreads / warpSize - 1) {
      int sum = 0;
      for (int i = 0; i < kThreads / warpSize; ++i) sum += parts[i];  // <b>
      out[0] = sum;
    }
  }
}

// ---- Global memory: inside a workgroup.

// global_read_neighbour: read-write @0-255
KERNEL global_read_neighbour(int* out) {
  const int t = threadIdx.x;
  int* const mine = out + blockIdx.x * kThreads;
  mine[t] = t;  // <a>
  if (!kBug) __syncthreads();
  else __builtin_amdgcn_s_sleep(0);
  out[(kGroups + blockIdx.x) * kThreads + t] = mine[kThreads - 1 - t];  // <b>
}
// global_two_writers: write-after-write @0-255
KERNEL global_two_writers(int* out) {
  const int t = threadIdx.x;
  out[blockIdx.x * kThreads + (kBug ? t % 100 : t)] = t;  // <a> <b>
}
// global_exchange_twice: read-write @0-255
KERNEL global_exchange_twice(int* out) {
  const int t = threadIdx.x;
  int* const mine = out + blockIdx.x * kThreads;
  mine[t] = t;
  __syncthreads();
  const int got = mine[(t + 70) % kThreads];  // <a>
  if (!kBug) __syncthreads();
  mine[t] = got + 1;  // <b>
}

// ---- Global memory: between workgroups.

// global_other_group: read-write @0-255
KERNEL global_other_group(int* out) {
  const int t = threadIdx.x, g = blockIdx.x;
  out[g * kThreads + t] = g;  // <a>
  __syncthreads();
  const int from = kBug ? (g + 1) % gridDim.x : g;
  out[(kGroups + g) * kThreads + t] = out[from * kThreads + t];  // <b>
}
// global_one_result: write-after-write @0
KERNEL global_one_result(int* out) {
  if (threadIdx.x == 0) out[kBug ? 0 : blockIdx.x] = blockIdx.x;  // <a> <b>
}
KERNEL global_same_value(int* out) {
  if (threadIdx.x % 7 == 0 || kBug) out[0] = 1;
}
// A tile that is one element too long.
// global_overlap: write-after-write @(t in (0, 248))
KERNEL global_overlap(int* out) {
  const int t = threadIdx.x;
  const int length = kThreads - 8;
  if (t < length + (kBug ? 1 : 0)) out[blockIdx.x * length + t] = blockIdx.x * 1000 + t;  // <a> <b>
}
// global_counter: read-write, write-after-write @0
KERNEL global_counter(int* out) {
  if (threadIdx.x != 0) return;
  if (kBug) out[0] = out[0] + 1;  // <a> <b>
  else atomicAdd(out, 1);
}
// A stencil in place.
// global_stencil: read-write @(t % W == W - 1) @b(t % W == 0)
KERNEL global_stencil(int* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const int last = gridDim.x * kThreads - 1;
  const int sum = out[i] + out[i == last ? 0 : i + 1];  // <a>
  out[kBug ? i : i + kGroups * kThreads] = sum;         // <b>
}
// Groups of 33 threads, bytes: neighbours in one word.
// global_bytes: write-after-write @(t in (0, 32))
KERNEL global_bytes(unsigned char* out) {
  if (threadIdx.x < 33)
    out[blockIdx.x * (kBug ? 32 : 33) + threadIdx.x] = blockIdx.x * 40 + threadIdx.x;  // <a> <b>
}
// The first group writes what all groups read through the scalar cache.
// global_scalar_read: read-write @(O0 or t % W == 0) @b(t == 0)
KERNEL global_scalar_read(const int* __restrict__ in, int* out) {
  out[kThreads + blockIdx.x * kThreads + threadIdx.x] = in[0] + threadIdx.x;  // <a>
  if (blockIdx.x == 1 && threadIdx.x == 0) out[kBug ? 0 : 1] = 77;            // <b>
}
// global_maximum: atomic-and-plain @0-255
KERNEL global_maximum(int* out) {
  const int value = blockIdx.x * 10 + threadIdx.x % 10;
  if (kBug && out[0] >= value) return;  // <a>
  atomicMax(out, value);                // <b>
}
// global_read_counter: atomic-and-plain @0
KERNEL global_read_counter(int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) out[64] = out[kBug ? 0 : 1] + 1;  // <a>
  else atomicAdd(out, 1);                                // <b>
}
// global_read_index: atomic-and-plain @0
KERNEL global_read_index(int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) out[64 + out[kBug ? 0 : 1] % 8] = 7;  // <a>
  else atomicAdd(out, 1);                                    // <b>
}
// Nobody looks at what was loaded.
// global_read_unused: atomic-and-plain (warning) @0  [it is stored in the variable, by a flat address]
KERNEL global_read_unused(int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    int value;
    asm volatile("global_load_dword %0, %1, off\ns_waitcnt vmcnt(0)"  // <a>
                 : "=v"(value)
                 : "v"(out + (kBug ? 0 : 1)));
  } else {
    atomicAdd(out, 1);  // <b>
  }
}
// A loop of compare-and-swap begins with a plain read, and that is fine.
KERNEL global_cas_loop(float* out) {
  unsigned* const bits = reinterpret_cast<unsigned*>(out);
  unsigned seen = *bits;
  while (true) {
    const unsigned now = __float_as_uint(__uint_as_float(seen) + (kBug ? 2.0f : 1.0f));
    const unsigned before = atomicCAS(bits, seen, now);
    if (before == seen) return;
    seen = before;
  }
}

// ---- Global memory: fences, flags, locks.

// The last workgroup adds up what all have left.
// global_last_group: read-write @0  [waits stand where the fence should]
KERNEL global_last_group(int* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    out[16 + blockIdx.x] = blockIdx.x;  // <a>
    if (!kBug) __threadfence();
    last = atomicAdd(out, 1) == static_cast<int>(gridDim.x) - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  __threadfence();
  int sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += out[16 + i];  // <b>
  out[1] = sum;
}
// global_flag: read-write @0  [waits stand where the fence should]
KERNEL global_flag(int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[8] = 42;  // <a>
    if (!kBug) __threadfence();
    atomicExch(out, 1);
  } else if (blockIdx.x == 1) {
    while (atomicAdd(out, 0) == 0) __builtin_amdgcn_s_sleep(2);
    __threadfence();
    out[9] = out[8];  // <b>
  }
}
// The flag is read, and nothing keeps the cache from having what was there before.
// global_flag_no_acquire: missing-acquire (warning) @0
KERNEL global_flag_no_acquire(int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[8] = 42;  // <a>
    __threadfence();
    atomicExch(out, 1);
  } else if (blockIdx.x == 1) {
    while (__hip_atomic_load(out, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0)
      __builtin_amdgcn_s_sleep(2);
    if (!kBug) __threadfence();
    asm volatile("" ::: "memory");
    out[9] = out[8];  // <b>
  }
}
// global_last_no_acquire: missing-acquire (warning) @0
KERNEL global_last_no_acquire(int* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    out[16 + blockIdx.x] = blockIdx.x;  // <a>
    __threadfence();
    last = atomicAdd(out, 1) == static_cast<int>(gridDim.x) - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  if (!kBug) __threadfence();
  int sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += out[16 + i];  // <b>
  out[1] = sum;
}
// The flag is a volatile int, stored as any other.
// global_volatile_flag: read-write @0  [waits stand where the fence should]
KERNEL global_volatile_flag(int* out) {
  volatile int* const flag = out;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[8] = 42;  // <a>
    if (!kBug) __threadfence();
    *flag = 1;
  } else if (blockIdx.x == 1) {
    while (*flag == 0) __builtin_amdgcn_s_sleep(2);
    __threadfence();
    out[9] = out[8];  // <b>
  }
}
// global_release_acquire: read-write @0  [waits stand where the fence should]
KERNEL global_release_acquire(int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[8] = 42;  // <a>
    __hip_atomic_store(out, 1, kBug ? __ATOMIC_RELAXED : __ATOMIC_RELEASE,
                       __HIP_MEMORY_SCOPE_AGENT);
  } else if (blockIdx.x == 1) {
    while (__hip_atomic_load(out, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0)
      __builtin_amdgcn_s_sleep(2);
    out[9] = out[8];  // <b>
  }
}
// All waves of a workgroup wrote; one thread tells.
// global_group_flag: read-write @(t >= W)
KERNEL global_group_flag(int* out) {
  const int t = threadIdx.x;
  if (blockIdx.x == 0) {
    out[64 + t] = t;  // <a>
    if (!kBug) __syncthreads();
    if (t == 0) {
      __threadfence();
      atomicExch(out, 1);
    }
  } else if (blockIdx.x == 1) {
    if (t == 0)
      while (atomicAdd(out, 0) == 0) __builtin_amdgcn_s_sleep(2);
    __syncthreads();
    __threadfence();
    out[64 + kThreads + t] = out[64 + t];  // <b>
  }
}
// global_lock: read-write, write-after-write @0
KERNEL global_lock(int* out) {
  if (threadIdx.x != 0) return;
  if (!kBug) {
    while (atomicCAS(out, 0, 1) != 0) __builtin_amdgcn_s_sleep(2);
    __threadfence();
  }
  out[8] = out[8] + static_cast<int>(blockIdx.x) + 1;  // <a> <b>
  if (!kBug) {
    __threadfence();
    atomicExch(out, 0);
  }
}
// A barrier of all workgroups made of atomics.
// global_grid_barrier: read-write @0-255
KERNEL global_grid_barrier(int* out) {
  const int t = threadIdx.x, g = blockIdx.x;
  out[64 + g * kThreads + t] = g;  // <a>
  if (!kBug) {
    __threadfence();
    __syncthreads();
    if (t == 0) {
      atomicAdd(out, 1);
      while (atomicAdd(out, 0) != static_cast<int>(gridDim.x)) __builtin_amdgcn_s_sleep(2);
    }
    __syncthreads();
    __threadfence();
  }
  const int other = (g + 1) % gridDim.x;
  out[64 + (kGroups + g) * kThreads + t] = out[64 + other * kThreads + t];  // <b>
}
// global_cooperative: read-write @0-255
KERNEL global_cooperative(int* out) {
  const int t = threadIdx.x, g = blockIdx.x;
  out[64 + g * kThreads + t] = g;  // <a>
  if (!kBug) cooperative_groups::this_grid().sync();
  const int other = (g + 1) % gridDim.x;
  out[64 + (kGroups + g) * kThreads + t] = out[64 + other * kThreads + t];  // <b>
}
// global_queue: write-after-write @(t % 32 == 0)
KERNEL global_queue(int* out) {
  if (threadIdx.x % 32 != 0) return;
  const int at = kBug ? static_cast<int>(threadIdx.x / 32) : atomicAdd(out, 1);
  out[64 + at] = blockIdx.x * 1000 + threadIdx.x;  // <a> <b>
}

// ---- Scopes: what is enough between the waves of a workgroup, and is used between workgroups.

// The reader empties the cache of its compute unit, and not the one behind it.
// scope_fence_acquire: missing-acquire (warning) @0
KERNEL scope_fence_acquire(int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[8] = 42;  // <a>
    __threadfence();
    atomicExch(out, 1);
  } else if (blockIdx.x == 1) {
    while (__hip_atomic_load(out, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0)
      __builtin_amdgcn_s_sleep(2);
    if (kBug) __threadfence_block();
    else __threadfence();
    out[9] = out[8];  // <b>
  }
}
// scope_last_acquire: missing-acquire (warning) @0
KERNEL scope_last_acquire(int* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    out[16 + blockIdx.x] = blockIdx.x;  // <a>
    __threadfence();
    last = atomicAdd(out, 1) == static_cast<int>(gridDim.x) - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  if (kBug) __threadfence_block();
  else __threadfence();
  int sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += out[16 + i];  // <b>
  out[1] = sum;
}
// On gfx10 the wait of the narrower fence is that of the wider one.
// scope_fence_release on gfx9: read-write @0  [waits stand where the fence should]
KERNEL scope_fence_release(int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[8] = 42;  // <a>
    if (kBug) __threadfence_block();
    else __threadfence();
    atomicExch(out, 1);
  } else if (blockIdx.x == 1) {
    while (atomicAdd(out, 0) == 0) __builtin_amdgcn_s_sleep(2);
    __threadfence();
    out[9] = out[8];  // <b>
  }
}
// scope_store_release on gfx9: read-write @0  [waits stand where the fence should]
KERNEL scope_store_release(int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    out[8] = 42;  // <a>
    if (kBug) __hip_atomic_store(out, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
    else __hip_atomic_store(out, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  } else if (blockIdx.x == 1) {
    while (__hip_atomic_load(out, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0)
      __builtin_amdgcn_s_sleep(2);
    out[9] = out[8];  // <b>
  }
}
// A counter that is taken with the scope of the workgroup. Before it, the wait is missing; behind it, the second cache.
// scope_counter_release on gfx9: read-write @0  [waits stand where the fence should]
KERNEL scope_counter_release(int* out) {
  if (threadIdx.x != 0) return;
  out[16 + blockIdx.x] = blockIdx.x;  // <a>
  const int before =
      kBug ? __hip_atomic_fetch_add(out, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP)
           : __hip_atomic_fetch_add(out, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  if (before != static_cast<int>(gridDim.x) - 1) return;
  __threadfence();
  int sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += out[16 + i];  // <b>
  out[1] = sum;
}
// scope_counter_acquire: missing-acquire (warning) @0
KERNEL scope_counter_acquire(int* out) {
  if (threadIdx.x != 0) return;
  out[16 + blockIdx.x] = blockIdx.x;  // <a>
  __threadfence();
  const int before =
      kBug ? __hip_atomic_fetch_add(out, 1, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP)
           : __hip_atomic_fetch_add(out, 1, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
  if (before != static_cast<int>(gridDim.x) - 1) return;
  int sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += out[16 + i];  // <b>
  out[1] = sum;
}
// Between the waves of one workgroup it is enough.
KERNEL scope_inside(int* out) {
  const int t = threadIdx.x, g = 64 * blockIdx.x;
  if (t == 0) {
    out[g + 8] = 42;
    if (kBug) __hip_atomic_fetch_add(out + g, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
    else __hip_atomic_fetch_add(out + g, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  } else if (t == 64) {
    while (atomicCAS(out + g, 1, 2) != 1) __builtin_amdgcn_s_sleep(2);
    __threadfence_block();
    out[g + 9] = out[g + 8];
  }
}

// ---- As found in libraries: LDS that is used for one thing and then, a barrier short, for another.

// The mean of a row, then its variance, through the same line.
// library_layer_norm: read-write @0-255
KERNEL library_layer_norm(int* out) {
  __shared__ int line[kThreads];
  const int t = threadIdx.x;
  line[t] = out[t];
  __syncthreads();
  const int mean = line[(t + 64) % kThreads] + line[(t + 128) % kThreads];  // <a>
  if (!kBug) __syncthreads();
  line[t] = mean * t;  // <b>
  __syncthreads();
  out[kThreads + t] = line[(t + 64) % kThreads];
}
// The largest value of a tile is left in one word, which the next tile overwrites.
// library_amax: read-write @(t == 17) @b(t >= W)
KERNEL library_amax(int* out) {
  __shared__ int largest;
  const int t = threadIdx.x;
  int sum = 0;
#pragma unroll 1
  for (int tile = 0; tile < 3; ++tile) {
    if (t == 17) largest = out[tile] + tile;  // <a>
    __syncthreads();
    sum += largest;  // <b>
    if (!kBug) __syncthreads();
  }
  out[kThreads + t] = sum;
}
// The search for a pivot: the row is announced, and read before all have seen the last one.
// library_pivot: read-write @(t // W != 64 // W) @b(t == 64)
KERNEL library_pivot(int* out) {
  __shared__ int row;
  const int t = threadIdx.x;
  if (t == 0) row = 0;
  __syncthreads();
  const int last = row;  // <a>
  if (!kBug) __syncthreads();
  if (t == 64) row = t + last;  // <b>
  __syncthreads();
  out[t] = row + last;
}
// A stage is loaded into the buffer that others still multiply from.
// library_prefetch: read-write @0-255
KERNEL library_prefetch(int* out) {
  __shared__ int stage[2][kThreads];
  const int t = threadIdx.x;
  stage[0][t] = out[t];
  __syncthreads();
  int sum = 0;
#pragma unroll 1
  for (int k = 0; k < 4; ++k) {
    sum += stage[kBug ? 0 : k % 2][(t + 70) % kThreads];  // <a>
    stage[kBug ? 0 : (k + 1) % 2][t] = sum + k;           // <b>
    __syncthreads();
  }
  out[kThreads + t] = sum;
}
// The last 64 threads of a tree, without barriers: right for one wave, not for two.
// library_last_wave: read-write @(64 <= t < 128) @b(t < 64)
KERNEL library_last_wave(int* out) {
  __shared__ int line[kThreads];
  const int t = threadIdx.x;
  line[t] = t;
  __syncthreads();
  if (t < (kBug ? 128 : 32)) {
    const int other = line[t + (kBug ? 128 : 32)];
    line[t] = line[t] + other;                    // <a>
    const int next = line[t + (kBug ? 64 : 16)];  // <b>
    if (t < 16) line[t] = line[t] + next;
  }
  __syncthreads();
  if (t == 0) out[0] = line[0];
}
// Softmax: the sum goes where the maximum was.
// library_softmax: read-write @(t < 256 - W) @b(t == 255)
KERNEL library_softmax(int* out) {
  __shared__ int value;
  const int t = threadIdx.x;
  if (t == 0) value = out[0] + 9;
  __syncthreads();
  const int largest = value;  // <a>
  if (!kBug) __syncthreads();
  if (t == 255) value = largest + 1;  // <b>
  __syncthreads();
  out[kThreads + t] = value - largest;
}
// Partial sums of all groups, added up by the first one without waiting for the others.
// library_partial_sums: read-write @(t == 0) @b(0 < t < 6)
KERNEL library_partial_sums(int* out) {
  const int t = threadIdx.x;
  if (t == 0 && (kBug || blockIdx.x == 0)) out[blockIdx.x] = blockIdx.x + 1;  // <a>
  __syncthreads();
  if (blockIdx.x == 0 && t < kGroups) out[64 + t] = out[t];  // <b>
}
// A matrix is transposed in place: tiles that others still read are overwritten.
// library_in_place: read-write @0-255
KERNEL library_in_place(int* out) {
  const int t = threadIdx.x, g = blockIdx.x;
  const int value = out[g * kThreads + t];                         // <a>
  out[(kBug ? (g + 1) % kGroups : g) * kThreads + t] = value + 1;  // <b>
}
// Halves of a word, by two groups: a store of the whole word in one of them.
// library_halves: write-after-write @0-255
KERNEL library_halves(short* out) {
  const int t = threadIdx.x, g = blockIdx.x;
  if (g > 1) return;
  if (kBug && g == 0) reinterpret_cast<int*>(out)[t] = t * 65539;  // <a>
  else out[2 * t + g] = static_cast<short>(g + 5);                 // <b>
}
// Everybody asks whether there is work, and takes it without asking again.
// library_work_list: write-after-write @0
KERNEL library_work_list(int* out) {
  const int t = threadIdx.x;
  if (t != 0) return;
  const int at = kBug ? static_cast<int>(blockIdx.x) % 2 : static_cast<int>(blockIdx.x);
  out[1024 + at] = blockIdx.x + 3;  // <a> <b>
}
// A row of a triangular solve starts before the row above is done.
// library_solve: read-write @0-255
KERNEL library_solve(int* out) {
  const int t = threadIdx.x;
#pragma unroll 1
  for (int row = 0; row < 3; ++row) {
    const int above = out[row * kThreads + (t + 65) % kThreads];  // <a>
    out[(row + 1) * kThreads + t] = above + row;                  // <b>
    if (!kBug) __syncthreads();
  }
}

int* g_data = nullptr;
constexpr size_t kBytes = 64 * 1024;

template <class F>
void launch(const char* name, F&& run) {
  for (const bool bug : {false, true}) {
    WT_HIP(hipMemset(g_data, 0, kBytes));
    run(bug);
    const hipError_t status = hipDeviceSynchronize();
    check::expect(status == hipSuccess, "%s<%s>", name, bug ? "true" : "false");
  }
}

#define RUN(name, groups, ...)                                                      \
  launch(#name, [&](bool bug) {                                                     \
    if (bug) name<true><<<groups, kThreads, kThreads * sizeof(int)>>>(__VA_ARGS__); \
    else name<false><<<groups, kThreads, kThreads * sizeof(int)>>>(__VA_ARGS__);    \
  })

void run_cooperative() {
  void* arguments[] = {&g_data};
  launch("global_cooperative", [&](bool bug) {
    const void* kernel = bug ? reinterpret_cast<const void*>(global_cooperative<true>)
                             : reinterpret_cast<const void*>(global_cooperative<false>);
    WT_HIP(
        hipLaunchCooperativeKernel(kernel, dim3(kGroups), dim3(kThreads), arguments, 0, nullptr));
  });
}

int main() {
  WT_HIP(hipMalloc(&g_data, kBytes));
  int* const data = g_data;
  RUN(lds_read_neighbour, 1, data);
  RUN(lds_write_too_early, 1, data);
  RUN(lds_two_writers, 1, data);
  RUN(lds_same_value, 1, data);
  RUN(lds_lanes_collide, 1, data);
  RUN(lds_broadcast, 1, data);
  RUN(lds_tree, 1, data);
  RUN(lds_tile_reuse, 1, data);
  RUN(lds_double_buffer, 1, data);
  RUN(lds_scan, 1, data);
  RUN(lds_transpose, 1, data);
  RUN(lds_dynamic, 1, data);
  RUN(lds_bytes, 1, data);
  RUN(lds_halves, 1, data);
  RUN(lds_wide, 1, data);
  RUN(lds_two_arrays, 1, data);
  RUN(lds_counter_init, 1, data);
  RUN(lds_histogram_read, 1, data);
  RUN(lds_list, 1, data);
  RUN(lds_lock, 1, data);
  RUN(lds_last_wave, 1, data);
  RUN(global_read_neighbour, kGroups, data);
  RUN(global_two_writers, kGroups, data);
  RUN(global_exchange_twice, kGroups, data);
  RUN(global_other_group, kGroups, data);
  RUN(global_one_result, kGroups, data);
  RUN(global_same_value, kGroups, data);
  RUN(global_overlap, kGroups, data);
  RUN(global_counter, kGroups, data);
  RUN(global_stencil, kGroups, data);
  RUN(global_bytes, kGroups, reinterpret_cast<unsigned char*>(data));
  RUN(global_scalar_read, kGroups, data, data);
  RUN(global_maximum, kGroups, data);
  RUN(global_read_counter, kGroups, data);
  RUN(global_read_index, kGroups, data);
  RUN(global_read_unused, kGroups, data);
  RUN(global_cas_loop, kGroups, reinterpret_cast<float*>(data));
  RUN(global_last_group, kGroups, data);
  RUN(global_flag, kGroups, data);
  RUN(global_flag_no_acquire, kGroups, data);
  RUN(global_last_no_acquire, kGroups, data);
  RUN(global_volatile_flag, kGroups, data);
  RUN(global_release_acquire, kGroups, data);
  RUN(global_group_flag, kGroups, data);
  RUN(global_lock, kGroups, data);
  RUN(global_grid_barrier, kGroups, data);
  RUN(global_queue, kGroups, data);
  RUN(scope_fence_acquire, kGroups, data);
  RUN(scope_last_acquire, kGroups, data);
  RUN(scope_fence_release, kGroups, data);
  RUN(scope_store_release, kGroups, data);
  RUN(scope_counter_release, kGroups, data);
  RUN(scope_counter_acquire, kGroups, data);
  RUN(scope_inside, kGroups, data);
  RUN(library_layer_norm, 1, data);
  RUN(library_amax, 1, data);
  RUN(library_pivot, 1, data);
  RUN(library_prefetch, 1, data);
  RUN(library_last_wave, 1, data);
  RUN(library_softmax, 1, data);
  RUN(library_partial_sums, kGroups, data);
  RUN(library_in_place, kGroups, data);
  RUN(library_halves, kGroups, reinterpret_cast<short*>(data));
  RUN(library_work_list, kGroups, data);
  RUN(library_solve, 1, data);
  run_cooperative();
  return check::finish();
}
