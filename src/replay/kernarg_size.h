// How many bytes of arguments a captured kernel has, as metadata and descriptor say. A file makes both up, so
// there is a limit.
#pragma once

#include <algorithm>
#include <cstdint>

#include "replay/captured_kernel.h"

namespace wavetap::replay {

// 0: not known.
inline uint64_t kernarg_bytes_of(const CapturedKernel& kernel) {
  constexpr uint64_t kMost = 1u << 20;  // HIP's have 4 KiB at most
  if (kernel.kernel == nullptr) return 0;
  return std::min<uint64_t>(kMost, std::max<uint64_t>(kernel.kernel->kernarg_bytes,
                                                      kernel.kernel->descriptor.kernarg_size));
}

}  // namespace wavetap::replay
