#include "sanitize/spins.h"

#include <bit>

#include "emu/launch.h"
#include "emu/wave.h"
#include "emu/workgroup.h"
#include "isa/program.h"
#include "sanitize/finding_line.h"
#include "sanitize/race_instructions.h"

namespace wavetap::sanitize {
namespace {

std::string counted(uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

bool Spins::may_wait(const isa::Inst& inst) {
  if (inst.dst.kind != isa::OperandKind::kVgpr || !is_flag_access(inst)) return false;
  // Of LDS only locks: other atomics of it that return something are in the middle of loops that do other things.
  return inst.family != isa::Family::kDs || is_lock_operation(inst.op);
}

void Spins::dispatch_began(const emu::Launch& launch) {
  const std::lock_guard lock(mutex_);
  group_count_ = launch.group_count;
  groups_begun_ = groups_ended_ = 0;
  waiting_.clear();
}

void Spins::workgroup_began() {
  const std::lock_guard lock(mutex_);
  ++groups_begun_;
}

void Spins::workgroup_ended() {
  const std::lock_guard lock(mutex_);
  ++groups_ended_;
}

void Spins::accessed(const emu::WatchPoint& at, std::span<const emu::MemoryAccess> accesses,
                     Spin& spin, const MemoryMap* map) {
  if (accesses.empty() || accesses[0].mask == 0) return;
  const emu::MemoryAccess& access = accesses[0];
  const int lane = std::countr_zero(access.mask);
  const uint32_t value = at.wave.vrow(at.inst.dst.index)[lane];
  if (spin.pc != at.pc.value || spin.address != access.address[lane] || spin.lanes != access.mask ||
      spin.value != value) {
    spin = {at.pc.value, access.address[lane], access.mask, value, 0};
    return;
  }
  if (++spin.count == many_) report(at, access, spin, map);
}

// What the other waves of the workgroup do, and how far the dispatch is.
std::string Spins::others_of(const emu::Wave& wave) const {
  uint64_t ended = 0;
  uint64_t at_barrier = 0;
  for (const emu::Wave& other : wave.workgroup->waves) {
    if (&other == &wave) continue;
    if (other.state == emu::WaveState::kFinished) ++ended;
    if (other.state == emu::WaveState::kAtBarrier) ++at_barrier;
  }
  std::string text;
  if (at_barrier != 0)
    text += "; " + counted(at_barrier, "wave") + " of its workgroup " +
            (at_barrier == 1 ? "waits" : "wait") + " for it at a barrier";
  if (ended != 0)
    text += "; " + counted(ended, "wave") + " of its workgroup " + (ended == 1 ? "has" : "have") +
            " ended";
  text += "; of " + counted(group_count_, "workgroup") + " " + std::to_string(groups_begun_) +
          " have begun and " + std::to_string(groups_ended_) + " ended";
  return text;
}

void Spins::report(const emu::WatchPoint& at, const emu::MemoryAccess& access, const Spin& spin,
                   const MemoryMap* map) {
  Finding finding = finding_at(Kind::kLivelock, at, access.mask);
  set_access(finding, access);
  {
    const std::lock_guard lock(mutex_);
    finding.detail = "has read " + hex_text(spin.value) + " there " + std::to_string(many_) +
                     " times in a row" + others_of(at.wave);
    if (const uint64_t others = waiting_[finding.address]++; others != 0)
      finding.detail += "; " + counted(others, "other wave") + " waited for the same before";
  }
  if (access.space == emu::Space::kGlobal && map != nullptr)
    finding.neighbour = map->neighbour({finding.address});
  finding.times = 1;
  finding.lane_count = static_cast<uint64_t>(std::popcount(access.mask));
  if (tell_) tell_(finding);
}

}  // namespace wavetap::sanitize
