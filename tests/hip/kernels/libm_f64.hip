// Double-precision math functions within the bounds AMD documents for HIP. Where long double is
// wider than double (x86 and arm64) the reference is the host's long double.
#include "kernels/libm.h"

using Wide = long double;

// name, device expression, host reference (Wide), ULP bound, domain low, high, logarithmic spacing
#define WT_FUNCTIONS(X)                                                \
  X(sin, sin(x), std::sin(x), 2, -100, 100, false)                     \
  X(sin_large, sin(x), std::sin(x), 2, 1e6, 1e200, true)               \
  X(cos, cos(x), std::cos(x), 2, -100, 100, false)                     \
  X(tan, tan(x), std::tan(x), 3, -10, 10, false)                       \
  X(asin, asin(x), std::asin(x), 4, -1, 1, false)                      \
  X(acos, acos(x), std::acos(x), 4, -1, 1, false)                      \
  X(atan, atan(x), std::atan(x), 3, -50, 50, false)                    \
  X(atan2, atan2(x, 0.7), std::atan2(x, Wide{0.7}), 4, -5, 5, false)   \
  X(sinh, sinh(x), std::sinh(x), 3, -20, 20, false)                    \
  X(cosh, cosh(x), std::cosh(x), 3, -20, 20, false)                    \
  X(tanh, tanh(x), std::tanh(x), 3, -9, 9, false)                      \
  X(asinh, asinh(x), std::asinh(x), 4, -100, 100, false)               \
  X(acosh, acosh(x), std::acosh(x), 4, 1, 1000, false)                 \
  X(atanh, atanh(x), std::atanh(x), 4, -0.999, 0.999, false)           \
  X(exp, exp(x), std::exp(x), 2, -700, 700, false)                     \
  X(exp2, exp2(x), std::exp2(x), 2, -1000, 1000, false)                \
  X(expm1, expm1(x), std::expm1(x), 2, -10, 10, false)                 \
  X(log, log(x), std::log(x), 2, 1e-300, 1e300, true)                  \
  X(log2, log2(x), std::log2(x), 2, 1e-300, 1e300, true)               \
  X(log10, log10(x), std::log10(x), 2, 1e-300, 1e300, true)            \
  X(log1p, log1p(x), std::log1p(x), 2, -0.99, 100, false)              \
  X(sqrt, sqrt(x), std::sqrt(x), 0.5, 1e-300, 1e300, true)             \
  X(rsqrt, rsqrt(x), 1 / std::sqrt(x), 2, 1e-300, 1e300, true)         \
  X(cbrt, cbrt(x), std::cbrt(x), 2, 1e-300, 1e300, true)               \
  X(pow, pow(x, 2.75), std::pow(x, Wide{2.75}), 4, 1e-50, 1e50, true)  \
  X(hypot, hypot(x, 3.0), std::hypot(x, Wide{3}), 2, -1e5, 1e5, false) \
  X(erf, erf(x), std::erf(x), 5, -5, 5, false)                         \
  X(erfc, erfc(x), std::erfc(x), 5, -4, 20, false)                     \
  X(tgamma, tgamma(x), std::tgamma(x), 10, 0.1, 100, false)            \
  X(lgamma, lgamma(x), std::lgamma(x), 10, 3, 100, false)              \
  X(reciprocal, 1.0 / x, 1 / x, 0.501, 1e-300, 1e300, true)            \
  X(divide, x / 3.3, x / Wide{3.3}, 0.501, -1e10, 1e10, false)         \
  X(fmod, fmod(x, 1.7), std::fmod(x, Wide{1.7}), 0, -1e6, 1e6, false)  \
  X(floor, floor(x), std::floor(x), 0, -1e6, 1e6, false)               \
  X(ceil, ceil(x), std::ceil(x), 0, -1e6, 1e6, false)                  \
  X(round, round(x), std::round(x), 0, -1e3, 1e3, false)               \
  X(ldexp, ldexp(x, -9), std::ldexp(x, -9), 0, -1e3, 1e3, false)

#define WT_KERNEL(name, device, ...)                                        \
  __global__ void kernel_##name(const double* in, double* out, int count) { \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                    \
    if (i >= count) return;                                                 \
    const double x = in[i];                                                 \
    out[i] = device;                                                        \
  }
WT_FUNCTIONS(WT_KERNEL)
#undef WT_KERNEL

int main() {
  const size_t count = 400;
  check::Buffer<double> out(count);
#define WT_RUN(name, device, host, bound, low, high, logarithmic)                                 \
  {                                                                                               \
    const std::vector<double> in = inputs<double>(low, high, logarithmic, count);                 \
    check::Buffer<double> device_in(in);                                                          \
    kernel_##name<<<check::blocks_for(count, 64), 64>>>(device_in, out, static_cast<int>(count)); \
    check::sync();                                                                                \
    check_function<double, Wide>(#name, in, out.read(), bound,                                    \
                                 [](Wide x) -> Wide { return host; });                            \
  }
  WT_FUNCTIONS(WT_RUN)
#undef WT_RUN
  return check::finish();
}
