// HIP's integer intrinsics against their definitions: counting, reversing, finding, extracting,
// byte permutation, funnel shifts, 24-bit and high multiplies, averages, absolute differences.
#include "check.h"

enum {
  kPopc,
  kPopcll,
  kClz,
  kClzll,
  kFfs,
  kFfsll,
  kBrev,
  kBrevll,
  kExtract,
  kInsert,
  kPerm,
  kFunnelL,
  kFunnelR,
  kMul24,
  kUmul24,
  kMulhi,
  kUmulhi,
  kUmul64hi,
  kMul64hi,
  kUhadd,
  kSad,
  kUsad,
  kFields
};
const char* const kNames[] = {
    "popc",          "popcll", "clz",        "clzll",     "ffs",       "ffsll",
    "brev",          "brevll", "bitextract", "bitinsert", "byte_perm", "funnelshift_l",
    "funnelshift_r", "mul24",  "umul24",     "mulhi",     "umulhi",    "umul64hi",
    "mul64hi",       "uhadd",  "sad",        "usad"};

__global__ void run(const uint64_t* in_a, const uint64_t* in_b, uint64_t* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const uint64_t a = in_a[i], b = in_b[i];
  const uint32_t x = static_cast<uint32_t>(a), y = static_cast<uint32_t>(b);
  const int sx = static_cast<int>(x), sy = static_cast<int>(y);
  uint64_t* o = out + static_cast<size_t>(i) * kFields;
  o[kPopc] = __popc(x);
  o[kPopcll] = __popcll(a);
  o[kClz] = __clz(sx);
  o[kClzll] = __clzll(static_cast<long long>(a));
  o[kFfs] = __ffs(x);
  o[kFfsll] = __ffsll(static_cast<unsigned long long>(a));
  o[kBrev] = __brev(x);
  o[kBrevll] = __brevll(a);
  // A field that ends within the word; beyond it the results are not defined.
  const unsigned offset = y & 31, width = (y >> 27) % (32 - offset);
  o[kExtract] = __bitextract_u32(x, offset, width);
  o[kInsert] = __bitinsert_u32(x, static_cast<unsigned>(a >> 32), offset, width);
  o[kPerm] = __byte_perm(x, y, static_cast<unsigned>(b >> 32) & 0x7777);
  o[kFunnelL] = __funnelshift_l(x, y, static_cast<unsigned>(b >> 32));
  o[kFunnelR] = __funnelshift_r(x, y, static_cast<unsigned>(b >> 32));
  o[kMul24] = static_cast<uint32_t>(__mul24(sx, sy));
  o[kUmul24] = static_cast<uint32_t>(__umul24(x, y));
  o[kMulhi] = static_cast<uint32_t>(__mulhi(sx, sy));
  o[kUmulhi] = __umulhi(x, y);
  o[kUmul64hi] = __umul64hi(a, b);
  o[kMul64hi] =
      static_cast<uint64_t>(__mul64hi(static_cast<long long>(a), static_cast<long long>(b)));
  o[kUhadd] = __uhadd(x, y);
  o[kSad] = __sad(sx, sy, 17);
  o[kUsad] = __usad(x, y, 17);
}

uint64_t reverse(uint64_t v, int bits) {
  uint64_t r = 0;
  for (int i = 0; i < bits; ++i) r |= (v >> i & 1) << (bits - 1 - i);
  return r;
}

uint64_t reference(int what, uint64_t a, uint64_t b) {
  const uint32_t x = static_cast<uint32_t>(a), y = static_cast<uint32_t>(b),
                 z = static_cast<uint32_t>(b >> 32);
  const int64_t sx = static_cast<int32_t>(x), sy = static_cast<int32_t>(y);
  const auto sign24 = [](uint32_t v) {
    return static_cast<int64_t>(static_cast<int32_t>(v << 8) >> 8);
  };
  const uint32_t offset = y & 31, width = (y >> 27) % (32 - offset);
  const uint32_t mask = width == 0 ? 0 : ~0u >> (32 - width);
  switch (what) {
    case kPopc: return __builtin_popcount(x);
    case kPopcll: return __builtin_popcountll(a);
    case kClz: return x == 0 ? 32 : __builtin_clz(x);
    case kClzll: return a == 0 ? 64 : __builtin_clzll(a);
    case kFfs: return x == 0 ? 0 : __builtin_ctz(x) + 1;
    case kFfsll: return a == 0 ? 0 : __builtin_ctzll(a) + 1;
    case kBrev: return reverse(x, 32);
    case kBrevll: return reverse(a, 64);
    case kExtract: return x >> offset & mask;
    case kInsert:
      return (x & ~(mask << offset)) | ((static_cast<uint32_t>(a >> 32) & mask) << offset);
    case kPerm: {
      uint32_t r = 0;
      const uint64_t pool = uint64_t{y} << 32 | x;
      for (int i = 0; i < 4; ++i)
        r |= static_cast<uint32_t>(pool >> (8 * (z >> (4 * i) & 7)) & 0xff) << (8 * i);
      return r;
    }
    case kFunnelL: return static_cast<uint32_t>((uint64_t{y} << 32 | x) << (z & 31) >> 32);
    case kFunnelR: return static_cast<uint32_t>((uint64_t{y} << 32 | x) >> (z & 31));
    case kMul24: return static_cast<uint32_t>(sign24(x) * sign24(y));
    case kUmul24: return static_cast<uint32_t>(uint64_t{x & 0xffffff} * (y & 0xffffff));
    case kMulhi: return static_cast<uint32_t>((sx * sy) >> 32);
    case kUmulhi: return uint64_t{x} * y >> 32;
    case kUmul64hi: return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
    case kMul64hi:
      return static_cast<uint64_t>(
          (static_cast<__int128>(static_cast<int64_t>(a)) * static_cast<int64_t>(b)) >> 64);
    case kUhadd: return (uint64_t{x} + y) >> 1;
    case kSad: return static_cast<uint32_t>((sx > sy ? sx - sy : sy - sx) + 17);
    default: return static_cast<uint32_t>((x > y ? x - y : y - x) + 17);
  }
}

int main() {
  check::Rng rng(20);
  std::vector<uint64_t> a = {0, 0, 1, ~0ull, 0x80000000, 1ull << 63},
                        b = {0, ~0ull, 0, 1, 0x80000000, 5};
  // Halves that fit 30 bits keep the averages free of signed overflow, whose result is not defined.
  for (int i = 0; i < 600; ++i) {
    const uint64_t mask = i % 2 == 0 ? 0xffffffff3fffffffull : 0x3fffffff3fffffffull;
    a.push_back((rng.next64() >> rng.below(40)) & mask);
    b.push_back(rng.next64() & mask);
  }
  const int count = static_cast<int>(a.size());
  check::Buffer<uint64_t> device_a(a), device_b(b), out(static_cast<size_t>(count) * kFields);
  run<<<check::blocks_for(count, 64), 64>>>(device_a, device_b, out, count);
  check::sync();
  const std::vector<uint64_t> all = out.read();
  for (int what = 0; what < kFields; ++what) {
    std::vector<uint64_t> got, want;
    for (int i = 0; i < count; ++i) {
      const bool overflows = what == kUhadd && i < 6;
      if (overflows) continue;
      got.push_back(all[static_cast<size_t>(i) * kFields + what]);
      want.push_back(reference(what, a[i], b[i]));
    }
    check::equal(kNames[what], got, want);
  }
  return check::finish();
}
