// Whether one kernel may run in the place of another: the rules, in one place for everything that
// replaces kernels (`wavetap run --swap`, `wavetap swap check`, `wavetap replay --swap`).
//
// What can be said of two kernels is said once, by check(): they must be for the same GPU with the same
// features, have the same wave size, and find each argument where the program puts it. What depends on
// a launch, its workgroup and its LDS, is asked for each launch by check_launch(), which costs a few
// comparisons. The first rule that does not hold is the reason, and the original runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "swap/kernel_info.h"

namespace wavetap::swap {

enum class Reason : uint8_t {
  kNone,        // it may
  kNoMetadata,  // how a kernel takes its arguments is not known
  kTarget,      // code for another GPU
  kFeatures,    // xnack or sramecc the other way round
  kWaveSize,    // 32 and 64
  kArguments,   // an argument of the program lies elsewhere or is something else
  kHidden,      // it needs an argument that the runtime does not provide for the original
  kStack,       // it needs a stack of a size that is not known
  kVariables,   // it has device variables of its own where the original's were meant
  kHash,        // the original is not the code that the replacement was made for
  kMissing,     // its file cannot be read, or lacks the kernel
  kDamaged,     // its file is not a code object any more
  kChanged,     // its file is not what it was when the program started
  kRefused,     // the GPU runtime does not load it
  kWorkgroup,   // the launch has workgroups of a size that it cannot have
  kLds,         // the launch needs more LDS than there is
  kKernels,     // of whole code objects: it lacks one that the program's has
  kScratch,     // of whole code objects: more than the runtime will provide
};
std::string_view to_string(Reason reason);  // "arguments", "wave-size": for JSON and tables

struct Verdict {
  Reason reason = Reason::kNone;
  std::string why;  // a sentence without the names of kernel and file

  bool is_legal() const { return reason == Reason::kNone; }
};

// What a user may permit although it cannot be proved harmless.
inline constexpr uint8_t kAllowOwnVariables = 1;
inline constexpr uint8_t kAllowOtherWaveSize = 2;

// `original_hash`: what the original's code must be; 0: anything.
Verdict check(const KernelInfo& original, const KernelInfo& replacement, uint8_t allowed = 0,
              uint64_t original_hash = 0);

// What a launch of the original becomes.
struct LaunchRules {
  uint32_t original_lds = 0;
  uint32_t lds = 0;
  uint32_t original_scratch = 0;
  uint32_t scratch = 0;
  uint32_t max_workgroup = 0;  // 0: any
  uint32_t required_workgroup[3] = {};
  uint32_t lds_limit = 0;  // of the GPU, per workgroup; 0: not known
};
LaunchRules launch_rules(const KernelInfo& original, const KernelInfo& replacement,
                         uint32_t lds_limit);

// The part that the program asked for on top of the original's own stays what it was.
inline uint32_t lds_for(const LaunchRules& rules, uint32_t asked) {
  return rules.lds + (asked > rules.original_lds ? asked - rules.original_lds : 0);
}
inline uint32_t scratch_for(const LaunchRules& rules, uint32_t asked) {
  return rules.scratch + (asked > rules.original_scratch ? asked - rules.original_scratch : 0);
}

inline Reason check_launch(const LaunchRules& rules, const uint16_t (&workgroup)[3], uint32_t lds) {
  const uint64_t lanes = uint64_t{workgroup[0] == 0 ? 1u : workgroup[0]} *
                         (workgroup[1] == 0 ? 1u : workgroup[1]) *
                         (workgroup[2] == 0 ? 1u : workgroup[2]);
  if (rules.max_workgroup != 0 && lanes > rules.max_workgroup) return Reason::kWorkgroup;
  if (rules.required_workgroup[0] != 0) {
    for (int axis = 0; axis < 3; ++axis)
      if (rules.required_workgroup[axis] != workgroup[axis]) return Reason::kWorkgroup;
  }
  if (rules.lds_limit != 0 && lds_for(rules, lds) > rules.lds_limit) return Reason::kLds;
  return Reason::kNone;
}
// The sentence for what check_launch() refused.
std::string describe_launch(const LaunchRules& rules, const uint16_t (&workgroup)[3], uint32_t lds);

}  // namespace wavetap::swap
