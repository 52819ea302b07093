// Perturbations: other inputs for a captured dispatch, so that a kernel which only knows the recorded
// ones is found out.
//
// What is right for the changed input nobody recorded: the original kernel says it, run on the same
// state. A change under which the original faults, or writes a place twice, is not one that the kernel
// was made for, and is left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/capture.h"
#include "replay/capture_file.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"

namespace wavetap::proof {

enum class Change {
  kNone,
  kPoisonNan,     // what is written and not read before: all bits set
  kPoisonNumber,  // the same: an ordinary number
  kRandom,        // floating-point inputs: other numbers
  kPermuted,      // inputs: the same values elsewhere
  kScaled,        // floating-point inputs: times a number that no shorter format has
  kSpecial,       // floating-point inputs: NaN, infinities, denormals and zeros among them
  kSmaller,       // whole numbers passed by value: smaller
  kMoved,         // what pointers point at: elsewhere (moved_memory.h does it)
  kStaleNan,      // what registers, LDS and scratch hold before they are written: all bits set
  kStaleNumber,   // the same: an ordinary number
  kOtherQueue,    // arguments, packet and queue: elsewhere (other_queue.h does it)
  kLarger,        // one workgroup more than there is work for
};

struct Perturbation {
  Change change = Change::kNone;
  uint64_t seed = 0;
  size_t argument = 0;  // kSmaller: which
  uint32_t value = 0;   // kSmaller: what it becomes

  std::string name() const;  // "inputs permuted", "argument 3 is 127"
  uint32_t initial_fill() const;
};

// Everything that can be done to this dispatch, in an order that depends on the seed.
std::vector<Perturbation> perturbations_of(const replay::CapturedKernel& kernel, uint64_t seed);

// Changes the memory of a dispatch. `touched`: what the original reads and writes of it.
void perturb(const Perturbation& perturbation, const replay::Capture& capture,
             const replay::CapturedKernel& kernel,
             const std::vector<format::CaptureTouchedPage>& touched,
             replay::CapturedMemory& memory);

}  // namespace wavetap::proof
