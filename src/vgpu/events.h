// EventTable: KFD's events. The driver's users create events, sleep on sets of them and are woken
// by queues (a completion signal's mailbox), by waves (s_sendmsg), by faults and by each other.
//
// The rules are the kernel driver's (amdkfd kfd_events.c):
//   - an event is sticky: set with nobody waiting, the next waiter passes at once;
//   - an auto-reset event set while threads wait wakes all of them and stays unset;
//   - a manual-reset event stays set until reset;
//   - SIGNAL events count how often they were set (their age, from 1). A waiter that passes the age
//     it saw last passes at once when the age has moved since, and gets the present age back: this
//     is what makes auto-reset events safe with several waiters (interface version 1.14);
//   - a waiter that passes no age (runtimes before 6.0) has the driver's race: two threads share an
//     auto-reset event, the wrong one consumes it, the other sleeps for ever. Here the table remembers
//     what each thread saw last and lets it pass when there was anything since. Callers look at the memory
//     they wait for after every return, so returning once too often is harmless, once too rarely is not;
//   - destroying an event wakes its waiters with a failure.
//
// Every function returns 0 or a positive errno. Waiting threads sleep; nothing polls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace wavetap::vgpu {

// KFD_IOC_EVENT_*.
enum class EventType : uint32_t {
  kSignal = 0,
  kNodeChange = 1,
  kDeviceStateChange = 2,
  kHwException = 3,
  kSystemEvent = 4,
  kDebugEvent = 5,
  kProfileEvent = 6,
  kQueueEvent = 7,
  kMemory = 8,
};

// SIGNAL and DEBUG events own a slot of the event page; their id is the slot, from 1.
inline constexpr uint32_t kSignalEventLimit = 4096;
inline constexpr uint32_t kFirstOtherEventId = 0x80000000u;
inline constexpr uint32_t kEventWaitForever = 0xffffffffu;

// What CREATE_EVENT reports. event_trigger_data of the ioctl equals `id`.
struct EventHandle {
  uint32_t id = 0;
  uint32_t slot = 0;  // 0 when the type has none
};

struct MemoryFaultData {
  bool not_present = false;
  bool read_only = false;  // write to a page mapped read-only
  bool no_execute = false;
  bool imprecise = false;
  uint64_t address = 0;     // page-aligned GPU address
  uint32_t gpu_id = 0;      // non-zero marks the payload valid
  uint32_t error_type = 0;  // 0: no RAS error
};

struct HwExceptionData {
  uint32_t reset_type = 0;   // 0: whole GPU, 1: per engine
  uint32_t reset_cause = 0;  // 0: GPU hang, 1: ECC
  uint32_t memory_lost = 0;
  uint32_t gpu_id = 0;
};

// One entry of WAIT_EVENTS.
struct EventWait {
  uint32_t id = 0;                // in
  uint64_t last_event_age = 0;    // in and out, SIGNAL events only; 0 in: do not compare ages
  bool has_memory_fault = false;  // out: memory_fault is valid (MEMORY events)
  bool has_hw_exception = false;  // out: hw_exception is valid (HW_EXCEPTION events)
  MemoryFaultData memory_fault{};
  HwExceptionData hw_exception{};
};

// KFD_IOC_WAIT_RESULT_*.
enum class WaitResult : uint32_t { kComplete = 0, kTimeout = 1, kFail = 2 };

// Thread-safe. One per process, never destroyed while threads may wait in it.
class EventTable {
 public:
  EventTable();
  ~EventTable();
  EventTable(const EventTable&) = delete;
  EventTable& operator=(const EventTable&) = delete;

  // ENOSPC past kSignalEventLimit slots, ENOMEM past a sane number of other events. `node_id` is
  // kept for HW_EXCEPTION and node events, which KFD delivers to every event of the type.
  int create(EventType type, bool auto_reset, uint32_t node_id, EventHandle* handle);
  int destroy(uint32_t id);  // EINVAL: no such event
  // EINVAL: no such event, or of a type users may not set (only SIGNAL is).
  int set(uint32_t id);
  int reset(uint32_t id);

  // The host address of the event page (8 bytes per slot) that the user handed over with its first
  // event. Slots are initialised to "not signalled". A second page is refused with EINVAL, the same
  // one again is fine. Null forgets the page (its memory was freed).
  int set_event_page(uint64_t* page, uint64_t size_bytes);
  bool has_event_page() const;

  // Blocks until one (or all) of the events are set, or `timeout_ms` has passed (0: only look;
  // kEventWaitForever and 0xfffffffe: for ever). *result: complete or timeout with return 0; EINVAL
  // when an id does not exist at the start; EIO with kFail when one was destroyed meanwhile.
  int wait(std::span<EventWait> events, bool wait_for_all, uint32_t timeout_ms, WaitResult* result);

  // From the GPU's side. Unknown ids are ignored, as the driver ignores stray interrupts.
  void signal(uint32_t id);
  // An interrupt that names no event: sets every SIGNAL event whose slot of the event page was
  // written, or all of them when none was.
  void signal_all();
  // Delivered to every event of type MEMORY / HW_EXCEPTION. False: nobody has created one.
  bool post_memory_fault(const MemoryFaultData& fault);
  bool post_hw_exception(const HwExceptionData& exception);

  // Called by the front end in the child of a fork: forgets every event without touching locks that
  // vanished threads may hold. The old state is leaked.
  void after_fork_in_child();

  uint32_t live_count() const;

 private:
  struct State;
  State* state_;
};

}  // namespace wavetap::vgpu
