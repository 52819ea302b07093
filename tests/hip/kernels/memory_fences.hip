// Message passing and "last block done": with the fences HIP documents, data written before a flag
// is seen after it, among lanes of a block, among blocks, and from the device to the host.
#include "check.h"

// The block that finishes last adds up everybody's partial result (the threadFenceReduction
// pattern).
__global__ void last_block_sums(const int* in, int* partial, unsigned* done, int* total,
                                int per_block) {
  __shared__ bool last;
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < per_block; i += blockDim.x)
    atomicAdd(&sum, in[blockIdx.x * per_block + i]);
  __syncthreads();
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  if (threadIdx.x == 0) {
    int all = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) all += partial[b];
    *total = all;
  }
}

// Waves of one block hand a token round through LDS.
__global__ void token_ring(int* out, int rounds) {
  __shared__ volatile int turn;
  __shared__ volatile int payload;
  const int waves = blockDim.x / warpSize, wave = threadIdx.x / warpSize;
  if (threadIdx.x == 0) turn = 0, payload = 1;
  __syncthreads();
  if (threadIdx.x % warpSize == 0) {
    for (int r = 0; r < rounds; ++r) {
      while (turn % waves != wave) {
      }
      __threadfence_block();
      payload = payload * 3 + wave;
      __threadfence_block();
      turn = turn + 1;
    }
  }
  __syncthreads();
  out[threadIdx.x] = payload;
}

__global__ void publish(int* data, volatile int* flag, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) data[i] = i * 5;
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) *flag = 1;
}

int main() {
  const int blocks = 20, per_block = 300;
  check::Rng rng(3);
  std::vector<int> in(blocks * per_block);
  int want = 0;
  for (int& v : in) want += v = static_cast<int>(rng.below(1000));
  check::Buffer<int> device_in(in), partial(blocks), total(1);
  check::Buffer<unsigned> done(1);
  done.fill_bytes(0);
  last_block_sums<<<blocks, 128>>>(device_in, partial, done, total, per_block);
  check::sync();
  check::equal("sum by the last block", total.read()[0], want);

  const int waves = 256 / check::wave_size(), rounds = 5;
  unsigned payload = 1;
  for (int r = 0; r < rounds; ++r) {
    for (int w = 0; w < waves; ++w) payload = payload * 3 + static_cast<unsigned>(w);
  }
  check::Buffer<int> out(256);
  token_ring<<<1, 256>>>(out, rounds);
  check::sync();
  check::equal("token round the waves", out.read(),
               std::vector<int>(256, static_cast<int>(payload)));

  const int count = 1000;
  int* shared = nullptr;
  WT_HIP(hipHostMalloc(&shared, (count + 1) * sizeof(int), hipHostMallocCoherent));
  std::memset(shared, 0, (count + 1) * sizeof(int));
  publish<<<1, 128>>>(shared, shared + count, count);
  while (__atomic_load_n(&shared[count], __ATOMIC_ACQUIRE) == 0) {
  }
  bool complete = true;
  for (int i = 0; i < count; ++i) complete = complete && shared[i] == i * 5;
  check::expect(complete, "the host sees all data once it sees the flag");
  check::sync();
  WT_HIP(hipHostFree(shared));
  return check::finish();
}
