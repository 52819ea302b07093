// Waitcheck: a register used before the load that fills it was waited for.
//
// Loads write their registers some time after they were issued. A wave learns that they have from
// counters: each memory instruction adds one when it is issued and takes it back when it is done, and
// s_waitcnt stops the wave until a counter is at N or below. The engine loads at once, so a wait that is
// missing does no harm here, and all the more on a GPU.
//
// What is pending is kept as a short list per wave. Operations of one class finish in the order they
// were issued (loads among each other, LDS operations among each other); those of different classes that
// share a counter in any order, and scalar loads in any order at all. So with a counter at N, an operation
// is surely done when more than N operations of its class, itself included, were issued from it on: if it
// were not done, neither would they be. A scalar load is only with the counter at 0.
//
// Counters are finite: when one is full the next instruction waits by itself. Code of Tensile and Triton
// relies on that.
//
// Which instruction counts where: isa/wait_counters.h. The registers of a flat instruction need the counter whose
// memory its lanes reach.
//
// Nearly all programs can be proved to have all their waits, once and without running them
// (wait_proof.h); then nothing is watched. In the others most instructions have nothing to do with what is
// pending: for each the registers it can touch are worked out once, as bits, and compared with those that
// are pending before anything else is done.
//
// What it does not do: exports and expcnt, which compute kernels have not; waits that order memory and not
// registers (a store before a release, an LDS write before a barrier: racecheck). Wait states are wait_states.h's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "sanitize/check.h"

namespace wavetap::sanitize {

class Waitcheck final : public Check {
 public:
  Waitcheck();
  ~Waitcheck() override;

  emu::Wants wants(const isa::Program& program, int32_t index) noexcept override;
  void workgroup_began(const emu::Workgroup& group, void*& state) noexcept override;
  void workgroup_ended(const emu::Workgroup& group, void*& state) noexcept override;
  void before(const emu::WatchPoint& at) noexcept override;
  void accessing(const emu::WatchPoint& at,
                 std::span<const emu::MemoryAccess> accesses) noexcept override;

 private:
  struct Site;
  struct Pending;
  struct WaveCounts;
  struct Group;

  void check_uses(const emu::WatchPoint& at, WaveCounts& counts, const emu::RegisterUses& uses);
  void note(const emu::WatchPoint& at, const WaveCounts& counts, const Pending& pending,
            const emu::RegisterUse& use, uint64_t lanes);

  // For wants() alone.
  bool is_proved_ = false;  // has_all_waits() of the program it is asked about
  // By address; several where other code lies now.
  std::unordered_multimap<uint64_t, std::unique_ptr<Site>> sites_;
};

}  // namespace wavetap::sanitize
