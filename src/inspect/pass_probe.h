// Records that instrumented kernels have left in a folder (format/probe_ring.h), told to handlers. What those say
// goes to the same folder, as what handlers say inside a probed program does.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "probe/handler_list.h"

namespace wavetap::inspect {

struct PassGpu {
  std::string model;  // "rx6800xt"
  uint32_t line_bytes = 64;
};

struct PassProbeOptions {
  std::vector<probe::HandlerChoice> handlers;
  std::string folder;
  std::vector<PassGpu> gpus;  // virtual ones, by number; others are described by their target
  bool times = false;         // the records have times of blocks
};

struct PassOutcome {
  uint64_t dispatches = 0;
  uint64_t records = 0;
  uint64_t record_bytes = 0;
  uint64_t lost = 0;                           // records
  std::map<std::string, uint64_t> plain;       // kernels without a twin, demangled: processes
  std::map<std::string, std::string> refused;  // kernels whose twins could not run: why
  // What the pass could not see of the kernels that ran.
  std::map<std::string, std::vector<std::string>> unseen;
  std::vector<std::string> problems;  // sentences
};

// What records the handlers need: ProbeWants.
uint32_t wants_of(const std::vector<probe::HandlerChoice>& handlers);

Result<PassOutcome> tell_records(const PassProbeOptions& options);

}  // namespace wavetap::inspect
