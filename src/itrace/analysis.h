// What a trace of instructions says: where waves spend their time, why, and what their waits wait for.
//
// Works on the trace alone, so that waves of the virtual GPU and of hardware are judged alike. Which
// operation a wait waits for is found by going through each wave with its counters, as the wave does
// (isa/wait_counters.h), instruction by instruction; in a pipelined loop that is the load of an earlier
// iteration, which the text does not show.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "itrace/trace.h"

namespace wavetap::itrace {

// Why waves did not issue. Waits for memory come first, the slowest kind before others.
enum class Cause : uint8_t {
  kVectorLoad,  // waiting for vector memory
  kStore,       // waiting for stores
  kScalarLoad,  // waiting for scalar memory
  kMessage,     // waiting for an answer to s_sendmsg
  kLds,         // waiting for LDS
  kBarrier,     // for the other waves of the workgroup
  kSleep,       // s_sleep, s_nop
  kVectorBusy,  // the vector ALU, or what it is to work on is not ready
  kScalarBusy,  // the scalar unit, likewise
  kMemoryBusy,  // the address unit of vector memory, or a full counter
  kLdsBusy,     // LDS, likewise
  kBranchBusy,  // the branch unit
  kOther,
  kIdle,  // between instructions: nothing was tried
};
inline constexpr size_t kCauses = 14;
std::string_view name_of(Cause cause);   // "vector-load"
std::string_view title_of(Cause cause);  // "waiting for vector loads"

// A wait and one instruction it waits for.
struct Edge {
  uint32_t wait = 0;  // rows
  uint32_t producer = 0;
  uint64_t times = 0;    // 0: the file says so, no wave shows it
  uint64_t hidden = 0;   // cycles from the producer's issue to the wait: time that was used
  uint64_t exposed = 0;  // cycles that the wait took when this was the youngest it waited for
};

// What one row of the code cost, by cause.
struct RowCost {
  std::array<uint64_t, kCauses> cycles = {};
  uint64_t hits = 0;
  uint64_t issue = 0;  // cycles that were no stall

  uint64_t stalled() const;
  Cause worst() const;
};

// A jump backwards.
struct Loop {
  uint32_t first = 0;  // rows
  uint32_t last = 0;
  uint64_t entered = 0;     // times, over all waves
  uint64_t iterations = 0;  // likewise
  uint64_t least = 0;       // iterations of one time
  uint64_t most = 0;
  uint64_t cycles = 0;    // of all iterations but the first of each time
  uint64_t measured = 0;  // these iterations
};

struct SourceCost {
  std::string file;
  uint32_t line = 0;
  uint64_t hits = 0;
  uint64_t cycles = 0;
  uint64_t stalled = 0;
  Cause worst = Cause::kOther;
};

struct Analysis {
  uint64_t instructions = 0;
  uint64_t wave_cycles = 0;  // sum over waves, from begin to end
  int64_t first_cycle = 0;
  int64_t last_cycle = 0;
  std::array<uint64_t, kCauses> by_cause = {};
  std::array<uint64_t, kCategories> by_category = {};  // instructions
  std::vector<RowCost> rows;                           // by row of the code
  std::vector<Edge> edges;                             // by wait, then producer
  std::vector<Loop> loops;                             // by first row
  std::vector<SourceCost> lines;                       // the dearest first
  uint64_t hidden = 0;   // of waits for memory: cycles that were used,
  uint64_t exposed = 0;  // and those that were not

  uint64_t stalled() const;
};

Analysis analyze(const Trace& trace);

}  // namespace wavetap::itrace
