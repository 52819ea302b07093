// Pinned host memory with every flag: kernels read and write it directly, its device pointer is
// found, host and device see each other's changes.
#include "versions.h"

__global__ void square(const int* in, int* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i] * in[i];
}

void run(const char* name, unsigned flags) {
  const int count = 5000;
  int *in = nullptr, *out = nullptr;
  WT_HIP(hipHostMalloc(&in, count * sizeof(int), flags));
  WT_HIP(hipHostMalloc(&out, count * sizeof(int), flags));
  std::vector<int> want(count);
  for (int i = 0; i < count; ++i) in[i] = i - 2000, out[i] = -1, want[i] = in[i] * in[i];
  int *device_in = nullptr, *device_out = nullptr;
  WT_HIP(hipHostGetDevicePointer(reinterpret_cast<void**>(&device_in), in, 0));
  WT_HIP(hipHostGetDevicePointer(reinterpret_cast<void**>(&device_out), out, 0));
  square<<<check::blocks_for(count, 128), 128>>>(device_in, device_out, count);
  check::sync();
  check::equal(name, std::vector<int>(out, out + count), want);
  unsigned got_flags = ~0u;
  WT_HIP(hipHostGetFlags(&got_flags, in));
  // Coherence is chosen by two high bits, which HIP does not give back.
  const unsigned kept = flags & ~(hipHostMallocCoherent | hipHostMallocNonCoherent);
  check::expect((got_flags & kept) == kept, "  flags 0x%x contain 0x%x", got_flags, kept);
  hipPointerAttribute_t attributes;
  WT_HIP(hipPointerGetAttributes(&attributes, in));
  check::expect(check::memory_type(attributes) == hipMemoryTypeHost &&
                    attributes.hostPointer == in && attributes.devicePointer == device_in,
                "  attributes: host memory with both pointers");
  WT_HIP(hipHostFree(in));
  WT_HIP(hipHostFree(out));
}

int main() {
  run("default", hipHostMallocDefault);
  run("portable", hipHostMallocPortable);
  run("mapped", hipHostMallocMapped);
  run("write-combined", hipHostMallocWriteCombined);
  run("coherent", hipHostMallocCoherent);
  run("non-coherent", hipHostMallocNonCoherent);
  run("portable and mapped", hipHostMallocPortable | hipHostMallocMapped);
  void* large = nullptr;
  WT_HIP(hipHostMalloc(&large, 64 << 20));
  std::memset(large, 1, 64 << 20);
  check::expect(true, "64 MiB of pinned memory can be written");
  WT_HIP(hipHostFree(large));
  WT_HIP(hipHostFree(nullptr));
  WT_HIP_RETURNS(hipErrorInvalidValue, hipHostMalloc(nullptr, 16, 0));
  return check::finish();
}
