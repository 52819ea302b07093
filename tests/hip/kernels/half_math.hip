// Half precision: scalar and packed arithmetic is correctly rounded, comparisons and conversions
// are exact, and the half math functions stay within two units of the last place.
#include <hip/hip_fp16.h>

#include "check.h"

struct Out {
  _Float16 add, subtract, multiply, divide, fused, root, minimum, maximum, floor_value;
  _Float16 packed_sum[2], packed_fused[2];
  float exp_value, log_value, rsqrt_value;
  int compares;
};

__global__ void compute(const _Float16* a, const _Float16* b, Out* out, int count) {
#pragma clang fp contract(off)
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const _Float16 x = a[i], y = b[i];
  Out o;
  o.add = x + y;
  o.subtract = x - y;
  o.multiply = x * y;
  o.divide = x / y;
  o.fused = __builtin_fmaf16(x, y, x);
  o.root = hsqrt(__half(x < _Float16(0) ? -x : x));
  o.minimum = __builtin_fminf16(x, y);
  o.maximum = __builtin_fmaxf16(x, y);
  o.floor_value = hfloor(__half(x));
  const __half2 left = __halves2half2(__half(x), __half(y)),
                right = __halves2half2(__half(y), __half(y));
  const __half2 sum = __hadd2(left, right), fused = __hfma2(left, right, left);
  o.packed_sum[0] = __low2half(sum), o.packed_sum[1] = __high2half(sum);
  o.packed_fused[0] = __low2half(fused), o.packed_fused[1] = __high2half(fused);
  const __half small = __half(x * _Float16(0.0001f) + _Float16(1));
  o.exp_value = __half2float(hexp(small));
  o.log_value = __half2float(hlog(small + __half(2)));
  o.rsqrt_value = __half2float(hrsqrt(small));
  o.compares =
      (x < y) | (x <= y) << 1 | (x == y) << 2 | (x > y) << 3 | __hne(__half(x), __half(y)) << 4;
  out[i] = o;
}

int main() {
  std::vector<_Float16> values = {0.0f16,     -0.0f16,        1.0f16,      -1.0f16,
                                  0.5f16,     65504.0f16,     -65504.0f16, 6.1035e-5f16,
                                  5.96e-8f16, 0.333251953f16, 1000.0f16,   3.0f16};
  check::Rng rng(16);
  while (values.size() < 28) values.push_back(static_cast<_Float16>(rng.uniform(-300, 300)));
  std::vector<_Float16> a, b;
  for (_Float16 x : values) {
    for (_Float16 y : values) a.push_back(x), b.push_back(y);
  }
  const int count = static_cast<int>(a.size());
  check::Buffer<_Float16> device_a(a), device_b(b);
  check::Buffer<Out> out(count);
  compute<<<check::blocks_for(count, 64), 64>>>(device_a, device_b, out, count);
  check::sync();
  const std::vector<Out> got = out.read();

  // Double holds any sum, product and fused result of halves closely enough to round only once.
  const auto round = [](double v) { return static_cast<float>(static_cast<_Float16>(v)); };
  auto compare = [&](const char* name, auto get, auto reference) {
    std::vector<float> g, w;
    for (int i = 0; i < count; ++i) {
      float got_value = static_cast<float>(get(got[i])),
            want = round(reference(static_cast<double>(a[i]), static_cast<double>(b[i])));
      if (std::isnan(got_value) && std::isnan(want)) got_value = want;
      if (got_value == 0 && want == 0 && (std::string(name) == "min" || std::string(name) == "max"))
        got_value = want;
      g.push_back(got_value), w.push_back(want);
    }
    check::equal(name, g, w);
  };
  compare(
      "add", [](const Out& o) { return o.add; }, [](double x, double y) { return x + y; });
  compare(
      "subtract", [](const Out& o) { return o.subtract; },
      [](double x, double y) { return x - y; });
  compare(
      "multiply", [](const Out& o) { return o.multiply; },
      [](double x, double y) { return x * y; });
  compare(
      "divide", [](const Out& o) { return o.divide; }, [](double x, double y) { return x / y; });
  compare(
      "fma", [](const Out& o) { return o.fused; },
      [](double x, double y) { return std::fma(x, y, x); });
  compare(
      "min", [](const Out& o) { return o.minimum; },
      [](double x, double y) { return std::fmin(x, y); });
  compare(
      "max", [](const Out& o) { return o.maximum; },
      [](double x, double y) { return std::fmax(x, y); });
  compare(
      "floor", [](const Out& o) { return o.floor_value; },
      [](double x, double) { return std::floor(x); });
  compare(
      "packed add, low", [](const Out& o) { return o.packed_sum[0]; },
      [](double x, double y) { return x + y; });
  compare(
      "packed add, high", [](const Out& o) { return o.packed_sum[1]; },
      [](double, double y) { return y + y; });
  compare(
      "packed fma, low", [](const Out& o) { return o.packed_fused[0]; },
      [](double x, double y) { return std::fma(x, y, x); });
  compare(
      "packed fma, high", [](const Out& o) { return o.packed_fused[1]; },
      [](double, double y) { return std::fma(y, y, y); });

  std::vector<float> root, exp_value, log_value, rsqrt_value;
  std::vector<double> want_root, want_exp, want_log, want_rsqrt;
  std::vector<int> compares, want_compares;
  for (int i = 0; i < count; ++i) {
    const double x = static_cast<double>(a[i]);
    const double small = round(round(x * static_cast<double>(_Float16(0.0001f))) + 1.0);
    root.push_back(static_cast<float>(got[i].root)), want_root.push_back(std::sqrt(std::fabs(x)));
    exp_value.push_back(got[i].exp_value), want_exp.push_back(std::exp(small));
    log_value.push_back(got[i].log_value), want_log.push_back(std::log(round(small + 2)));
    rsqrt_value.push_back(got[i].rsqrt_value), want_rsqrt.push_back(1 / std::sqrt(small));
    compares.push_back(got[i].compares);
    want_compares.push_back((a[i] < b[i]) | (a[i] <= b[i]) << 1 | (a[i] == b[i]) << 2 |
                            (a[i] > b[i]) << 3 | (a[i] != b[i]) << 4);
  }
  // 2^-10 is two units in the last place of a half.
  check::near("hsqrt", root, want_root, 0x1p-10, 1e-7);
  check::near("hexp", exp_value, want_exp, 0x1p-9, 0);
  check::near("hlog", log_value, want_log, 0x1p-9, 0x1p-11);
  check::near("hrsqrt", rsqrt_value, want_rsqrt, 0x1p-9, 0x1p-11);
  check::equal("comparisons", compares, want_compares);
  return check::finish();
}
