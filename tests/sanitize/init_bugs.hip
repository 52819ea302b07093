// Memory and registers that are read before anybody has written them, and the same kernels done right. labelled.py reads the
// labels; races.hip says how they look. Findings have one place here: <a> or <b>.
#include <vector>

#include "check.h"

constexpr int kThreads = 256;

#define KERNEL         \
  template <bool kBug> \
  __global__ void

// forgotten_store: uninitialised-lds @0-55
KERNEL forgotten_store(int* out) {
  __shared__ int line[kThreads];
  const int t = threadIdx.x;
  if (!kBug || t < 200) line[t] = t;
  __syncthreads();
  out[t] = line[kThreads - 1 - t];  // <a>
}
// A halo of which one cell is never filled.
// halo: uninitialised-lds @255
KERNEL halo(int* out) {
  __shared__ int line[kThreads + 2];
  const int t = threadIdx.x;
  line[t + 1] = out[t];
  if (t == 0) line[0] = 0;
  if (t == 1 && !kBug) line[kThreads + 1] = 0;
  __syncthreads();
  out[kThreads + t] = line[t] + line[t + 2];  // <a>
}
// histogram: uninitialised-lds @32-63
KERNEL histogram(int* out) {
  __shared__ int bins[64];
  const int t = threadIdx.x;
  if (t < (kBug ? 32 : 64)) bins[t] = 0;
  __syncthreads();
  atomicAdd(&bins[t % 64], 1);  // <a>
  __syncthreads();
  if (t < 64) out[t] = bins[t];
}
// counter: uninitialised-lds @(t < W)
KERNEL counter(int* out) {
  __shared__ int count;
  if (!kBug && threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1);  // <a>
  __syncthreads();
  out[threadIdx.x] = count;
}
// dynamic: uninitialised-lds @250-255
KERNEL dynamic(int* out) {
  extern __shared__ int shared[];
  const int t = threadIdx.x;
  shared[t] = t;
  __syncthreads();
  out[t] = shared[t + (kBug && t >= 250 ? kThreads : 0)];  // <a>
}
// bytes: uninitialised-lds @0-255
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

// ---- Private memory.

// private_array: uninitialised-private (warning) @(t % 8 >= 4)
KERNEL private_array(int* out) {
  volatile int own[8];
  for (int i = 0; i < (kBug ? 4 : 8); ++i) own[i] = i;
  out[threadIdx.x] = own[threadIdx.x & 7];  // <a>
}
// private_branch: uninitialised-private (warning) @40-255
KERNEL private_branch(int* out) {
  volatile int own[2];
  if (!kBug || threadIdx.x < 40) own[0] = own[1] = 1;
  out[threadIdx.x] = own[threadIdx.x & 1] + 1;  // <a>
}

// ---- Global memory. `in` is allocated anew for each launch; what main() does to it is half of the case.

// never_written: uninitialised-global @0-255
KERNEL never_written(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x] + 1;  // <a>
}
// half_filled: uninitialised-global @128-255
KERNEL half_filled(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x * 2] + 1;  // <a>
}
// one_short: uninitialised-global @255
KERNEL one_short(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x] + 1;  // <a>
}
// only_even: uninitialised-global @0-255
KERNEL only_even(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x * 2 + (kBug ? 1 : 0)] + 1;  // <a>
}
// uniform_read: uninitialised-global @(t < W if O0 else t == 0)
KERNEL uniform_read(const int* in, int* out) {
  out[threadIdx.x] = in[kBug ? 5 : 4] + 1;  // <a>
}
// wide_read: uninitialised-global @(t % 4 == 3)
KERNEL wide_read(const int* in, int* out) {
  const int4 four = reinterpret_cast<const int4*>(in)[threadIdx.x & 3];  // <a>
  out[threadIdx.x] = four.x + four.y + four.z + four.w;
}
// global_atomic: uninitialised-global @(t < W)
KERNEL global_atomic(int* in, int* out) {
  out[threadIdx.x] = atomicAdd(in, 1);  // <a>
}
// byte_read: uninitialised-global @0-255
KERNEL byte_read(const int* in, int* out) {
  out[threadIdx.x] =
      reinterpret_cast<const unsigned char*>(in)[threadIdx.x * 2 + (kBug ? 1 : 0)];  // <a>
}
// index_read: uninitialised-global @0-255
KERNEL index_read(const int* in, int* out) {
  out[threadIdx.x] = out[kThreads + (in[threadIdx.x] & 63)];  // <a>
}
// allocated_again: uninitialised-global @0-255
KERNEL allocated_again(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x] + 1;  // <a>
}
// copied_in_part: uninitialised-global @128-255
KERNEL copied_in_part(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x * 64] + 1;  // <a>
}
// after_atomic: uninitialised-global @0
KERNEL after_atomic(int* in, int* out) {
  if (threadIdx.x == 0) out[0] = in[kBug ? 1 : 0];  // <a>
}
// Structs with padding, written member by member.
KERNEL global_padding(const int* in, int* out) {
  const Padded one = reinterpret_cast<const Padded*>(in)[threadIdx.x];
  reinterpret_cast<Padded*>(out)[threadIdx.x + (kBug ? 1 : 0)] = one;
}
// Host memory, which the host may have written.
KERNEL pinned(const int* in, int* out) { out[threadIdx.x] = in[threadIdx.x] + (kBug ? 1 : 0); }
// Written by the host where that can reach it, or by hipMemcpy.
KERNEL zeros_copied(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x] + (kBug ? 1 : 0);
}
// A store before the load, in the same kernel.
KERNEL own_store(int* in, int* out) {
  in[threadIdx.x] = kBug ? 1 : 2;
  __syncthreads();
  out[threadIdx.x] = in[kThreads - 1 - threadIdx.x];
}

// Two values in one load, of which the second was not written.
// part_branch: uninitialised-global @0-255
KERNEL part_branch(const int* in, int* out) {
  const int2 pair = reinterpret_cast<const int2*>(in)[threadIdx.x];  // <b>
  if (pair.x + pair.y > 3) out[threadIdx.x] = kBug ? 1 : 2;          // <a>
}
// part_index: uninitialised-global @0-255
KERNEL part_index(const int* in, int* out) {
  const int4 four = reinterpret_cast<const int4*>(in)[threadIdx.x];  // <b>
  out[threadIdx.x] = four.x + four.y + four.z;
  out[kThreads + (four.w & 255)] = kBug ? 1 : 2;  // <a>
}
// part_lds: uninitialised-lds @0-255
KERNEL part_lds(const int* in, int* out) {
  __shared__ int2 pairs[kThreads];
  pairs[threadIdx.x].x = in[threadIdx.x];
  if (!kBug) pairs[threadIdx.x].y = in[threadIdx.x] + 1;
  __syncthreads();
  const int2 pair = pairs[(threadIdx.x + 7) % kThreads];  // <b>
  if (pair.x + pair.y > 3) out[threadIdx.x] = 1;          // <a>
}
// Of a value that is not there nobody asks.
KERNEL part_optional(const int* in, int* out) {
  const int2 pair = reinterpret_cast<const int2*>(in)[threadIdx.x];
  out[threadIdx.x] = pair.x;
  if (pair.x >= 1000 && pair.y > 3) out[kThreads + threadIdx.x] = kBug ? 1 : 2;
}

// ---- What a kernel or a copy takes along. main() copies what was written in part to `in`.

// copied_branch: uninitialised-global @0-255
KERNEL copied_branch(const int* in, int* out) {
  const int second = in[threadIdx.x * 2 + 1];         // <b>
  if (second > 300) out[threadIdx.x] = kBug ? 1 : 2;  // <a>
}
// copied_index: uninitialised-global @0-255
KERNEL copied_index(const int* in, int* out) {
  const int last = in[threadIdx.x * 4 + 3];     // <b>
  out[kThreads + (last & 255)] = kBug ? 1 : 2;  // <a>
}
// Twice, the second time with a loop over words.
// copied_again: uninitialised-global @0-255
KERNEL copied_again(const int* in, int* out) {
  const int second = in[threadIdx.x * 2 + 1];         // <b>
  if (second > 300) out[threadIdx.x] = kBug ? 1 : 2;  // <a>
}
// By hipMemcpy, on the GPU.
// device_copy: uninitialised-global @0-255
KERNEL device_copy(const int* in, int* out) {
  const int2 pair = reinterpret_cast<const int2*>(in)[threadIdx.x];  // <b>
  if (pair.x + pair.y > 300) out[threadIdx.x] = kBug ? 1 : 2;        // <a>
}
// copied_lds: uninitialised-lds @0-255
KERNEL copied_lds(const int* in, int* out) {
  __shared__ int4 tile[kThreads];
  tile[threadIdx.x] = reinterpret_cast<const int4*>(in)[threadIdx.x];
  __syncthreads();
  const int last = tile[(threadIdx.x + 5) % kThreads].w;  // <b>
  out[kThreads + (last & 255)] = kBug ? 1 : 2;            // <a>
}
// Structs with padding, copied whole and used.
KERNEL copied_padding(const int* in, int* out) {
  const Padded one = reinterpret_cast<const Padded*>(in)[threadIdx.x];
  if (one.letter == (kBug ? 'a' : 'b') && one.number > 5) out[threadIdx.x] = one.number;
}

// ---- Values of less than four bytes, loaded together.

// byte_branch: uninitialised-global @0-255
KERNEL byte_branch(const int* in, int* out) {
  const uchar4 four = reinterpret_cast<const uchar4*>(in)[threadIdx.x];  // <b>
  if (four.x + four.y > 300) out[threadIdx.x] = kBug ? 1 : 2;            // <a>
}
// short_index: uninitialised-global @0-255
KERNEL short_index(const int* in, int* out) {
  const ushort2 pair = reinterpret_cast<const ushort2*>(in)[threadIdx.x];  // <b>
  out[kThreads + (pair.y & 255)] = pair.x;                                 // <a>
}
// byte_lds: uninitialised-lds @0-255
KERNEL byte_lds(const int* in, int* out) {
  __shared__ uchar4 line[kThreads];
  line[threadIdx.x].x = static_cast<unsigned char>(in[threadIdx.x]);
  if (!kBug) line[threadIdx.x].y = line[threadIdx.x].z = line[threadIdx.x].w = 1;
  __syncthreads();
  const uchar4 four = line[(threadIdx.x + 7) % kThreads];  // <b>
  if (four.x + four.w > 300) out[threadIdx.x] = 1;         // <a>
}
// Words of which one byte was written, copied as words.
// byte_copied: uninitialised-global @0-255
KERNEL byte_copied(const int* in, int* out) {
  const int second = reinterpret_cast<const unsigned char*>(in)[threadIdx.x * 4 + 1];  // <b>
  out[kThreads + second] = kBug ? 1 : 2;                                               // <a>
}
// The byte that was written, out of the word.
KERNEL byte_right(const int* in, int* out) {
  const uchar4 four = reinterpret_cast<const uchar4*>(in)[threadIdx.x];
  if (four.x > 100) out[kThreads + four.x] = kBug ? 1 : 2;
  out[threadIdx.x] = four.x * 2.5f;
}

// Helpers that write.
__global__ void copy_pairs(int2* to, const int2* from) { to[threadIdx.x] = from[threadIdx.x]; }
__global__ void copy_fours(int4* to, const int4* from) { to[threadIdx.x] = from[threadIdx.x]; }
__global__ void copy_structs(Padded* to, const Padded* from) {
  to[threadIdx.x] = from[threadIdx.x];
}
__global__ void copy_words(int* to, const int* from, int count) {
  for (int i = threadIdx.x; i < count; i += kThreads) to[i] = from[i];
}
__global__ void write_every(unsigned char* to, int count, int step) {
  for (int i = threadIdx.x; i * step < count; i += kThreads)
    to[i * step] = static_cast<unsigned char>(i);
}
__global__ void write_shorts(unsigned short* to, int count, int step) {
  for (int i = threadIdx.x; i * step < count; i += kThreads)
    to[i * step] = static_cast<unsigned short>(i);
}
__global__ void write_ints(int* to, int count, int step) {
  for (int i = threadIdx.x; i * step < count; i += kThreads) to[i * step] = i;
}
__global__ void write_bytes(unsigned char* to, int count) {
  for (int i = threadIdx.x; i < count; i += kThreads) to[i * 2] = static_cast<unsigned char>(i);
}
__global__ void write_structs(Padded* to) {
  to[threadIdx.x].number = threadIdx.x;
  to[threadIdx.x].letter = 'a';
}
__global__ void add_to(int* to) { atomicExch(to, 1); }

// ---- Registers, in inline assembler: compilers do not read what they have not written.

// register_stored: uninitialised-register (warning) @0-255  [the value goes through private memory]
KERNEL register_stored(int* out) {
  int x;
  if constexpr (kBug) asm volatile("v_mov_b32 %0, v40" : "=v"(x) : : "v40");  // <a>
  else asm volatile("v_mov_b32 v40, 1\nv_mov_b32 %0, v40" : "=v"(x) : : "v40");
  out[threadIdx.x] = x + 1;  // <b>
}
// register_address: uninitialised-register (warning) @0-255  [the value goes through private memory]
KERNEL register_address(int* out) {
  int x;
  if constexpr (kBug) asm volatile("v_mov_b32 %0, v40" : "=v"(x) : : "v40");  // <a>
  else asm volatile("v_mov_b32 v40, 1\nv_mov_b32 %0, v40" : "=v"(x) : : "v40");
  atomicAdd(&out[x & 63], 1);  // <b>
}
// register_branch: uninitialised-register (warning) @0-255  [the value goes through private memory]
KERNEL register_branch(int* out) {
  int x;
  if constexpr (kBug) asm volatile("s_mov_b32 %0, s77" : "=s"(x) : : "s77");  // <a>
  else asm volatile("s_mov_b32 s77, 0\ns_mov_b32 %0, s77" : "=s"(x) : : "s77");
  if (x > 5)  // <b>
    for (int i = 0; i < 64; ++i) atomicAdd(&out[i * 3], i);
}
// Which lanes go on.
// register_mask: uninitialised-register (warning) @0-255  [the value goes through private memory]
KERNEL register_mask(int* out) {
  int x;
  if constexpr (kBug) asm volatile("v_mov_b32 %0, v40" : "=v"(x) : : "v40");  // <a>
  else asm volatile("v_mov_b32 v40, 0\nv_mov_b32 %0, v40" : "=v"(x) : : "v40");
  if (x > 5)  // <b>
    for (int i = 0; i < 64; ++i) atomicAdd(&out[i * 3], i);
}
// Moved around and then overwritten: nothing depends on it.
KERNEL register_unused(int* out) {
  int x;
  asm volatile("v_mov_b32 %0, v40\nv_mov_b32 %0, 3" : "=v"(x) : : "v40");
  out[threadIdx.x] = x;
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

// `prepare(in, bug)` writes what it likes of `in`.
template <class Prepare, class F>
void launch_fresh(const char* name, size_t bytes, Prepare&& prepare, F&& run) {
  for (const bool bug : {false, true}) {
    int* in = nullptr;
    WT_HIP(hipMalloc(&in, bytes));
    WT_HIP(hipMemset(g_data, 0, 4096 * sizeof(int)));
    prepare(in, bug);
    run(in, bug);
    check::expect(hipDeviceSynchronize() == hipSuccess, "%s<%s>", name, bug ? "true" : "false");
    WT_HIP(hipFree(in));
  }
}

#define RUN_FRESH(name, bytes, ...)                                \
  launch_fresh(#name, bytes, __VA_ARGS__, [&](int* in, bool bug) { \
    if (bug) name<true><<<1, kThreads>>>(in, data);                \
    else name<false><<<1, kThreads>>>(in, data);                   \
  })

// What is written of `source`, in words that are `step` apart, is copied to `in`.
void run_copies(int* data) {
  constexpr size_t kBytes = kThreads * sizeof(int);
  int* source = nullptr;
  const auto fresh = [&](int words, int step) {
    WT_HIP(hipMalloc(&source, words * sizeof(int)));
    write_ints<<<1, kThreads>>>(source, words, step);
    return source;
  };
  const auto pairs = [&](int* in, bool bug) {
    copy_pairs<<<1, kThreads>>>(reinterpret_cast<int2*>(in),
                                reinterpret_cast<int2*>(fresh(2 * kThreads, bug ? 2 : 1)));
    WT_HIP(hipFree(source));
  };
  const auto bytes = [](int* in, bool bug) {
    write_every<<<1, kThreads>>>(reinterpret_cast<unsigned char*>(in), 4 * kThreads, bug ? 4 : 1);
  };
  RUN_FRESH(copied_branch, 2 * kBytes, pairs);
  RUN_FRESH(copied_index, 4 * kBytes, [&](int* in, bool bug) {
    fresh(4 * kThreads, bug ? 4 : 1);
    copy_fours<<<1, kThreads>>>(reinterpret_cast<int4*>(in), reinterpret_cast<int4*>(source));
    WT_HIP(hipFree(source));
  });
  RUN_FRESH(copied_again, 2 * kBytes, [&](int* in, bool bug) {
    int* between = nullptr;
    WT_HIP(hipMalloc(&between, 2 * kBytes));
    pairs(between, bug);
    copy_words<<<1, kThreads>>>(in, between, 2 * kThreads);
    WT_HIP(hipFree(between));
  });
  RUN_FRESH(device_copy, 2 * kBytes, [&](int* in, bool bug) {
    fresh(2 * kThreads, bug ? 2 : 1);
    WT_HIP(hipMemcpy(in, source, 2 * kBytes, hipMemcpyDeviceToDevice));
    WT_HIP(hipFree(source));
  });
  RUN_FRESH(copied_lds, 4 * kBytes,
            [&](int* in, bool bug) { write_ints<<<1, kThreads>>>(in, 4 * kThreads, bug ? 4 : 1); });
  RUN_FRESH(copied_padding, 2 * kBytes, [&](int* in, bool) {
    WT_HIP(hipMalloc(&source, 2 * kBytes));
    write_structs<<<1, kThreads>>>(reinterpret_cast<Padded*>(source));
    copy_structs<<<1, kThreads>>>(reinterpret_cast<Padded*>(in), reinterpret_cast<Padded*>(source));
    WT_HIP(hipFree(source));
  });
  RUN_FRESH(byte_branch, kBytes, bytes);
  RUN_FRESH(short_index, kBytes, [](int* in, bool bug) {
    write_shorts<<<1, kThreads>>>(reinterpret_cast<unsigned short*>(in), 2 * kThreads, bug ? 2 : 1);
  });
  RUN_FRESH(byte_lds, kBytes, [](int* in, bool) { write_ints<<<1, kThreads>>>(in, kThreads, 1); });
  RUN_FRESH(byte_copied, kBytes, [&](int* in, bool bug) {
    WT_HIP(hipMalloc(&source, kBytes));
    bytes(source, bug);
    copy_words<<<1, kThreads>>>(in, source, kThreads);
    WT_HIP(hipFree(source));
  });
  RUN_FRESH(byte_right, kBytes, [&](int* in, bool) { bytes(in, true); });
}

void run_global(int* data) {
  constexpr size_t kBytes = kThreads * sizeof(int);
  const auto zero = [](int* in, bool bug) {
    if (!bug) WT_HIP(hipMemset(in, 0, kBytes));
  };
  const auto write = [](int* in, int count, int step = 1) {
    write_ints<<<1, kThreads>>>(in, count, step);
  };
  RUN_FRESH(never_written, kBytes, zero);
  RUN_FRESH(half_filled, 2 * kBytes,
            [](int* in, bool bug) { WT_HIP(hipMemset(in, 0, bug ? kBytes : 2 * kBytes)); });
  RUN_FRESH(one_short, kBytes,
            [&](int* in, bool bug) { write(in, bug ? kThreads - 1 : kThreads); });
  RUN_FRESH(only_even, 2 * kBytes, [&](int* in, bool) { write(in, 2 * kThreads, 2); });
  RUN_FRESH(uniform_read, kBytes, [&](int* in, bool) { write(in, kThreads, 2); });
  // Right: of each four, one was written.
  RUN_FRESH(wide_read, kBytes, [&](int* in, bool bug) { write(in, bug ? 12 : 16, 4); });
  RUN_FRESH(global_atomic, kBytes, zero);
  RUN_FRESH(byte_read, kBytes, [](int* in, bool) {
    write_bytes<<<1, kThreads>>>(reinterpret_cast<unsigned char*>(in), kThreads);
  });
  RUN_FRESH(index_read, kBytes, zero);
  RUN_FRESH(allocated_again, kBytes, zero);
  std::vector<int> host(64 * kThreads, 0);
  RUN_FRESH(copied_in_part, 64 * kBytes, [&](int* in, bool bug) {
    WT_HIP(hipMemcpy(in, host.data(), bug ? 32 * kBytes : 64 * kBytes, hipMemcpyHostToDevice));
  });
  RUN_FRESH(after_atomic, kBytes, [](int* in, bool) { add_to<<<1, 1>>>(in); });
  RUN_FRESH(global_padding, 2 * kBytes,
            [](int* in, bool) { write_structs<<<1, kThreads>>>(reinterpret_cast<Padded*>(in)); });
  RUN_FRESH(part_branch, 2 * kBytes,
            [&](int* in, bool bug) { write(in, 2 * kThreads, bug ? 2 : 1); });
  RUN_FRESH(part_index, 4 * kBytes, [&](int* in, bool bug) {
    write(in, 4 * kThreads, bug ? 4 : 1);
    if (bug) write(in + 1, 4 * kThreads - 1, 4), write(in + 2, 4 * kThreads - 2, 4);
  });
  RUN_FRESH(part_lds, kBytes, [&](int* in, bool) { write(in, kThreads); });
  RUN_FRESH(part_optional, 2 * kBytes, [&](int* in, bool) { write(in, 2 * kThreads, 2); });
  run_copies(data);
  RUN_FRESH(zeros_copied, kBytes, [&](int* in, bool) {
    WT_HIP(hipMemcpy(in, host.data(), kBytes, hipMemcpyHostToDevice));
  });
  RUN_FRESH(own_store, kBytes, [](int*, bool) {});
  int* shared = nullptr;
  WT_HIP(hipHostMalloc(&shared, kBytes, 0));
  launch("pinned", [&](bool bug) {
    if (bug) pinned<true><<<1, kThreads>>>(shared, data);
    else pinned<false><<<1, kThreads>>>(shared, data);
  });
  WT_HIP(hipHostFree(shared));
}

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
  RUN(private_array, data);
  RUN(private_branch, data);
  RUN(register_stored, data);
  RUN(register_address, data);
  RUN(register_branch, data);
  RUN(register_mask, data);
  RUN(register_unused, data);
  run_global(data);
  return check::finish();
}
