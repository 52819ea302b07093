// From what programs wrote while they ran to one small file.
//
// Pages are shared by all captures of the file. With `only_touched`, each dispatch is run once on the
// engine, and what it touches is kept: pages, and the list of bytes as the proof. Its memory map
// stays whole; a replay that leaves the kept pages faults instead of reading something else.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "replay/replay_run.h"

namespace wavetap::replay {

struct PackOptions {
  bool only_touched = false;  // where the run fails, everything is kept, and `problems` says so
  bool redact = false;        // with it: bytes of those pages that the kernel never reads are zeros
  ReplayOptions run;          // how the run is made
  // The name of a frame of the host's stack, "FILE+0xOFFSET"; "" when there is none.
  std::function<std::string(const std::string&)> name_frame;
};

struct PackResult {
  uint32_t captures = 0;  // that can be replayed
  uint32_t partial = 0;  // begun, without a whole state before the dispatch: left out of `captures`
  uint64_t raw_bytes = 0;  // read
  uint64_t file_bytes = 0;
  uint64_t touched_read_bytes = 0;  // by the kernels of pruned captures
  uint64_t touched_written_bytes = 0;
  std::string first_kernel;           // "" when there is no capture
  std::vector<std::string> problems;  // files that end early, and why
};

// Puts the captures of `inputs` into `output`, compressed, numbered from 1 in this order. What there
// was is replaced at once; it may be one of the inputs. Inputs that end early are used as far as they
// reach. A single input of which all is kept and that does not compress becomes the output, and is gone then.
Result<PackResult> pack_captures(std::span<const std::string> inputs, const std::string& output,
                                 const PackOptions& options = {});

}  // namespace wavetap::replay
