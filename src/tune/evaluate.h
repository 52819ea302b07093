// Evaluating one point: build it, run it, measure it. Meant for a process of its own
// (util/isolated.h): the build's and the program's children die with it.
#pragma once

#include <string>

#include "base/result.h"
#include "model/model.h"
#include "proof/difference.h"
#include "proof/trial.h"
#include "tune/spec.h"

namespace wavetap::tune {

struct Evaluation {
  const Spec& spec;
  const model::Model& model;  // of captures
  std::string wavetap;        // this program, for runs of others
  std::string scratch;        // folder for what is built
};

// `is_original`: the captured kernel as it was, nothing is built.
proof::Trial evaluate(const Evaluation& evaluation, const Values& values, double part,
                      const std::string& out, bool is_original);

// Makes `out` for these values. "" or what the build said.
struct Built {
  bool ok = true;
  bool timed_out = false;
  std::string output;
};
Built build(const Spec& spec, const Values& values, const std::string& out);

// A program's metric for two sets of values, in pairs of runs that take turns. An error when one of them
// does not run.
Result<proof::Difference> compare_metric(const Evaluation& evaluation, const Values& old_values,
                                         const Values& new_values, uint32_t pairs);

}  // namespace wavetap::tune
