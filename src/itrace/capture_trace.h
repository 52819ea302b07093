// Traces the instructions of a captured dispatch: it is replayed once, watched, and its waves are
// given modelled times.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "itrace/recorder.h"
#include "itrace/trace.h"
#include "model/model.h"
#include "replay/capture_file.h"

namespace wavetap::itrace {

// The code that waves ran, for files that need more than its text.
struct TracedCode {
  std::vector<std::byte> image;  // the code object, as linked; empty: none describes the kernel
  uint64_t load_delta = 0;       // where it lay less where it is linked
  uint64_t code_object = 1;      // its number in CodeRow
  uint64_t entry = 0;            // of the kernel, as linked
};

struct CapturedTrace {
  Trace trace;
  TracedCode code;
};

Result<CapturedTrace> trace_capture(const replay::CaptureFile& file, const replay::Capture& capture,
                                    const model::Model& model, const UnitChoice& choice);

}  // namespace wavetap::itrace
