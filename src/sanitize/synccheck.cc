#include "sanitize/synccheck.h"

#include <bit>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <vector>

#include "emu/dispatch.h"
#include "emu/exec/operand_lanes.h"
#include "emu/wave.h"
#include "emu/workgroup.h"
#include "isa/program.h"
#include "sanitize/code_flow.h"

namespace wavetap::sanitize {

struct Synccheck::Group {
  struct Wave {
    uint64_t lanes = 0;  // that it began with
    GpuAddr barrier;     // where it waits, or waited last
    bool is_waiting = false;
    uint64_t absent = 0;   // lanes that were off at that barrier and have not been seen since
    uint64_t present = 0;  // those that were on
    Spin spin;
  };
  std::vector<Wave> waves;
};

namespace {

using isa::Op;

// Off lanes give 0 there, and not what they hold. (Without bound_ctrl the reader keeps what it had: code written for that
// looks no different from a mistake.)
bool reads_zero_by_dpp(const isa::Inst& inst) {
  return inst.dpp == isa::Dpp::kDpp16 && inst.bound_ctrl && !inst.fetch_inactive;
}

bool is_permlane(const isa::Inst& inst) {
  return inst.op == Op::v_permlane16_b32 || inst.op == Op::v_permlanex16_b32;
}

// The lane that `lane` asks, or itself.
int asked_lane(const emu::Wave& wave, const isa::Inst& inst, int lane) {
  const auto offset = static_cast<uint32_t>(inst.offset);
  const auto number = static_cast<uint32_t>(lane);
  if (inst.op == Op::ds_swizzle_b32)
    return (lane & 32) | static_cast<int>(emu::swizzle_source(number & 31, offset & 0xffff));
  if (inst.op == Op::ds_bpermute_b32) {
    const uint32_t index = wave.v[size_t{inst.vaddr.index} * wave.lanes + number];
    return static_cast<int>((index + offset) / 4 % wave.lanes);
  }
  if (is_permlane(inst)) {
    const uint64_t select = wave.read_s32(inst.src[1]) | uint64_t{wave.read_s32(inst.src[2])} << 32;
    const int flip = inst.op == Op::v_permlanex16_b32 ? 16 : 0;
    return ((lane ^ flip) & ~15) + static_cast<int>(select >> 4 * (lane % 16) & 15);
  }
  const emu::DppLanes& lanes = emu::dpp16_lanes(inst.dpp_ctrl);
  return (lanes.exists >> lane & 1) != 0 ? lanes.from[lane] : lane;
}

// Functions that it calls may have one.
bool may_reach_barrier(const isa::Program& program) {
  for (int32_t i = 0; i < program.size(); ++i)
    if (program.insts()[i].op == Op::s_barrier || leaves_program(program.insts()[i])) return true;
  return false;
}

}  // namespace

emu::Wants Synccheck::wants(const isa::Program& program, int32_t index) noexcept {
  if (index == 0) has_barrier_ = may_reach_barrier(program);
  const isa::Inst& inst = program.insts()[index];
  if (reads_zero_by_dpp(inst) || (is_permlane(inst) && !inst.fetch_inactive))
    return {.before = true};
  switch (inst.family) {
    case isa::Family::kDs:
      if (inst.op == Op::ds_gws_barrier || inst.op == Op::ds_bpermute_b32 ||
          inst.op == Op::ds_swizzle_b32)
        return {.before = true};
      [[fallthrough]];
    case isa::Family::kFlat:
    case isa::Family::kMubuf:
      // Here lanes show that went round a barrier.
      return {.accessing = has_barrier_,
              .accessed = Spins::may_wait(inst),
              .screens = true,
              .rows_suffice = true};
    default: return {};
  }
}

bool Synccheck::screen(const emu::WatchPoint& at, const emu::ByteSpan*) noexcept {
  Group& group = *static_cast<Group*>(at.state);
  if (group.waves[at.wave.wave_in_group].absent != 0) judge_absent(at.wave, group);
  return false;
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
  spins_.workgroup_began();
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
  spins_.workgroup_ended();
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
  const emu::Wave& wave = at.wave;
  const uint64_t exec = wave.exec();
  const Group::Wave& mine = group.waves[wave.wave_in_group];
  if ((mine.lanes & ~exec) == 0) return;
  uint64_t readers = exec;
  if (at.inst.dpp != isa::Dpp::kNone) readers &= emu::dpp_write_mask(at.inst);
  uint64_t wrong = 0;
  emu::for_each_lane(readers, [&](int lane) {
    const int from = asked_lane(wave, at.inst, lane);
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
  check_shuffle(at, group);
}

// Asked here where others want more than the accesses, and screen() is not.
void Synccheck::accessing(const emu::WatchPoint& at, std::span<const emu::MemoryAccess>) noexcept {
  screen(at, nullptr);
}

void Synccheck::accessed(const emu::WatchPoint& at,
                         std::span<const emu::MemoryAccess> accesses) noexcept {
  Group& group = *static_cast<Group*>(at.state);
  spins_.accessed(at, accesses, group.waves[at.wave.wave_in_group].spin, map_);
}

}  // namespace wavetap::sanitize
