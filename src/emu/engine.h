// The engine's outside: a dispatch and a memory go in, counters or a fault come out. Knows nothing
// of HSA runtimes, KFD, files or environment variables; vgpu/ and replay tools adapt it.
#pragma once

#include <cstdint>
#include <memory>

#include "base/gpu_addr.h"
#include "emu/dispatch.h"
#include "emu/memory.h"
#include "isa/inst.h"

namespace wavetap::emu {

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
