// Conversions between integers, half, float and double, with explicit rounding, saturation at the
// edges where the hardware defines it, and bit casts.
#include <hip/hip_fp16.h>

#include <cfenv>

#include "check.h"

struct Out {
  int32_t f2i_trunc, f2i_near, f2i_up, f2i_down;
  uint32_t f2u;
  int64_t d2l;
  uint64_t d2u;
  float i2f, u2f, l2f, d2f, h2f;
  double i2d, ul2d;
  uint16_t f2h;
  int32_t as_int;
  uint8_t bytes[4];
};

__global__ void convert(const float* f, const double* d, const int64_t* l, Out* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Out o = {};
  o.f2i_trunc = static_cast<int32_t>(f[i]);
  o.f2i_near = __float2int_rn(f[i]);
  o.f2i_up = __float2int_ru(f[i]);
  o.f2i_down = __float2int_rd(f[i]);
  o.f2u = static_cast<uint32_t>(fabsf(f[i]));
  o.d2l = static_cast<int64_t>(d[i]);
  o.d2u = static_cast<uint64_t>(fabs(d[i]));
  o.i2f = static_cast<float>(static_cast<int32_t>(l[i]));
  o.u2f = static_cast<float>(static_cast<uint32_t>(l[i]));
  o.l2f = static_cast<float>(l[i]);
  o.d2f = static_cast<float>(d[i]);
  o.i2d = static_cast<double>(static_cast<int32_t>(l[i]));
  o.ul2d = static_cast<double>(static_cast<uint64_t>(l[i]));
  const _Float16 half = static_cast<_Float16>(f[i]);
  __builtin_memcpy(&o.f2h, &half, 2);
  o.h2f = static_cast<float>(half);
  o.as_int = __float_as_int(f[i]);
  for (int b = 0; b < 4; ++b)
    o.bytes[b] = static_cast<uint8_t>(static_cast<int32_t>(l[i]) >> (8 * b));
  out[i] = o;
}

template <class T, class Get>
void compare(const char* name, const std::vector<Out>& got, const std::vector<Out>& want, Get get) {
  std::vector<T> g, w;
  for (const Out& o : got) g.push_back(get(o));
  for (const Out& o : want) w.push_back(get(o));
  check::equal(name, g, w);
}

int main() {
  std::vector<float> f = {
      0.0f,           -0.0f,         0.5f,           -0.5f,           1.5f,
      2.5f,           -2.5f,         1e-40f,         65504.0f,        65519.0f,
      65520.0f,       2147483520.0f, -2147483648.0f, 5.9604645e-8f,   2.9802322e-8f,
      2.98023259e-8f, 6.097555e-5f,  0.33325195f,    0.3333740234375f};
  check::Rng rng(2);
  while (f.size() < 500) f.push_back(rng.uniform(-3e4f, 3e4f) * (rng.below(2) ? 1.0f : 0x1p-16f));
  std::vector<double> d;
  std::vector<int64_t> l = {0,
                            1,
                            -1,
                            INT32_MAX,
                            INT32_MIN,
                            INT64_MAX,
                            INT64_MIN,
                            16777217,
                            9007199254740993,
                            0x7fffff4000000000,
                            0x7fffffc000000000};
  for (size_t i = 0; i < f.size(); ++i)
    d.push_back(f[i] * 1.0000001234567 * (i % 3 == 0 ? 1e9 : 1.0));
  while (l.size() < f.size()) l.push_back(static_cast<int64_t>(rng.next64()) >> rng.below(60));
  const int count = static_cast<int>(f.size());
  check::Buffer<float> device_f(f);
  check::Buffer<double> device_d(d);
  check::Buffer<int64_t> device_l(l);
  check::Buffer<Out> out(count);
  convert<<<check::blocks_for(count, 64), 64>>>(device_f, device_d, device_l, out, count);
  check::sync();
  std::vector<Out> want(count);
  for (int i = 0; i < count; ++i) {
    Out& o = want[i];
    o.f2i_trunc = static_cast<int32_t>(f[i]);
    o.f2i_near = static_cast<int32_t>(std::nearbyint(f[i]));
    o.f2i_up = static_cast<int32_t>(std::ceil(f[i]));
    o.f2i_down = static_cast<int32_t>(std::floor(f[i]));
    o.f2u = static_cast<uint32_t>(std::fabs(f[i]));
    o.d2l = static_cast<int64_t>(d[i]);
    o.d2u = static_cast<uint64_t>(std::fabs(d[i]));
    o.i2f = static_cast<float>(static_cast<int32_t>(l[i]));
    o.u2f = static_cast<float>(static_cast<uint32_t>(l[i]));
    o.l2f = static_cast<float>(l[i]);
    o.d2f = static_cast<float>(d[i]);
    o.i2d = static_cast<double>(static_cast<int32_t>(l[i]));
    o.ul2d = static_cast<double>(static_cast<uint64_t>(l[i]));
    const _Float16 half = static_cast<_Float16>(f[i]);
    std::memcpy(&o.f2h, &half, 2);
    o.h2f = static_cast<float>(half);
    std::memcpy(&o.as_int, &f[i], 4);
    for (int b = 0; b < 4; ++b)
      o.bytes[b] = static_cast<uint8_t>(static_cast<int32_t>(l[i]) >> (8 * b));
  }
  const std::vector<Out> got = out.read();
  compare<int32_t>("float to int, truncated", got, want, [](const Out& o) { return o.f2i_trunc; });
  compare<int32_t>("float to int, to nearest even", got, want,
                   [](const Out& o) { return o.f2i_near; });
  compare<int32_t>("float to int, up", got, want, [](const Out& o) { return o.f2i_up; });
  compare<int32_t>("float to int, down", got, want, [](const Out& o) { return o.f2i_down; });
  compare<uint32_t>("float to unsigned", got, want, [](const Out& o) { return o.f2u; });
  compare<int64_t>("double to int64", got, want, [](const Out& o) { return o.d2l; });
  compare<uint64_t>("double to uint64", got, want, [](const Out& o) { return o.d2u; });
  compare<float>("int to float", got, want, [](const Out& o) { return o.i2f; });
  compare<float>("unsigned to float", got, want, [](const Out& o) { return o.u2f; });
  compare<float>("int64 to float", got, want, [](const Out& o) { return o.l2f; });
  compare<float>("double to float", got, want, [](const Out& o) { return o.d2f; });
  compare<double>("int to double", got, want, [](const Out& o) { return o.i2d; });
  compare<double>("uint64 to double", got, want, [](const Out& o) { return o.ul2d; });
  compare<uint16_t>("float to half bits", got, want, [](const Out& o) { return o.f2h; });
  compare<float>("half to float", got, want, [](const Out& o) { return o.h2f; });
  compare<int32_t>("float bits", got, want, [](const Out& o) { return o.as_int; });
  compare<uint32_t>("bytes of an int", got, want, [](const Out& o) {
    uint32_t v;
    std::memcpy(&v, o.bytes, 4);
    return v;
  });
  return check::finish();
}
