// Precision: results that differ from the original's, held against a reference in higher precision.
//
// A tolerance says how far a candidate may be from the original, and both may be wrong. So the original
// is run once more with a shadow (shadow_watch.h) that says what it would have computed without
// roundings, and how far its roundings can have taken it. An element is
//
//   right      within the tolerance of the original or of the reference, or not further from the
//              reference than the original;
//   imprecise  within the tolerance, but further from the reference than the original is, and than
//              kSlack times what the original's roundings explain: it computes with fewer digits.
//
// Elements that the reference could not follow are judged by the tolerance alone, and the note says how
// many they are and which operations were in the way. Those of which the original made an infinity, because
// a number was too large for its type, are left out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "proof/outcome.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"
#include "replay/verify.h"

namespace wavetap::proof {

inline constexpr double kSlack = 4;

struct PrecisionOptions {
  replay::Tolerance tolerance;
  bool has_reference = false;  // else the tolerance alone decides
  bool may_lose = false;       // imprecise is fine
  uint64_t watchdog_instructions = 0;
};

struct Precision {
  Outcome outcome = Outcome::kGood;
  std::string reason;
  // "within rel=1e-05; error against fp64 0.31 of the original's"; "" where all bits are equal.
  std::string note;
};

class PrecisionJudge {
 public:
  PrecisionJudge(const PrecisionOptions& options, const replay::CapturedKernel& kernel)
      : options_(options), kernel_(kernel) {}

  // For comparisons: takes note of floating-point elements that differ, and lets them pass for now.
  replay::ElementJudge judge();
  // What becomes of them. `prepare` makes the state that both were run on.
  Precision find(const replay::Capture& capture, replay::CapturedMemory& memory,
                 const std::function<void()>& prepare) const;

 private:
  struct Element {
    size_t argument = SIZE_MAX;
    uint64_t address = 0, index = 0;
    const char* type = "f32";
    bool is_near = false;
    double expected = 0, got = 0;
  };
  std::string describe(const Element& element) const;
  bool is_near(double reference, const Element& element) const;

  const PrecisionOptions options_;
  const replay::CapturedKernel& kernel_;
  std::vector<Element> elements_;
};

}  // namespace wavetap::proof
