// The words of user-mode queues, as the driver's callers and the packet processors both use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/gpu_addr.h"
#include "emu/engine.h"

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
inline const char* queue_activity_name(QueueActivity activity) {
  switch (activity) {
    case QueueActivity::kIdle: return "idle";
    case QueueActivity::kRunning: return "running";
    case QueueActivity::kWaiting: return "waiting";
    case QueueActivity::kSuspended: return "suspended";
    case QueueActivity::kFaulted: return "faulted";
  }
  return "unknown";
}

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
  // How long a dispatch that wants to be alone waits for kernels of other queues to end, and they for
  // it. One that waits for the other never does.
  int alone_patience_ms = 30'000;
};

}  // namespace wavetap::vgpu
