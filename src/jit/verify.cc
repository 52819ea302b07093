#include "jit/verify.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "emu/lower.h"
#include "emu/wave.h"

namespace wavetap::jit {
namespace {

using emu::Wave;
using emu::WaveState;

struct Blocks {
  std::mutex mutex;
  std::map<const isa::Inst*, emu::Handler> compiled;
};
Blocks& blocks() {
  static Blocks* all = new Blocks();  // processes end while threads still run
  return *all;
}

// Everything that a block may change.
struct State {
  uint32_t s[isa::slot::kCount];
  bool scc;
  emu::FloatMode mode;
  uint8_t vgpr_index;
  bool gpr_index_mode;
  uint32_t mode_rest;
  uint32_t trap_status;
  WaveState state;
  int32_t pc;
  int64_t budget;
  int64_t extra;
  uint64_t jump_pc;
  emu::Fault fault;
  // A call may have gone on in another function, where the engine had its code at hand.
  const emu::LoweredCode* code;
  std::vector<uint32_t> v;
  std::vector<uint32_t> a;

  void take(const Wave& wave) {
    std::memcpy(s, wave.s, sizeof s);
    scc = wave.scc;
    mode = wave.mode;
    vgpr_index = wave.vgpr_index;
    gpr_index_mode = wave.gpr_index_mode;
    mode_rest = wave.mode_rest;
    trap_status = wave.trap_status;
    state = wave.state;
    pc = wave.pc;
    budget = wave.budget;
    extra = wave.extra;
    jump_pc = wave.jump_pc;
    fault = wave.fault;
    code = wave.code;
    v.assign(wave.v, wave.v + size_t{wave.vgpr_count} * wave.lanes);
    a.assign(wave.a, wave.a + (wave.a == nullptr ? 0 : size_t{wave.agpr_count} * wave.lanes));
  }
  bool has_mode_of(const Wave& wave) const {
    return mode == wave.mode && vgpr_index == wave.vgpr_index &&
           gpr_index_mode == wave.gpr_index_mode && mode_rest == wave.mode_rest &&
           trap_status == wave.trap_status;
  }
  void give(Wave& wave) const {
    if (wave.code != code) emu::enter(wave, *code, pc);
    std::memcpy(wave.s, s, sizeof s);
    wave.scc = scc;
    wave.mode = mode;
    wave.vgpr_index = vgpr_index;
    wave.gpr_index_mode = gpr_index_mode;
    wave.mode_rest = mode_rest;
    wave.trap_status = trap_status;
    wave.state = state;
    wave.pc = pc;
    wave.budget = budget;
    wave.extra = extra;
    wave.jump_pc = jump_pc;
    wave.fault = fault;
    std::memcpy(wave.v, v.data(), v.size() * sizeof(uint32_t));
    if (!a.empty()) std::memcpy(wave.a, a.data(), a.size() * sizeof(uint32_t));
  }
};

// Of the thread; a slice may be left by longjmp, so nothing in it owns memory.
struct Scratch {
  State before;
  State compiled;
};
Scratch& scratch() {
  thread_local const auto of_thread = std::make_unique<Scratch>();
  return *of_thread;
}

// The first difference between the wave, which handlers have brought here, and what compiled code
// made of it; false: there is none.
bool describe_difference(const Wave& wave, const State& compiled, char (&text)[160]) {
  const auto differs = [&](const char* what, unsigned long long x, unsigned long long y) {
    std::snprintf(text, sizeof text, "compiled code differs: %s is 0x%llx, 0x%llx interpreted",
                  what, y, x);
    return true;
  };
  char name[64];
  if (wave.code != compiled.code || wave.pc != compiled.pc)
    return differs("pc", static_cast<unsigned>(wave.pc), static_cast<unsigned>(compiled.pc));
  if (wave.state != compiled.state)
    return differs("state", static_cast<unsigned>(wave.state),
                   static_cast<unsigned>(compiled.state));
  if (wave.scc != compiled.scc) return differs("scc", wave.scc, compiled.scc);
  if (!compiled.has_mode_of(wave)) {
    std::snprintf(text, sizeof text, "compiled code differs: MODE");
    return true;
  }
  for (uint32_t at = 0; at < isa::slot::kCount; ++at) {
    if (wave.s[at] == compiled.s[at]) continue;
    std::snprintf(name, sizeof name, "s%u", at);
    return differs(name, wave.s[at], compiled.s[at]);
  }
  for (size_t i = 0; i < compiled.v.size(); ++i) {
    if (wave.v[i] == compiled.v[i]) continue;
    std::snprintf(name, sizeof name, "v%zu of lane %zu", i / wave.lanes, i % wave.lanes);
    return differs(name, wave.v[i], compiled.v[i]);
  }
  for (size_t i = 0; i < compiled.a.size(); ++i) {
    if (wave.a[i] == compiled.a[i]) continue;
    std::snprintf(name, sizeof name, "a%zu of lane %zu", i / wave.lanes, i % wave.lanes);
    return differs(name, wave.a[i], compiled.a[i]);
  }
  return false;
}

// Does the block once with compiled code and then with handlers, which leave the wave where they have brought it;
// false: they differ.
bool agree(Wave& wave, const isa::Inst& inst, emu::Handler compiled, char (&text)[160]) {
  Scratch& kept = scratch();
  compiled(wave, inst);
  const int64_t performed = wave.extra - kept.before.extra + 1;
  kept.compiled.take(wave);

  kept.before.give(wave);
  --wave.pc;
  const int32_t first = wave.pc;
  for (int64_t i = 0; i < performed; ++i) {
    const int32_t index = wave.pc++;
    wave.handlers[index](wave, (&inst)[index - first]);
  }
  return !describe_difference(wave, kept.compiled, text);
}

// The program, and waves of other threads, may write to memory between the two: a wave that waits for that reads
// one thing compiled and another interpreted. Code that is wrong is wrong each time.
constexpr int kTries = 8;

void run_both(Wave& wave, const isa::Inst& inst) {
  emu::Handler compiled = nullptr;
  {
    Blocks& all = blocks();
    const std::lock_guard lock(all.mutex);
    compiled = all.compiled[&inst];
  }
  Scratch& kept = scratch();
  kept.before.take(wave);
  char text[160];
  bool is_right = agree(wave, inst, compiled, text);
  for (int tries = 1; !is_right && tries < kTries; ++tries) {
    kept.before.give(wave);
    is_right = agree(wave, inst, compiled, text);
  }
  wave.budget = kept.compiled.budget;
  wave.extra = kept.compiled.extra;
  if (is_right) return;
  wave.pc = kept.before.pc;  // the fault is the block's
  wave.state = WaveState::kRunning;
  wave.raise(emu::FaultKind::kUnimplemented, text);
}

}  // namespace

emu::Handler verified(const isa::Inst& inst, emu::Handler compiled) {
  Blocks& all = blocks();
  const std::lock_guard lock(all.mutex);
  all.compiled[&inst] = compiled;
  return run_both;
}

void forget_verified(const isa::Inst& inst) {
  Blocks& all = blocks();
  const std::lock_guard lock(all.mutex);
  all.compiled.erase(&inst);
}

}  // namespace wavetap::jit
