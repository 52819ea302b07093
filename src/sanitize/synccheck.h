// Synccheck: barriers that not everybody takes part in, and lanes that ask lanes which are not there.
//
// s_barrier belongs to a wave and does not look at EXEC: what the source calls a divergent barrier still
// works, in its way, and goes wrong elsewhere. Lanes that were off at a barrier and later access memory
// or come to a barrier went round it; lanes that do neither have returned from the kernel, which is
// allowed. So a barrier with lanes off is only noted, and judged later.
#pragma once

#include <cstdint>
#include <span>

#include "sanitize/check.h"
#include "sanitize/spins.h"

namespace wavetap::sanitize {

class Synccheck final : public Check {
 public:
  explicit Synccheck(uint32_t many_reads = Spins::kMany) : spins_(many_reads) {}
  // Of waves that wait for ever.
  void set_tell(Spins::Tell tell) { spins_.set_tell(std::move(tell)); }

  void begin(const MemoryMap& map) noexcept override { map_ = &map; }
  emu::Wants wants(const isa::Program& program, int32_t index) noexcept override;
  void dispatch_began(const emu::Launch& launch) noexcept override {
    spins_.dispatch_began(launch);
  }
  void workgroup_began(const emu::Workgroup& group, void*& state) noexcept override;
  void workgroup_ended(const emu::Workgroup& group, void*& state) noexcept override;
  bool hears_barriers() const noexcept override { return true; }
  void barrier_reached(const emu::Wave& wave, GpuAddr pc, void*& state) noexcept override;
  void barrier_passed(const emu::Workgroup& group, void*& state) noexcept override;
  void before(const emu::WatchPoint& at) noexcept override;
  bool screen(const emu::WatchPoint& at, const emu::ByteSpan* span) noexcept override;
  void accessing(const emu::WatchPoint& at,
                 std::span<const emu::MemoryAccess> accesses) noexcept override;
  void accessed(const emu::WatchPoint& at,
                std::span<const emu::MemoryAccess> accesses) noexcept override;

 private:
  struct Group;

  void judge_absent(const emu::Wave& wave, Group& group);
  void check_shuffle(const emu::WatchPoint& at, const Group& group);
  void add(Kind kind, const emu::Wave& wave, GpuAddr pc, uint64_t lanes, const char* detail);

  const MemoryMap* map_ = nullptr;
  Spins spins_;
  bool has_barrier_ = false;  // in the program that wants() is asked about
};

}  // namespace wavetap::sanitize
