// Ledger: a folder with everything that was tried, so that all of it can be read and proved again.
//
//   ledger.json        what was asked for, and every attempt with its verdict
//   captures.wtcap     the captured dispatches
//   original/          the sources as they were
//   attempts/001/      a candidate's sources, what its build said, candidate.diff
//   best/              the sources of the last candidate that was accepted, and best.hsaco
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/scoped_fd.h"
#include "optimize/provider.h"
#include "proof/cross_check.h"
#include "util/json_library.h"

namespace wavetap::optimize {

inline constexpr char kLedgerSchema[] = "wavetap.optimize.ledger/1";

// What a verdict rests on, in the order of the proof.
enum class Step {
  kProvider,      // no candidate came
  kFiles,         // names files that are not its own
  kBuild,         // does not compile, or not in time
  kReproducible,  // two builds differ
  kSignature,     // another kernel: arguments, target, wave size
  kInstructions,  // does what no kernel needs to
  kNoChange,      // the same instructions as before
  kReplay,        // wrong on the recorded input
  kPrecision,     // computes with fewer digits than the original
  kSanitize,      // errors of the sanitizer
  kCrossCheck,    // wrong on other inputs
  kSpeed,         // right, but not better
  kAccepted,
};
std::string name_of(Step step);  // "cross-check"

struct Attempt {
  uint32_t number = 0;
  std::string rationale;
  Step step = Step::kProvider;
  std::string reason;
  uint32_t repairs = 0;  // builds that failed before
  std::map<std::string, double> before, after;
  double improvement = 0;        // before / after of the objective
  nlohmann::ordered_json timed;  // of runs on a GPU (timing.h); null: it was not timed
  std::vector<proof::Check> checks;
  Sources files;  // of the candidate
  Usage usage;    // of the provider, for this attempt

  bool accepted() const { return step == Step::kAccepted; }
};

// A kernel of a program, where the program was profiled to choose one.
struct RankedKernel {
  std::string kernel;        // demangled
  double critical_part = 0;  // of what all kernels take of the critical path, 0 to 1
  bool has_source = false;   // one of the given sources has it
};

// What an optimisation was asked to do; all of it is in the ledger.
struct Task {
  std::string build;  // {out}, {source}
  std::string objective = "time";
  double least_gain = 0.02;
  std::string timed;  // where it is timed: "hsa" or "virtual"; "": the objective's figure decides
  std::string tolerance = "bits";
  bool may_lose_precision = false;  // within the tolerance
  std::string tools;                // of the sanitizer
  std::string gpu;
  std::string kernel;  // demangled
  std::string provider;
  std::string sandbox;
  uint64_t seed = 1;
  std::vector<uint32_t> captures;
  std::vector<RankedKernel> ranking;  // empty: the kernel was named
};

class Ledger {
 public:
  // Makes the folder; an error when it holds a ledger with attempts already, or another process uses it.
  static Result<Ledger> create(const std::string& folder, const Task& task, const Sources& original,
                               const std::string& capture_file);
  static Result<Ledger> open(const std::string& folder);
  // The one that is there, to go on with.
  static Result<Ledger> resume(const std::string& folder);
  // One that is not kept: for a look at what a provider would be asked.
  static Ledger draft(const Task& task, const Sources& original);

  const std::string& folder() const { return folder_; }
  const Task& task() const { return task_; }
  const Sources& original() const { return original_; }
  const std::vector<Attempt>& attempts() const { return attempts_; }
  std::string captures() const { return folder_ + "/captures.wtcap"; }
  std::string folder_of(uint32_t number) const;

  Status add(const Attempt& attempt);
  // All attempts were made: what the provider took altogether, and why it stopped, if it did.
  Status finish(const Usage& usage, const std::string& stopped);
  const Usage& usage() const { return usage_; }
  const std::string& stopped() const { return stopped_; }
  // False while it is made, and for good when that was killed.
  bool is_finished() const { return is_finished_; }
  // Another process is making it.
  bool is_at_work() const;
  // What all attempts took.
  Usage usage_of_attempts() const;
  // The sources and code of the best so far.
  Status keep_best(const Sources& sources, const std::string& code) const;

  nlohmann::ordered_json json() const;

 private:
  Status save() const;
  Status lock();

  std::string folder_;
  Task task_;
  Sources original_;
  std::vector<Attempt> attempts_;
  Usage usage_;
  std::string stopped_;
  bool is_finished_ = false;
  ScopedFd lock_;  // nobody else makes this ledger
};

// Files that the folder of an attempt has besides its sources.
inline constexpr char kCode[] = "candidate.hsaco", kDiff[] = "candidate.diff", kLog[] = "build.log";
bool is_ledgers_own(const std::string& name);

// Files by their names alone, in a folder that is made.
Status write_sources(const std::string& folder, const Sources& sources);

std::string report_text(const Ledger& ledger);
std::string report_html(const Ledger& ledger);

}  // namespace wavetap::optimize
