// Dispatch hooks: what watches or changes single dispatches of the virtual GPU. Counting, capturing,
// checking, probing and swapping kernels are hooks; the packet processor knows none of them by name.
//
//   packet ─► interest() of each hook ─► before() in order ─► engine ─► after() in reverse ─► signal
//                │ kAlone                                                   │
//                └─ all other queues of the process stand still ────────────┘
//
// The run's configuration chooses the hooks when the driver starts (dispatch_hooks.cc); the list never
// changes afterwards, and with an empty list a dispatch pays one comparison.
//
// What the program sees stays the same: the completion signal's times are the kernel's own, without
// the time hooks take, and a fault is delivered after the hooks have seen it.
#pragma once

#include <cstdint>
#include <span>

#include "amd/aql.h"
#include "base/clock.h"
#include "emu/engine.h"
#include "sanitize/footprint.h"
#include "vgpu/annotations.h"

namespace wavetap::vgpu {

class GuestMemory;
struct Gpu;
struct Queue;

// The kernel's own times, without those of the hooks.
struct DispatchTimes {
  GpuTicks begin;
  GpuTicks end;
};

// One dispatch. Valid during the call only.
struct DispatchView {
  Gpu& gpu;  // gpu.space is its page table
  uint32_t queue_id;
  const amd::KernelDispatchPacket& packet;  // as the program wrote it
  // Reads and writes what the GPU sees; a bad address is a result, not a crash.
  GuestMemory& memory;
  // What the engine is given: kernel object, kernarg, geometry, whether to count, who watches.
  // before() may change it; after() sees what was run.
  emu::Dispatch& dispatch;
  // Nothing else of this process runs on its GPUs, copies included. False although a hook asked:
  // another queue's kernel did not end in time, or in after() this one, and what memory holds is in
  // no order.
  bool alone = false;

  Queue* queue = nullptr;  // null in tests of single hooks

  // For after(). A result may carry a fault, or say that the dispatch was abandoned.
  const emu::DispatchResult* result = nullptr;
  DispatchTimes times = {};  // what the completion signal gets
};

enum class Interest : uint8_t {
  kNone,   // neither before() nor after() is called for this dispatch
  kSome,   // both are
  kAlone,  // both are, while every other queue of the process stands still between two packets
};

// Made when the driver starts, never destroyed. Called on queue threads: several at once, but one
// dispatch at a time per queue. Must not call the queue table, and must not wait for the program.
class DispatchHook {
 public:
  virtual ~DispatchHook() = default;

  virtual Interest interest(const DispatchView& view) noexcept = 0;
  // What is returned comes back in after().
  virtual void* before(DispatchView& view) noexcept {
    (void)view;
    return nullptr;
  }
  virtual void after(const DispatchView& view, void* state) noexcept {
    (void)view;
    (void)state;
  }

  // A queue is about to start. Packet `index` of one, a barrier, has waited for these signals (0: none). A
  // packet of any kind is over and its completion signal (0: none) will be next. Packets of copy queues are
  // numbered by the last byte that they take in the ring.
  virtual void queue_added(Queue& queue) noexcept { (void)queue; }
  virtual void packet_waited(Queue& queue, uint64_t index,
                             std::span<const uint64_t> signals) noexcept {
    (void)queue;
    (void)index;
    (void)signals;
  }
  virtual void packet_finished(Queue& queue, uint64_t index, uint64_t signal) noexcept {
    (void)queue;
    (void)index;
    (void)signal;
  }
  // Packet `index` of a copy queue has read and written these.
  virtual void memory_moved(Queue& queue, uint64_t index,
                            std::span<const sanitize::MovedRange> ranges) noexcept {
    (void)queue;
    (void)index;
    (void)ranges;
  }
  // Whether it wants to be told of pools: telling it asks the runtime something that the program did not.
  virtual bool wants_pool_blocks() const noexcept { return false; }
  // On a thread of the program's: a pool of the runtime's has handed out `block`, a part of `around`; and takes back the
  // one that begins at `address`, in the order of a stream: what was submitted before may use it still.
  virtual void pool_block_began(AddressRange around, AddressRange block) noexcept {
    (void)around;
    (void)block;
  }
  virtual void pool_block_ended(uint64_t address) noexcept { (void)address; }
  // On a thread of the program's: a call that copies memory begins, and is over. What the host itself has copied
  // in it nobody saw; `ranges` is what the call was asked for. The number goes from one to the other; 0: none.
  virtual uint64_t host_copy_began() noexcept { return 0; }
  virtual void host_copied(uint64_t number, std::span<const sanitize::MovedRange> ranges) noexcept {
    (void)number;
    (void)ranges;
  }
};

inline constexpr size_t kMaxDispatchHooks = 8;

// Runs a dispatch with the queue's hooks around it.
emu::DispatchResult run_hooked(Queue& queue, GuestMemory& memory,
                               const amd::KernelDispatchPacket& packet, emu::Dispatch& dispatch,
                               DispatchTimes* times);

}  // namespace wavetap::vgpu
