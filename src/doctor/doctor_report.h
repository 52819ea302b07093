// The doctor's report as text for people and as JSON for programs.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "doctor/active_trials.h"
#include "doctor/call_redirects.h"
#include "doctor/finding.h"
#include "doctor/machine.h"
#include "doctor/truth.h"

namespace wavetap::doctor {

// Raised when the meaning of a key changes; keys may be added without.
inline constexpr int kJsonVersion = 2;

struct TextOptions {
  size_t columns = 80;
  bool colour = false;
  bool all = false;  // the checks that found nothing, one by one
};

// True when no finding is an error or a warning.
bool healthy(const Findings& findings);

// The parts of a report that were asked for.
struct Report {
  const Machine& machine;
  Findings findings = {};
  std::optional<Truth> truth = {};
  std::vector<TrialResult> trials = {};
  std::vector<Redirect> redirects = {};
};

// Verdict first, then problems, the worst first, each with evidence and remedy. Whatever came from
// a file or a variable is escaped.
std::string to_text(const Report& report, const TextOptions& options);
nlohmann::ordered_json to_json(const Report& report);

}  // namespace wavetap::doctor
