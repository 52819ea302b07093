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

#include "base/result.h"
#include "store/import_result.h"

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

Result<ImportResult> import_session(const std::string& folder, const std::string& output,
                                    const ImportOptions& options = {});

// A .rpd file of schema 2 or 3, RPD's or ours, as schema 3.
Result<ImportResult> import_rpd(const std::string& input, const std::string& output,
                                const ImportOptions& options = {});

}  // namespace wavetap::store
