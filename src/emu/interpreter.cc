// One indirect call per instruction and nothing else: what can be decided before running was
// decided in lower.cc. The counting loop is a copy, so that not counting costs nothing.
#include "emu/interpreter.h"

#include <bit>

#include "emu/compiler.h"
#include "emu/count.h"
#include "emu/lower.h"
#include "emu/watch_state.h"
#include "emu/wave.h"

namespace wavetap::emu {
namespace {

// The wave begins its slice at `pc` or jumped there. Threads that count the same place at once may
// lose a few; it becomes warm and hot once all the same.
void note_arrival(Wave& wave, int32_t pc) {
  if (wave.heat == nullptr) return;
  std::atomic<uint32_t>& heat = wave.heat[pc];
  const uint32_t arrivals = heat.load(std::memory_order_relaxed);
  if (arrivals >= kHotArrivals) return;
  if (arrivals + 1 == kWarmArrivals || arrivals + 1 == kHotArrivals) {
    if (wave.hot_code != nullptr) return;  // one at a time: next time, then
    wave.hot_code = wave.code;
    wave.hot_pc = pc;
    wave.hot_heat = arrivals + 1 == kHotArrivals ? Heat::kHot : Heat::kWarm;
  }
  heat.store(arrivals + 1, std::memory_order_relaxed);
}

// Likewise, after a jump; a slice that is over with it does not count it, as the next begins there.
// Not inlined: the budget would be loaded before every comparison of run_plain(), a tenth slower.
[[gnu::noinline]] void note_jump(Wave& wave, int32_t pc, int64_t done) {
  if (done + 1 < wave.budget) note_arrival(wave, pc);
}

// wave.pc and wave.done are always stored, as handlers and compiled code read them, but normally not
// read back: that would put a store and the load behind it between any two instructions. What jumped
// is noticed by comparing, with a copy of the expected place: the compiler would go on with what it
// loaded, once it knows that it is the same. From a slice's second step on.
int64_t run_plain(Wave& wave) {
  const Step* steps = wave.steps;
  int32_t pc = wave.pc;
  int64_t done = 1;
  do {
    const Step& step = steps[pc];
    wave.pc = ++pc;
    wave.done = done;
    step.load()(wave, *step.inst);
    int32_t expected = pc;
    asm("" : "+r"(expected));
    if (wave.pc != expected || wave.steps != steps) [[unlikely]] {
      pc = wave.pc;
      steps = wave.steps;
      if (wave.heat != nullptr) note_jump(wave, pc, done);
    }
  } while (++done < wave.budget);
  return done;
}

void count(Counters& counters, const StepCount& what, uint64_t exec, uint32_t lanes) {
  ++counters.instructions;
  counters.modelled_cycles += what.cycles;
  switch (what.type) {
    case StepCount::kValu: {
      const auto active = static_cast<uint64_t>(std::popcount(exec));
      ++counters.valu;
      counters.valu_lanes += active;
      counters.valu_lane_slots += lanes;
      if ((what.flops_f16 | what.flops_f32 | what.flops_f64) == 0) break;
      counters.flops_f16 += active * what.flops_f16;
      counters.flops_f32 += active * what.flops_f32;
      counters.flops_f64 += active * what.flops_f64;
      break;
    }
    case StepCount::kMatrix:
      ++counters.matrix;
      counters.flops_matrix += what.flops;
      break;
    case StepCount::kSalu: ++counters.salu; break;
    case StepCount::kSmem: ++counters.smem; break;
    case StepCount::kVmemLoad: ++counters.vmem_load; break;
    case StepCount::kVmemStore: ++counters.vmem_store; break;
    case StepCount::kVmemAtomic: ++counters.vmem_atomic; break;
    case StepCount::kLds: ++counters.lds; break;
    case StepCount::kBranch: ++counters.branch; break;
    case StepCount::kBarrier: ++counters.barrier; break;
    case StepCount::kMessage: ++counters.message; break;
    case StepCount::kWait: ++counters.waitcnt; break;
    case StepCount::kOther:
    case StepCount::kNothing: break;
  }
}

// As above; compiled code does not count, so that `handlers` are run.
int64_t run_counting(Wave& wave) {
  Counters& counters = *wave.watch->counters;
  const Step* steps = wave.steps;
  const Handler* handlers = wave.handlers;
  const StepCount* counts = wave.counts;
  int32_t pc = wave.pc;
  int64_t done = 0;
  do {
    const Handler run = handlers[pc];
    const isa::Inst& inst = *steps[pc].inst;
    const StepCount& what = counts[pc];
    wave.pc = ++pc;
    const bool goes_together = wave.turn_ends_left != 0 || wave.has_ended_turn;
    if (goes_together && wave.code->ends_turn(pc - 1) && wave.ends_turn()) continue;
    // Before the instruction: it may change EXEC. One that waits is counted when it is first tried.
    if (what.type != StepCount::kNothing && !wave.waits_for_sync)
      count(counters, what, wave.exec(), wave.lanes);
    run(wave, inst);
    if (wave.pc != pc || wave.steps != steps) {
      pc = wave.pc;
      steps = wave.steps;
      handlers = wave.handlers;
      counts = wave.counts;
    }
  } while (++done < wave.budget);
  return done;
}

}  // namespace

// Places where compiled code ran are hot and need no counting.
void finish_plain_slice(Wave& wave) {
  const int32_t begin = wave.slice_begin;
  if (wave.extra == 0 && begin >= 0) note_arrival(wave, begin);
  int64_t done = 1;
  if (done < wave.budget) {
    if (begin < 0 || wave.pc != begin + 1) note_arrival(wave, wave.pc);
    done = run_plain(wave);
  }
  wave.executed += static_cast<uint64_t>(done + wave.extra);
}

void run_slice(Wave& wave) {
  const bool counts = wave.watch != nullptr && wave.watch->counters != nullptr;
  if (!counts) return run_plain_slice(wave);
  wave.extra = 0;
  wave.executed += static_cast<uint64_t>(run_counting(wave));
}

}  // namespace wavetap::emu
