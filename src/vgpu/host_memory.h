// What the machine has that plays the GPU.
#pragma once

#include <sys/sysinfo.h>

#include <cstdint>

namespace wavetap::vgpu {

inline uint64_t host_memory_bytes() {
  struct sysinfo info {};
  if (::sysinfo(&info) != 0) return 8ull << 30;
  return static_cast<uint64_t>(info.totalram) * info.mem_unit;
}

}  // namespace wavetap::vgpu
