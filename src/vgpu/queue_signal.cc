#include "vgpu/queue_signal.h"

#include <cstddef>

#include "amd/aql.h"
#include "amd/kfd_abi.h"
#include "vgpu/queue_scheduler.h"
#include "vgpu/user_copy.h"

namespace wavetap::vgpu {
namespace {

GpuAddr value_of(GpuAddr signal) { return signal + offsetof(amd::Signal, value); }

// How the host learns of a change. Read before the value moves: the host may free the signal the
// moment it sees the final value.
struct Interrupt {
  uint64_t mailbox = 0;
  uint32_t event_id = 0;

  bool read(GuestMemory& memory, GpuAddr signal) {
    return memory.load(signal + offsetof(amd::Signal, event_mailbox_ptr), &mailbox) &&
           memory.load(signal + offsetof(amd::Signal, event_id), &event_id);
  }

  void send(Queue& queue, GuestMemory& memory) const {
    if (mailbox != 0) {
      // A mailbox that is gone loses nothing: the event is named in the interrupt as well.
      (void)memory.store(GpuAddr{mailbox}, uint64_t{event_id});
      queue.events->signal(event_id);
    }
    queue.scheduler->signal_completed();
  }
};

}  // namespace

bool complete_signal(Queue& queue, GuestMemory& memory, GpuAddr signal, GpuTicks begin,
                     GpuTicks end) {
  if (signal.value == 0) return true;
  Interrupt interrupt;
  if (!interrupt.read(memory, signal)) return false;
  if (!memory.store(signal + offsetof(amd::Signal, start_ts), begin.value)) return false;
  if (!memory.store(signal + offsetof(amd::Signal, end_ts), end.value)) return false;
  // Release: pairs with the acquire load of whoever waits for the signal, and makes the time stamps
  // and everything the packet wrote visible to it.
  int64_t before = 0;
  if (!memory.modify<int64_t>(value_of(signal), &before, [](int64_t value) {
        return static_cast<int64_t>(static_cast<uint64_t>(value) - 1);
      })) {
    return false;
  }
  interrupt.send(queue, memory);
  return true;
}

bool raise_queue_error(Queue& queue, GuestMemory& memory, GpuAddr amd_queue, uint32_t code) {
  uint64_t signal = 0;
  if (amd_queue.value == 0 || !memory.load(amd_queue + amd::kQueueInactiveSignal, &signal) ||
      signal == 0) {
    return false;
  }
  Interrupt interrupt;
  int64_t before = 0;
  if (!interrupt.read(memory, GpuAddr{signal}) ||
      !memory.modify<int64_t>(value_of(GpuAddr{signal}), &before,
                              [code](int64_t value) { return value | int64_t{code}; })) {
    return false;
  }
  interrupt.send(queue, memory);
  return true;
}

bool raise_queue_exception(Queue& queue, uint32_t exception) {
  if (queue.report_exceptions == nullptr || !queue.report_exceptions->load() ||
      queue.context_save.value == 0)
    return false;
  amd::KfdContextSaveHeader header{};
  uint64_t raised = 0;
  if (!copy_from_user(&header, queue.context_save.value, sizeof header) ||
      header.error_event == 0 || !copy_from_user(&raised, header.error_payload, sizeof raised))
    return false;
  raised |= uint64_t{1} << (exception - 1);
  if (!copy_to_user(header.error_payload, &raised, sizeof raised)) return false;
  queue.events->signal(header.error_event);
  queue.scheduler->signal_completed();
  return true;
}

}  // namespace wavetap::vgpu
