// Everything that handlers counted at one instruction of a kernel, whichever of them ran: what stands
// beside the code in listings.
#pragma once

#include <cstdint>
#include <map>

#include "inspect/probe_results.h"

namespace wavetap::inspect {

struct SiteFigures {
  uint64_t count = 0;  // executions by waves
  uint64_t lanes = 0;
  uint64_t lines = 0;  // of cache, used by vector accesses to global memory
  uint64_t ideal_lines = 0;
  uint64_t lds_cycles = 0;
  uint64_t lds_ideal = 0;
  uint64_t ticks = 0;   // of the block that begins here
  uint64_t parted = 0;  // executions after which only some of the lanes were active

  void add(const SiteFigures& other);
};

std::map<SiteKey, SiteFigures> site_figures(const ProbedKernel& kernel);

}  // namespace wavetap::inspect
