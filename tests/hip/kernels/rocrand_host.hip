// The real librocrand: host API generators run its prebuilt kernels. The bits of a seed are
// reproducible and depend on seed and offset; the distributions have the right moments.
#include <rocrand/rocrand.h>

#include "check.h"

#define WT_ROCRAND(call)                                                                 \
  do {                                                                                   \
    const rocrand_status wt_status = (call);                                             \
    if (wt_status != ROCRAND_STATUS_SUCCESS) {                                           \
      std::printf("FAIL %s:%d: %s returned %d\n", __FILE__, __LINE__, #call, wt_status); \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

template <class T>
void check_moments(const char* name, const char* what, const std::vector<T>& values, double mean,
                   double variance) {
  double sum = 0, square = 0;
  for (T v : values) sum += static_cast<double>(v);
  const double got_mean = sum / values.size();
  for (T v : values)
    square += (static_cast<double>(v) - got_mean) * (static_cast<double>(v) - got_mean);
  const double got_variance = square / values.size(), spread = std::sqrt(variance / values.size());
  const bool ok =
      std::fabs(got_mean - mean) < 5 * spread && std::fabs(got_variance / variance - 1) < 0.15;
  check::expect(ok, "%s, %s: mean %.4f (want %.4f), variance %.4f (want %.4f)", name, what,
                got_mean, mean, got_variance, variance);
}

bool is_quasi(rocrand_rng_type type) { return type >= ROCRAND_RNG_QUASI_DEFAULT; }

std::vector<unsigned> bits_of(rocrand_rng_type type, unsigned long long seed, size_t count) {
  rocrand_generator generator;
  WT_ROCRAND(rocrand_create_generator(&generator, type));
  if (!is_quasi(type)) WT_ROCRAND(rocrand_set_seed(generator, seed));
  check::Buffer<unsigned> out(count);
  WT_ROCRAND(rocrand_generate(generator, out, count));
  std::vector<unsigned> values = out.read();
  WT_ROCRAND(rocrand_destroy_generator(generator));
  return values;
}

void run_seeds(const char* name, rocrand_rng_type type) {
  const size_t count = 4096;
  const std::vector<unsigned> first = bits_of(type, 17, count);
  check::expect(first == bits_of(type, 17, count), "%s: the same seed gives the same bits", name);
  if (!is_quasi(type))
    check::expect(first != bits_of(type, 18, count), "%s: another seed gives others", name);
}

void run_distributions(const char* name, rocrand_rng_type type) {
  const size_t count = 8192;
  rocrand_generator generator;
  WT_ROCRAND(rocrand_create_generator(&generator, type));
  check::Buffer<unsigned> bits(count), poisson(count);
  check::Buffer<float> uniform(count), normal(count), log_normal(count);
  check::Buffer<double> wide(count);
  WT_ROCRAND(rocrand_generate(generator, bits, count));
  check_moments(name, "bits", bits.read(), 2147483647.5, 4294967296.0 * 4294967296.0 / 12);
  WT_ROCRAND(rocrand_generate_uniform(generator, uniform, count));
  check_moments(name, "uniform", uniform.read(), 0.5, 1.0 / 12);
  WT_ROCRAND(rocrand_generate_normal(generator, normal, count, 3.0f, 2.0f));
  check_moments(name, "normal", normal.read(), 3, 4);
  WT_ROCRAND(rocrand_generate_uniform_double(generator, wide, count));
  check_moments(name, "uniform double", wide.read(), 0.5, 1.0 / 12);
  WT_ROCRAND(rocrand_generate_log_normal(generator, log_normal, count, 0.0f, 0.25f));
  check_moments(name, "log-normal", log_normal.read(), std::exp(0.03125),
                (std::exp(0.0625) - 1) * std::exp(0.0625));
  WT_ROCRAND(rocrand_generate_poisson(generator, poisson, count, 8.0));
  check_moments(name, "Poisson", poisson.read(), 8, 8);
  WT_ROCRAND(rocrand_destroy_generator(generator));
}

int main() {
  // XORWOW and MRG32k3a start by jumping each of 131 072 states ahead, so once must do for them.
  run_distributions("XORWOW", ROCRAND_RNG_PSEUDO_XORWOW);
  run_distributions("MRG32k3a", ROCRAND_RNG_PSEUDO_MRG32K3A);
  run_distributions("Philox", ROCRAND_RNG_PSEUDO_PHILOX4_32_10);
  run_distributions("MTGP32", ROCRAND_RNG_PSEUDO_MTGP32);
  run_distributions("Sobol32", ROCRAND_RNG_QUASI_SOBOL32);
  run_seeds("Philox", ROCRAND_RNG_PSEUDO_PHILOX4_32_10);
  run_seeds("MTGP32", ROCRAND_RNG_PSEUDO_MTGP32);
  run_seeds("Sobol32", ROCRAND_RNG_QUASI_SOBOL32);
  return check::finish();
}
