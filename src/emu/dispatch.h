// Dispatch: what the engine is asked to run, and what came of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "amd/gfx_target.h"
#include "base/gpu_addr.h"
#include "emu/counters.h"
#include "emu/fault.h"
#include "emu/memory.h"

namespace wavetap::emu {

class Watcher;

// What waves ask of the world around the GPU.
class Host {
 public:
  virtual ~Host() = default;
  // s_sendmsg(MSG_INTERRUPT): something may have changed that the host waits for.
  virtual void interrupt() noexcept = 0;
  // s_memrealtime, s_getreg SHADER_CYCLES and friends.
  virtual uint64_t clock_ticks() noexcept = 0;
};

// One kernel dispatch, as the command processor hands it over. Sizes are in work-items.
struct Dispatch {
  amd::GfxTarget target;
  GpuAddr kernel_object;
  GpuAddr kernarg;
  GpuAddr packet;  // dispatch_ptr
  GpuAddr queue;   // queue_ptr (amd_queue_t)
  uint64_t dispatch_id = 0;
  uint32_t grid_size[3] = {1, 1, 1};
  uint16_t workgroup_size[3] = {1, 1, 1};
  uint32_t group_segment_bytes = 0;
  uint32_t private_segment_bytes = 0;  // per lane
  uint64_t code_bytes = 0;             // of the kernel's function; 0: not known
  bool sram_ecc = false;               // of the device: a load of half a register clears the rest
  uint32_t cu_count = 1;               // of the device: HW_ID values, and cooperative residency
  uint32_t xcc_count = 1;
  bool cooperative = false;                 // every workgroup must be resident at once (GWS queue)
  bool count = false;                       // fill DispatchResult::counters
  std::span<Watcher* const> watchers = {};  // see watch.h; kMaxWatchers at most
  Memory* memory = nullptr;
  Host* host = nullptr;
  // Set from outside to abandon the dispatch (queue destroyed, process exiting).
  const std::atomic<bool>* cancelled = nullptr;
};

struct DispatchResult {
  std::optional<Fault> fault;
  bool cancelled = false;
  Counters counters;
};

}  // namespace wavetap::emu
