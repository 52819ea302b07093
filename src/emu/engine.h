// The engine's outside: a dispatch and a memory go in, counters or a fault come out. Knows nothing
// of HSA runtimes, KFD, files or environment variables; vgpu/ and replay tools adapt it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "amd/gfx_target.h"
#include "base/gpu_addr.h"
#include "emu/counters.h"
#include "emu/fault.h"
#include "emu/memory.h"
#include "isa/inst.h"

namespace wavetap::emu {

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
  uint32_t cu_count = 1;               // of the device: HW_ID values, and cooperative residency
  uint32_t xcc_count = 1;
  bool cooperative = false;  // every workgroup must be resident at once (GWS queue)
  bool count = false;        // fill DispatchResult::counters
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

// Calls body(arg) with host memory faults (SIGSEGV, SIGBUS) caught. False when there was one; then
// *fault_address is the host address. The engine holds no lock and owns no heap inside body.
using RunGuarded = bool (*)(void (*body)(void*), void* arg, uint64_t* fault_address);

struct Wave;

// Called after each instruction of each wave, on the worker that ran it, with the state it left.
// `pc` is the instruction's address. For tools that print; the engine then runs one instruction at
// a time.
using ObserveInstruction = void (*)(void* context, const Wave& wave, const isa::Inst& inst,
                                    GpuAddr pc);

struct EngineOptions {
  int threads = 0;                     // worker threads; 0 = one per core
  uint64_t seed = 0;                   // non-zero: permutes workgroup and wave order
  uint64_t watchdog_instructions = 0;  // per wave, 0 = no limit
  // What vector registers, LDS and scratch hold when a wave starts, repeated; hardware leaves them
  // as the previous wave did, so a program that depends on it is wrong.
  uint32_t initial_fill = 0;
  // Memory for decoded code, some 350 bytes an instruction; beyond it, what was not used for
  // longest is decoded again when needed. Enough for 1.5 million instructions, several hundred
  // large matrix kernels, and a sixteenth of a small machine's memory; most programs need a few MiB.
  size_t code_cache_bytes = size_t{512} << 20;
  // Around everything that touches guest memory, so that memory which the user unmapped behind our
  // back becomes a page fault of the wave. Null: no guard.
  RunGuarded run_guarded = nullptr;
  ObserveInstruction observe = nullptr;
  void* observe_context = nullptr;
};

// Runs dispatches on a pool of worker threads. Any thread may call run(); dispatches from several
// threads (one per queue) share the workers fairly, so kernels may wait for each other.
class Engine {
 public:
  explicit Engine(const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Blocks until the dispatch has finished, faulted or been cancelled.
  DispatchResult run(const Dispatch& dispatch);

  // Forgets decoded code overlapping the range: it was rewritten or unmapped.
  void invalidate_code(GpuAddr begin, uint64_t size_bytes);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wavetap::emu
