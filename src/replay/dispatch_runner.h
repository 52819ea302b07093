// DispatchRunner: dispatches on the engine, one after another, and how long each took. `gpu exec` (kernel_run.h) and
// replays of captures (replay_run.h) make memory and packet, each in its own way, and run them with it.
#pragma once

#include <functional>

#include "emu/dispatch.h"
#include "emu/engine.h"
#include "emu/engine_options.h"

namespace wavetap::replay {

class DispatchRunner {
 public:
  // Called when a wave interrupts the host, from any thread: false stops the dispatch. Empty: nobody
  // listens.
  using Interrupt = std::function<bool()>;

  struct Run {
    emu::DispatchResult result;
    double seconds = 0;       // of the host
    bool is_stopped = false;  // by an interrupt
  };

  explicit DispatchRunner(const emu::EngineOptions& options, Interrupt interrupt = {})
      : engine_(options), interrupt_(std::move(interrupt)) {}

  // dispatch.host and dispatch.cancelled are the runner's own meanwhile.
  Run run(emu::Dispatch& dispatch);

 private:
  emu::Engine engine_;
  const Interrupt interrupt_;
};

}  // namespace wavetap::replay
