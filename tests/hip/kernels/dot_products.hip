// The dot-product instructions of 2, 4 and 8 packed integers with saturation, and of two halves.
#include "check.h"

typedef short Short2 __attribute__((ext_vector_type(2)));
typedef unsigned short UShort2 __attribute__((ext_vector_type(2)));
typedef _Float16 Half2 __attribute__((ext_vector_type(2)));

enum { kS2, kU2, kS4, kU4, kS8, kU8, kS4Clamp, kU4Clamp, kS8Clamp, kFields };
const char* const kNames[] = {"2 x int16",
                              "2 x uint16",
                              "4 x int8",
                              "4 x uint8",
                              "8 x int4",
                              "8 x uint4",
                              "4 x int8, saturated",
                              "4 x uint8, saturated",
                              "8 x int4, saturated"};

__global__ void dots(const int* a, const int* b, const int* c, int* out, float* halves, int count) {
#if defined(__gfx1030__) || defined(__gfx90a__) || defined(__gfx942__)
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int x = a[i], y = b[i], z = c[i];
  int* o = out + i * kFields;
  o[kS2] = __builtin_amdgcn_sdot2(__builtin_bit_cast(Short2, x), __builtin_bit_cast(Short2, y), z,
                                  false);
  o[kU2] = static_cast<int>(__builtin_amdgcn_udot2(__builtin_bit_cast(UShort2, x),
                                                   __builtin_bit_cast(UShort2, y),
                                                   static_cast<unsigned>(z), false));
  o[kS4] = __builtin_amdgcn_sdot4(x, y, z, false);
  o[kU4] = static_cast<int>(__builtin_amdgcn_udot4(
      static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z), false));
  o[kS8] = __builtin_amdgcn_sdot8(x, y, z, false);
  o[kU8] = static_cast<int>(__builtin_amdgcn_udot8(
      static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z), false));
  o[kS4Clamp] = __builtin_amdgcn_sdot4(x, y, z, true);
  o[kU4Clamp] = static_cast<int>(__builtin_amdgcn_udot4(
      static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z), true));
  o[kS8Clamp] = __builtin_amdgcn_sdot8(x, y, z, true);
  const Half2 h = {static_cast<_Float16>(x & 63), static_cast<_Float16>(x >> 6 & 63)};
  const Half2 k = {static_cast<_Float16>(y & 63), static_cast<_Float16>(-(y >> 6 & 63))};
  halves[i] = __builtin_amdgcn_fdot2(h, k, static_cast<float>(z & 1023), false);
#endif
}

// Sum of products of `parts` fields of `bits` bits each.
int64_t exact_dot(uint32_t a, uint32_t b, int parts, int bits, bool is_signed) {
  int64_t sum = 0;
  for (int p = 0; p < parts; ++p) {
    const int up = 32 - bits - p * bits, down = 32 - bits;
    const int64_t x =
        is_signed ? static_cast<int32_t>(a << up) >> down : static_cast<int64_t>(a << up >> down);
    const int64_t y =
        is_signed ? static_cast<int32_t>(b << up) >> down : static_cast<int64_t>(b << up >> down);
    sum += x * y;
  }
  return sum;
}

int reference(int what, int a, int b, int c) {
  const uint32_t x = static_cast<uint32_t>(a), y = static_cast<uint32_t>(b);
  const int64_t sc = c, uc = static_cast<uint32_t>(c);
  const auto saturate = [](int64_t v, int64_t low, int64_t high) {
    return static_cast<int>(static_cast<uint32_t>(v < low ? low : v > high ? high : v));
  };
  switch (what) {
    case kS2: return static_cast<int>(static_cast<uint32_t>(exact_dot(x, y, 2, 16, true) + sc));
    case kU2: return static_cast<int>(static_cast<uint32_t>(exact_dot(x, y, 2, 16, false) + uc));
    case kS4: return static_cast<int>(static_cast<uint32_t>(exact_dot(x, y, 4, 8, true) + sc));
    case kU4: return static_cast<int>(static_cast<uint32_t>(exact_dot(x, y, 4, 8, false) + uc));
    case kS8: return static_cast<int>(static_cast<uint32_t>(exact_dot(x, y, 8, 4, true) + sc));
    case kU8: return static_cast<int>(static_cast<uint32_t>(exact_dot(x, y, 8, 4, false) + uc));
    case kS4Clamp: return saturate(exact_dot(x, y, 4, 8, true) + sc, INT32_MIN, INT32_MAX);
    case kU4Clamp: return saturate(exact_dot(x, y, 4, 8, false) + uc, 0, UINT32_MAX);
    default: return saturate(exact_dot(x, y, 8, 4, true) + sc, INT32_MIN, INT32_MAX);
  }
}

int main() {
  const std::string target = check::target();
  if (target != "gfx1030" && target != "gfx90a" && target != "gfx942")
    check::skip("the device lacks dot-product instructions");
  const int count = 500;
  check::Rng rng(8);
  std::vector<int> a(count), b(count), c(count);
  for (int i = 0; i < count; ++i) {
    a[i] = static_cast<int>(rng.next());
    b[i] = static_cast<int>(rng.next());
    const int near_edge[] = {INT32_MAX, INT32_MIN, -1, INT32_MAX - 50, INT32_MIN + 50};
    c[i] = i % 3 == 0 ? near_edge[i % 5] : static_cast<int>(rng.next());
  }
  a[0] = b[0] = static_cast<int>(0x80808080), a[1] = b[1] = 0x7f7f7f7f,
  a[2] = b[2] = static_cast<int>(0x88888888), a[3] = b[3] = -1;
  check::Buffer<int> device_a(a), device_b(b), device_c(c), out(count * kFields);
  check::Buffer<float> halves(count);
  dots<<<check::blocks_for(count, 64), 64>>>(device_a, device_b, device_c, out, halves, count);
  check::sync();
  const std::vector<int> all = out.read();
  for (int what = 0; what < kFields; ++what) {
    std::vector<int> got, want;
    for (int i = 0; i < count; ++i)
      got.push_back(all[i * kFields + what]), want.push_back(reference(what, a[i], b[i], c[i]));
    check::equal(kNames[what], got, want);
  }
  std::vector<float> want(count);
  for (int i = 0; i < count; ++i)
    want[i] = static_cast<float>((a[i] & 63) * (b[i] & 63) - (a[i] >> 6 & 63) * (b[i] >> 6 & 63) +
                                 (c[i] & 1023));
  check::equal("2 x half", halves.read(), want);
  return check::finish();
}
