#include "sanitize/barrier_waits.h"

#include "sanitize/code_flow.h"

namespace wavetap::sanitize {
namespace {

using isa::WaitClass;
using isa::WaitCounter;
using isa::WaitEffect;

constexpr uint8_t kFirstMajor = 10;

struct Class {
  WaitCounter counter;
  uint8_t issued_by;  // bits of WaitClass
};
// By OpenClass. A flat instruction may reach LDS and is in order with it.
constexpr Class kClasses[] = {
    {WaitCounter::kLgkmcnt, isa::bit_of(WaitClass::kLds) | isa::bit_of(WaitClass::kFlat)},
    {WaitCounter::kVscnt, isa::bit_of(WaitClass::kStore)},
    {WaitCounter::kVmcnt, isa::bit_of(WaitClass::kVector)},
};
static_assert(std::size(kClasses) == kOpenClasses);

// What may be under way behind an instruction, by bit of OpenClass.
uint8_t open_after(const WaitEffect& effect, uint8_t open) {
  for (size_t of = 0; of < kOpenClasses; ++of) {
    const auto bit = static_cast<uint8_t>(1u << of);
    if (effect.limit(kClasses[of].counter) == 0) open &= static_cast<uint8_t>(~bit);
    if ((effect.issues & kClasses[of].issued_by) != 0) open |= bit;
  }
  return open;
}

}  // namespace

bool may_pass_barriers_early(const isa::Program& program) {
  const uint8_t major = program.target().major;
  const int32_t count = program.size();
  if (major < kFirstMajor || count == 0) return false;
  bool has_barrier = false;
  for (int32_t i = 0; i < count; ++i) {
    const isa::Inst& inst = program.insts()[i];
    if (leaves_program(inst)) return false;
    has_barrier |= inst.op == isa::Op::s_barrier;
  }
  if (!has_barrier) return false;
  constexpr uint8_t kNotReached = 0xff;
  std::vector<uint8_t> before(static_cast<size_t>(count), kNotReached);
  std::vector<int32_t> waiting{0};
  before[0] = 0;
  const auto arrive = [&](int32_t to, uint8_t open) {
    if (to < 0 || to >= count) return;
    uint8_t& known = before[static_cast<size_t>(to)];
    if (known != kNotReached && (open & ~known) == 0) return;
    known = known == kNotReached ? open : known | open;
    waiting.push_back(to);
  };
  while (!waiting.empty()) {
    const int32_t index = waiting.back();
    waiting.pop_back();
    const isa::Inst& inst = program.insts()[index];
    const uint8_t open = before[static_cast<size_t>(index)];
    if (inst.op == isa::Op::s_barrier && open != 0) return true;
    const uint8_t after = open_after(isa::wait_effect_of(inst, major), open);
    const Flow flow = flow_of(inst);
    if (flow == Flow::kNext || flow == Flow::kEither) arrive(index + 1, after);
    if (flow == Flow::kJump || flow == Flow::kEither) arrive(inst.target, after);
  }
  return false;
}

void OpenOperations::issue(const WaitEffect& effect, uint16_t clock) {
  for (size_t of = 0; of < kOpenClasses; ++of) {
    if ((effect.issues & kClasses[of].issued_by) == 0) continue;
    std::vector<uint16_t>& clocks = clocks_[of];
    // A full counter lets nothing more be issued.
    if (clocks.size() >= isa::full_count(kClasses[of].counter, kFirstMajor))
      clocks.erase(clocks.begin());
    clocks.push_back(clock);
  }
}

void OpenOperations::wait(const WaitEffect& effect) {
  for (size_t of = 0; of < kOpenClasses; ++of) {
    const uint8_t most = effect.limit(kClasses[of].counter);
    std::vector<uint16_t>& clocks = clocks_[of];
    if (most == isa::kNoWait || clocks.size() <= most) continue;
    clocks.erase(clocks.begin(), clocks.end() - most);
  }
}

}  // namespace wavetap::sanitize
