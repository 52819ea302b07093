// WaitStates: the part of waitcheck for instructions that are too close to each other, on hardware that does
// not keep them apart (wait_state_rules.h).
//
// When code is lowered, every way from each instruction on is followed for as many wait states as matter, and
// pairs that are too close on some way are noted. Compiled code has none, and then nothing is watched: the
// check costs nothing. Code that has some is watched instruction by instruction, with a clock of wait states
// for each wave, so that only pairs that really come that close in a run are reported.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sanitize/check.h"
#include "sanitize/wait_state_rules.h"

namespace wavetap::sanitize {

// Two instructions that are too close on some way through a program.
struct WaitStateGap {
  int32_t first = 0;  // indices
  int32_t second = 0;
  uint32_t needed = 0;  // wait states between them
  uint32_t there = 0;   // on the shortest way
  enum class Why : uint8_t { kRead, kOverwritten, kStillRead, kMode, kExec, kDouble } why{};
  RegisterRange registers;  // the first of those in question
};

std::vector<WaitStateGap> find_wait_state_gaps(const isa::Program& program);

class WaitStates final : public Check {
 public:
  WaitStates();
  ~WaitStates() override;

  emu::Wants wants(const isa::Program& program, int32_t index) noexcept override;
  void workgroup_ended(const emu::Workgroup& group, void*& state) noexcept override;
  void before(const emu::WatchPoint& at) noexcept override;

 private:
  struct Site;
  struct Group;

  const std::vector<Site>* find_sites(const isa::Program& program);
  void note(const emu::WatchPoint& at, const WaitStateGap& gap, GpuAddr first, uint64_t there);

  // For wants() alone: of the program it is asked about; null: nothing in it is too close.
  const std::vector<Site>* sites_ = nullptr;
  std::vector<std::unique_ptr<std::vector<Site>>> kept_;  // what tags point at
};

}  // namespace wavetap::sanitize
