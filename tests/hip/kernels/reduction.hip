// Sum, minimum and maximum of an array in three ways: LDS tree, cross-lane shuffles, atomics.
#include <algorithm>
#include <numeric>

#include "check.h"

struct Sum {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Min {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};

template <class T, class Op>
__global__ void reduce_lds(const T* in, T* out, int count, T identity, Op op) {
  extern __shared__ double storage[];
  T* tree = reinterpret_cast<T*>(storage);
  T value = identity;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    value = op(value, in[i]);
  }
  tree[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) tree[threadIdx.x] = op(tree[threadIdx.x], tree[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = tree[0];
}

template <class T, class Op>
__global__ void reduce_shuffle(const T* in, T* out, int count, T identity, Op op) {
  __shared__ T partial[32];
  T value = identity;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    value = op(value, in[i]);
  }
  for (int delta = warpSize / 2; delta > 0; delta /= 2) value = op(value, __shfl_xor(value, delta));
  const int lane = threadIdx.x % warpSize;
  const int wave = threadIdx.x / warpSize;
  if (lane == 0) partial[wave] = value;
  __syncthreads();
  if (wave == 0) {
    const int waves = blockDim.x / warpSize;
    value = lane < waves ? partial[lane] : identity;
    for (int delta = warpSize / 2; delta > 0; delta /= 2)
      value = op(value, __shfl_down(value, delta));
    if (lane == 0) out[blockIdx.x] = value;
  }
}

template <class T>
__global__ void reduce_atomic(const T* in, T* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) atomicAdd(out, in[i]);
}

template <class T, class Op>
void run(const char* what, const std::vector<T>& in, T identity, Op op, T want) {
  const unsigned blocks = 5, threads = 256;
  check::Buffer<T> device_in(in), partial(blocks), result(1);
  const int count = static_cast<int>(in.size());
  reduce_lds<<<blocks, threads, threads * sizeof(T)>>>(device_in.get(), partial.get(), count,
                                                       identity, op);
  reduce_lds<<<1, 8, 8 * sizeof(double)>>>(partial.get(), result.get(), static_cast<int>(blocks),
                                           identity, op);
  check::sync();
  check::near((std::string(what) + " by LDS tree").c_str(), result.read(), std::vector<T>{want},
              1e-6, 0);
  result.fill_bytes(0);
  partial.fill_bytes(0);
  reduce_shuffle<<<blocks, threads>>>(device_in.get(), partial.get(), count, identity, op);
  reduce_shuffle<<<1, 64>>>(partial.get(), result.get(), static_cast<int>(blocks), identity, op);
  check::sync();
  check::near((std::string(what) + " by shuffles").c_str(), result.read(), std::vector<T>{want},
              1e-6, 0);
}

template <class T>
void run_type(const char* type_name, T low, T high) {
  check::Rng rng(sizeof(T));
  std::vector<T> in(7001);
  for (T& v : in) v = static_cast<T>(rng.uniform64(low, high));
  const std::string name = type_name;
  const T sum = std::accumulate(in.begin(), in.end(), T{});
  run((name + " sum").c_str(), in, T{}, Sum{}, sum);
  run((name + " minimum").c_str(), in, high, Min{}, *std::min_element(in.begin(), in.end()));
  run((name + " maximum").c_str(), in, low, Max{}, *std::max_element(in.begin(), in.end()));
  check::Buffer<T> device_in(in), total(1);
  total.fill_bytes(0);
  reduce_atomic<<<check::blocks_for(in.size(), 128), 128>>>(device_in.get(), total.get(),
                                                            static_cast<int>(in.size()));
  check::sync();
  check::near((name + " sum by atomics").c_str(), total.read(), std::vector<T>{sum}, 1e-4, 0);
}

int main() {
  run_type<int>("int", -1000, 1000);
  run_type<unsigned long long>("uint64", 0, 1ull << 40);
  run_type<float>("float", 0, 16);
  run_type<double>("double", 0, 1e6);
  return check::finish();
}
