// One recorded process into the file: a session of its own.
#pragma once

#include <cstdint>
#include <functional>

#include "format/reader.h"
#include "store/import_context.h"
#include "store/raw_facts.h"

namespace wavetap::store {

struct ImportedProcess {
  RawFacts facts;
  int64_t first_ns = 0, last_ns = 0;  // of its events
};

// `ended_ns`: when the process ended, by somebody who saw it; 0: nobody did.
ImportedProcess import_process(const format::ProcessStreams& streams, int64_t session,
                               int64_t ended_ns, ImportTarget& target,
                               const std::function<void(double)>& progress);

}  // namespace wavetap::store
