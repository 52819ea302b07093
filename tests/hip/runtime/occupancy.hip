// Occupancy queries answer from the kernel's registers and LDS and the device's limits, and agree
// with what can be launched; function attributes are those of the compiled code.
#include "check.h"

__global__ void light(float* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x; }

__global__ void heavy_lds(float* out) {
  __shared__ float tile[12288];  // 48 KiB
  for (int i = threadIdx.x; i < 12288; i += blockDim.x) tile[i] = i;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = tile[threadIdx.x * 7 % 12288];
}

int main() {
  const hipDeviceProp_t p = check::properties();
  int blocks = 0, lds_blocks = 0, with_dynamic = 0;
  WT_HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, light, 256, 0));
  WT_HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&lds_blocks, heavy_lds, 256, 0));
  WT_HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&with_dynamic, light, 64, 32 * 1024));
  check::expect(blocks >= 2 && blocks * 256 <= p.maxThreadsPerMultiProcessor,
                "a light kernel: %d blocks of 256 per multiprocessor", blocks);
  check::expect(lds_blocks >= 1 && lds_blocks < blocks, "48 KiB of LDS leave room for %d",
                lds_blocks);
  check::expect(with_dynamic >= 1 && with_dynamic <= 4, "32 KiB of dynamic LDS leave room for %d",
                with_dynamic);
  int grid = 0, block = 0;
  WT_HIP(hipOccupancyMaxPotentialBlockSize(&grid, &block, light, 0, 0));
  check::expect(grid > 0 && block > 0 && block <= p.maxThreadsPerBlock && block % p.warpSize == 0,
                "best launch: %d blocks of %d", grid, block);
  check::Buffer<float> out(static_cast<size_t>(grid) * block);
  light<<<grid, block>>>(out);
  check::sync();
  check::equal("and it runs", out.read().back(), static_cast<float>(block - 1));

  hipFuncAttributes attributes;
  WT_HIP(hipFuncGetAttributes(&attributes, reinterpret_cast<const void*>(heavy_lds)));
  check::equal("static LDS of the kernel", attributes.sharedSizeBytes, size_t{48 * 1024});
  check::expect(attributes.numRegs > 0 && attributes.numRegs <= 512, "it uses %d registers",
                attributes.numRegs);
  check::expect(attributes.maxThreadsPerBlock > 0, "maxThreadsPerBlock is %d",
                attributes.maxThreadsPerBlock);
  return check::finish();
}
