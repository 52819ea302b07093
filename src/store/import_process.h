// One recorded process into the file: a session of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "format/reader.h"
#include "store/import_devices.h"
#include "store/import_result.h"
#include "store/raw_facts.h"
#include "store/trace_writer.h"

namespace wavetap::store {

// What processes of one recording have in common.
struct ImportTarget {
  const std::string& folder;  // of the raw recording
  uint64_t raw_bytes = 0;     // its size; no number of an event can be larger
  TraceWriter& writer;
  ImportDevices& devices;
  ImportResult& result;
};

struct ImportedProcess {
  RawFacts facts;
  int64_t first_ns = 0, last_ns = 0;  // of its events
};

// `ended_ns`: when the process ended, by somebody who saw it; 0: nobody did.
ImportedProcess import_process(const format::ProcessStreams& streams, int64_t session,
                               int64_t ended_ns, ImportTarget& target,
                               const std::function<void(double)>& progress);

}  // namespace wavetap::store
