// What `wavetap sanitize` tells: the lines that the library left in the program's processes
// (vgpu/sanitize_hook.h), folded, as text and as a JSON document (docs/sanitize.md).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace wavetap::cli {

struct SanitizeReport {
  // One per kernel, instruction and kind, in the order they were met. Keys as in the lines.
  std::vector<nlohmann::ordered_json> findings;
  uint64_t checked = 0;  // dispatches
  uint64_t skipped = 0;
  uint64_t dropped = 0;  // instances of findings for which there was no room
  uint64_t losses = 0;   // lines that a killed process left unfinished

  uint64_t errors() const;  // findings that are
};

// A missing file is a program that dispatched nothing.
Result<SanitizeReport> read_findings(const std::string& lines_path);

// At most `max` findings, then the summary. Ends with a line break.
std::string render(const SanitizeReport& report, uint64_t max);
// `tools` as the command line takes them.
std::string to_json(const SanitizeReport& report, const std::string& tools, int exit_status);

}  // namespace wavetap::cli
