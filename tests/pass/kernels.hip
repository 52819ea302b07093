// Kernels whose accesses, line by line, the compiler pass and the virtual GPU must count alike. They need no header
// of HIP's, so that any clang compiles them, quickly. Every kernel: in, out, n; 256 work-items a workgroup.
#include "wavetap/device.h"

#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE static __attribute__((device, always_inline))
// Without optimisation a call asks for more stack than ROCm 5.2 gives.
#ifdef __OPTIMIZE__
#define CALLED static __attribute__((device, noinline))
#else
#define CALLED DEVICE
#endif
#define SHARED __attribute__((shared))

DEVICE unsigned local_id() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE unsigned group_id() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE unsigned global_id() { return group_id() * 256 + local_id(); }
DEVICE void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

KERNEL copy(const unsigned* in, unsigned* out, unsigned n) {
  const unsigned i = global_id();
  if (i < n) {
    const unsigned v = in[i];
    out[i] = v;
  }
}

KERNEL strided(const unsigned* in, unsigned* out, unsigned n) {
  const unsigned i = global_id();
  const unsigned v = in[(i * 7) % n];
  out[i] = v;
}

KERNEL reverse(const unsigned* in, unsigned* out, unsigned n) {
  const unsigned i = global_id();
  const unsigned v = in[n - 1 - i];
  out[i] = v + 1;
}

// Workgroups as 16 x 16 tiles: each 16 lanes a row of a 64 x 64 matrix, every other workgroup with its last row alone
// shortened.
KERNEL tile_rows(const unsigned* in, unsigned* out, unsigned n) {
  const unsigned l = local_id(), x = l % 16, y = l / 16;
  if (y == 15 && x > 10 && group_id() % 2 != 0) return;
  const unsigned at = (group_id() / 4 * 16 + y) * 64 + group_id() % 4 * 16 + x;
  const unsigned v = in[at % n];
  out[at % n] = v;
}

KERNEL gather(const unsigned* in, unsigned* out, unsigned n) {
  const unsigned i = global_id();
  const unsigned at = in[i];
  const unsigned v = in[at % n];
  out[i] = v;
}

KERNEL tile(const unsigned* in, unsigned* out, unsigned n) {
  static SHARED unsigned tile[256];
  const unsigned i = global_id();
  const unsigned l = local_id();
  const unsigned v = in[i];
  tile[l] = v;
  barrier();
  const unsigned w = tile[255 - l];
  out[i] = w;
}

KERNEL reduce(const unsigned* in, unsigned* out, unsigned n) {
  static SHARED unsigned sums[256];
  const unsigned l = local_id();
  const unsigned v = in[global_id()];
  sums[l] = v;
  barrier();
  for (unsigned step = 128; step > 0; step /= 2) {
    if (l < step) {
      const unsigned a = sums[l + step];
      const unsigned b = sums[l];
      sums[l] = a + b;
    }
    barrier();
  }
  if (l == 0) {
    const unsigned sum = sums[0];
    out[group_id()] = sum;
  }
}

KERNEL histogram(const unsigned* in, unsigned* out, unsigned n) {
  const unsigned v = in[global_id()];
  __hip_atomic_fetch_add(&out[v % 16], 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

KERNEL divergent(const unsigned* in, unsigned* out, unsigned n) {
  const unsigned i = global_id();
  const unsigned v = in[i];
  unsigned sum = 0;
#pragma clang loop unroll(disable) vectorize(disable)
  for (unsigned k = 0; k < v % 5; ++k) sum += __builtin_nontemporal_load(&in[(i + k) % n]);
  out[i] = sum;
}

CALLED unsigned at(const unsigned* from, unsigned i) { return from[i]; }

KERNEL called(const unsigned* in, unsigned* out, unsigned n) {
  const unsigned i = global_id();
  unsigned v = at(in, i);
  if (i % 3 == 0) v += at(in, n - 1 - i);
  out[i] = v;
}

struct Pair {
  double a;
  unsigned short b;
};

KERNEL pairs(const unsigned* in, unsigned* out, unsigned n) {
  static SHARED Pair pairs[256];
  const unsigned l = local_id();
  const unsigned v = in[global_id()];
  pairs[l].b = static_cast<unsigned short>(v);
  pairs[l].a = v;
  barrier();
  const double a = pairs[(l * 3) % 256].a;
  const unsigned short b = pairs[(l * 5) % 256].b;
  out[global_id()] = static_cast<unsigned>(a) + b;
}

// Odd lanes read LDS and even ones global memory, by one instruction.
KERNEL both_spaces(const unsigned* in, unsigned* out, unsigned n) {
  static SHARED unsigned near[256];
  const unsigned i = global_id();
  const unsigned l = local_id();
  near[l] = i;
  barrier();
  const unsigned* const from = l % 2 != 0 ? near + (l ^ 3) : in + i;
  const unsigned v = *from;
  out[i] = v;
}

// ---- not for comparison: messages, faults, floods, no parameters -----------------------------------

static __attribute__((device)) unsigned places[4096];

KERNEL no_parameters() {
  const unsigned i = global_id();
  places[i] = i * 3 + 1;
}
KERNEL places_of_others(const unsigned* in, unsigned* out, unsigned n) {
  const unsigned i = global_id();
  out[i] = places[i];
}

// Tiles of 8 x 8, rows from the last to the first; every third workgroup without its first two columns and its last row.
KERNEL tiles_8x8(const unsigned* in, unsigned* out, unsigned n) {
  const unsigned l = local_id() % 64, x = l % 8, y = l / 8, tile = group_id() * 4 + local_id() / 64;
  if (group_id() % 3 == 0 && (x < 2 || y == 7)) return;
  const unsigned at = tile / 8 * 512 + (7 - y) * 64 + tile % 8 * 8 + x;
  out[at] = in[at];
}
// Rows of 16 lanes wherever a table says.
KERNEL rows_anywhere(const unsigned* in, unsigned* out, unsigned n) {
  const unsigned i = global_id();
  const unsigned at = in[i / 16] % (n / 16) * 16 + i % 16;
  out[i] = in[at];
}

KERNEL messages(const unsigned* in, unsigned* out, unsigned n) {
  const unsigned i = global_id();
  wavetap_message(7, i / 64);
  out[i] = in[i];
}

// Writes far from everything, after some accesses that are right. Below: above all memory there are addresses that are none,
// which are another fault.
KERNEL faulty(const unsigned* in, unsigned* out, unsigned n) {
  const unsigned i = global_id();
  const unsigned v = in[i];
  out[i - (static_cast<unsigned long>(n) << 24)] = v;
}

// Writes where no address is.
KERNEL nowhere(const unsigned* in, unsigned* out, unsigned n) {
  const unsigned i = global_id();
  const unsigned v = in[i];
  out[i + (1ul << 61) / sizeof *out] = v;
}

// Many records that do not compress.
KERNEL flood(const unsigned* in, unsigned* out, unsigned n) {
  unsigned at = global_id();
#pragma clang loop unroll(disable) vectorize(disable)
  for (unsigned k = 0; k < 400; ++k)
    at = (at * 1664525 + 1013904223 + __builtin_nontemporal_load(&in[at % n])) % n;
  out[global_id()] = at;
}
