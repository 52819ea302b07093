// The trials' kernels, built for many targets and embedded in the program.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace wavetap::doctor::trial {

// The code object for a target such as "gfx1030"; empty when there is none.
std::span<const std::byte> device_code(std::string_view target);
// A bundle with the printf kernel for several targets, made by hipcc; empty in builds without it.
std::span<const std::byte> printf_code();

}  // namespace wavetap::doctor::trial
