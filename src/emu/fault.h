#pragma once

#include <cstdint>

#include "base/gpu_addr.h"

namespace wavetap::emu {

enum class FaultKind : uint8_t {
  kPageFault,  // address not mapped for this GPU
  kWriteToReadOnly,
  kExecuteForbidden,
  kApertureViolation,  // outside the GPU's apertures, or an LDS/private address past its limit
  kMisaligned,
  kIllegalInstruction,  // the encoding is not an instruction of this target
  kUnimplemented,       // it is one, and the engine has no semantics for it
  kTrap,                // s_trap 2: device assert or abort
  kBadDescriptor,       // kernel object, sizes or registers out of range
  kWatchdog,
};

const char* fault_name(FaultKind kind);

// What a wave did wrong, and where. All values are those of the faulting instruction.
struct Fault {
  FaultKind kind{};
  GpuAddr pc;
  GpuAddr address;  // memory faults
  bool is_write = false;
  uint32_t workgroup[3] = {0, 0, 0};
  uint32_t wave = 0;      // within the workgroup
  int lane = -1;          // first faulting lane, -1 when the whole wave
  uint64_t encoding = 0;  // the first eight bytes at pc
  GpuAddr kernel_object;
  bool wave64 = false;
  uint8_t trap_id = 0;
  char detail[96] = "";  // one more phrase for the message, may be empty
};

}  // namespace wavetap::emu
