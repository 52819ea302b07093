// What the sanitizer found: lines of JSON that it left (vgpu/sanitize_hook.h, sanitize_kernel.h), folded,
// and shown as text, as a JSON document (docs/json-schema.md) and as SARIF.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "util/json_library.h"

namespace wavetap::cli {

struct SanitizeReport {
  std::string tools;  // as the command line takes them
  // One per kernel, instruction and kind, in the order they were met. Keys as in the lines.
  std::vector<nlohmann::ordered_json> findings;
  uint64_t checked = 0;             // dispatches
  uint64_t skipped = 0;             // because the user did not choose them
  uint64_t unwatched = 0;           // although the user did
  uint64_t faulted = 0;             // of those checked
  uint64_t dropped = 0;             // instances of findings for which there was no room
  uint64_t shadow_bytes = 0;        // racecheck's memory, the most for one dispatch
  uint64_t losses = 0;              // lines that a killed process left unfinished
  uint64_t depending_on_order = 0;  // dispatches in which flags, atomics or locks order waves
  uint64_t orders = 1;              // in which workgroups and waves were run
  uint64_t suppressed = 0;          // findings
  std::vector<std::string> unused_suppressions;  // as they are in the file

  uint64_t errors() const;  // findings that are
};

// Lines as they are in a file of findings.
void fold_findings(std::string_view lines, SanitizeReport& report);
// A missing file is a program that dispatched nothing.
Status read_findings(const std::string& lines_path, SanitizeReport& report);

// At most `max` findings, then the summary. Ends with a line break.
std::string sanitize_text(const SanitizeReport& report, uint64_t max);
// One finding in one sentence.
std::string sanitize_sentence(const nlohmann::ordered_json& finding);
// `exit_status` is the program's.
nlohmann::ordered_json sanitize_json(const SanitizeReport& report, int exit_status);
std::string sanitize_sarif(const SanitizeReport& report, int exit_status);

}  // namespace wavetap::cli
