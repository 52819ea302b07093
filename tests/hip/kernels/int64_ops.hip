// 64- and 128-bit integer arithmetic: carries, wide products, shifts by variable amounts, compares.
#include "check.h"

struct Results {
  uint64_t sum, difference, product, high, shifted_left, shifted_right, arithmetic, rotated,
      minimum, maximum;
  uint64_t wide_low, wide_high, counted, compared;
};

__host__ __device__ Results compute(uint64_t a, uint64_t b) {
  const unsigned shift = static_cast<unsigned>(b) & 63;
  const int64_t sa = static_cast<int64_t>(a), sb = static_cast<int64_t>(b);
  const unsigned __int128 wide = static_cast<unsigned __int128>(a) * b + (a ^ b);
  Results r;
  r.sum = a + b;
  r.difference = a - b;
  r.product = a * b;
  r.high = static_cast<uint64_t>((static_cast<__int128>(sa) * sb) >> 64);
  r.shifted_left = a << shift;
  r.shifted_right = a >> shift;
  r.arithmetic = static_cast<uint64_t>(sa >> shift);
  r.rotated = (a << shift) | (a >> ((64 - shift) & 63));
  r.minimum = static_cast<uint64_t>(sa < sb ? sa : sb);
  r.maximum = a > b ? a : b;
  r.wide_low = static_cast<uint64_t>(wide);
  r.wide_high = static_cast<uint64_t>(wide >> 64);
  r.counted = static_cast<uint64_t>(__builtin_popcountll(a)) << 8 |
              static_cast<uint64_t>(b == 0 ? 64 : __builtin_clzll(b));
  r.compared =
      (a < b) | (a <= b) << 1 | (sa < sb) << 2 | (sa >= sb) << 3 | (a == b) << 4 | (a != b) << 5;
  return r;
}

__global__ void run(const uint64_t* a, const uint64_t* b, Results* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = compute(a[i], b[i]);
}

int main() {
  const std::vector<uint64_t> special = {0,
                                         1,
                                         2,
                                         0x7fffffff,
                                         0x80000000,
                                         0xffffffff,
                                         0x100000000,
                                         0x7fffffffffffffff,
                                         0x8000000000000000,
                                         0xffffffffffffffff,
                                         0xffffffff00000000,
                                         0x5555555555555555};
  std::vector<uint64_t> a, b;
  for (uint64_t x : special) {
    for (uint64_t y : special) a.push_back(x), b.push_back(y);
  }
  check::Rng rng(64);
  for (int i = 0; i < 1000; ++i)
    a.push_back(rng.next64() >> rng.below(64)), b.push_back(rng.next64() >> rng.below(64));
  const int count = static_cast<int>(a.size());
  check::Buffer<uint64_t> device_a(a), device_b(b);
  check::Buffer<Results> out(count);
  run<<<check::blocks_for(count, 64), 64>>>(device_a, device_b, out, count);
  check::sync();
  const std::vector<Results> got = out.read();
  const struct {
    const char* name;
    uint64_t Results::*field;
  } fields[] = {{"sum", &Results::sum},
                {"difference", &Results::difference},
                {"product", &Results::product},
                {"signed high product", &Results::high},
                {"shift left", &Results::shifted_left},
                {"shift right", &Results::shifted_right},
                {"arithmetic shift", &Results::arithmetic},
                {"rotation", &Results::rotated},
                {"signed minimum", &Results::minimum},
                {"maximum", &Results::maximum},
                {"128-bit low", &Results::wide_low},
                {"128-bit high", &Results::wide_high},
                {"popcount and clz", &Results::counted},
                {"comparisons", &Results::compared}};
  for (const auto& field : fields) {
    std::vector<uint64_t> g, w;
    for (int i = 0; i < count; ++i) {
      g.push_back(got[i].*field.field);
      w.push_back(compute(a[i], b[i]).*field.field);
    }
    check::equal(field.name, g, w);
  }
  return check::finish();
}
