// CrossCheck: a candidate against the original kernel on inputs that nobody recorded.
#pragma once

#include <string>
#include <vector>

#include "proof/outcome.h"
#include "proof/trial.h"

namespace wavetap::proof {

struct Check {
  std::string name;    // "inputs permuted"
  std::string result;  // "equal", "left out: …", or how the candidate failed
};

struct CrossCheck {
  Outcome outcome = Outcome::kGood;
  std::string reason;  // which check, and what differed
  std::vector<Check> checks;
};

// Runs everything that perturbations_of() names, the candidate each time with another order of its
// workgroups and waves, until one check fails. Options as for a trial; `part` is not used.
CrossCheck cross_check(const TrialOptions& options, uint64_t seed);

std::string to_text(const CrossCheck& check);
Result<CrossCheck> parse_cross_check(const std::string& text);

}  // namespace wavetap::proof
