// The engine's outside: a dispatch and a memory go in, counters or a fault come out. Knows nothing
// of HSA runtimes, KFD, files or environment variables; vgpu/ and replay tools adapt it.
#pragma once

#include <cstdint>
#include <memory>

#include "base/gpu_addr.h"
#include "emu/dispatch.h"
#include "emu/engine_options.h"

namespace wavetap::emu {

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
