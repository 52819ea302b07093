// Reading guest memory outside a wave: descriptors, kernel arguments, code.
#pragma once

#include <cstddef>
#include <span>

#include "base/gpu_addr.h"
#include "emu/memory.h"

namespace wavetap::emu {

// Copies out.size() bytes from `address`, which may lie in several neighbouring mappings. False
// when one is missing, unreadable or (with `executable`) not executable, or when the host memory
// behind it is gone.
bool guest_read(Memory& memory, RunGuarded run_guarded, GpuAddr address, std::span<std::byte> out,
                bool executable = false);

}  // namespace wavetap::emu
