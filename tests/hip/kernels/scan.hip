// Prefix sums: inclusive and exclusive, within a block by shuffles, over many blocks in three
// passes (scan blocks, scan block totals, add them back).
#include "check.h"

constexpr int kBlock = 256;

__device__ int wave_inclusive_scan(int value) {
  const int lane = threadIdx.x % warpSize;
  for (int delta = 1; delta < warpSize; delta *= 2) {
    const int other = __shfl_up(value, delta);
    if (lane >= delta) value += other;
  }
  return value;
}

__global__ void scan_blocks(const int* in, int* out, int* totals, int count, bool exclusive) {
  __shared__ int wave_totals[kBlock / 32];
  const int i = blockIdx.x * kBlock + threadIdx.x;
  const int own = i < count ? in[i] : 0;
  const int scanned = wave_inclusive_scan(own);
  const int wave = threadIdx.x / warpSize;
  if (threadIdx.x % warpSize == warpSize - 1) wave_totals[wave] = scanned;
  __syncthreads();
  int before = 0;
  for (int w = 0; w < wave; ++w) before += wave_totals[w];
  const int inclusive = before + scanned;
  if (i < count) out[i] = exclusive ? inclusive - own : inclusive;
  if (totals != nullptr && threadIdx.x == kBlock - 1) totals[blockIdx.x] = inclusive;
}

__global__ void add_offsets(int* out, const int* offsets, int count) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  if (i < count) out[i] += offsets[blockIdx.x];
}

void run(int count, bool exclusive) {
  check::Rng rng(count);
  std::vector<int> in(count), want(count);
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    in[i] = static_cast<int>(rng.below(2001)) - 1000;
    if (exclusive) want[i] = sum;
    sum += in[i];
    if (!exclusive) want[i] = sum;
  }
  const unsigned blocks = check::blocks_for(count, kBlock);
  check::Buffer<int> device_in(in), out(count), totals(blocks), offsets(blocks);
  scan_blocks<<<blocks, kBlock>>>(device_in, out, totals, count, exclusive);
  scan_blocks<<<1, kBlock>>>(totals, offsets, nullptr, static_cast<int>(blocks), true);
  add_offsets<<<blocks, kBlock>>>(out, offsets, count);
  check::sync();
  char what[64];
  std::snprintf(what, sizeof what, "%s scan of %d", exclusive ? "exclusive" : "inclusive", count);
  check::equal(what, out.read(), want);
}

int main() {
  for (int count : {1, 64, 255, 256, 257, 20011}) {
    run(count, false);
    run(count, true);
  }
  return check::finish();
}
