#include "sanitize/wait_states.h"

#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <unordered_map>

#include "emu/wave.h"
#include "emu/workgroup.h"
#include "isa/program.h"
#include "sanitize/code_flow.h"

namespace wavetap::sanitize {
namespace {

using isa::Op;
using Why = WaitStateGap::Why;

// Who leaves the code for another function spends more than any rule asks for.
constexpr uint32_t kFar = 64;
uint32_t clock_states(const isa::Inst& inst, const WaitStateFacts& facts) {
  return flow_of(inst) == Flow::kEnd ? kFar : facts.states;
}

// Follows every way from one instruction on.
class Walk {
 public:
  Walk(const isa::Program& program, const std::vector<WaitStateFacts>& facts,
       std::vector<WaitStateGap>& gaps)
      : program_(program), target_(program.target()), facts_(facts), gaps_(gaps) {}

  void from(int32_t first) {
    first_ = first;
    const WaitStateFacts& facts = facts_[static_cast<size_t>(first)];
    reach_ = facts.reach();
    Way way;
    for (size_t i = 0; i < facts.write_count; ++i)
      way.live[i] = facts.writes[i].count >= 32 ? ~0u : (1u << facts.writes[i].count) - 1;
    begun_ = gaps_.size();
    steps_left_ = kMostSteps;
    follow(first, way);
    while (!stack_.empty()) {
      Way next = stack_.back();
      stack_.pop_back();
      go(next);
    }
  }

 private:
  // Loops of a few instructions have many ways round; no rule reaches further than 19 wait states.
  static constexpr int kMostSteps = 4096;

  struct Way {
    int32_t index = 0;
    uint32_t states = 0;             // between the first instruction and this one
    std::array<uint32_t, 4> live{};  // registers of each write that nobody has written since
    bool saw_double = false;         // a matrix instruction of f64 on the way
    bool after_move = false;  // the instruction before moves to or from an accumulation register
  };

  void follow(int32_t index, Way way) {
    const isa::Inst& inst = program_.insts()[index];
    const Flow flow = flow_of(inst);
    const auto push = [&](int32_t to) {
      if (to < 0 || to >= program_.size()) return;
      way.index = to;
      stack_.push_back(way);
    };
    if (flow == Flow::kNext || flow == Flow::kEither) push(index + 1);
    if (flow == Flow::kJump || flow == Flow::kEither) push(inst.target);
  }

  void go(Way& way) {
    if (way.states >= reach_ || --steps_left_ < 0) return;
    check(way);
    const WaitStateFacts& second = facts_[static_cast<size_t>(way.index)];
    const WaitStateFacts& first = facts_[static_cast<size_t>(first_)];
    bool is_any = first.write_count == 0 || first.is_matrix;
    for (size_t i = 0; i < way.live.size(); ++i) {
      if (way.live[i] == 0) continue;
      for (const RegisterRange& range : second.all_writes())
        way.live[i] &= ~first.writes[i].common(range);
      is_any |= way.live[i] != 0;
    }
    if (!is_any) return;
    way.states += second.states;
    way.saw_double |= second.is_double;
    way.after_move = second.op == Op::v_accvgpr_read_b32 || second.op == Op::v_accvgpr_write_b32;
    follow(way.index, way);
  }

  void check(const Way& way) {
    const WaitStateFacts& first = facts_[static_cast<size_t>(first_)];
    const WaitStateFacts& second = facts_[static_cast<size_t>(way.index)];
    for (size_t i = 0; i < first.write_count; ++i) {
      const RegisterRange& written = first.writes[i];
      for (const RegisterRange& read : second.all_reads()) {
        const uint32_t common = written.common(read) & way.live[i];
        if (common == 0) continue;
        uint32_t needed = states_before_read(target_, first, written, second, read);
        needed = std::max(needed, states_on_the_way(way, first, written, second));
        note(way, needed, Why::kRead, written, common);
      }
      for (const RegisterRange& range : second.all_writes())
        if (const uint32_t common = written.common(range) & way.live[i]; common != 0)
          note(way, states_before_write(target_, first, written, second), Why::kOverwritten,
               written, common);
    }
    for (const RegisterRange& read : first.all_reads())
      for (const RegisterRange& range : second.all_writes())
        if (const uint32_t common = read.common(range); common != 0)
          note(way, states_after_read(target_, first, read, second), Why::kStillRead, read, common);
    const Why why = first.is_double ? Why::kDouble : first.is_vector ? Why::kExec : Why::kMode;
    note(way, states_between(target_, first, second), why, {}, 0);
  }

  // What the hardware would see to, were it not for the instruction between.
  uint32_t states_on_the_way(const Way& way, const WaitStateFacts& first,
                             const RegisterRange& written, const WaitStateFacts& second) const {
    if (!first.is_vector || !written.is_vector() || !second.is_memory) return 0;
    if (target_.minor == 0 && target_.stepping == 10 && way.saw_double) return 2;
    const bool is_plain = !first.is_matrix && first.op != Op::v_accvgpr_read_b32 &&
                          first.op != Op::v_accvgpr_write_b32;
    // gfx908: one after the move, when the result is that new.
    const bool is_new = way.states < 2;
    if (target_.minor == 0 && target_.stepping == 8 && way.after_move && is_plain && is_new)
      return way.states + 1;
    return 0;
  }

  void note(const Way& way, uint32_t needed, Why why, RegisterRange registers, uint32_t common) {
    if (needed <= way.states) return;
    if (common != 0)
      registers.first = static_cast<uint16_t>(registers.first + __builtin_ctz(common));
    for (size_t i = begun_; i < gaps_.size(); ++i) {
      WaitStateGap& known = gaps_[i];
      if (known.second != way.index) continue;
      if (needed - way.states > known.needed - known.there)
        known = {first_, way.index, needed, way.states, why, registers};
      return;
    }
    gaps_.push_back({first_, way.index, needed, way.states, why, registers});
  }

  const isa::Program& program_;
  const amd::GfxTarget target_;
  const std::vector<WaitStateFacts>& facts_;
  std::vector<WaitStateGap>& gaps_;
  int32_t first_ = 0;
  uint32_t reach_ = 0;
  size_t begun_ = 0;
  int steps_left_ = 0;
  std::vector<Way> stack_;
};

std::string register_text(const RegisterRange& range) {
  const bool is_scalar = range.file == emu::RegisterFile::kScalar;
  if (is_scalar && range.first == isa::slot::kM0) return "m0";
  if (is_scalar && (range.first == isa::slot::kVccLo || range.first == isa::slot::kVccHi))
    return "vcc";
  std::string text(1, is_scalar ? 's' : range.file == emu::RegisterFile::kVgpr ? 'v' : 'a');
  text += std::to_string(range.first);
  return text;
}

std::string detail_of(const WaitStateGap& gap, uint64_t there) {
  std::string text;
  switch (gap.why) {
    case Why::kRead: text = register_text(gap.registers) + " is read "; break;
    case Why::kOverwritten: text = register_text(gap.registers) + " is overwritten "; break;
    case Why::kStillRead:
      text = register_text(gap.registers) + ", which is still being read, is overwritten ";
      break;
    case Why::kMode: text = "the mode register is used "; break;
    case Why::kExec: text = "exec is used "; break;
    case Why::kDouble: text = "it comes "; break;
  }
  text += std::to_string(there) + (there == 1 ? " wait state after; " : " wait states after; ");
  return text + std::to_string(gap.needed) + " are needed: s_nop " +
         std::to_string(gap.needed - there - 1) + " before it";
}

}  // namespace

std::vector<WaitStateGap> find_wait_state_gaps(const isa::Program& program) {
  std::vector<WaitStateGap> gaps;
  if (!has_wait_states(program.target())) return gaps;
  std::vector<WaitStateFacts> facts;
  facts.reserve(static_cast<size_t>(program.size()));
  for (int32_t i = 0; i < program.size(); ++i)
    facts.push_back(wait_state_facts(program.insts()[i], program.target()));
  Walk walk(program, facts, gaps);
  for (int32_t i = 0; i < program.size(); ++i) {
    const WaitStateFacts& first = facts[static_cast<size_t>(i)];
    if (first.write_count != 0 || first.is_wide_store || first.hwreg != 0xffff) walk.from(i);
  }
  return gaps;
}

// An instruction of code in which something is too close: WatchPoint::tag.
struct WaitStates::Site {
  uint32_t states = 1;
  bool is_first = false;
  std::vector<WaitStateGap> gaps;      // in which it is the second
  std::vector<GpuAddr> first_address;  // of each of them
};

struct WaitStates::Group {
  struct OneWave {
    uint64_t clock = kFar;
    std::unordered_map<uint64_t, uint64_t> ran;  // the clock after an instruction, by address
  };
  std::vector<OneWave> waves;
};

WaitStates::WaitStates() = default;
WaitStates::~WaitStates() = default;

const std::vector<WaitStates::Site>* WaitStates::find_sites(const isa::Program& program) {
  const std::vector<WaitStateGap> gaps = find_wait_state_gaps(program);
  if (gaps.empty()) return nullptr;
  auto sites = std::make_unique<std::vector<Site>>(static_cast<size_t>(program.size()));
  for (int32_t i = 0; i < program.size(); ++i)
    (*sites)[static_cast<size_t>(i)].states =
        clock_states(program.insts()[i], wait_state_facts(program.insts()[i], program.target()));
  for (const WaitStateGap& gap : gaps) {
    (*sites)[static_cast<size_t>(gap.first)].is_first = true;
    Site& second = (*sites)[static_cast<size_t>(gap.second)];
    second.gaps.push_back(gap);
    second.first_address.push_back(program.pc_of(gap.first));
  }
  kept_.push_back(std::move(sites));
  return kept_.back().get();
}

emu::Wants WaitStates::wants(const isa::Program& program, int32_t index) noexcept {
  if (!has_wait_states(program.target())) return {};
  if (index == 0) sites_ = find_sites(program);
  if (sites_ == nullptr) return {};
  return {.before = true,
          .tag = reinterpret_cast<uintptr_t>(&(*sites_)[static_cast<size_t>(index)])};
}

void WaitStates::workgroup_ended(const emu::Workgroup&, void*& state) noexcept {
  delete static_cast<Group*>(state);
  state = nullptr;
}

void WaitStates::before(const emu::WatchPoint& at) noexcept {
  if (at.state == nullptr) {
    auto* made = new (std::nothrow) Group;
    if (made == nullptr) return;
    made->waves.resize(at.wave.workgroup->waves.size());
    at.state = made;
  }
  Group::OneWave& wave = static_cast<Group*>(at.state)->waves[at.wave.wave_in_group];
  const Site& site = *reinterpret_cast<const Site*>(at.tag);
  for (size_t i = 0; i < site.gaps.size(); ++i) {
    const auto ran = wave.ran.find(site.first_address[i].value);
    if (ran == wave.ran.end()) continue;
    const uint64_t there = wave.clock - ran->second;
    if (there < site.gaps[i].needed) note(at, site.gaps[i], site.first_address[i], there);
  }
  wave.clock += site.states;
  if (site.is_first) wave.ran[at.pc.value] = wave.clock;
}

void WaitStates::note(const emu::WatchPoint& at, const WaitStateGap& gap, GpuAddr first,
                      uint64_t there) {
  Finding finding = finding_at(Kind::kMissingWaitState, at, at.wave.exec());
  finding.has_other = true;
  finding.other_role = "after";
  finding.other = finding.place;
  finding.other.pc = first;
  finding.detail = detail_of(gap, there);
  findings().add(finding);
}

}  // namespace wavetap::sanitize
