// hipMemGetInfo follows allocations; the device runs out of memory at its size, not before, and
// recovers.
#include "check.h"

size_t free_bytes() {
  size_t available = 0, total = 0;
  WT_HIP(hipMemGetInfo(&available, &total));
  return available;
}

int main() {
  size_t available = 0, total = 0;
  WT_HIP(hipMemGetInfo(&available, &total));
  check::equal("total equals the device's memory", total, check::properties().totalGlobalMem);
  check::expect(available <= total && available > total / 2, "%zu of %zu MiB are free",
                available >> 20, total >> 20);

  const size_t chunk = size_t{512} << 20;
  void* one = nullptr;
  WT_HIP(hipMalloc(&one, chunk));
  const size_t after = free_bytes();
  check::expect(available - after >= chunk && available - after < chunk + (64 << 20),
                "512 MiB less are free after hipMalloc (%zu MiB)", (available - after) >> 20);
  WT_HIP(hipFree(one));
  check::expect(free_bytes() >= available - (64 << 20), "and free again after hipFree");

  std::vector<void*> blocks;
  hipError_t error = hipSuccess;
  while (blocks.size() < 1000) {
    void* block = nullptr;
    error = hipMalloc(&block, chunk);
    if (error != hipSuccess) break;
    blocks.push_back(block);
  }
  (void)hipGetLastError();
  check::expect(error == hipErrorOutOfMemory, "the device runs out of memory (%s)",
                hipGetErrorName(error));
  const size_t used = blocks.size() * chunk;
  check::expect(used <= total && used + 2 * chunk + (256 << 20) >= total, "after %zu of %zu MiB",
                used >> 20, total >> 20);
  // The last block is real memory.
  int value = 4711, back = 0;
  char* end = static_cast<char*>(blocks.back()) + chunk - sizeof value;
  WT_HIP(hipMemcpy(end, &value, sizeof value, hipMemcpyHostToDevice));
  WT_HIP(hipMemcpy(&back, end, sizeof back, hipMemcpyDeviceToHost));
  check::equal("the last word of the last block works", back, value);
  for (void* block : blocks) WT_HIP(hipFree(block));
  WT_HIP(hipMalloc(&one, chunk));
  WT_HIP(hipFree(one));
  check::expect(true, "allocation works again after freeing");
  WT_HIP_RETURNS(hipErrorOutOfMemory, hipMalloc(&one, total * 4));
  return check::finish();
}
