// What can become of a candidate. Each is a result, none a failure of the tool.
#pragma once

#include <optional>
#include <string_view>

namespace wavetap::proof {

enum class Outcome {
  kGood,        // right, and measured
  kBuild,       // does not compile
  kRefused,     // not the kernel that was captured: signature, target, layout, resources
  kFault,       // stopped by the GPU
  kWrong,       // leaves other values than the original
  kImprecise,   // within the tolerance, but further from the truth than the original's roundings
  kUnclean,     // the sanitizer found errors
  kTimeout,     // takes too long
  kCrash,       // took the process that measured it with it
  kConstraint,  // right, but not what was asked for
};
std::string_view name_of(Outcome outcome);  // "good", "wrong"
std::optional<Outcome> outcome_named(std::string_view name);

}  // namespace wavetap::proof
