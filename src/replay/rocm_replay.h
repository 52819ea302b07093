// Runs a captured dispatch on a GPU that AMD's runtime shows: a virtual one, or one of the machine.
// Code and memory lie at their addresses, so the code needs no loader and no pointer changes. To be
// called in a process of its own, once: a fault in the kernel may take it down.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/capture_file.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"
#include "replay/changed_launch.h"
#include "replay/host_services.h"
#include "replay/replay_run.h"
#include "replay/rocm_memory.h"

namespace wavetap::replay {

struct RocmOptions {
  uint32_t iterations = 1;
  uint32_t warmup = 0;
  bool recopy = true;       // the captured state before each run
  bool hold = false;        // ranges are held while the runtime starts (rocm_memory.h)
  bool check_only = false;  // only says whether memory can be placed
  bool relocate = false;    // memory lies wherever there is some (relocation.h)
  uint64_t timeout_s = 600;
  std::optional<Workgroups> workgroups;    // instead of the captured ones
  const SwappedKernel* swapped = nullptr;  // in the place of the captured kernel
  // Another one, for its times: the two take turns, each run from the captured state. Null in it: the
  // captured kernel.
  std::optional<const SwappedKernel*> against;
  std::function<void()> before_run = {};  // all copies are over
  // What the kernel prints in the first run that counts.
  std::function<void(std::string_view text, bool is_error)> printed = {};
};

struct RocmResult {
  Refusal refusal = Refusal::kNone;
  std::string why;
  std::string fault;            // what the runtime said of the kernel
  std::vector<double> seconds;  // of each run but those to warm up, by the GPU's stamps
  std::vector<double> against;  // the same of the other kernel, in pairs with those
  std::string gpu;
  std::string method;
  std::vector<std::string> taken;  // ranges that could not be placed, and why
  Workgroups workgroups{};
  uint64_t ranges = 0;
  uint64_t placed_bytes = 0;
  uint64_t moved_ranges = 0;  // not 0: the replay is not exact
  uint64_t moved_bytes = 0;
  uint64_t changed_words = 0;   // taken for pointers into them
  std::vector<HostRange> heap;  // fresh memory that the kernel asked for
};

// `touched` from a run on the engine or from the file; `memory` holds the state before and gets the one
// after.
RocmResult replay_on_rocm(const Capture& capture, const CapturedKernel& kernel,
                          CapturedMemory& memory,
                          const std::vector<format::CaptureTouchedPage>& touched, HeldRanges& held,
                          const RocmOptions& options);

}  // namespace wavetap::replay
