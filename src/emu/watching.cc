#include "emu/watching.h"

#include <atomic>

#include "emu/count_access.h"
#include "emu/register_use.h"
#include "emu/span_finding.h"
#include "emu/watch_state.h"

namespace wavetap::emu {
namespace {

std::atomic<uint64_t> g_last_id{0};

WatchPoint point_of(Wave& wave, const isa::Inst& inst, const WatchedStep& step, size_t watcher) {
  return {wave, inst, step.pc, step.tags[watcher], wave.watch->state[watcher]};
}

void keep(KeptAccesses& kept, std::span<const MemoryAccess> accesses) {
  for (const MemoryAccess& access : accesses) {
    if (kept.count == kMaxAccesses) return;
    MemoryAccess& copy = kept.access[kept.count] = access;
    uint64_t* const address = kept.address[kept.count++];
    for_each_lane(access.mask | access.outside,
                  [&](int lane) { address[lane] = access.address[lane]; });
    copy.address = address;
  }
}

void tell_accesses(Wave& wave, const isa::Inst& inst, const WatchedStep& step, uint32_t telling) {
  Watch& watch = *wave.watch;
  watch.now = &step;
  watch.telling = telling;
  wave.notes_accesses = true;
  step.run(wave, inst);
  watch.now = nullptr;
  wave.notes_accesses = watch.counters != nullptr;
}

// The Step of an instruction that has one watcher, who screens.
template <SpanPlan::Kind kKind, int kLanes>
void run_screened(Wave& wave, const isa::Inst& inst) {
  const WatchedStep& step = wave.watched[wave.pc - 1];
  ByteSpan span;
  const bool is_known = find_span_of<kKind, kLanes>(wave, inst, step.span, &span);
  if (kKind == SpanPlan::Kind::kLds && is_known && step.leaves_out_lds && span.is_aligned() &&
      span.end <= wave.dispatch->group_segment_bytes)
    return step.run(wave, inst);
  const WatchPoint at{wave, inst, step.pc, step.tag, wave.watch->state[step.watcher]};
  if (!step.screener->screen(at, is_known ? &span : nullptr)) return step.run(wave, inst);
  tell_accesses(wave, inst, step, step.accessing);
}

template <int kLanes>
Handler find_screened(SpanPlan::Kind kind) {
  switch (kind) {
    case SpanPlan::Kind::kNone: break;
    case SpanPlan::Kind::kLds: return run_screened<SpanPlan::Kind::kLds, kLanes>;
    case SpanPlan::Kind::kVector: return run_screened<SpanPlan::Kind::kVector, kLanes>;
    case SpanPlan::Kind::kScalarBase: return run_screened<SpanPlan::Kind::kScalarBase, kLanes>;
    case SpanPlan::Kind::kScalar: return run_screened<SpanPlan::Kind::kScalar, kLanes>;
  }
  return run_watched_screened;
}

}  // namespace

Watcher::Watcher() : id_(g_last_id.fetch_add(1, std::memory_order_relaxed) + 1) {}

void run_watched(Wave& wave, const isa::Inst& inst) {
  // The handler may change where the wave is.
  const WatchedStep& step = wave.watched[wave.pc - 1];
  Watch& watch = *wave.watch;
  // An instruction that waits is tried again and again, and is told of once.
  if (!wave.waits_for_sync) {
    watch.for_each(step.before, [&](Watcher& watcher, size_t i) {
      watcher.before(point_of(wave, inst, step, i));
    });
    if (step.uses_registers != 0) {
      RegisterUses uses;
      find_register_uses(wave, inst, uses);
      watch.for_each(step.uses_registers, [&](Watcher& watcher, size_t i) {
        watcher.uses_registers(point_of(wave, inst, step, i), uses.span());
      });
    }
    if (wave.state == WaveState::kFaulted) return;
  }
  watch.kept->count = 0;
  watch.now = &step;
  watch.telling = step.accessing;
  wave.notes_accesses = watch.counters != nullptr || (step.accessing | step.accessed) != 0;
  step.run(wave, inst);
  watch.now = nullptr;
  wave.notes_accesses = watch.counters != nullptr;
  if (wave.waits_for_sync) return;
  if (watch.kept->count != 0 && wave.state != WaveState::kFaulted) {
    const std::span<const MemoryAccess> accesses(watch.kept->access, watch.kept->count);
    watch.for_each(step.accessed, [&](Watcher& watcher, size_t i) {
      watcher.accessed(point_of(wave, inst, step, i), accesses);
    });
  }
  watch.for_each(step.after,
                 [&](Watcher& watcher, size_t i) { watcher.after(point_of(wave, inst, step, i)); });
}

namespace {

[[gnu::noinline]] void run_watched_before_by_several(Wave& wave, const isa::Inst& inst) {
  const WatchedStep& step = wave.watched[wave.pc - 1];
  if (!wave.waits_for_sync) {
    wave.watch->for_each(step.before, [&](Watcher& watcher, size_t i) {
      watcher.before(point_of(wave, inst, step, i));
    });
    if (wave.state == WaveState::kFaulted) return;
  }
  step.run(wave, inst);
}

}  // namespace

void run_watched_before(Wave& wave, const isa::Inst& inst) {
  const WatchedStep& step = wave.watched[wave.pc - 1];
  // Nearly always it is one who wants to hear of it.
  if (wave.waits_for_sync || step.before != 1) return run_watched_before_by_several(wave, inst);
  wave.watch->watchers[0]->before(point_of(wave, inst, step, 0));
  if (wave.state == WaveState::kFaulted) return;
  step.run(wave, inst);
}

void run_watched_accessing(Wave& wave, const isa::Inst& inst) {
  const WatchedStep& step = wave.watched[wave.pc - 1];
  tell_accesses(wave, inst, step, step.accessing);
}

void run_watched_screened(Wave& wave, const isa::Inst& inst) {
  const WatchedStep& step = wave.watched[wave.pc - 1];
  Watch& watch = *wave.watch;
  ByteSpan span;
  const bool is_known = find_span(wave, inst, step.span, &span);
  uint32_t telling = step.accessing;
  watch.for_each(step.screens, [&](Watcher& watcher, size_t i) {
    if (!watcher.screen(point_of(wave, inst, step, i), is_known ? &span : nullptr))
      telling &= ~(1u << i);
  });
  if (telling == 0) return step.run(wave, inst);
  tell_accesses(wave, inst, step, telling);
}

Handler screened_step(const WatchedStep& step, bool is_wave64) {
  if (step.screener == nullptr) return run_watched_screened;
  return is_wave64 ? find_screened<64>(step.span.kind) : find_screened<32>(step.span.kind);
}

void note_access(Wave& wave, const isa::Inst& inst, std::span<const MemoryAccess> accesses) {
  Watch& watch = *wave.watch;
  if (watch.counters != nullptr) count_accesses(*watch.counters, accesses, wave.program->target());
  if (watch.now == nullptr) return;
  const WatchedStep& step = *watch.now;
  if (watch.telling == 1) watch.watchers[0]->accessing(point_of(wave, inst, step, 0), accesses);
  else
    watch.for_each(watch.telling, [&](Watcher& watcher, size_t i) {
      watcher.accessing(point_of(wave, inst, step, i), accesses);
    });
  if (step.accessed != 0) keep(*watch.kept, accesses);
}

void tell_workgroup_began(Workgroup& group) {
  Watch& watch = group.watch;
  watch.for_each(watch.all(), [&](Watcher& watcher, size_t i) {
    watcher.workgroup_began(group, watch.state[i]);
    if ((watch.hears_waves >> i & 1) == 0) return;
    for (const Wave& wave : group.waves) watcher.wave_began(wave, watch.state[i]);
  });
}

void tell_workgroup_ended(Workgroup& group) {
  Watch& watch = group.watch;
  watch.for_each(watch.all(), [&](Watcher& watcher, size_t i) {
    // Those that finished have been told of.
    for (const Wave& wave : group.waves)
      if (wave.state != WaveState::kFinished && (watch.hears_waves >> i & 1) != 0)
        watcher.wave_ended(wave, watch.state[i]);
    watcher.workgroup_ended(group, watch.state[i]);
  });
}

void tell_wave_ended(Wave& wave) {
  if (wave.watch == nullptr) return;
  Watch& watch = *wave.watch;
  watch.for_each(watch.hears_waves,
                 [&](Watcher& watcher, size_t i) { watcher.wave_ended(wave, watch.state[i]); });
}

void tell_barrier_reached(Wave& wave) {
  if (wave.watch == nullptr) return;
  Watch& watch = *wave.watch;
  watch.for_each(watch.hears_barriers, [&](Watcher& watcher, size_t i) {
    watcher.barrier_reached(wave, wave.current_pc(), watch.state[i]);
  });
}

void tell_barrier_passed(Workgroup& group) {
  Watch& watch = group.watch;
  watch.for_each(watch.all(), [&](Watcher& watcher, size_t i) {
    watcher.barrier_passed(group, watch.state[i]);
  });
}

}  // namespace wavetap::emu
