// Registers that are used before their load was waited for, in inline assembler, and the same done right. labelled.py
// reads the labels; races.hip says how they look. All of a sequence stands on one line, so that no compiler comes between.
#include "check.h"

constexpr int kThreads = 256;

#define KERNEL         \
  template <bool kBug> \
  __global__ void

// clang-format off
// load_read: unwaited-read @0-255
KERNEL load_read(int* data) {
  int x, y;
  int* p = data + 4 * threadIdx.x;
  if constexpr (kBug) {
    asm volatile("global_load_dword %0, %2, off\nv_xor_b32 %1, 1, %0\ns_waitcnt vmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");  // <a>
  } else {
    asm volatile("global_load_dword %0, %2, off\ns_waitcnt vmcnt(0)\nv_xor_b32 %1, 1, %0" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// The first of two loads is there, the second is not.
// second_of_two: unwaited-read @0-255
KERNEL second_of_two(int* data) {
  int x, y;
  int* p = data + 4 * threadIdx.x;
  if constexpr (kBug) {
    asm volatile("global_load_dword %0, %2, off\nglobal_load_dword %1, %2, off offset:4\ns_waitcnt vmcnt(1)\nv_xor_b32 %1, 1, %1\ns_waitcnt vmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");  // <a>
  } else {
    asm volatile("global_load_dword %0, %2, off\nglobal_load_dword %1, %2, off offset:4\ns_waitcnt vmcnt(1)\nv_xor_b32 %0, 1, %0\ns_waitcnt vmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// lgkmcnt is not for global memory.
// other_counter: unwaited-read @0-255
KERNEL other_counter(int* data) {
  int x, y;
  int* p = data + 4 * threadIdx.x;
  if constexpr (kBug) {
    asm volatile("global_load_dword %0, %2, off\ns_waitcnt lgkmcnt(0)\nv_xor_b32 %1, 1, %0\ns_waitcnt vmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");  // <a>
  } else {
    asm volatile("global_load_dword %0, %2, off\ns_waitcnt vmcnt(0)\nv_xor_b32 %1, 1, %0" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// overwritten: unwaited-write @0-255
KERNEL overwritten(int* data) {
  int x, y;
  int* p = data + 4 * threadIdx.x;
  if constexpr (kBug) {
    asm volatile("global_load_dword %0, %2, off\nv_mov_b32 %0, 0\nv_mov_b32 %1, 0\ns_waitcnt vmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");  // <a>
  } else {
    asm volatile("global_load_dword %0, %2, off\ns_waitcnt vmcnt(0)\nv_mov_b32 %0, 0\nv_mov_b32 %1, 0" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// As the data of a store.
// stored: unwaited-read @0-255
KERNEL stored(int* data) {
  int x, y;
  int* p = data + 4 * threadIdx.x;
  if constexpr (kBug) {
    asm volatile("global_load_dword %0, %2, off\nglobal_store_dword %2, %0, off offset:8\nv_mov_b32 %1, 0\ns_waitcnt vmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");  // <a>
  } else {
    asm volatile("global_load_dword %0, %2, off\nv_mov_b32 %1, 0\ns_waitcnt vmcnt(0)\nglobal_store_dword %2, %0, off offset:8" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// The second register of two.
// wide_second: unwaited-read @0-255
KERNEL wide_second(int* data) {
  int x, y;
  int* p = data + 4 * threadIdx.x;
  if constexpr (kBug) {
    asm volatile("global_load_dwordx2 v[40:41], %2, off\nv_mov_b32 %0, 0\nv_mov_b32 %1, v41\ns_waitcnt vmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40", "v41");  // <a>
  } else {
    asm volatile("global_load_dwordx2 v[40:41], %2, off\nv_mov_b32 %0, 0\ns_waitcnt vmcnt(0)\nv_mov_b32 %1, v41" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40", "v41");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// As what an atomic adds.
// atomic_data: unwaited-read @0-255
KERNEL atomic_data(int* data) {
  int x, y;
  int* p = data + 4 * threadIdx.x;
  if constexpr (kBug) {
    asm volatile("global_load_dword %0, %2, off\nv_mov_b32 %1, 0\nglobal_atomic_add %2, %0, off offset:8\ns_waitcnt vmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");  // <a>
  } else {
    asm volatile("global_load_dword %0, %2, off\nv_mov_b32 %1, 0\ns_waitcnt vmcnt(0)\nglobal_atomic_add %2, %0, off offset:8" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// From global memory to LDS.
// lds_data: unwaited-read @0-255
KERNEL lds_data(int* data) {
  __shared__ int line[kThreads];
  line[threadIdx.x] = 0;
  const int l = 4 * threadIdx.x;
  int x, y;
  int* p = data + 4 * threadIdx.x;
  if constexpr (kBug) {
    asm volatile("global_load_dword %0, %2, off\nv_mov_b32 %1, 0\nds_write_b32 %3, %0\ns_waitcnt vmcnt(0) lgkmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(p), "v"(l) : "memory", "s30", "scc", "v40");  // <a>
  } else {
    asm volatile("global_load_dword %0, %2, off\nv_mov_b32 %1, 0\ns_waitcnt vmcnt(0)\nds_write_b32 %3, %0\ns_waitcnt lgkmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(p), "v"(l) : "memory", "s30", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// lds_read: unwaited-read @0-255
KERNEL lds_read(int* data) {
  __shared__ int line[kThreads];
  line[threadIdx.x] = 0;
  int x, y;
  const int l = 4 * threadIdx.x;
  if constexpr (kBug) {
    asm volatile("ds_write_b32 %2, %2\nds_read_b32 %0, %2\nv_xor_b32 %1, 1, %0\ns_waitcnt lgkmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(l) : "memory", "s30", "scc", "v40");  // <a>
  } else {
    asm volatile("ds_write_b32 %2, %2\nds_read_b32 %0, %2\ns_waitcnt lgkmcnt(0)\nv_xor_b32 %1, 1, %0" : "=&v"(x), "=&v"(y) : "v"(l) : "memory", "s30", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// LDS operations finish in order.
// lds_second: unwaited-read @0-255
KERNEL lds_second(int* data) {
  __shared__ int line[kThreads];
  line[threadIdx.x] = 0;
  int x, y;
  const int l = 4 * threadIdx.x;
  if constexpr (kBug) {
    asm volatile("ds_write_b32 %2, %2\nds_read_b32 %0, %2\nds_read_b32 %1, %2\ns_waitcnt lgkmcnt(1)\nv_xor_b32 %1, 1, %1\ns_waitcnt lgkmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(l) : "memory", "s30", "scc", "v40");  // <a>
  } else {
    asm volatile("ds_write_b32 %2, %2\nds_read_b32 %0, %2\nds_read_b32 %1, %2\ns_waitcnt lgkmcnt(1)\nv_xor_b32 %0, 1, %0\ns_waitcnt lgkmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(l) : "memory", "s30", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// As the address of the next.
// lds_address: unwaited-read @0-255
KERNEL lds_address(int* data) {
  __shared__ int line[kThreads];
  line[threadIdx.x] = 0;
  int x, y;
  const int l = 4 * threadIdx.x;
  if constexpr (kBug) {
    asm volatile("ds_write_b32 %2, %2\nds_read_b32 %0, %2\nds_read_b32 %1, %0\ns_waitcnt lgkmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(l) : "memory", "s30", "scc", "v40");  // <a>
  } else {
    asm volatile("ds_write_b32 %2, %2\nds_read_b32 %0, %2\ns_waitcnt lgkmcnt(0)\nds_read_b32 %1, %0\ns_waitcnt lgkmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(l) : "memory", "s30", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// shuffled: unwaited-read @0-255
KERNEL shuffled(int* data) {
  __shared__ int line[kThreads];
  line[threadIdx.x] = 0;
  int x, y;
  const int l = 4 * threadIdx.x;
  if constexpr (kBug) {
    asm volatile("ds_bpermute_b32 %0, %2, %2\nv_xor_b32 %1, 1, %0\ns_waitcnt lgkmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(l) : "memory", "s30", "scc", "v40");  // <a>
  } else {
    asm volatile("ds_bpermute_b32 %0, %2, %2\ns_waitcnt lgkmcnt(0)\nv_xor_b32 %1, 1, %0" : "=&v"(x), "=&v"(y) : "v"(l) : "memory", "s30", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// LDS and global memory fill the same register, in whatever order.
// two_orders: unwaited-write @0-255
KERNEL two_orders(int* data) {
  __shared__ int line[kThreads];
  line[threadIdx.x] = 0;
  int x, y;
  int* p = data + 4 * threadIdx.x;
  const int l = 4 * threadIdx.x;
  if constexpr (kBug) {
    asm volatile("ds_write_b32 %3, %3\nglobal_load_dword %0, %2, off\nds_read_b32 %0, %3\nv_mov_b32 %1, 0\ns_waitcnt vmcnt(0) lgkmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(p), "v"(l) : "memory", "s30", "scc", "v40");  // <a>
  } else {
    asm volatile("ds_write_b32 %3, %3\nglobal_load_dword %0, %2, off\nv_mov_b32 %1, 0\ns_waitcnt vmcnt(0)\nds_read_b32 %0, %3\ns_waitcnt lgkmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(p), "v"(l) : "memory", "s30", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// An atomic that returns is a load.
// returned: unwaited-read @0-255
KERNEL returned(int* data) {
  int x, y;
  int* p = data + 4 * threadIdx.x;
  if constexpr (kBug) {
    asm volatile("v_mov_b32 %1, 0\nglobal_atomic_add %0, %2, %1, off glc\nv_xor_b32 %1, 1, %0\ns_waitcnt vmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");  // <a>
  } else {
    asm volatile("v_mov_b32 %1, 0\nglobal_atomic_add %0, %2, %1, off glc\ns_waitcnt vmcnt(0)\nv_xor_b32 %1, 1, %0" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// first_lane: unwaited-read @(t % W == 0)
KERNEL first_lane(int* data) {
  int x, y;
  int* p = data + 4 * threadIdx.x;
  if constexpr (kBug) {
    asm volatile("global_load_dword %0, %2, off\nv_readfirstlane_b32 s30, %0\nv_mov_b32 %1, 0\ns_waitcnt vmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");  // <a>
  } else {
    asm volatile("global_load_dword %0, %2, off\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s30, %0\nv_mov_b32 %1, 0" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// A flat load of global memory needs vmcnt.
// flat_read: unwaited-read @0-255
KERNEL flat_read(int* data) {
  int x, y;
  int* p = data + 4 * threadIdx.x;
  if constexpr (kBug) {
    asm volatile("flat_load_dword %0, %2\ns_waitcnt lgkmcnt(0)\nv_xor_b32 %1, 1, %0\ns_waitcnt vmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");  // <a>
  } else {
    asm volatile("flat_load_dword %0, %2\ns_waitcnt vmcnt(0) lgkmcnt(0)\nv_xor_b32 %1, 1, %0" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// high_half: unwaited-read @0-255
KERNEL high_half(int* data) {
  int x, y;
  int* p = data + 4 * threadIdx.x;
  if constexpr (kBug) {
    asm volatile("v_mov_b32 %0, 0\nglobal_load_short_d16_hi %0, %2, off\nv_lshrrev_b32 %1, 16, %0\ns_waitcnt vmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");  // <a>
  } else {
    asm volatile("v_mov_b32 %0, 0\nglobal_load_short_d16_hi %0, %2, off\ns_waitcnt vmcnt(0)\nv_lshrrev_b32 %1, 16, %0" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// Loaded in one turn, used in the next.
// round_a_loop: unwaited-read @0-255
KERNEL round_a_loop(int* data) {
  int x, y;
  int* p = data + 4 * threadIdx.x;
  if constexpr (kBug) {
    asm volatile("v_mov_b32 %0, 0\ns_movk_i32 s30, 3\nagain%=:\nv_mov_b32 %1, %0\nglobal_load_dword %0, %2, off\ns_sub_u32 s30, s30, 1\ns_cmp_lg_u32 s30, 0\ns_cbranch_scc1 again%=\ns_waitcnt vmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");  // <a>
  } else {
    asm volatile("v_mov_b32 %0, 0\ns_movk_i32 s30, 3\nagain%=:\nv_mov_b32 %1, %0\nglobal_load_dword %0, %2, off\ns_sub_u32 s30, s30, 1\ns_cmp_lg_u32 s30, 0\ns_waitcnt vmcnt(0)\ns_cbranch_scc1 again%=" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// Three are on their way, two may stay.
// too_weak: unwaited-read @0-255
KERNEL too_weak(int* data) {
  int x, y;
  int* p = data + 4 * threadIdx.x;
  if constexpr (kBug) {
    asm volatile("global_load_dword %1, %2, off\nglobal_load_dword %0, %2, off offset:4\nglobal_load_dword v40, %2, off offset:8\ns_waitcnt vmcnt(2)\nv_xor_b32 %0, 1, %0\ns_waitcnt vmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");  // <a>
  } else {
    asm volatile("global_load_dword %1, %2, off\nglobal_load_dword %0, %2, off offset:4\nglobal_load_dword v40, %2, off offset:8\ns_waitcnt vmcnt(1)\nv_xor_b32 %0, 1, %0\ns_waitcnt vmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// written_lane: unwaited-write @(t % W == 3)
KERNEL written_lane(int* data) {
  int x, y;
  int* p = data + 4 * threadIdx.x;
  if constexpr (kBug) {
    asm volatile("global_load_dword %0, %2, off\nv_writelane_b32 %0, 0, 3\nv_mov_b32 %1, 0\ns_waitcnt vmcnt(0)" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");  // <a>
  } else {
    asm volatile("global_load_dword %0, %2, off\ns_waitcnt vmcnt(0)\nv_writelane_b32 %0, 0, 3\nv_mov_b32 %1, 0" : "=&v"(x), "=&v"(y) : "v"(p) : "memory", "s30", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}

// ---- Scalar loads. Unoptimised code has the address in vector registers.

__device__ unsigned low(int* p) { return static_cast<unsigned>(reinterpret_cast<size_t>(p)); }
__device__ unsigned high(int* p) { return static_cast<unsigned>(reinterpret_cast<size_t>(p) >> 32); }

// scalar_read: unwaited-read @wave
KERNEL scalar_read(int* data) {
  int x, y;
  if constexpr (kBug) {
    asm volatile("v_readfirstlane_b32 s30, %2\nv_readfirstlane_b32 s31, %3\ns_load_dword %0, s[30:31], 0x0\ns_add_u32 %1, %0, 1\ns_waitcnt lgkmcnt(0)" : "=&s"(x), "=&s"(y) : "v"(low(data)), "v"(high(data)) : "memory", "s30", "s31", "scc", "v40");  // <a>
  } else {
    asm volatile("v_readfirstlane_b32 s30, %2\nv_readfirstlane_b32 s31, %3\ns_load_dword %0, s[30:31], 0x0\ns_waitcnt lgkmcnt(0)\ns_add_u32 %1, %0, 1" : "=&s"(x), "=&s"(y) : "v"(low(data)), "v"(high(data)) : "memory", "s30", "s31", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// Scalar loads come in any order: only 0 proves one.
// scalar_order: unwaited-read @wave
KERNEL scalar_order(int* data) {
  int x, y;
  if constexpr (kBug) {
    asm volatile("v_readfirstlane_b32 s30, %2\nv_readfirstlane_b32 s31, %3\ns_load_dword %0, s[30:31], 0x0\ns_load_dword %1, s[30:31], 0x4\ns_waitcnt lgkmcnt(1)\ns_add_u32 %0, %0, 1\ns_waitcnt lgkmcnt(0)" : "=&s"(x), "=&s"(y) : "v"(low(data)), "v"(high(data)) : "memory", "s30", "s31", "scc", "v40");  // <a>
  } else {
    asm volatile("v_readfirstlane_b32 s30, %2\nv_readfirstlane_b32 s31, %3\ns_load_dword %0, s[30:31], 0x0\ns_load_dword %1, s[30:31], 0x4\ns_waitcnt lgkmcnt(0)\ns_add_u32 %0, %0, 1" : "=&s"(x), "=&s"(y) : "v"(low(data)), "v"(high(data)) : "memory", "s30", "s31", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// scalar_overwritten: unwaited-write @wave
KERNEL scalar_overwritten(int* data) {
  int x, y;
  if constexpr (kBug) {
    asm volatile("v_readfirstlane_b32 s30, %2\nv_readfirstlane_b32 s31, %3\ns_load_dword %0, s[30:31], 0x0\ns_mov_b32 %0, 0\ns_mov_b32 %1, 0\ns_waitcnt lgkmcnt(0)" : "=&s"(x), "=&s"(y) : "v"(low(data)), "v"(high(data)) : "memory", "s30", "s31", "scc", "v40");  // <a>
  } else {
    asm volatile("v_readfirstlane_b32 s30, %2\nv_readfirstlane_b32 s31, %3\ns_load_dword %0, s[30:31], 0x0\ns_waitcnt lgkmcnt(0)\ns_mov_b32 %0, 0\ns_mov_b32 %1, 0" : "=&s"(x), "=&s"(y) : "v"(low(data)), "v"(high(data)) : "memory", "s30", "s31", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// As an operand of a vector instruction.
// scalar_operand: unwaited-read @wave
KERNEL scalar_operand(int* data) {
  int x, y;
  if constexpr (kBug) {
    asm volatile("v_readfirstlane_b32 s30, %2\nv_readfirstlane_b32 s31, %3\ns_load_dword %0, s[30:31], 0x0\ns_mov_b32 %1, 0\nv_mov_b32 v40, %0\ns_waitcnt lgkmcnt(0)" : "=&s"(x), "=&s"(y) : "v"(low(data)), "v"(high(data)) : "memory", "s30", "s31", "scc", "v40");  // <a>
  } else {
    asm volatile("v_readfirstlane_b32 s30, %2\nv_readfirstlane_b32 s31, %3\ns_load_dword %0, s[30:31], 0x0\ns_mov_b32 %1, 0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v40, %0" : "=&s"(x), "=&s"(y) : "v"(low(data)), "v"(high(data)) : "memory", "s30", "s31", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// Two scalar loads to one register.
// scalar_two_writes: unwaited-write @wave
KERNEL scalar_two_writes(int* data) {
  int x, y;
  if constexpr (kBug) {
    asm volatile("v_readfirstlane_b32 s30, %2\nv_readfirstlane_b32 s31, %3\ns_load_dword %0, s[30:31], 0x0\ns_load_dword %0, s[30:31], 0x4\ns_mov_b32 %1, 0\ns_waitcnt lgkmcnt(0)" : "=&s"(x), "=&s"(y) : "v"(low(data)), "v"(high(data)) : "memory", "s30", "s31", "scc", "v40");  // <a>
  } else {
    asm volatile("v_readfirstlane_b32 s30, %2\nv_readfirstlane_b32 s31, %3\ns_load_dword %0, s[30:31], 0x0\ns_waitcnt lgkmcnt(0)\ns_load_dword %0, s[30:31], 0x4\ns_mov_b32 %1, 0\ns_waitcnt lgkmcnt(0)" : "=&s"(x), "=&s"(y) : "v"(low(data)), "v"(high(data)) : "memory", "s30", "s31", "scc", "v40");
  }
  data[1024 + threadIdx.x] = x ^ y;
}
// clang-format on

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
  WT_HIP(hipMemset(g_data, 0, 4096 * sizeof(int)));
  int* const data = g_data;
  RUN(load_read);
  RUN(second_of_two);
  RUN(other_counter);
  RUN(overwritten);
  RUN(stored);
  RUN(wide_second);
  RUN(atomic_data);
  RUN(lds_data);
  RUN(lds_read);
  RUN(lds_second);
  RUN(lds_address);
  RUN(shuffled);
  RUN(two_orders);
  RUN(returned);
  RUN(first_lane);
  RUN(flat_read);
  RUN(high_half);
  RUN(round_a_loop);
  RUN(too_weak);
  RUN(written_lane);
  RUN(scalar_read);
  RUN(scalar_order);
  RUN(scalar_overwritten);
  RUN(scalar_operand);
  RUN(scalar_two_writes);
  return check::finish();
}
