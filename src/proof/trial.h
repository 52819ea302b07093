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
// conflicts: LDS cycles lost to bank conflicts; vgprs, sgprs, lds, scratch, spills, occupancy (0 to 1).
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
};
inline constexpr FigureRow kFigures[] = {
    {"time", "seconds, modelled"},
    {"instructions", "wave instructions, exact"},
    {"bytes", "bytes of device memory, modelled caches"},
    {"l2_bytes", "bytes between L2 and what is before it, modelled caches"},
    {"conflicts", "LDS cycles lost to bank conflicts, modelled"},
    {"lines", "64-byte lines of vector accesses, exact"},
    {"vgprs", "vector registers of a lane"},
    {"sgprs", "scalar registers of a wave"},
    {"lds", "bytes of LDS of a workgroup"},
    {"scratch", "bytes of scratch of a lane"},
    {"spills", "vector registers spilled"},
    {"occupancy", "waves of a full GPU, 0 to 1"},
};

}  // namespace wavetap::proof
