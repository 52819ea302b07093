// rocRAND's device generators run inside a kernel. Their code is also compiled for the host, which
// gives the exact numbers every lane must produce; distributions are checked by their moments.
#include "check.h"

#define FQUALIFIERS __forceinline__ __host__ __device__
#include <rocrand/rocrand_kernel.h>

constexpr int kPerLane = 16;

template <class State>
__global__ void generate(unsigned* out, unsigned long long seed, int lanes) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= lanes) return;
  State state;
  rocrand_init(seed, static_cast<unsigned long long>(i), 5ull, &state);
  for (int k = 0; k < kPerLane; ++k) out[i * kPerLane + k] = rocrand(&state);
}

template <class State>
void run_bits(const char* name) {
  const int lanes = 100;
  const unsigned long long seed = 20240229;
  check::Buffer<unsigned> out(lanes * kPerLane);
  generate<State><<<check::blocks_for(lanes, 64), 64>>>(out, seed, lanes);
  check::sync();
  std::vector<unsigned> want(lanes * kPerLane);
  for (int i = 0; i < lanes; ++i) {
    State state;
    rocrand_init(seed, static_cast<unsigned long long>(i), 5ull, &state);
    for (int k = 0; k < kPerLane; ++k) want[i * kPerLane + k] = rocrand(&state);
  }
  check::equal(name, out.read(), want);
}

__global__ void estimate_pi(unsigned* inside, int samples) {
  rocrand_state_philox4x32_10 state;
  rocrand_init(7, blockIdx.x * blockDim.x + threadIdx.x, 0, &state);
  unsigned own = 0;
  for (int s = 0; s < samples; ++s) {
    const float x = rocrand_uniform(&state), y = rocrand_uniform(&state);
    own += x * x + y * y <= 1.0f;
  }
  atomicAdd(inside, own);
}

__global__ void normals(float* out, double* wide, unsigned* poisson) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  rocrand_state_xorwow state;
  rocrand_init(99, i, 0, &state);
  out[i] = rocrand_normal(&state);
  wide[i] = rocrand_uniform_double(&state);
  poisson[i] = rocrand_poisson(&state, 6.0);
}

template <class T>
void check_moments(const char* name, const std::vector<T>& values, double mean, double variance) {
  double sum = 0, square = 0;
  for (T v : values) sum += static_cast<double>(v);
  const double got_mean = sum / values.size();
  for (T v : values)
    square += (static_cast<double>(v) - got_mean) * (static_cast<double>(v) - got_mean);
  const double got_variance = square / values.size(), spread = std::sqrt(variance / values.size());
  check::expect(std::fabs(got_mean - mean) < 5 * spread, "%s: mean %.4f, want %.4f", name, got_mean,
                mean);
  check::expect(std::fabs(got_variance / variance - 1) < 0.15, "%s: variance %.4f, want %.4f", name,
                got_variance, variance);
}

int main() {
  run_bits<rocrand_state_xorwow>("XORWOW");
  run_bits<rocrand_state_philox4x32_10>("Philox 4x32-10");
  run_bits<rocrand_state_mrg32k3a>("MRG32k3a");

  const int lanes = 1024, samples = 50;
  check::Buffer<unsigned> inside(1);
  inside.fill_bytes(0);
  estimate_pi<<<lanes / 64, 64>>>(inside, samples);
  check::sync();
  const double pi = 4.0 * inside.read()[0] / (lanes * samples);
  check::expect(std::fabs(pi - M_PI) < 0.04, "pi is about %.4f", pi);

  const int count = 4096;
  check::Buffer<float> normal(count);
  check::Buffer<double> wide(count);
  check::Buffer<unsigned> poisson(count);
  normals<<<count / 128, 128>>>(normal, wide, poisson);
  check::sync();
  check_moments("normal", normal.read(), 0, 1);
  check_moments("uniform double", wide.read(), 0.5, 1.0 / 12);
  check_moments("Poisson", poisson.read(), 6, 6);
  return check::finish();
}
