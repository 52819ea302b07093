// Cooperative launch: all blocks of a grid meet at grid.sync(), several times, and read what the
// others wrote before it. Also tiled partitions and block groups.
#include "check.h"

#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

// Pairwise tree over the whole grid: log2(lanes) rounds with a grid barrier between them.
__global__ void grid_reduce(int* data, int count) {
  cg::grid_group grid = cg::this_grid();
  const int i = static_cast<int>(grid.thread_rank());
  for (int stride = 1; stride < count; stride *= 2) {
    if (i % (2 * stride) == 0 && i + stride < count) data[i] += data[i + stride];
    grid.sync();
  }
}

__global__ void block_groups(int* out) {
  cg::thread_block block = cg::this_thread_block();
  __shared__ int shared[128];
  shared[block.thread_rank()] = static_cast<int>(block.thread_rank()) * 2;
  block.sync();
  auto tile = cg::tiled_partition<16>(block);
  int value = shared[127 - block.thread_rank()];
  for (int delta = 8; delta > 0; delta /= 2) value += tile.shfl_xor(value, delta);
  out[block.thread_rank()] = value + static_cast<int>(tile.thread_rank()) * 100000;
}

int main() {
  check::Buffer<int> out(128);
  block_groups<<<1, 128>>>(out);
  check::sync();
  std::vector<int> want(128);
  for (int i = 0; i < 128; ++i) {
    for (int k = i / 16 * 16; k < i / 16 * 16 + 16; ++k) want[i] += (127 - k) * 2;
    want[i] += i % 16 * 100000;
  }
  check::equal("tiles of 16 in a block", out.read(), want);

  int supported = 0;
  WT_HIP(hipDeviceGetAttribute(&supported, hipDeviceAttributeCooperativeLaunch, 0));
  if (supported == 0) {
    std::printf("the device has no cooperative launch: grid barriers are not tried\n");
    return check::finish();
  }
  const int blocks = 16, threads = 128;
  int count = blocks * threads;
  check::Rng rng(1);
  std::vector<int> data(count);
  int sum = 0;
  for (int& v : data) sum += v = static_cast<int>(rng.below(1000));
  check::Buffer<int> device(data);
  int* pointer = device;
  void* arguments[] = {&pointer, &count};
  WT_HIP(hipLaunchCooperativeKernel(reinterpret_cast<const void*>(grid_reduce), dim3(blocks),
                                    dim3(threads), arguments, 0, nullptr));
  check::sync();
  check::equal("sum over 16 blocks with 11 grid barriers", device.read()[0], sum);
  // More blocks than can be resident at once must be refused, not hang.
  const hipError_t error = hipLaunchCooperativeKernel(
      reinterpret_cast<const void*>(grid_reduce), dim3(1 << 20), dim3(1024), arguments, 0, nullptr);
  (void)hipGetLastError();
  check::expect(error == hipErrorCooperativeLaunchTooLarge,
                "a grid that cannot be resident is refused (%s)", hipGetErrorName(error));
  return check::finish();
}
