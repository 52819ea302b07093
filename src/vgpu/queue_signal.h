// What the packet processors do to HSA signals (amd_signal_t).
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/gpu_addr.h"
#include "vgpu/queue_memory.h"
#include "vgpu/queue_state.h"

namespace wavetap::vgpu {

// Completes a packet's signal: time stamps, value - 1, mailbox, interrupt. A null signal is none.
// False: the signal is not reachable (memory.fault()).
bool complete_signal(Queue& queue, GuestMemory& memory, GpuAddr signal, GpuTicks begin,
                     GpuTicks end);

// ORs `code` into the value of amd_queue_t.queue_inactive_signal and interrupts: how the command
// processor and the trap handler report errors. False: the queue has no such signal, or it is not
// reachable.
bool raise_queue_error(Queue& queue, GuestMemory& memory, GpuAddr amd_queue, uint32_t code);
// The same for a runtime that has enabled exceptions (RUNTIME_ENABLE): the driver writes exception N's bit where
// the queue's context save area says and sets the event named there. False: it has not, or names nothing.
bool raise_queue_exception(Queue& queue, uint32_t exception);

}  // namespace wavetap::vgpu
