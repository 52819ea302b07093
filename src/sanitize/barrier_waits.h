// Barriers that come before what the wave did has happened: racecheck's part for waits that order memory.
//
// A wave that reaches s_barrier has issued its loads and stores; they are done when it has waited for them. On
// gfx10 and later the waves of a workgroup may be on different compute units, and what was not waited for may
// happen after the barrier. (On gfx9 they share one, which keeps the order; compilers place no waits there.)
//
// Compilers place these waits. So each program is looked at once, without running it: where every way to every
// barrier has them, nothing is watched. In the others each operation moves the wave's clock, so that what a
// barrier did not wait for is a range of clocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "isa/program.h"
#include "isa/wait_counters.h"

namespace wavetap::sanitize {

// Whether a way leads to a barrier with something under way. False for programs that call functions: what they
// wait for is not known.
bool may_pass_barriers_early(const isa::Program& program);

// What is waited for by itself.
enum class OpenClass : uint8_t { kLds, kStore, kLoad };
inline constexpr size_t kOpenClasses = 3;

// The operations of one wave that may be under way.
class OpenOperations {
 public:
  // At this clock of the wave.
  void issue(const isa::WaitEffect& effect, uint16_t clock);
  void wait(const isa::WaitEffect& effect);
  // The clock of the first; 0: there is none.
  uint16_t first(OpenClass of) const {
    const std::vector<uint16_t>& clocks = clocks_[static_cast<size_t>(of)];
    return clocks.empty() ? uint16_t{0} : clocks.front();
  }

 private:
  std::array<std::vector<uint16_t>, kOpenClasses> clocks_;
};

}  // namespace wavetap::sanitize
