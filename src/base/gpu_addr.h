#pragma once

#include <compare>
#include <cstdint>

namespace wavetap {

// An address in a GPU's address space. Often equal to a host address, never assumed to be: host
// code reaches it only through the page table of the GPU that uses it.
struct GpuAddr {
  uint64_t value = 0;

  constexpr GpuAddr operator+(uint64_t bytes) const { return {value + bytes}; }
  constexpr auto operator<=>(const GpuAddr&) const = default;
};

}  // namespace wavetap
