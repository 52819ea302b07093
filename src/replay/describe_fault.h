#pragma once

#include <string>

#include "emu/fault.h"
#include "replay/capture_file.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"

namespace wavetap::replay {

// A fault of a replayed kernel in one sentence: what, where in memory, which wave, which instruction.
std::string describe_fault(const Capture& capture, const CapturedKernel& kernel,
                           const CapturedMemory& memory, const emu::Fault& fault);

}  // namespace wavetap::replay
