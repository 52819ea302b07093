// Where the figures of a device lie in the structures of hipGetDeviceProperties and its kin.
// hipDeviceProp_t has two layouts: the one before HIP 6, which the unversioned symbol and R0000
// keep for ever, and R0600. Of cudaDeviceProp, CUDA 11 and 12 agree with the latter as far as it is
// used here.
#pragma once

#include <cstddef>

namespace wavetap::amd {

struct HipPropertiesLayout {
  // Offsets. The name is a text of 256 bytes at 0, `arch` one of 256 bytes
  // ("gfx90a:sramecc+:xnack-").
  size_t vram_bytes;  // 8 bytes
  size_t lds_bytes;   // 8 bytes, of one workgroup
  size_t wave_size;   // 4 bytes, as the others
  size_t clock_khz;
  size_t multiprocessors;
  size_t l2_bytes;
  size_t pci_domain, pci_bus, pci_device;
  size_t arch;  // 0: the structure has none
};

inline constexpr HipPropertiesLayout kHipPropertiesR0000 = {256, 264, 276, 308, 336,
                                                            340, 364, 368, 372, 396};
inline constexpr HipPropertiesLayout kHipPropertiesR0600 = {288, 296, 308, 348, 388,
                                                            616, 592, 584, 588, 1160};
inline constexpr HipPropertiesLayout kCudaProperties = {288, 296, 308, 348, 388,
                                                        616, 592, 584, 588, 0};

// More than the structure of any release.
inline constexpr size_t kHipPropertiesBytes = 8192;

}  // namespace wavetap::amd
