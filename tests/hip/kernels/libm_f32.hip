// Single-precision math functions within the bounds AMD documents for HIP.
#include "kernels/libm.h"

// name, device expression, host reference (double), ULP bound, domain low, high, logarithmic
// spacing
#define WT_FUNCTIONS(X)                                                                   \
  X(sin, sinf(x), std::sin(x), 4, -100, 100, false)                                       \
  X(sin_large, sinf(x), std::sin(x), 4, 1e4, 1e20, true)                                  \
  X(cos, cosf(x), std::cos(x), 4, -100, 100, false)                                       \
  X(tan, tanf(x), std::tan(x), 5, -10, 10, false)                                         \
  X(asin, asinf(x), std::asin(x), 4, -1, 1, false)                                        \
  X(acos, acosf(x), std::acos(x), 4, -1, 1, false)                                        \
  X(atan, atanf(x), std::atan(x), 5, -50, 50, false)                                      \
  X(atan2, atan2f(x, 0.7f), std::atan2(x, double{0.7f}), 6, -5, 5, false)                 \
  X(sinh, sinhf(x), std::sinh(x), 4, -20, 20, false)                                      \
  X(cosh, coshf(x), std::cosh(x), 4, -20, 20, false)                                      \
  X(tanh, tanhf(x), std::tanh(x), 5, -9, 9, false)                                        \
  X(asinh, asinhf(x), std::asinh(x), 4, -100, 100, false)                                 \
  X(acosh, acoshf(x), std::acosh(x), 4, 1, 1000, false)                                   \
  X(atanh, atanhf(x), std::atanh(x), 5, -0.999, 0.999, false)                             \
  X(exp, expf(x), std::exp(x), 3, -80, 80, false)                                         \
  X(exp_denormal, expf(x), std::exp(x), 3, -103, -88, false)                              \
  X(exp2, exp2f(x), std::exp2(x), 3, -100, 100, false)                                    \
  X(exp10, exp10f(x), std::pow(10.0, x), 3, -30, 30, false)                               \
  X(expm1, expm1f(x), std::expm1(x), 3, -10, 10, false)                                   \
  X(log, logf(x), std::log(x), 3, 1e-30, 1e30, true)                                      \
  X(log2, log2f(x), std::log2(x), 3, 1e-30, 1e30, true)                                   \
  X(log10, log10f(x), std::log10(x), 3, 1e-30, 1e30, true)                                \
  X(log1p, log1pf(x), std::log1p(x), 2, -0.99, 100, false)                                \
  X(sqrt, sqrtf(x), std::sqrt(x), 0.5, 1e-38, 1e38, true)                                 \
  X(rsqrt, rsqrtf(x), 1 / std::sqrt(x), 2, 1e-30, 1e30, true)                             \
  X(cbrt, cbrtf(x), std::cbrt(x), 2, 1e-30, 1e30, true)                                   \
  X(pow, powf(x, 2.75f), std::pow(x, 2.75), 16, 1e-5, 1e5, true)                          \
  X(pow_negative, powf(x, -3.0f), std::pow(x, -3.0), 16, -50, 50, false)                  \
  X(hypot, hypotf(x, 3.0f), std::hypot(x, 3.0), 4, -1e5, 1e5, false)                      \
  X(erf, erff(x), std::erf(x), 4, -4, 4, false)                                           \
  X(erfc, erfcf(x), std::erfc(x), 6, -4, 9, false)                                        \
  X(tgamma, tgammaf(x), std::tgamma(x), 16, 0.1, 30, false)                               \
  X(lgamma, lgammaf(x), std::lgamma(x), 16, 3, 100, false)                                \
  X(reciprocal, 1.0f / x, 1.0 / x, 0.5, 1e-30, 1e30, true)                                \
  X(divide, x / 3.3f, x / double{3.3f}, 0.5, -1e10, 1e10, false)                          \
  X(fmod, fmodf(x, 1.7f), std::fmod(x, double{1.7f}), 0, -1e4, 1e4, false)                \
  X(remainder, remainderf(x, 1.7f), std::remainder(x, double{1.7f}), 0, -1e4, 1e4, false) \
  X(floor, floorf(x), std::floor(x), 0, -1e6, 1e6, false)                                 \
  X(ceil, ceilf(x), std::ceil(x), 0, -1e6, 1e6, false)                                    \
  X(round, roundf(x), std::round(x), 0, -1e3, 1e3, false)                                 \
  X(rint, rintf(x), std::rint(x), 0, -1e3, 1e3, false)                                    \
  X(ldexp, ldexpf(x, 7), std::ldexp(x, 7), 0, -1e3, 1e3, false)                           \
  X(logb, logbf(x), std::logb(x), 0, 1e-38, 1e38, true)                                   \
  X(fast_sin, __sinf(x), std::sin(x), 2e5, -3, 3, false)                                  \
  X(fast_exp, __expf(x), std::exp(x), 64, -10, 10, false)                                 \
  X(fast_log, __logf(x), std::log(x), 64, 2, 1e6, true)

#define WT_KERNEL(name, device, ...)                                      \
  __global__ void kernel_##name(const float* in, float* out, int count) { \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                  \
    if (i >= count) return;                                               \
    const float x = in[i];                                                \
    out[i] = device;                                                      \
  }
WT_FUNCTIONS(WT_KERNEL)
#undef WT_KERNEL

int main() {
  const size_t count = 600;
  check::Buffer<float> out(count);
#define WT_RUN(name, device, host, bound, low, high, logarithmic)                                 \
  {                                                                                               \
    const std::vector<float> in = inputs<float>(low, high, logarithmic, count);                   \
    check::Buffer<float> device_in(in);                                                           \
    kernel_##name<<<check::blocks_for(count, 64), 64>>>(device_in, out, static_cast<int>(count)); \
    check::sync();                                                                                \
    check_function<float, double>(#name, in, out.read(), bound, [](double x) { return host; });   \
  }
  WT_FUNCTIONS(WT_RUN)
#undef WT_RUN
  return check::finish();
}
