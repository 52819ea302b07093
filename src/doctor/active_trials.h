// The trials of the GPU: each in a child with a deadline, their deaths decoded, the pattern of what
// failed diagnosed.
#pragma once

#include <string>
#include <vector>

#include "doctor/child.h"
#include "doctor/finding.h"
#include "doctor/machine.h"

namespace wavetap::doctor {

enum class TrialOutcome : unsigned char { kPassed, kWrong, kDied, kHung, kSkipped };
std::string_view to_string(TrialOutcome outcome);

struct TrialResult {
  std::string name;       // "copy"
  std::string condition;  // "HSA_ENABLE_SDMA=0", "without the override", or ""
  TrialOutcome outcome = TrialOutcome::kSkipped;
  std::string text;  // what was found, or how it died
  std::string label() const { return condition.empty() ? name : name + " (" + condition + ")"; }
};

// How a process that used the GPU ended, from its exit and the runtime's last words: "illegal
// instruction (…)".
std::string decode_death(const ChildResult& child);

// One of them. `program` is the path of wavetap-trial.
TrialResult run_trial(const std::string& program, const std::string& name);
// Runs them all; after a hang the ones that would hang as well are skipped.
std::vector<TrialResult> run_trials(const Machine& machine, const std::string& program);

// What the results mean together.
void judge_trials(const Machine& machine, const std::vector<TrialResult>& results,
                  Findings& findings);

}  // namespace wavetap::doctor
