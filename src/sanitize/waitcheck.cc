#include "sanitize/waitcheck.h"

#include <algorithm>
#include <new>
#include <string_view>

#include "emu/wave.h"
#include "emu/workgroup.h"
#include "isa/program.h"

namespace wavetap::sanitize {
namespace {

using emu::RegisterFile;
using emu::RegisterUse;
using isa::Family;
using isa::Inst;
using isa::Op;

// What finishes in order; each class belongs to one counter.
enum Class : uint8_t {
  kVector,   // vmcnt
  kLds,      // lgkmcnt
  kGds,      // lgkmcnt
  kScalar,   // lgkmcnt; in any order
  kMessage,  // lgkmcnt; in any order
  kFlat,     // lgkmcnt; in any order. gfx9 alone: later ones keep flat and LDS operations in order
  kClasses,
};
constexpr uint8_t kOrderedClasses = 1u << kVector | 1u << kLds | 1u << kGds;
constexpr bool is_ordered(uint8_t of) { return (kOrderedClasses >> of & 1) != 0; }
constexpr bool is_vmcnt(uint8_t of) { return of == kVector; }

constexpr uint8_t kNoWait = 0xff;

// What an instruction does to the counters, worked out once: WatchPoint::tag.
struct Effect {
  uint8_t issues = 0;  // bit per class
  uint8_t vmcnt = kNoWait;
  uint8_t lgkmcnt = kNoWait;
  uint8_t full_lgkmcnt = 0;  // as high as the counter goes
  bool is_flat = false;

  bool waits() const { return vmcnt != kNoWait || lgkmcnt != kNoWait; }
  uintptr_t packed() const {
    return uintptr_t{issues} | uintptr_t{vmcnt} << 8 | uintptr_t{lgkmcnt} << 16 |
           uintptr_t{full_lgkmcnt} << 24 | uintptr_t{is_flat} << 32;
  }
  static Effect unpacked(uintptr_t tag) {
    return {static_cast<uint8_t>(tag), static_cast<uint8_t>(tag >> 8),
            static_cast<uint8_t>(tag >> 16), static_cast<uint8_t>(tag >> 24), (tag >> 32 & 1) != 0};
  }
};
static_assert(sizeof(uintptr_t) == 8);
constexpr uint8_t kFullVmcnt = 63;

// The fields of s_waitcnt; all ones means that it does not wait.
Effect decode_wait(uint32_t imm, uint8_t major, uint8_t full_lgkmcnt) {
  Effect effect;
  uint32_t vmcnt = 0;
  uint32_t lgkmcnt = 0;
  if (major >= 11) {
    vmcnt = imm >> 10 & 63;
    lgkmcnt = imm >> 4 & 63;
  } else {
    vmcnt = (imm & 15) | (imm >> 14 & 3) << 4;
    lgkmcnt = imm >> 8 & full_lgkmcnt;
  }
  if (vmcnt < kFullVmcnt) effect.vmcnt = static_cast<uint8_t>(vmcnt);
  if (lgkmcnt < full_lgkmcnt) effect.lgkmcnt = static_cast<uint8_t>(lgkmcnt);
  return effect;
}

bool is_cache_invalidate(Op op) {
  const std::string_view name = isa::op_name(op);
  return name.find("inv") != std::string_view::npos;
}

bool is_flat(const Inst& inst) {
  return inst.family == Family::kFlat &&
         std::string_view(isa::op_name(inst.op)).starts_with("flat_");
}

uint8_t classes_of(const Inst& inst, bool has_vscnt) {
  const auto bit = [](Class of) { return static_cast<uint8_t>(1u << of); };
  switch (inst.family) {
    case Family::kSmem: return bit(kScalar);
    case Family::kDs: return inst.gds ? bit(kGds) : bit(kLds);
    case Family::kMubuf:
    case Family::kImage:
    case Family::kFlat: {
      if (is_cache_invalidate(inst.op)) return 0;
      const bool returns = inst.dst.kind != isa::OperandKind::kNone || inst.lds;
      const uint8_t vector = returns || !has_vscnt ? bit(kVector) : uint8_t{0};
      const uint8_t shared = has_vscnt ? bit(kLds) : bit(kFlat);
      return is_flat(inst) ? vector | shared : vector;
    }
    default: break;
  }
  const bool is_message = inst.op == Op::s_sendmsg || inst.op == Op::s_sendmsg_rtn_b32 ||
                          inst.op == Op::s_sendmsg_rtn_b64;
  return is_message ? bit(kMessage) : uint8_t{0};
}

Effect effect_of(const Inst& inst, uint8_t major) {
  const uint8_t full_lgkmcnt = major >= 10 ? 63 : 15;
  Effect effect;
  const auto imm = static_cast<uint32_t>(inst.imm16) & 0xffffu;
  switch (inst.op) {
    case Op::s_waitcnt: effect = decode_wait(imm, major, full_lgkmcnt); break;
    case Op::s_waitcnt_vmcnt:
      effect.vmcnt = imm < kFullVmcnt ? static_cast<uint8_t>(imm) : kNoWait;
      break;
    case Op::s_waitcnt_lgkmcnt:
      effect.lgkmcnt = imm < full_lgkmcnt ? static_cast<uint8_t>(imm) : kNoWait;
      break;
    default: effect.issues = classes_of(inst, major >= 10); effect.is_flat = is_flat(inst);
  }
  effect.full_lgkmcnt = full_lgkmcnt;
  return effect;
}

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

// One register range that a load has not surely filled.
struct Waitcheck::Pending {
  RegisterUse use;
  GpuAddr pc;
  // Bit per class that has to get this far; 0: done.
  uint8_t classes = 0;
  uint64_t number[kClasses] = {};  // of the operation in its class, from 1
};

struct Waitcheck::WaveCounts {
  uint64_t issued[kClasses] = {};
  uint64_t done[kClasses] = {};  // surely
  std::vector<Pending> pending;

  // The counter of `vmcnt` or lgkmcnt is at `most` or below.
  void wait(bool vmcnt, uint64_t most) {
    for (uint8_t of = 0; of < kClasses; ++of) {
      if (is_vmcnt(of) != vmcnt || (most != 0 && !is_ordered(of))) continue;
      if (issued[of] > most) done[of] = std::max(done[of], issued[of] - most);
    }
  }

  void forget_done() {
    std::erase_if(pending, [&](Pending& one) {
      for (uint8_t of = 0; of < kClasses; ++of)
        if ((one.classes >> of & 1) != 0 && one.number[of] <= done[of])
          one.classes = static_cast<uint8_t>(one.classes & ~(1u << of));
      return one.classes == 0;
    });
  }

  void issue(const Effect& effect) {
    for (uint8_t of = 0; of < kClasses; ++of) {
      if ((effect.issues >> of & 1) == 0) continue;
      // A full counter lets nothing more be issued.
      wait(is_vmcnt(of), (is_vmcnt(of) ? kFullVmcnt : effect.full_lgkmcnt) - 1u);
      ++issued[of];
    }
  }
};

struct Waitcheck::Group {
  std::vector<WaveCounts> waves;
};

emu::Wants Waitcheck::wants(const isa::Program& program, int32_t index) noexcept {
  const Inst& inst = program.insts()[index];
  const Effect effect = effect_of(inst, program.target().major);
  const bool is_idle = inst.family == Family::kSopp && !effect.waits() && effect.issues == 0 &&
                       inst.implied_reads == 0;
  if (is_idle) return {};
  return {.before = true, .accessing = effect.is_flat, .tag = effect.packed()};
}

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
  const Effect effect = Effect::unpacked(at.tag);
  if (effect.waits()) {
    if (effect.vmcnt != kNoWait) counts.wait(true, effect.vmcnt);
    if (effect.lgkmcnt != kNoWait) counts.wait(false, effect.lgkmcnt);
    counts.forget_done();
    return;
  }
  if (counts.pending.empty() && effect.issues == 0) return;
  emu::RegisterUses uses;
  emu::find_register_uses(at.wave, at.inst, uses);
  if (!counts.pending.empty()) check_uses(at, counts, uses);
  if (effect.issues == 0) return;
  counts.issue(effect);
  counts.forget_done();
  for (const RegisterUse& use : uses) {
    const bool is_empty = use.file != RegisterFile::kScalar && use.lanes == 0;
    if (!use.is_write || is_empty || !is_data(use)) continue;
    Pending& pending = counts.pending.emplace_back();
    pending.use = use;
    pending.pc = at.pc;
    pending.classes = effect.issues;
    std::copy(std::begin(counts.issued), std::end(counts.issued), pending.number);
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
  if (reaches_lds) needed |= 1u << kFlat | 1u << kLds;
  if (reaches_memory) needed |= 1u << kVector;
  for (Pending& pending : counts.pending)
    if (pending.pc == at.pc && pending.number[kVector] == counts.issued[kVector])
      pending.classes &= needed;
  counts.forget_done();
}

void Waitcheck::check_uses(const emu::WatchPoint& at, WaveCounts& counts,
                           const emu::RegisterUses& uses) {
  const uint8_t issues = Effect::unpacked(at.tag).issues;
  std::erase_if(counts.pending, [&](const Pending& pending) {
    for (const RegisterUse& use : uses) {
      if (!overlaps(pending.use, use)) continue;
      // What comes later in the same order overwrites what came before.
      const bool in_order = (pending.classes & ~(issues & kOrderedClasses)) == 0;
      if (use.is_write && in_order) continue;
      note(at, counts, pending, use, pending.use.lanes & use.lanes);
      return true;  // told once
    }
    return false;
  });
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
  for (uint8_t of = 0; of < kClasses; ++of) {
    if ((pending.classes >> of & 1) == 0) continue;
    text += is_vmcnt(of) ? " vmcnt(" : " lgkmcnt(";
    text += std::to_string(is_ordered(of) ? counts.issued[of] - pending.number[of] : 0);
    text += ")";
  }
  text += " is needed";
  findings().add(finding);
}

}  // namespace wavetap::sanitize
