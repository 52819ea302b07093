#include "proof/outcome.h"

namespace wavetap::proof {
namespace {

constexpr std::string_view kNames[] = {"good",  "build-failed", "refused", "fault",
                                       "wrong", "imprecise",    "unclean", "timeout",
                                       "crash", "constraint"};

}  // namespace

std::string_view name_of(Outcome outcome) { return kNames[static_cast<size_t>(outcome)]; }

std::optional<Outcome> outcome_named(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (kNames[i] == name) return static_cast<Outcome>(i);
  return std::nullopt;
}

}  // namespace wavetap::proof
