// Probing a captured dispatch: the handlers of a probed program, fed by a replay. Leaves the same
// files (probe/result_files.h).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "probe/handler_list.h"
#include "replay/capture_file.h"
#include "replay/replay_run.h"

namespace wavetap::inspect {

struct CaptureProbeOptions {
  std::vector<probe::HandlerChoice> handlers;
  std::string folder;
  uint32_t line_bytes = 128;  // of the captured GPU's vector cache
  replay::ReplayOptions replay;
};

// Runs the capture once, probed.
Result<replay::ReplayResult> probe_capture(const replay::CaptureFile& file,
                                           const replay::Capture& capture,
                                           const CaptureProbeOptions& options);

}  // namespace wavetap::inspect
