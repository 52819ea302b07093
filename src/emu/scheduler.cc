#include "emu/scheduler.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "emu/compiler.h"
#include "emu/guest_read.h"
#include "emu/interpreter.h"
#include "emu/lower.h"
#include "emu/watch_state.h"
#include "emu/watching.h"

namespace wavetap::emu {
namespace {

// A turn ends after this many passes over the waves even if none used its quantum: waves that meet
// at a barrier again and again must not keep others waiting.
constexpr int kMaxPasses = 1024;
// Shortest quantum a seed may choose.
constexpr uint64_t kMinQuantum = 50;
// Without a seed, waves that start together or leave a barrier together go on side by side as they do
// in hardware, where that matters (lds_reuse.h): all come as far before one goes on. Kernels that lack
// a barrier there get away with it on GPUs; a wave that ran far ahead would show them wrong results
// that no GPU has. Seeds look for just that, and so do tools that watch. After this many times
// without a barrier they are on their own.
constexpr uint8_t kTimesTogether = 32;

bool goes_side_by_side(const Workgroup& group, const EngineOptions& options) {
  return options.seed == 0 && group.dispatch->watchers.empty() && group.lds_bytes != 0 &&
         group.waves.size() > 1;
}

// Whether waves do nothing between their slices that somebody is told, or that chance decides.
bool goes_in_rows(const Workgroup& group, const EngineOptions& options) {
  return options.seed == 0 && group.watch.hears_barriers == 0 && group.waves.size() > 1;
}

uint64_t choose_quantum(const EngineOptions& options, Random& random) {
  constexpr uint64_t kMost = kQuantum;
  return options.seed == 0 ? kMost : kMinQuantum + random.below(kMost - kMinQuantum);
}

// Whether it is its turn. Whoever waited for the others' turns goes on.
bool wake(Wave& wave) {
  static_assert(WaveState::kRunning < WaveState::kYielded &&
                WaveState::kYielded < WaveState::kTurnEnded &&
                WaveState::kTurnEnded < WaveState::kAtBarrier);
  if (wave.state > WaveState::kTurnEnded) return false;
  wave.state = WaveState::kRunning;
  return true;
}

void note_end(Workgroup& group) {
  // Wrapped around, the workgroup would never end.
  if (WT_SOFT_CHECK(group.unfinished != 0, "a wave ends once")) --group.unfinished;
}

// All that have not ended wait at the barrier: they go on.
void pass_barrier(Workgroup& group, bool side_by_side) {
  for (Wave& wave : group.waves) {
    if (wave.state == WaveState::kAtBarrier) wave.state = WaveState::kRunning;
    if (side_by_side) wave.turn_ends_left = kTimesTogether;
  }
  if (!group.watch.watchers.empty()) tell_barrier_passed(group);
}

// Lets the waves go on when all that have not ended wait at the barrier.
bool release_barrier(Workgroup& group, bool side_by_side) {
  for (const Wave& wave : group.waves)
    if (wave.state != WaveState::kFinished && wave.state != WaveState::kAtBarrier) return false;
  pass_barrier(group, side_by_side);
  return true;
}

}  // namespace

Turn TurnRunner::run(Workgroup& group) {
  if (worker_.tlb_memory != group.dispatch->memory) {
    worker_.tlb = {};
    worker_.tlb_memory = group.dispatch->memory;
  }
  if (worker_.jumps.owner != job_.serial) worker_.jumps.reset(job_.serial);
  const bool side_by_side = goes_side_by_side(group, options_);
  const bool in_rows = goes_in_rows(group, options_);
  for (Wave& wave : group.waves) {
    wave.tlb = &worker_.tlb;
    wave.jumps = &worker_.jumps;
    if (side_by_side && wave.executed == 0) wave.turn_ends_left = kTimesTogether;
  }
  Random random(options_.seed ^ group.linear_id ^ group.waves[0].executed);

  Row row{this, &group};
  row.side_by_side = side_by_side;
  for (; row.pass < kMaxPasses; ++row.pass) {
    row.used_quantum = row.moved = false;
    for (row.at = 0; row.at < group.waves.size(); ++row.at) {
      row.has_run = false;
      if (in_rows) run_row(row);
      if (row.at == group.waves.size()) break;
      Wave& wave = row.wave();
      if (!row.has_run) {
        if (!wake(wave)) continue;
        if (job_.is_cancelled_outside()) return Turn::kAbandoned;
        row.stop_at = wave.executed + choose_quantum(options_, random);
      }
      run_wave(group, wave, row.stop_at, row.has_run);
      switch (wave.state) {
        case WaveState::kFaulted:
          std::copy(std::begin(group.id), std::end(group.id), std::begin(wave.fault.workgroup));
          return Turn::kFaulted;
        case WaveState::kFinished:
          note_end(group);
          row.moved = true;
          tell_wave_ended(wave);
          break;
        case WaveState::kRunning: row.used_quantum = row.moved = true; break;
        case WaveState::kTurnEnded: row.moved = true; break;
        case WaveState::kAtBarrier:
          row.moved = true;
          tell_barrier_reached(wave);
          break;
        default: break;
      }
    }
    if (group.unfinished == 0) return Turn::kFinished;
    if (release_barrier(group, side_by_side)) row.moved = true;
    if (row.used_quantum) return Turn::kUsedUp;
    if (!row.moved) return Turn::kOnlySlept;
  }
  return Turn::kUsedUp;
}

void TurnRunner::run_row(Row& row) {
  uint64_t host_address = 0;
  const auto body = [](void* arg) {
    auto& of = *static_cast<Row*>(arg);
    of.runner->run_in_row(of);
  };
  if (options_.run_guarded == nullptr) body(&row);
  else if (!options_.run_guarded(body, &row, &host_address)) lose_memory(row.wave(), host_address);
}

// What is not done here is left to run(), with the row as it is then: to run_wave(), when it is not
// at its end. The guard may leave it in the middle of a slice. Slices are often a few dozen
// nanoseconds, so that what is the same for all of them is looked at once.
void TurnRunner::run_in_row(Row& row) {
  Workgroup& group = *row.group;
  Wave* const waves = group.waves.data();
  const size_t count = group.waves.size();
  const bool is_watched = !group.dispatch->watchers.empty();  // they hear of ends
  const bool is_plain = options_.watchdog_instructions == 0 && group.watch.counters == nullptr;
  const std::atomic<bool>* const cancelled = job_.launch.dispatch->cancelled;
  bool all_wait = row.at == 0;  // at the barrier, or have ended: every wave of this pass so far
  for (;;) {
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) return;
    for (size_t at = row.at; at < count; row.at = ++at) {
      Wave& wave = waves[at];
      if (!wake(wave)) continue;
      const uint64_t stop_at = wave.executed + uint64_t{kQuantum};
      row.has_run = true;
      if (is_plain) {
        wave.budget = kQuantum;
        run_plain_slice(wave);
      } else {
        row.has_run = begin_slice(wave, stop_at);
        if (!row.has_run) return;
        run_slice(wave);
      }
      if (wave.state == WaveState::kTurnEnded) all_wait = false;
      const bool has_ended = wave.state == WaveState::kFinished && !is_watched;
      if (wave.state == WaveState::kTurnEnded || wave.state == WaveState::kAtBarrier || has_ended) {
        if (wave.hot_code == nullptr && !group.interrupt_requested) {
          if (has_ended) note_end(group);
          row.moved = true;
          continue;
        }
      }
      row.stop_at = stop_at;
      return;
    }
    row.has_run = false;
    if (group.unfinished == 0 || row.used_quantum) return;
    if (all_wait) {
      pass_barrier(group, row.side_by_side);
      row.moved = true;
    } else if (release_barrier(group, row.side_by_side)) {
      row.moved = true;
    }
    if (!row.moved || row.pass + 1 == kMaxPasses) return;
    ++row.pass;
    row.at = 0;
    row.moved = false;
    all_wait = true;
  }
}

// False: the watchdog forbids it.
bool TurnRunner::begin_slice(Wave& wave, uint64_t stop_at) const {
  const uint64_t limit = options_.watchdog_instructions;
  wave.budget = static_cast<int64_t>(stop_at - wave.executed);
  if (limit == 0) return true;
  if (wave.executed >= limit) return false;
  wave.budget = std::min(wave.budget, static_cast<int64_t>(limit - wave.executed));
  return true;
}

void TurnRunner::run_wave(Workgroup& group, Wave& wave, uint64_t stop_at, bool has_run) {
  while (has_run || (wave.state == WaveState::kRunning && wave.executed < stop_at)) {
    if (!has_run) {
      if (!begin_slice(wave, stop_at)) {
        wave.raise(FaultKind::kWatchdog, "the wave ran longer than the watchdog allows");
        return;
      }
      run_guarded_slice(wave);
    }
    has_run = false;
    if (const LoweredCode* hot = std::exchange(wave.hot_code, nullptr))
      options_.compiler->compile(hot->shared_from_this(), wave.hot_pc, wave.hot_heat);
    if (wave.state == WaveState::kLeftCode) enter_other_code(wave);
    if (group.interrupt_requested) {
      group.interrupt_requested = false;
      if (Host* host = group.dispatch->host) host->interrupt();
    }
  }
}

void TurnRunner::run_guarded_slice(Wave& wave) {
  if (options_.run_guarded == nullptr) return run_slice(wave);
  uint64_t host_address = 0;
  if (!options_.run_guarded([](void* arg) { run_slice(*static_cast<Wave*>(arg)); }, &wave,
                            &host_address))
    lose_memory(wave, host_address);
}

// The mapping is there, the host memory behind it is not.
void TurnRunner::lose_memory(Wave& wave, uint64_t host_address) {
  if (wave.watch != nullptr) wave.watch->now = nullptr;
  wave.notes_accesses = wave.watch != nullptr && wave.watch->counters != nullptr;
  wave.state = WaveState::kRunning;
  wave.raise(FaultKind::kPageFault, to_gpu_address(host_address), false, -1,
             "host memory behind the mapping is gone");
}

GpuAddr TurnRunner::to_gpu_address(uint64_t host_address) const {
  for (const MappedRange& range : worker_.tlb.entry) {
    const auto host = reinterpret_cast<uintptr_t>(range.host);
    if (host_address >= host && host_address - host < range.end - range.begin)
      return {range.begin + (host_address - host)};
  }
  return {host_address};
}

void TurnRunner::enter_other_code(Wave& wave) {
  const GpuAddr pc{wave.jump_pc};
  CodeCache::Found found = cache_.find(job_.launch.code_key, pc, job_.serial);
  wave.state = WaveState::kRunning;
  if (found.code == nullptr || found.index < 0) {
    wave.raise(found.code == nullptr ? found.fault : FaultKind::kIllegalInstruction, pc, false, -1,
               "jump to an address without code");
    wave.fault.pc = pc;
    return;
  }
  JumpCache::Entry& entry = worker_.jumps.entry(pc.value);
  entry.pc = pc.value;
  entry.place = {found.code.get(), found.index};
  enter(wave, *found.code, found.index);
  // The wave and the jump cache point into the code for as long as the dispatch runs.
  const std::lock_guard lock(job_mutex_);
  if (std::find(job_.code.begin(), job_.code.end(), found.code) == job_.code.end())
    job_.code.push_back(std::move(found.code));
}

uint64_t Random::next() {
  state += 0x9e3779b97f4a7c15;
  uint64_t z = state;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

uint64_t group_in_order(uint64_t i, uint64_t count, uint64_t seed) {
  if (seed == 0 || count < 2) return i;
  // i -> (a * i + b) mod count is a permutation when a and count have no common factor.
  Random random(seed);
  uint64_t a = 1 + random.below(count - 1);
  while (std::gcd(a, count) != 1) a = a % count + 1;
  const uint64_t b = random.below(count);
  return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * i + b) % count);
}

void shuffle_waves(Workgroup& group, uint64_t seed) {
  if (seed == 0) return;
  Random random(seed ^ (group.linear_id + 1) * 0x9e3779b97f4a7c15);
  for (size_t i = group.waves.size(); i > 1; --i)
    std::swap(group.waves[i - 1], group.waves[random.below(i)]);
}

}  // namespace wavetap::emu
