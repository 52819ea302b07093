// Runs a captured dispatch again, on the engine, with nothing of ROCm: same addresses, same memory,
// same packet.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/gpu_addr.h"
#include "base/result.h"
#include "emu/counters.h"
#include "emu/dispatch.h"
#include "emu/engine_options.h"
#include "emu/fault.h"
#include "emu/watch.h"
#include "replay/capture_file.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"
#include "replay/changed_launch.h"
#include "replay/refusal.h"

namespace wavetap::replay {

struct ReplayOptions {
  uint32_t iterations = 1;
  uint32_t warmup = 0;  // runs before them, of which nothing is told
  bool recopy = true;   // the captured state before each run
  bool count = false;
  uint32_t threads = 0;
  uint64_t seed = 0;
  uint64_t watchdog_instructions = 0;
  uint32_t initial_fill = 0;             // of registers, LDS and scratch: see emu::EngineOptions
  emu::Compiler* compiler = nullptr;     // see emu::EngineOptions
  std::optional<Workgroups> workgroups;  // instead of the captured ones
  std::string swap;                      // a code object to take the kernel from
  std::span<emu::Watcher* const> watchers = {};
  // What the kernel prints (printf, assert) in the first run that counts, from any thread.
  std::function<void(std::string_view text, bool is_error)> printed = {};
  // Around each iteration; the first may add watchers to the dispatch.
  std::function<void(emu::Dispatch&)> before = {};
  std::function<void(const emu::Dispatch&, const emu::DispatchResult&)> after = {};
};

struct ReplayResult {
  Refusal refusal = Refusal::kNone;
  std::string why;  // of a refusal, as an error message
  std::optional<emu::Fault> fault;
  emu::Counters counters;
  std::vector<double> seconds;  // of each iteration
  uint32_t workgroups[3] = {};
  GpuAddr kernel_object;  // of what was run
};

// Leaves in `memory` what the last iteration made of it. Before each but the first, the captured
// state is restored, unless that is not wanted.
ReplayResult run_replay(const Capture& capture, const CapturedKernel& kernel,
                        CapturedMemory& memory, const ReplayOptions& options);

}  // namespace wavetap::replay
