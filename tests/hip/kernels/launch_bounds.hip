// __launch_bounds__: a register-hungry kernel squeezed into few registers (spills to scratch) must
// give the same results as the unconstrained one; blocks up to the bound run, larger ones do not.
#include "check.h"

template <class T>
__device__ T churn(const T* in, int i, int rounds) {
  T values[40];
#pragma unroll
  for (int k = 0; k < 40; ++k) values[k] = in[(i + k * 3) % 512];
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int k = 0; k < 40; ++k)
      values[k] = values[k] * 3 + values[(k + 7) % 40] - values[(k + 31) % 40];
  }
  T sum = 0;
#pragma unroll
  for (int k = 0; k < 40; ++k) sum += values[k] ^ k;
  return sum;
}

__global__ void free_kernel(const unsigned* in, unsigned* out, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = churn(in, i, rounds);
}

__global__ __launch_bounds__(1024, 8) void squeezed_kernel(const unsigned* in, unsigned* out,
                                                           int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = churn(in, i, rounds);
}

__global__ __launch_bounds__(64) void small_kernel(const unsigned* in, unsigned* out, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = churn(in, i, rounds);
}

unsigned host_churn(const std::vector<unsigned>& in, int i, int rounds) {
  unsigned values[40];
  for (int k = 0; k < 40; ++k) values[k] = in[(i + k * 3) % 512];
  for (int r = 0; r < rounds; ++r) {
    for (int k = 0; k < 40; ++k)
      values[k] = values[k] * 3 + values[(k + 7) % 40] - values[(k + 31) % 40];
  }
  unsigned sum = 0;
  for (int k = 0; k < 40; ++k) sum += values[k] ^ static_cast<unsigned>(k);
  return sum;
}

int main() {
  const int count = 1024, rounds = 5;
  check::Rng rng(1);
  std::vector<unsigned> in(512), want(count);
  for (unsigned& v : in) v = rng.next();
  for (int i = 0; i < count; ++i) want[i] = host_churn(in, i, rounds);
  check::Buffer<unsigned> device_in(in), out(count);
  free_kernel<<<4, 256>>>(device_in, out, rounds);
  check::sync();
  check::equal("unconstrained", out.read(), want);
  out.fill_bytes(0);
  squeezed_kernel<<<1, 1024>>>(device_in, out, rounds);
  check::sync();
  check::equal("1024 lanes, 8 waves per SIMD", out.read(), want);
  out.fill_bytes(0);
  small_kernel<<<16, 64>>>(device_in, out, rounds);
  check::sync();
  check::equal("64 lanes", out.read(), want);
  hipFuncAttributes attributes;
  WT_HIP(hipFuncGetAttributes(&attributes, reinterpret_cast<const void*>(small_kernel)));
  check::equal("maxThreadsPerBlock of the bounded kernel", attributes.maxThreadsPerBlock, 64);
  small_kernel<<<1, 128>>>(device_in, out, rounds);
  const hipError_t error = hipGetLastError();
  check::expect(error != hipSuccess, "a block larger than the bound is refused (%s)",
                hipGetErrorName(error));
  return check::finish();
}
