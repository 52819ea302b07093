// What import has to say of what it did.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/event_counts.h"

namespace wavetap::store {

// A kernel that was to run as other code; a row of wavetap_swap.
struct ImportedSwap {
  std::string kernel;  // demangled
  std::string file, why;
  bool is_replaced = false;
  bool is_loaded = false;  // with its whole code object
  bool is_turn = false;    // of the original, by turns
  uint64_t dispatches = 0;
  int64_t total_ns = 0;
};

struct ImportResult {
  uint64_t processes = 0;
  uint64_t threads = 0;  // that recorded something
  uint64_t files = 0;    // they recorded into
  EventCounts events;
  // Dispatches, done or not, but those the runtime makes to copy and fill.
  uint64_t program_kernels = 0;
  uint64_t unfinished = 0;  // dispatches and copies without an end
  uint64_t faults = 0;
  uint64_t rows = 0;               // in all tables
  uint64_t records = 0;            // of the raw trace
  uint64_t raw_bytes = 0;          // in use
  uint64_t losses = 0;             // the recorder's count and what could not be read
  std::vector<std::string> notes;  // what was lost or odd, one sentence each
  std::vector<ImportedSwap> swaps;
  int64_t duration_ns = 0;  // from the first event to the last
  int64_t recorded_ns = 0;  // thread time spent in calls that were recorded
  bool emulated = false;
};

}  // namespace wavetap::store
