// A trial: a candidate for a captured kernel, run on the engine in the captured kernel's place.
//
// The candidate is refused where it is not the same kernel (swap/legality.h), its output is compared
// with what the captured dispatch left, the sanitizer looks on where it is asked to, and what it does
// is counted: exact instructions and addresses, caches and time as the GPU's model has them. Figures
// depend on code and capture alone, not on the host or its load.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/model.h"
#include "proof/launch_shape.h"
#include "proof/outcome.h"
#include "proof/precision.h"
#include "replay/verify.h"
#include "sanitize/kinds.h"

namespace wavetap::proof {

struct TrialOptions {
  std::string file;  // captured dispatches
  uint32_t capture = 1;
  std::string code;  // program or code object with the candidate; "": the captured kernel itself
  LaunchShape shape;
  replay::Tolerance tolerance;
  // Floating-point results that differ are also held against the original in fp64 (precision.h).
  bool has_reference = false;
  bool may_lose_precision = false;
  std::optional<sanitize::ToolSet> tools;
  model::Model model;
  // Of the workgroups, for a quick look; output is then not compared.
  double part = 1;
  uint64_t seed = 0;
  uint64_t watchdog_instructions = 0;  // of a wave; 0: none
  uint32_t threads = 0;

  PrecisionOptions precision() const {
    return {tolerance, has_reference, may_lose_precision, watchdog_instructions};
  }
};

// Figures by name. time: seconds, modelled; instructions; bytes: of device memory, modelled; l2_bytes;
// conflicts: LDS cycles lost to bank conflicts; vgprs, sgprs, lds, scratch, spills, occupancy (0 to 1). Of a whole run, how far
// its results are from the captured ones: error_abs, error_rel, error_ulp.
struct Trial {
  Outcome outcome = Outcome::kGood;
  std::string reason;  // of all but kGood; a sentence
  std::map<std::string, double> figures;
  uint64_t code_hash = 0;  // of the candidate's instructions
  std::string precision;   // how the reference came into it; "": not at all
};

// In this process: see util/isolated.h for candidates that nobody trusts.
Trial run_trial(const TrialOptions& options);

// A trial as text that parse_trial() reads, and back.
std::string to_text(const Trial& trial);
Result<Trial> parse_trial(const std::string& text);

// Names of the figures that a trial has, each with what it is.
struct FigureRow {
  const char* name;
  const char* what;
  bool is_of_programs;  // wavetap profile has it of a program's kernels as well
};
inline constexpr FigureRow kFigures[] = {
    {"time", "seconds, modelled", true},
    {"instructions", "wave instructions, exact", false},
    {"bytes", "bytes of device memory, modelled caches", true},
    {"l2_bytes", "bytes between L2 and what is before it, modelled caches", false},
    {"conflicts", "LDS cycles lost to bank conflicts, modelled", false},
    {"lines", "64-byte lines of vector accesses, exact", false},
    {"vgprs", "vector registers of a lane", true},
    {"sgprs", "scalar registers of a wave", true},
    {"lds", "bytes of LDS of a workgroup", true},
    {"scratch", "bytes of scratch of a lane", true},
    {"spills", "vector registers spilled", true},
    {"occupancy", "waves of a full GPU, 0 to 1", true},
    {"error_abs", "largest difference of a number from the captured one", false},
    {"error_rel", "the same, of the larger one of the two", false},
    {"error_ulp", "the same, in steps of its type", false},
};

}  // namespace wavetap::proof
