// Queue: one user-mode queue, shared by the table, its thread and the scheduler. PacketProcessor:
// what consumes its packets, one kind per packet format.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>

#include "vgpu/events.h"
#include "vgpu/queue_types.h"

namespace wavetap::vgpu {

class QueueScheduler;

enum class Step : uint8_t {
  kProgress,  // something was done, call again
  kBlocked,   // nothing to do until ready()
  kFaulted,   // the fault has been delivered; the queue is dead
};

// One thread at a time: step() on the queue's thread, ready() there or, while that thread is
// parked, on the poller (the scheduler's lock orders the two).
class PacketProcessor {
 public:
  virtual ~PacketProcessor() = default;
  // Handles at most one packet, or a part of one that has to wait inside.
  virtual Step step() = 0;
  // After kBlocked: would step() get further now? Only loads memory.
  virtual bool ready() noexcept = 0;
  // True when the queue waits inside a packet (for signals, for memory), not for packets.
  virtual bool waits_in_packet() const noexcept = 0;
  // Where the producer is, for the snapshot. Any thread.
  virtual uint64_t write_index() noexcept = 0;
};

struct Queue : std::enable_shared_from_this<Queue> {
  // Constant once the queue is in the table.
  uint32_t id = 0;
  QueueType type{};
  Gpu* gpu = nullptr;
  uint32_t doorbell_slot = 0;
  GpuAddr read_pointer;
  GpuAddr write_pointer;
  GpuAddr context_save;  // KfdContextSaveHeader; 0: none
  const std::atomic<bool>* report_exceptions = nullptr;
  EventTable* events = nullptr;
  const QueueHooks* hooks = nullptr;
  QueueScheduler* scheduler = nullptr;
  std::unique_ptr<PacketProcessor> processor;

  // Set by UPDATE_QUEUE and friends, read by the queue's thread at each packet.
  std::atomic<uint64_t> ring{0};
  std::atomic<uint64_t> ring_bytes{0};
  std::atomic<bool> suspended{false};
  std::atomic<bool> cooperative{false};
  std::atomic<uint32_t> enabled_cus{0};  // 0: all
  std::atomic<uint32_t> priority{7};
  std::atomic<uint32_t> percentage{100};
  // Abandon everything, including the kernel that runs. Also what emu::Dispatch::cancelled points
  // at.
  std::atomic<bool> stop{false};

  // Progress, for the snapshot; written by the queue's thread.
  std::atomic<uint64_t> read_index{0};
  std::atomic<uint64_t> kernel_object{0};
  std::atomic<uint64_t> dispatches{0};
  std::atomic<QueueActivity> activity{QueueActivity::kIdle};

  // The scheduler's, under its lock.
  bool parked = false;
  bool has_thread = false;
  bool finished = false;  // the thread touches nothing any more
  bool halted = false;    // its thread stands at the gate: another queue's dispatch is alone
  std::condition_variable unparked;
};

// Factories of the processors.
std::unique_ptr<PacketProcessor> make_aql_processor(Queue& queue);
std::unique_ptr<PacketProcessor> make_sdma_processor(Queue& queue);
std::unique_ptr<PacketProcessor> make_pm4_processor(Queue& queue);

}  // namespace wavetap::vgpu
