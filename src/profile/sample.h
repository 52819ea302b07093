// Sample: what is known of one dispatch, wherever it comes from: a run on a virtual GPU, a captured
// dispatch, a trace, or counters that AMD's tools took on real hardware.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "util/inlined_text.h"

namespace wavetap::profile {

// An instruction that accesses memory, or a straight run of instructions.
struct Place {
  std::string instruction;  // the first one, as text
  std::string source;       // "file:line" of the user's; may be empty
  // Where calls were inlined: innermost first, the kernel last.
  std::vector<util::NamedPlace> frames;
  uint64_t offset = 0;  // from the kernel's first instruction
  double executed = 0, instructions = 1;
  double lanes = 0, bytes = 0, lines = 0, lines_ideal = 0, l1_misses = 0, l2_misses = 0;
  double lds_cycles = 0, lds_conflict_cycles = 0;
};

struct Sample {
  std::string kernel;                                      // demangled
  uint64_t grid[3] = {1, 1, 1}, workgroup[3] = {1, 1, 1};  // work-items
  // 0: not known. vgprs: all that a lane takes, accumulation registers of one file included.
  uint32_t vgprs = 0, agprs = 0, sgprs = 0;
  uint32_t vgpr_spills = 0;
  uint64_t lds_bytes = 0, scratch_bytes = 0;
  uint32_t wave_size = 0;  // 0: the GPU's own
  int64_t start_ns = 0, end_ns = 0;
  int32_t gpu = 0;
  int64_t op = 0;  // of the trace; 0: none
  // By name: wavetap's (docs/counters.md), `modelled.` ones, AMD's.
  std::map<std::string, double> counters;
  std::vector<Place> accesses, blocks;

  double count(const char* name) const {
    const auto found = counters.find(name);
    return found == counters.end() ? 0 : found->second;
  }
  bool has(const char* name) const { return counters.contains(name); }
};

}  // namespace wavetap::profile
