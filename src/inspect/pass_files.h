// The files that the agent leaves of a probed process (format/probe_ring.h), read: its dispatches with their records
// and counts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "emu/dispatch.h"
#include "format/probe_ring.h"

namespace wavetap::inspect {

struct PassCount {
  uint32_t site = 0;
  format::ProbeCount sums;
};

// A dispatch as the agent wrote it down.
struct PassLaunch {
  std::string kernel, code, target;
  uint32_t gpu = 0, queue = 0, wave_size = 64;
  uint64_t number = 0;
  emu::Dispatch dispatch;
  std::vector<std::byte> arguments;
  std::string status = "abandoned";
  uint32_t scratch_aperture = 0;
  std::vector<size_t> records;  // where each begins, in PassProcess::words; by workgroup
  std::vector<PassCount> counts;
  bool uncounted = false;  // its counts could not be read
};

struct PassProcess {
  std::map<uint32_t, PassLaunch> launches;  // by the agent's number
  std::vector<uint64_t> words;
  uint64_t records = 0;
  uint64_t record_bytes = 0;
  std::vector<std::string> plain;              // mangled names
  std::map<std::string, std::string> refused;  // mangled names: why
  uint64_t left_out = 0;                       // launches
  uint64_t lost = 0;                           // records
  std::vector<std::string> problems;           // sentences
};

// Whatever can be read of `lines_file` (PID.pass) and `records_file`, which may be missing.
PassProcess read_pass_process(const std::string& lines_file, const std::string& records_file);

}  // namespace wavetap::inspect
