// hipRAND over the real librocrand, on a stream, feeding a Monte-Carlo integral.
#include <hiprand/hiprand.h>

#include "check.h"

#define WT_HIPRAND(call)                                                                 \
  do {                                                                                   \
    const hiprandStatus_t wt_status = (call);                                            \
    if (wt_status != HIPRAND_STATUS_SUCCESS) {                                           \
      std::printf("FAIL %s:%d: %s returned %d\n", __FILE__, __LINE__, #call, wt_status); \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

// Integral of exp(-x) sin(x) over [0, 1).
__global__ void integrate(const float* x, int count, double* sum) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) atomicAdd(sum, static_cast<double>(expf(-x[i]) * sinf(x[i])));
}

int main() {
  const int count = 20000;
  hipStream_t stream;
  WT_HIP(hipStreamCreate(&stream));
  hiprandGenerator_t generator;
  WT_HIPRAND(hiprandCreateGenerator(&generator, HIPRAND_RNG_PSEUDO_PHILOX4_32_10));
  WT_HIPRAND(hiprandSetPseudoRandomGeneratorSeed(generator, 1234));
  WT_HIPRAND(hiprandSetStream(generator, stream));
  check::Buffer<float> x(count);
  check::Buffer<double> sum(1);
  sum.fill_bytes(0);
  WT_HIPRAND(hiprandGenerateUniform(generator, x, count));
  integrate<<<check::blocks_for(count, 256), 256, 0, stream>>>(x, count, sum);
  WT_HIP(hipStreamSynchronize(stream));
  const std::vector<float> values = x.read();
  double exact_sum = 0;
  bool in_range = true;
  for (float v : values) {
    exact_sum += std::exp(-double{v}) * std::sin(double{v});
    in_range = in_range && v > 0 && v <= 1;
  }
  check::expect(in_range, "all numbers lie in (0, 1]");
  check::near("the device's sum over its own numbers", sum.read(), std::vector<double>{exact_sum},
              1e-6, 0);
  const double integral = exact_sum / count,
               exact = 0.5 * (1 - std::exp(-1.0) * (std::sin(1.0) + std::cos(1.0)));
  check::expect(std::fabs(integral - exact) < 0.003, "the integral is %.5f, exactly %.5f", integral,
                exact);

  // The same seed through a second generator continues identically.
  hiprandGenerator_t other;
  WT_HIPRAND(hiprandCreateGenerator(&other, HIPRAND_RNG_PSEUDO_PHILOX4_32_10));
  WT_HIPRAND(hiprandSetPseudoRandomGeneratorSeed(other, 1234));
  check::Buffer<float> again(count);
  WT_HIPRAND(hiprandGenerateUniform(other, again, count));
  check::sync();
  check::equal("a second generator repeats the first", again.read(), values);
  WT_HIPRAND(hiprandDestroyGenerator(other));
  WT_HIPRAND(hiprandDestroyGenerator(generator));
  WT_HIP(hipStreamDestroy(stream));
  return check::finish();
}
