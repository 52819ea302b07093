// How a fault of the guest reaches the program, as KFD and the command processor would tell it, and
// the user, as one line on stderr.
//
//   page faults                     MEMORY event with the page's address; ROCr prints its report
//   aperture, instruction, trap,    exception through the driver (ROCr 6 and later), else an error code in
//   descriptor, packet              queue_inactive_signal; ROCr calls the queue's callback
//   bad SDMA or PM4 packet          HW_EXCEPTION event: such an engine hangs and is reset
//
// After any of these the queue is dead.
#pragma once

#include <cstdint>

#include "base/gpu_addr.h"
#include "emu/engine.h"
#include "emu/fault.h"
#include "vgpu/queue_memory.h"
#include "vgpu/queue_state.h"

namespace wavetap::vgpu {

// Codes ROCr understands in queue_inactive_signal.
enum class QueueError : uint32_t {
  kDimensions = 2,
  kGroupMemory = 4,
  kCodeObject = 8,
  kPacket = 32,
  kWorkgroupSize = 64,
  kRegisters = 128,
  kVendorPacket = 256,
  kApertureViolation = 0x20000000,
  kIllegalInstruction = 0x40000000,
  kTrap = 0x80000000,
};

// Where a fault happened. `amd_queue` is null for queues without an amd_queue_t.
struct FaultSite {
  Queue& queue;
  GuestMemory& memory;
  GpuAddr amd_queue;
};

// A wave of `dispatch` did wrong.
void deliver_wave_fault(const FaultSite& site, const emu::Fault& fault,
                        const emu::Dispatch& dispatch);
// The packet processor itself touched memory it may not; `doing` completes "while …".
void deliver_access_fault(const FaultSite& site, const AccessFault& fault, const char* doing);
// A packet that cannot be executed.
void deliver_packet_error(const FaultSite& site, QueueError error, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

// The text deliver_wave_fault() prints, without the leading "wavetap: ". For tests and
// post-mortems.
void describe_wave_fault(const FaultSite& site, const emu::Fault& fault,
                         const emu::Dispatch& dispatch, char* text, size_t size);

}  // namespace wavetap::vgpu
