#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace wavetap::proof {

// How a candidate is launched; what is not said is as captured.
struct LaunchShape {
  std::optional<std::array<uint32_t, 3>> workgroup;   // work-items
  std::optional<std::array<uint32_t, 3>> workgroups;  // how many of them
};

}  // namespace wavetap::proof
