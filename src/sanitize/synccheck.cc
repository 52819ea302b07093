#include "sanitize/synccheck.h"

#include <bit>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <vector>

#include "emu/dispatch.h"
#include "emu/wave.h"
#include "emu/workgroup.h"
#include "isa/program.h"

namespace wavetap::sanitize {

struct Synccheck::Group {
  struct Wave {
    uint64_t lanes = 0;  // that it began with
    GpuAddr barrier;     // where it waits, or waited last
    bool is_waiting = false;
    uint64_t absent = 0;   // lanes that were off at that barrier and have not been seen since
    uint64_t present = 0;  // those that were on
  };
  std::vector<Wave> waves;
};

namespace {

using isa::Op;

}  // namespace

emu::Wants Synccheck::wants(const isa::Program& program, int32_t index) noexcept {
  switch (program.insts()[index].family) {
    case isa::Family::kDs:
    case isa::Family::kFlat:
    case isa::Family::kMubuf: return {.before = true};
    default: return {};
  }
}

void Synccheck::add(Kind kind, const emu::Wave& wave, GpuAddr pc, uint64_t lanes,
                    const char* detail) {
  const emu::Workgroup& group = *wave.workgroup;
  Finding finding;
  finding.kind = kind;
  finding.severity = row_of(kind).severity;
  finding.place.pc = pc;
  for (int i = 0; i < 3; ++i) finding.place.workgroup[i] = group.id[i];
  finding.place.wave = wave.wave_in_group;
  finding.place.lane = lanes == 0 ? 0 : std::countr_zero(lanes);
  finding.place.lanes = lanes;
  set_thread(finding.place, group, wave.lanes);
  finding.detail = detail;
  findings().add(finding);
}

void Synccheck::workgroup_began(const emu::Workgroup& group, void*& state) noexcept {
  auto mine = std::make_unique<Group>();
  mine->waves.resize(group.waves.size());
  for (const emu::Wave& wave : group.waves) mine->waves[wave.wave_in_group].lanes = wave.exec();
  state = mine.release();
}

void Synccheck::barrier_reached(const emu::Wave& wave, GpuAddr pc, void*& state) noexcept {
  Group& group = *static_cast<Group*>(state);
  Group::Wave& mine = group.waves[wave.wave_in_group];
  judge_absent(wave, group);
  mine.barrier = pc;
  mine.is_waiting = true;
  mine.present = wave.exec();
  mine.absent |= mine.lanes & ~mine.present;
}

void Synccheck::barrier_passed(const emu::Workgroup& group, void*& state) noexcept {
  Group& mine = *static_cast<Group*>(state);
  const emu::Wave* first = nullptr;   // that waited
  const emu::Wave* other = nullptr;   // that waited elsewhere
  const emu::Wave* absent = nullptr;  // that has ended
  for (const emu::Wave& wave : group.waves) {
    const Group::Wave& at = mine.waves[wave.wave_in_group];
    if (!at.is_waiting) absent = &wave;
    else if (first == nullptr) first = &wave;
    else if (at.barrier.value != mine.waves[first->wave_in_group].barrier.value) other = &wave;
  }
  char detail[120];
  if (first != nullptr && absent != nullptr) {
    std::snprintf(detail, sizeof detail, "wave %u had ended and never came to this barrier",
                  absent->wave_in_group);
    add(Kind::kBarrierAfterExit, *first, mine.waves[first->wave_in_group].barrier, 0, detail);
  }
  if (other != nullptr) {
    const Group::Wave& there = mine.waves[first->wave_in_group];
    std::snprintf(detail, sizeof detail, "wave %u waited at another one, at 0x%" PRIx64,
                  first->wave_in_group, there.barrier.value);
    add(Kind::kDifferentBarriers, *other, mine.waves[other->wave_in_group].barrier, 0, detail);
  }
  for (Group::Wave& wave : mine.waves) wave.is_waiting = false;
}

void Synccheck::workgroup_ended(const emu::Workgroup& group, void*& state) noexcept {
  const std::unique_ptr<Group> mine(static_cast<Group*>(state));
  state = nullptr;
  if (mine == nullptr) return;
  const emu::Wave* waiting = nullptr;
  const emu::Wave* busy = nullptr;
  for (const emu::Wave& wave : group.waves) {
    if (wave.state == emu::WaveState::kAtBarrier) waiting = &wave;
    else if (wave.state != emu::WaveState::kFinished) busy = &wave;
  }
  if (waiting == nullptr || busy == nullptr) return;
  char detail[120];
  std::snprintf(detail, sizeof detail,
                "the dispatch was stopped while it waited for wave %u, which was at 0x%" PRIx64,
                busy->wave_in_group, busy->program->pc_of(busy->pc).value);
  add(Kind::kStuckBarrier, *waiting, mine->waves[waiting->wave_in_group].barrier, 0, detail);
}

void Synccheck::judge_absent(const emu::Wave& wave, Group& group) {
  Group::Wave& mine = group.waves[wave.wave_in_group];
  const uint64_t back = mine.absent & wave.exec();
  if (back == 0) return;
  char detail[120];
  std::snprintf(detail, sizeof detail, "lanes 0x%" PRIx64 " of the wave went round it", back);
  add(Kind::kDivergentBarrier, wave, mine.barrier, mine.present, detail);
  mine.absent = 0;
}

void Synccheck::check_shuffle(const emu::WatchPoint& at, const Group& group) {
  emu::Wave& wave = at.wave;
  const uint64_t exec = wave.exec();
  const Group::Wave& mine = group.waves[wave.wave_in_group];
  const uint32_t* const index = wave.vrow(at.inst.vaddr.index);
  uint64_t wrong = 0;
  emu::for_each_lane(exec, [&](int lane) {
    const uint32_t from = (index[lane] + static_cast<uint32_t>(at.inst.offset)) / 4 % wave.lanes;
    // A lane that never existed is the affair of whoever wrote for whole waves.
    if ((exec >> from & 1) == 0 && (mine.lanes >> from & 1) != 0) wrong |= uint64_t{1} << lane;
  });
  if (wrong != 0) add(Kind::kInactiveLane, wave, at.pc, wrong, "");
}

void Synccheck::before(const emu::WatchPoint& at) noexcept {
  Group& group = *static_cast<Group*>(at.state);
  if (at.inst.op == Op::ds_gws_barrier) {
    if (!at.wave.dispatch->cooperative)
      add(Kind::kGridBarrier, at.wave, at.pc, 0,
          "the kernel was not launched as a cooperative one");
    return;
  }
  if (at.inst.op == Op::ds_bpermute_b32) check_shuffle(at, group);
  else if (group.waves[at.wave.wave_in_group].absent != 0) judge_absent(at.wave, group);
}

}  // namespace wavetap::sanitize
