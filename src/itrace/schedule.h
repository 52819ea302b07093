// When the waves of a compute unit would issue what they issued. A model, not a measurement.
//
// All chosen waves of a unit run through one simulation: workgroups move in when one before them has
// left, each wave issues in order, one instruction at a time. An instruction waits for registers that
// are still being computed, for its pipe, and for room in its wait counter; s_waitcnt waits until
// counters are low enough, s_barrier for the rest of the workgroup. Whoever tries first is served
// first. Latencies and rates: site_timing.h.
//
// What it leaves out: fetching instructions, wait states between dependent instructions of gfx9, and
// other units, but for their share of L2 and memory bandwidth.
#pragma once

#include <cstdint>
#include <vector>

#include "itrace/recorder.h"
#include "itrace/site_timing.h"
#include "itrace/trace.h"
#include "model/occupancy.h"

namespace wavetap::itrace {

struct ScheduleOptions {
  uint32_t gfx_major = 9;
  uint32_t workgroups = 1;  // on the unit at once
  uint32_t simds = 4;
  uint32_t slots = 10;  // of a SIMD
};

// `waves`: of one unit, in the order of workgroups. Issue::row and Wait::row are numbers of sites.
std::vector<Wave> schedule(const std::vector<const RecordedWave*>& waves,
                           const std::vector<SiteTiming>& timings, const ScheduleOptions& options);

// What the wave did all the time, from what it issued.
std::vector<StateSpan> timeline_of(const Wave& wave);

}  // namespace wavetap::itrace
