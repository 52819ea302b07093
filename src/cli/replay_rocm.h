// `wavetap replay --gpu` and `--hsa`: a captured dispatch through AMD's runtime.
#pragma once

#include "cli/replay_command.h"
#include "replay/capture_file.h"

namespace wavetap::cli {

// Starts this command again in a process with the runtime, as often as it takes until the captured
// addresses are free there; in that process, replays. The exit code.
int replay_under_rocm(const ReplayCommand& options, const replay::CaptureFile& file,
                      const replay::Capture& capture);

}  // namespace wavetap::cli
