// What a search found, as JSON, flags, a manifest for `wavetap run --swap`, and a page to look at.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "proof/difference.h"
#include "tune/journal.h"
#include "tune/space.h"
#include "tune/spec.h"

namespace wavetap::tune {

struct Findings {
  const Spec& spec;
  const Space& space;
  const Journal& journal;
  const Entry* baseline = nullptr;
  const Entry* best = nullptr;
  std::optional<proof::Difference> measured;  // best against baseline, where times scatter
  std::string kernel;                         // symbol of the captured kernel; "": none
  std::string gpu;
  std::string clock;  // of the machine's GPUs, where they were measured
};

// "modelled", "exact" or "measured".
std::string kind_of_objective(const Spec& spec);
// A value of the objective, as one reads it: "2.57 us", "1 024", "0.75".
std::string objective_text(const Spec& spec, double value);
// How many times better than the baseline; 0 without one, 1 where runs taking turns show no difference.
double improvement(const Findings& findings);

nlohmann::ordered_json findings_json(const Findings& findings);
// "-DTILE=16 -DUNROLL=4".
std::string flags_of(const Values& values);
// A page without anything from elsewhere: the search over time, each parameter against the objective.
std::string findings_html(const Findings& findings);
// Ends with a line break.
std::string findings_text(const Findings& findings);

}  // namespace wavetap::tune
