// Suppressions of findings: a text file, one in each line.
//
//   # comment
//   KIND KERNEL [PLACE]
//
// Each is a shell pattern (* ? []), in double quotes where it has spaces. KIND: a kind of finding, or a
// tool. KERNEL: the kernel's demangled name. PLACE: file:line, file, or function, of the instruction or of
// what it was inlined into.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/sanitize_report.h"
#include "util/json_library.h"

namespace wavetap::cli {

struct Suppression {
  std::string text;  // the line
  std::string kind, kernel, place;

  bool matches(const nlohmann::ordered_json& finding) const;
};

// `name` is for error messages.
Result<std::vector<Suppression>> parse_suppressions(std::string_view text, const std::string& name);

// Takes what is suppressed out of the report, and notes what was of no use.
void suppress(const std::vector<Suppression>& suppressions, SanitizeReport& report);

// A file that suppresses exactly what the report has.
std::string write_suppressions(const SanitizeReport& report);

}  // namespace wavetap::cli
