// The active probes: each in a child with a deadline, their deaths decoded, the pattern of what
// failed diagnosed.
#pragma once

#include <string>
#include <vector>

#include "doctor/check.h"
#include "doctor/child.h"
#include "doctor/machine.h"

namespace wavetap::doctor {

enum class ProbeOutcome : unsigned char { kPassed, kWrong, kDied, kHung, kSkipped };
std::string_view to_string(ProbeOutcome outcome);

struct ProbeResult {
  std::string name;       // "copy"
  std::string condition;  // "HSA_ENABLE_SDMA=0", "without the override", or ""
  ProbeOutcome outcome = ProbeOutcome::kSkipped;
  std::string text;  // what was found, or how it died
  std::string label() const { return condition.empty() ? name : name + " (" + condition + ")"; }
};

// How a process that used the GPU ended, from its exit and the runtime's last words: "illegal
// instruction (…)".
std::string decode_death(const ChildResult& child);

// One of them.
ProbeResult run_probe(const std::string& probe, const std::string& name);
// Runs them all; after a hang the ones that would hang as well are skipped.
std::vector<ProbeResult> run_probes(const Machine& machine, const std::string& probe);

// What the results mean together.
void judge_probes(const Machine& machine, const std::vector<ProbeResult>& results,
                  Findings& findings);

}  // namespace wavetap::doctor
