#include "emu/fault.h"

namespace wavetap::emu {

const char* fault_name(FaultKind kind) {
  switch (kind) {
    case FaultKind::kPageFault: return "page fault";
    case FaultKind::kWriteToReadOnly: return "write to read-only memory";
    case FaultKind::kExecuteForbidden: return "code in memory that is not executable";
    case FaultKind::kApertureViolation: return "aperture violation";
    case FaultKind::kMisaligned: return "misaligned access";
    case FaultKind::kIllegalInstruction: return "illegal instruction";
    case FaultKind::kUnimplemented: return "unimplemented instruction";
    case FaultKind::kTrap: return "trap";
    case FaultKind::kBadDescriptor: return "invalid kernel descriptor or dispatch";
    case FaultKind::kWatchdog: return "instruction limit exceeded";
  }
  return "unknown fault";
}

}  // namespace wavetap::emu
