#include "sanitize/waitcheck.h"

#include <algorithm>
#include <new>

#include "emu/wave.h"
#include "emu/workgroup.h"
#include "isa/program.h"
#include "isa/wait_counters.h"
#include "sanitize/register_set.h"
#include "sanitize/wait_proof.h"

namespace wavetap::sanitize {
namespace {

using emu::RegisterFile;
using emu::RegisterUse;
using isa::Family;
using isa::Inst;

using isa::kWaitClasses;
using isa::WaitClass;
using isa::WaitCounter;
using isa::WaitEffect;

constexpr WaitClass class_at(uint8_t number) { return static_cast<WaitClass>(number); }
constexpr auto kVectorNumber = static_cast<uint8_t>(WaitClass::kVector);

bool overlaps(const RegisterUse& a, const RegisterUse& b) {
  if (a.file != b.file || (a.bytes & b.bytes) == 0) return false;
  if (a.file != RegisterFile::kScalar && (a.lanes & b.lanes) == 0) return false;
  return a.first < b.first + b.count && b.first < a.first + a.count;
}

// SCC, EXEC and the like come and go with the instruction, not with its data.
bool is_data(const RegisterUse& use) {
  return use.file != RegisterFile::kScalar || use.first < isa::slot::kExecLo;
}

}  // namespace

// An instruction, as far as it can be known before it runs: WatchPoint::tag.
struct Waitcheck::Site {
  WaitEffect effect;
  uint8_t major = 9;
  RegisterSet registers;
  bool may_use_others = false;  // than `registers`

  bool operator==(const Site&) const = default;
};

// One register range that a load has not surely filled.
struct Waitcheck::Pending {
  RegisterUse use;
  GpuAddr pc;
  // Bit per class that has to get this far; 0: done.
  uint8_t classes = 0;
  uint64_t number[kWaitClasses] = {};  // of the operation in its class, from 1
};

struct Waitcheck::WaveCounts {
  uint64_t issued[kWaitClasses] = {};
  uint64_t done[kWaitClasses] = {};  // surely
  std::vector<Pending> pending;
  RegisterSet registers;  // those of `pending`

  // The counter is at `most` or below. True: something more is done.
  bool wait(WaitCounter counter, uint64_t most) {
    bool is_news = false;
    for (uint8_t of = 0; of < kWaitClasses; ++of) {
      if (isa::counter_of(class_at(of)) != counter) continue;
      if (most != 0 && !isa::is_ordered(class_at(of))) continue;
      if (issued[of] <= most || issued[of] - most <= done[of]) continue;
      done[of] = issued[of] - most;
      is_news = true;
    }
    return is_news;
  }

  // After any change of `pending` but one more.
  void find_pending_registers() {
    registers.clear();
    for (const Pending& one : pending) registers.add(one.use.file, one.use.first, one.use.count);
  }

  void forget_done() {
    if (pending.empty()) return;
    const size_t count = std::erase_if(pending, [&](Pending& one) {
      for (uint8_t of = 0; of < kWaitClasses; ++of)
        if ((one.classes >> of & 1) != 0 && one.number[of] <= done[of])
          one.classes = static_cast<uint8_t>(one.classes & ~(1u << of));
      return one.classes == 0;
    });
    if (count != 0) find_pending_registers();
  }

  void issue(const WaitEffect& effect, uint8_t major) {
    bool is_news = false;
    for (uint8_t of = 0; of < kWaitClasses; ++of) {
      if ((effect.issues >> of & 1) == 0) continue;
      // A full counter lets nothing more be issued.
      const WaitCounter counter = isa::counter_of(class_at(of));
      is_news |= wait(counter, isa::full_count(counter, major) - 1u);
      ++issued[of];
    }
    if (is_news) forget_done();
  }
};

struct Waitcheck::Group {
  std::vector<WaveCounts> waves;
};

emu::Wants Waitcheck::wants(const isa::Program& program, int32_t index) noexcept {
  if (index == 0) is_proved_ = has_all_waits(program);
  if (is_proved_) return {};
  const Inst& inst = program.insts()[index];
  const WaitEffect effect = isa::wait_effect_of(inst, program.target().major);
  const bool is_idle = inst.family == Family::kSopp && !effect.waits() && effect.issues == 0 &&
                       inst.implied_reads == 0;
  if (is_idle) return {};
  Site site;
  site.effect = effect;
  site.major = program.target().major;
  const NamedRegisters named = named_registers(inst);
  site.may_use_others = named.may_use_others;
  site.registers.add(named.reads);
  site.registers.add(named.writes);
  const uint64_t pc = program.pc_of(index).value;
  const auto [first, last] = sites_.equal_range(pc);
  auto kept = std::find_if(first, last, [&](const auto& one) { return *one.second == site; });
  if (kept == last) kept = sites_.emplace(pc, std::make_unique<Site>(site));
  return {.before = true,
          .accessing = effect.is_flat,
          .tag = reinterpret_cast<uintptr_t>(kept->second.get())};
}

Waitcheck::Waitcheck() = default;
Waitcheck::~Waitcheck() = default;

void Waitcheck::workgroup_began(const emu::Workgroup& group, void*& state) noexcept {
  auto* waves = new (std::nothrow) Group;
  if (waves != nullptr) waves->waves.resize(group.waves.size());
  state = waves;
}

void Waitcheck::workgroup_ended(const emu::Workgroup&, void*& state) noexcept {
  delete static_cast<Group*>(state);
  state = nullptr;
}

void Waitcheck::before(const emu::WatchPoint& at) noexcept {
  if (at.state == nullptr) return;
  WaveCounts& counts = static_cast<Group*>(at.state)->waves[at.wave.wave_in_group];
  const Site& site = *reinterpret_cast<const Site*>(at.tag);
  const WaitEffect& effect = site.effect;
  if (effect.waits()) {
    bool is_news = false;
    for (const WaitCounter counter : isa::kAllWaitCounters)
      is_news |=
          effect.limit(counter) != isa::kNoWait && counts.wait(counter, effect.limit(counter));
    if (is_news) counts.forget_done();
    return;
  }
  const bool may_meet =
      !counts.pending.empty() &&
      (site.may_use_others || at.wave.vgpr_index != 0 || counts.registers.meets(site.registers));
  if (effect.issues == 0 && !may_meet) return;
  emu::RegisterUses uses;
  emu::find_register_uses(at.wave, at.inst, uses);
  if (may_meet) check_uses(at, counts, uses);
  if (effect.issues == 0) return;
  counts.issue(effect, site.major);
  for (const RegisterUse& use : uses) {
    const bool is_empty = use.file != RegisterFile::kScalar && use.lanes == 0;
    if (!use.is_write || is_empty || !is_data(use)) continue;
    Pending& pending = counts.pending.emplace_back();
    pending.use = use;
    pending.pc = at.pc;
    pending.classes = effect.issues;
    std::copy(std::begin(counts.issued), std::end(counts.issued), pending.number);
    counts.registers.add(use.file, use.first, use.count);
  }
}

// Which memory the lanes of a flat instruction reach says which counter its registers need.
void Waitcheck::accessing(const emu::WatchPoint& at,
                          std::span<const emu::MemoryAccess> accesses) noexcept {
  if (at.state == nullptr) return;
  WaveCounts& counts = static_cast<Group*>(at.state)->waves[at.wave.wave_in_group];
  bool reaches_lds = false;
  bool reaches_memory = false;
  for (const emu::MemoryAccess& access : accesses) {
    if ((access.mask | access.outside) == 0) continue;
    (access.space == emu::Space::kLds ? reaches_lds : reaches_memory) = true;
  }
  uint8_t needed = 0;
  if (reaches_lds)
    needed = static_cast<uint8_t>(isa::bit_of(WaitClass::kFlat) | isa::bit_of(WaitClass::kLds));
  if (reaches_memory) needed |= isa::bit_of(WaitClass::kVector);
  for (Pending& pending : counts.pending)
    if (pending.pc == at.pc && pending.number[kVectorNumber] == counts.issued[kVectorNumber])
      pending.classes &= needed;
  counts.forget_done();
}

void Waitcheck::check_uses(const emu::WatchPoint& at, WaveCounts& counts,
                           const emu::RegisterUses& uses) {
  const uint8_t issues = reinterpret_cast<const Site*>(at.tag)->effect.issues;
  const size_t told = std::erase_if(counts.pending, [&](const Pending& pending) {
    for (const RegisterUse& use : uses) {
      if (!overlaps(pending.use, use)) continue;
      // What comes later in the same order overwrites what came before.
      const bool in_order = (pending.classes & ~(issues & isa::kOrderedWaitClasses)) == 0;
      if (use.is_write && in_order) continue;
      note(at, counts, pending, use, pending.use.lanes & use.lanes);
      return true;  // told once
    }
    return false;
  });
  if (told != 0) counts.find_pending_registers();
}

void Waitcheck::note(const emu::WatchPoint& at, const WaveCounts& counts, const Pending& pending,
                     const RegisterUse& use, uint64_t lanes) {
  Finding finding =
      finding_at(use.is_write ? Kind::kUnwaitedWrite : Kind::kUnwaitedRead, at, lanes);
  finding.has_other = true;
  finding.other_role = "loaded";
  finding.other = finding.place;
  finding.other.pc = pending.pc;
  finding.other.lanes = pending.use.lanes;
  finding.other.lane = pending.use.lanes == 0 ? 0 : __builtin_ctzll(pending.use.lanes);
  set_thread(finding.other, *at.wave.workgroup, at.wave.lanes);
  const uint32_t reg = std::max(pending.use.first, use.first);
  const char* file = use.file == RegisterFile::kScalar && reg >= isa::slot::kVccLo
                         ? "scalar register "
                     : use.file == RegisterFile::kScalar ? "s"
                     : use.file == RegisterFile::kVgpr   ? "v"
                                                         : "a";
  std::string& text = finding.detail;
  text = file;
  text += std::to_string(reg);
  text += use.is_write ? " is overwritten" : " is read";
  text += " before its load has been waited for; s_waitcnt";
  for (uint8_t of = 0; of < kWaitClasses; ++of) {
    if ((pending.classes >> of & 1) == 0) continue;
    text += " ";
    text += isa::name_of(isa::counter_of(class_at(of)));
    text += "(";
    text +=
        std::to_string(isa::is_ordered(class_at(of)) ? counts.issued[of] - pending.number[of] : 0);
    text += ")";
  }
  text += " is needed";
  findings().add(finding);
}

}  // namespace wavetap::sanitize
