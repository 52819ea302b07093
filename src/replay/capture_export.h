// Makes a folder with a HIP program of a captured dispatch: code object, memory, arguments, what came of
// it, and the program that puts them together again without us.
//
// Only what the kernel touches goes along, found by running it on the engine. HIP chooses the addresses
// of memory (newer ones take a wish), so the words that hold addresses are listed: pointer arguments,
// and words that the kernel reads and whose value lies in exported memory.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "replay/capture_file.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"
#include "replay/replay_run.h"

namespace wavetap::replay {

struct ExportResult {
  Refusal refusal = Refusal::kNone;
  std::string why;
  uint32_t buffers = 0;
  uint32_t variables = 0;
  uint32_t outputs = 0;
  uint64_t pointers = 0;    // words that hold addresses
  uint64_t data_bytes = 0;  // of all files
};

// `memory` is run on, and left as the kernel leaves it. The folder is made; files of the same names in it
// are replaced.
ExportResult export_capture(const CaptureFile& file, const Capture& capture,
                            const CapturedKernel& kernel, CapturedMemory& memory,
                            const ReplayOptions& options, const std::string& folder);

}  // namespace wavetap::replay
