// The ranges of function numbers (record/functions.h) that belong to HIP and to HSA.
#pragma once

#include <cstdint>

namespace wavetap::agent {

inline constexpr uint32_t kFirstHipFunction = 1;
inline constexpr uint32_t kFirstHsaFunction = 4096;

}  // namespace wavetap::agent
