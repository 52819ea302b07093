// A Report as text for a person, or as JSON for a program.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "analysis/analysis.h"

namespace wavetap::analysis {

// Bumped when a key changes its meaning or goes away; additions do not count.
inline constexpr int kJsonVersion = 1;

struct RenderOptions {
  size_t columns = 80;  // 0: as wide as the content
  bool colour = false;
};

std::string render_text(const Report& report, const RenderOptions& options);
nlohmann::ordered_json render_json(const Report& report, const store::Trace& trace);

// "1.234 ms", "72.1 %", "16.0 GiB": one cell as a person sees it.
std::string cell_text(const Cell& cell, Unit unit);

// Warnings that belong under every report of this trace: losses, problems in the file, emulated
// time.
std::vector<std::string> trace_warnings(const store::Trace& trace);

}  // namespace wavetap::analysis
