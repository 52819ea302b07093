// Tuner: a search over a spec's space, kept in its journal.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tune/evaluate.h"
#include "tune/journal.h"
#include "tune/space.h"
#include "tune/spec.h"

namespace wavetap::tune {

struct TuneLimits {
  double evaluations = 100;  // parts of one count as such
  double seconds = 0;        // 0: no limit
  size_t jobs = 1;
};

struct Progress {
  double share = 0;             // of the evaluations or of the time that it has, 0 to 1
  const Entry* best = nullptr;  // null: none is good yet
  const Entry* baseline = nullptr;
};

// Whether `a` is better than `b` in the spec's sense.
bool is_better(const Spec& spec, const Entry& a, const Entry& b);
// The best whole evaluation of a journal; null when none is good.
const Entry* best_of(const Spec& spec, const Journal& journal);

// Evaluates one point, in a process of its own. `part`: of the workgroups.
using Measure = std::function<proof::Trial(const Values& values, double part, bool is_original)>;
// Builds and runs what the spec says.
Measure measure_by(const Evaluation& evaluation);

// Goes on until the limits are reached or nothing is left. What the journal has is not done again.
Status run_search(const Spec& spec, const Space& space, const Measure& measure,
                  const TuneLimits& limits, Journal& journal,
                  const std::function<void(const Progress&)>& tell);

}  // namespace wavetap::tune
