// European option prices by the Black-Scholes formula (logf, expf, erff, sqrtf), and put-call
// parity.
#include "check.h"

__device__ float normal_cdf(float x) { return 0.5f * erfcf(-x * 0.70710678118f); }

__global__ void price(const float* spot, const float* strike, const float* years, float* call,
                      float* put, int count, float rate, float volatility) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float root = volatility * sqrtf(years[i]);
  const float d1 =
      (logf(spot[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / root;
  const float discount = strike[i] * expf(-rate * years[i]);
  call[i] = spot[i] * normal_cdf(d1) - discount * normal_cdf(d1 - root);
  put[i] = discount * normal_cdf(root - d1) - spot[i] * normal_cdf(-d1);
}

int main() {
  const int count = 2500;
  const float rate = 0.03f, volatility = 0.25f;
  check::Rng rng(19);
  std::vector<float> spot(count), strike(count), years(count);
  std::vector<double> want_call(count), want_put(count);
  for (int i = 0; i < count; ++i) {
    spot[i] = rng.uniform(10, 50);
    strike[i] = rng.uniform(10, 50);
    years[i] = rng.uniform(0.1f, 5);
    const double root = volatility * std::sqrt(double{years[i]});
    const double d1 = (std::log(double{spot[i]} / strike[i]) +
                       (rate + 0.5 * volatility * volatility) * years[i]) /
                      root;
    const auto cdf = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
    const double discount = strike[i] * std::exp(-double{rate} * years[i]);
    want_call[i] = spot[i] * cdf(d1) - discount * cdf(d1 - root);
    want_put[i] = discount * cdf(root - d1) - spot[i] * cdf(-d1);
  }
  check::Buffer<float> s(spot), k(strike), t(years), call(count), put(count);
  price<<<check::blocks_for(count, 256), 256>>>(s, k, t, call, put, count, rate, volatility);
  check::sync();
  check::near("call prices", call.read(), want_call, 1e-4, 5e-5);
  check::near("put prices", put.read(), want_put, 1e-4, 5e-5);
  return check::finish();
}
