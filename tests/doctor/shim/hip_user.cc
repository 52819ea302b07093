// Prints what HIP says of each device. With "memset" or "copy" it asks nothing and has the runtime
// fill or copy memory.
#include <hip/hip_runtime_api.h>
#include <hip/hip_version.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

#include "amd/hip_properties.h"

// The layout this machine's headers have, against ours.
constexpr wavetap::amd::HipPropertiesLayout kLayout =
    HIP_VERSION_MAJOR >= 6 ? wavetap::amd::kHipPropertiesR0600 : wavetap::amd::kHipPropertiesR0000;
static_assert(offsetof(hipDeviceProp_t, totalGlobalMem) == kLayout.vram_bytes);
static_assert(offsetof(hipDeviceProp_t, sharedMemPerBlock) == kLayout.lds_bytes);
static_assert(offsetof(hipDeviceProp_t, warpSize) == kLayout.wave_size);
static_assert(offsetof(hipDeviceProp_t, clockRate) == kLayout.clock_khz);
static_assert(offsetof(hipDeviceProp_t, multiProcessorCount) == kLayout.multiprocessors);
static_assert(offsetof(hipDeviceProp_t, l2CacheSize) == kLayout.l2_bytes);
static_assert(offsetof(hipDeviceProp_t, pciDomainID) == kLayout.pci_domain);
static_assert(offsetof(hipDeviceProp_t, pciBusID) == kLayout.pci_bus);
static_assert(offsetof(hipDeviceProp_t, pciDeviceID) == kLayout.pci_device);
static_assert(offsetof(hipDeviceProp_t, gcnArchName) == kLayout.arch);
static_assert(sizeof(hipDeviceProp_t) <= wavetap::amd::kHipPropertiesBytes);

namespace {

int print_figures() {
  int count = 0;
  if (hipGetDeviceCount(&count) != hipSuccess) return 1;
  for (int device = 0; device < count; ++device) {
    hipDeviceProp_t p;
    int multiprocessors = 0, clock = 0, wave = 0, lds = 0;
    if (hipGetDeviceProperties(&p, device) != hipSuccess ||
        hipDeviceGetAttribute(&multiprocessors, hipDeviceAttributeMultiprocessorCount, device) !=
            hipSuccess ||
        hipDeviceGetAttribute(&clock, hipDeviceAttributeClockRate, device) != hipSuccess ||
        hipDeviceGetAttribute(&wave, hipDeviceAttributeWarpSize, device) != hipSuccess ||
        hipDeviceGetAttribute(&lds, hipDeviceAttributeMaxSharedMemoryPerBlock, device) !=
            hipSuccess)
      return 1;
    std::printf("%d properties %d %d %d %zu %s\n", device, p.multiProcessorCount,
                p.clockRate / 1000, p.warpSize, p.sharedMemPerBlock, p.gcnArchName);
    std::printf("%d attributes %d %d %d %d\n", device, multiprocessors, clock / 1000, wave, lds);
  }
  return 0;
}

int use_memory(bool fill) {
  void* memory = nullptr;
  char bytes[4096] = {};
  if (hipMalloc(&memory, sizeof bytes) != hipSuccess) return 1;
  const hipError_t error = fill ? hipMemset(memory, 1, sizeof bytes)
                                : hipMemcpy(memory, bytes, sizeof bytes, hipMemcpyHostToDevice);
  if (error != hipSuccess || hipDeviceSynchronize() != hipSuccess) return 1;
  return hipFree(memory) == hipSuccess ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const char* const what = count > 1 ? arguments[1] : "";
  if (std::strcmp(what, "memset") == 0) return use_memory(true);
  if (std::strcmp(what, "copy") == 0) return use_memory(false);
  return print_figures();
}
