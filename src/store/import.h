// Raw trace -> .rpd: the recorded processes of a session folder become one file of schema 3.
//
// Each process is a session of the file, as RPD has it: its ids begin at session << 32, calls are
// numbered in the order they began, markers from 2^31 + 1, string 1 is "". What schema 3 has no
// place for goes to tables named wavetap_* (docs/format.md). Damage costs what is damaged: it is
// counted and the rest is imported.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace wavetap::store {

struct ImportOptions {
  bool overwrite = false;  // replace an existing output file
  // A folder without a recording gives a trace without events instead of an error.
  bool allow_empty = false;
  // When this process ended, CLOCK_MONOTONIC, by somebody who saw it; 0: nobody did. Others are taken
  // to have ended with their last sign of life.
  uint32_t ended_pid = 0;
  int64_t ended_ns = 0;
  // Called now and then with the share done, 0..1.
  std::function<void(double)> progress = nullptr;
};

struct ImportResult {
  uint64_t processes = 0;
  uint64_t threads = 0;  // that recorded something
  uint64_t files = 0;    // they recorded into
  uint64_t calls = 0;
  uint64_t markers = 0;
  uint64_t dispatches = 0;
  // Dispatches, done or not, but those the runtime makes to copy and fill.
  uint64_t program_kernels = 0;
  uint64_t copies = 0;  // and fills
  uint64_t barriers = 0;
  uint64_t unfinished = 0;  // dispatches and copies without an end
  uint64_t faults = 0;
  uint64_t rows = 0;               // in all tables
  uint64_t records = 0;            // of the raw trace
  uint64_t raw_bytes = 0;          // in use
  uint64_t losses = 0;             // the recorder's count and what could not be read
  std::vector<std::string> notes;  // what was lost or odd, one sentence each
  int64_t duration_ns = 0;         // from the first event to the last
  int64_t recorded_ns = 0;         // thread time spent in calls that were recorded
  bool emulated = false;
};

Result<ImportResult> import_session(const std::string& folder, const std::string& output,
                                    const ImportOptions& options = {});

// A .rpd file of schema 2 or 3, RPD's or ours, as schema 3: ids, strings and copies put in order.
Result<ImportResult> import_rpd(const std::string& input, const std::string& output,
                                const ImportOptions& options = {});

}  // namespace wavetap::store
