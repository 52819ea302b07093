// Judge: the proof that a candidate goes through before it counts.
//
// Its files are its own; it builds, in the sandbox, twice to the same bytes; it is the same kernel to
// its callers; it has no instruction that could tell a test from a run; it is a change; it is right on
// every recorded dispatch, clean under the sanitizer, right on inputs that nobody recorded and with
// poisoned outputs, in other orders of its waves; and it is better. The first that does not hold is the
// verdict.
#pragma once

#include <string>

#include "model/model.h"
#include "optimize/ledger.h"
#include "optimize/sandbox.h"
#include "optimize/timing.h"
#include "proof/trial.h"

namespace wavetap::optimize {

struct JudgeOptions {
  SandboxKind sandbox = SandboxKind::kBubblewrap;
  SandboxLimits build_limits;
  double run_seconds = 120;  // of each replay
  model::Model model;
  Timer timer;  // none: the objective's figure decides
};

// Figures of one candidate on all captures, and where its code is.
struct Standing {
  std::vector<std::map<std::string, double>> figures;  // of each capture
  std::vector<uint64_t> code_hash;
  std::string code;

  std::map<std::string, double> sum() const;  // over the captures; resources: the largest
};

class Judge {
 public:
  Judge(const Ledger& ledger, const JudgeOptions& options) : ledger_(ledger), options_(options) {}

  // Builds these sources in `folder`. "" or what was wrong; `step` says at which point.
  std::string build(const Sources& sources, const std::string& folder, Step& step) const;
  // Without a comparison of speed: the original, built by the same command. An error when it is no good.
  Result<Standing> stand(const Sources& sources, const std::string& folder) const;
  // Fills step, reason, figures and checks; `standing` is the candidate's when it is accepted.
  void judge(const Standing& best, const Sources& sources, Attempt& attempt,
             Standing& standing) const;

 private:
  std::string build_once(const Sources& sources, const std::string& folder, int turn) const;
  proof::TrialOptions trial_options(uint32_t capture, const std::string& code) const;
  bool prove(const Standing* best, Attempt& attempt, Standing& standing) const;
  bool try_capture(uint32_t capture, Attempt& attempt, Standing& standing) const;
  void compare_figures(const Standing& best, const Standing& standing, Attempt& attempt) const;
  void compare_times(const Standing& best, const Standing& standing, Attempt& attempt) const;
  bool cross_check(uint32_t capture, Attempt& attempt, const std::string& code) const;

  const Ledger& ledger_;
  const JudgeOptions& options_;
};

}  // namespace wavetap::optimize
