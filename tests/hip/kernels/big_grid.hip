// Many workgroups: 60 000 tiny blocks, a grid wide in y and z, and a grid-stride loop over more
// work than lanes; every workgroup runs exactly once.
#include "check.h"

__global__ void mark_block(uint8_t* seen, unsigned* total) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  if (threadIdx.x == 0) seen[block] = static_cast<uint8_t>(seen[block] + 1);
  if (threadIdx.x == 0 && block % 1024 == 0) atomicAdd(total, 1u);
}

__global__ void stride_sum(unsigned long long* sum, unsigned count) {
  unsigned long long own = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    own += i;
  for (int delta = warpSize / 2; delta > 0; delta /= 2) own += __shfl_xor(own, delta);
  if (threadIdx.x % warpSize == 0) atomicAdd(sum, own);
}

void run(dim3 grid) {
  const size_t blocks = static_cast<size_t>(grid.x) * grid.y * grid.z;
  check::Buffer<uint8_t> seen(blocks);
  check::Buffer<unsigned> total(1);
  seen.fill_bytes(0);
  total.fill_bytes(0);
  mark_block<<<grid, 32>>>(seen, total);
  check::sync();
  char what[64];
  std::snprintf(what, sizeof what, "grid %ux%ux%u", grid.x, grid.y, grid.z);
  check::equal(what, seen.read(), std::vector<uint8_t>(blocks, 1));
  check::equal("  marked thousands", total.read()[0],
               static_cast<unsigned>((blocks + 1023) / 1024));
}

int main() {
  run(dim3(60001));
  run(dim3(1, 3000, 5));
  run(dim3(7, 11, 400));
  check::Buffer<unsigned long long> sum(1);
  sum.fill_bytes(0);
  const unsigned count = 1000003;
  stride_sum<<<64, 256>>>(sum, count);
  check::sync();
  check::equal("grid-stride sum", sum.read()[0],
               static_cast<unsigned long long>(count) * (count - 1) / 2);
  return check::finish();
}
