// QueueTable: the process's user-mode queues and the threads that play the GPU's packet processors.
//
//   CREATE_QUEUE ──► Queue (idle) ──doorbell──► Queue thread ──► AqlProcessor / SdmaProcessor / Pm4Processor
//                        ▲                          │
//                        └── one shared poller ◄────┘ parks here with a condition: new packets, a
//                            (adaptive 20 µs…5 ms)    barrier's signals, a polled memory word
//
// A doorbell is a plain store into memory, so somebody has to look. A queue thread that ran dry
// looks for some tens of microseconds itself and then parks; one poller looks for all parked queues
// together, often while anything happens and rarely when nothing does, and at once after nudge().
//
// Every function returns 0 or a positive errno.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/gpu_addr.h"
#include "emu/engine.h"
#include "vgpu/events.h"

namespace wavetap::vgpu {

class DispatchHook;
struct Gpu;

// KFD_IOC_QUEUE_TYPE_*.
enum class QueueType : uint32_t {
  kComputePm4 = 0,
  kSdma = 1,
  kComputeAql = 2,
  kSdmaXgmi = 3,
  kSdmaByEngine = 4,
};

inline constexpr uint32_t kDoorbellSlotsPerGpu = 1024;  // two pages of 8-byte doorbells
inline constexpr uint32_t kQueueLimitPerProcess = 1024;

// CREATE_QUEUE, decoded. All addresses are the GPU's.
struct QueueParams {
  QueueType type = QueueType::kComputeAql;
  GpuAddr ring;
  uint64_t ring_bytes = 0;
  GpuAddr read_pointer;   // AQL: amd_queue_t.read_dispatch_id
  GpuAddr write_pointer;  // AQL: amd_queue_t.write_dispatch_id
  uint32_t percentage = 100;
  uint32_t priority = 7;     // 0..15
  uint32_t sdma_engine = 0;  // kSdmaByEngine
  GpuAddr eop;               // kept for the snapshot only: the emulated CP needs none of these
  uint64_t eop_bytes = 0;
  GpuAddr context_save;
  uint64_t context_save_bytes = 0;
  uint32_t control_stack_bytes = 0;
};

struct QueueHandle {
  uint32_t id = 0;  // from 1
  // Index into Gpu::doorbells; the ioctl returns page offset + 8 * slot.
  uint32_t doorbell_slot = 0;
};

// UPDATE_QUEUE. The driver replaces all four at once.
struct QueueUpdate {
  GpuAddr ring;
  uint64_t ring_bytes = 0;
  uint32_t percentage = 100;  // 0: suspended
  uint32_t priority = 7;
};

// What a queue is doing, for status output and post-mortems.
enum class QueueActivity : uint8_t { kIdle, kRunning, kWaiting, kSuspended, kFaulted };
const char* queue_activity_name(QueueActivity activity);

struct QueueSnapshot {
  uint32_t id = 0;
  QueueType type{};
  uint32_t gpu_index = 0;
  uint32_t doorbell_slot = 0;
  QueueActivity activity{};
  uint64_t read_index = 0;  // packets (AQL) or bytes (SDMA, PM4)
  uint64_t write_index = 0;
  GpuAddr kernel_object;    // of the dispatch now running, else 0
  uint64_t dispatches = 0;  // kernels finished so far
  uint32_t priority = 0;
  uint32_t percentage = 0;
};

// What queues need from outside. Null members have defaults: run and invalidate_code use
// Gpu::engine.
struct QueueHooks {
  void* context = nullptr;
  emu::DispatchResult (*run)(void* context, Gpu& gpu, const emu::Dispatch& dispatch) = nullptr;
  void (*invalidate_code)(void* context, Gpu& gpu, GpuAddr begin, uint64_t size_bytes) = nullptr;
  // The kernel's name into `name` (NUL-terminated). False: unknown; then the loaded fat binaries
  // are searched for the kernel descriptor's bytes.
  bool (*kernel_name)(void* context, Gpu& gpu, GpuAddr kernel_object, char* name,
                      size_t size) = nullptr;
  // A phrase about the allocation at or near `address`. False: the page table's nearest mapping is
  // named.
  bool (*describe_address)(void* context, Gpu& gpu, GpuAddr address, char* text,
                           size_t size) = nullptr;
  // Who watches or changes single dispatches. The list outlives the table and does not change.
  std::span<DispatchHook* const> dispatch = {};
  // How long a dispatch that wants to be alone waits for kernels of other queues to end. One that
  // waits for ours never does.
  int alone_patience_ms = 30'000;
};

// Thread-safe. One per process, never destroyed while the program may still submit work.
class QueueTable {
 public:
  QueueTable(EventTable& events, const QueueHooks& hooks);
  ~QueueTable();
  QueueTable(const QueueTable&) = delete;
  QueueTable& operator=(const QueueTable&) = delete;

  // EINVAL: bad type, ring size (not a power of two, or below 256 bytes) or an address the GPU
  // cannot reach; ENOSPC: no doorbell left. `gpu` must outlive the table. The doorbell reads 0 on
  // return.
  int create(const QueueParams& params, Gpu& gpu, QueueHandle* handle);
  // Suspends (percentage 0 or no ring), resumes, moves the ring, changes the priority. A suspended
  // queue finishes the packet it is in; the call waits for that a short while only.
  int update(uint32_t id, const QueueUpdate& update);
  // The queue touches no memory any more when this returns, even if it was inside a kernel, a
  // barrier or had faulted.
  int destroy(uint32_t id);
  // `mask` holds one bit per CU, 32 in each word. An empty mask means all.
  int set_cu_mask(uint32_t id, std::span<const uint32_t> mask);
  // ALLOC_QUEUE_GWS: dispatches of this queue are cooperative. AQL queues only.
  int set_cooperative(uint32_t id, bool cooperative);

  // Something may have happened that queues wait for: look now. Called on entry of WAIT_EVENTS,
  // SET_EVENT, CREATE_QUEUE and the like. Cheap: two atomic operations when the poller is awake.
  void nudge() noexcept;

  std::vector<QueueSnapshot> snapshot();
  uint32_t live_count();
  // Which GPU the queue belongs to, or null.
  Gpu* gpu_of(uint32_t id);

  // Destroys every queue of the process. Used when the driver's file is closed for good and at
  // exit: cancels what runs, waits a bounded time, never for completion.
  void shutdown();
  // Called by the front end in the child of a fork: forgets every queue and thread without touching
  // locks that vanished threads may hold. The old state is leaked; the table can be used again.
  void after_fork_in_child();

 private:
  struct State;
  EventTable& events_;
  QueueHooks hooks_;
  State* state_;
};

}  // namespace wavetap::vgpu
