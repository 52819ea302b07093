// Every built-in index over 1-, 2- and 3-dimensional grids and blocks, including shapes whose waves
// straddle rows and the hardware's three id registers.
#include "check.h"

__global__ void record(int* visits, unsigned long long* sums, int width, int height, int depth) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < width && y < height && z < depth) atomicAdd(&visits[(z * height + y) * width + x], 1);
  atomicAdd(&sums[0],
            static_cast<unsigned long long>(threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z));
  atomicAdd(&sums[1],
            static_cast<unsigned long long>(blockIdx.x + 10 * blockIdx.y + 100 * blockIdx.z));
  atomicAdd(&sums[2], static_cast<unsigned long long>(blockDim.x * blockDim.y * blockDim.z));
  atomicAdd(&sums[3], static_cast<unsigned long long>(gridDim.x * gridDim.y * gridDim.z));
}

void run(dim3 size, dim3 block) {
  const dim3 grid(check::blocks_for(size.x, block.x), check::blocks_for(size.y, block.y),
                  check::blocks_for(size.z, block.z));
  const size_t cells = static_cast<size_t>(size.x) * size.y * size.z;
  check::Buffer<int> visits(cells);
  check::Buffer<unsigned long long> sums(4);
  visits.fill_bytes(0);
  sums.fill_bytes(0);
  record<<<grid, block>>>(visits, sums, size.x, size.y, size.z);
  check::sync();
  std::vector<unsigned long long> want(4);
  for (unsigned bz = 0; bz < grid.z; ++bz) {
    for (unsigned by = 0; by < grid.y; ++by) {
      for (unsigned bx = 0; bx < grid.x; ++bx) {
        for (unsigned tz = 0; tz < block.z; ++tz) {
          for (unsigned ty = 0; ty < block.y; ++ty) {
            for (unsigned tx = 0; tx < block.x; ++tx) {
              want[0] += tx + 10 * ty + 100 * tz;
              want[1] += bx + 10 * by + 100 * bz;
              want[2] += static_cast<unsigned long long>(block.x) * block.y * block.z;
              want[3] += static_cast<unsigned long long>(grid.x) * grid.y * grid.z;
            }
          }
        }
      }
    }
  }
  char what[96];
  std::snprintf(what, sizeof what, "%ux%ux%u in blocks of %ux%ux%u", size.x, size.y, size.z,
                block.x, block.y, block.z);
  check::equal(what, visits.read(), std::vector<int>(cells, 1));
  check::equal("  sums of the indices", sums.read(), want);
}

int main() {
  run(dim3(1), dim3(1));
  run(dim3(1000), dim3(96));
  run(dim3(17, 90), dim3(5, 7));
  run(dim3(33, 19, 11), dim3(4, 3, 5));
  run(dim3(2, 3, 70), dim3(1, 1, 64));
  run(dim3(4, 200, 3), dim3(2, 128, 1));
  run(dim3(40, 30), dim3(32, 32));
  return check::finish();
}
