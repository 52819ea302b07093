// Job, Worker and the running of one workgroup: the parts of the engine below its thread pool.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "emu/code_cache.h"
#include "emu/engine_options.h"
#include "emu/jump_cache.h"
#include "emu/launch.h"
#include "emu/workgroup.h"

namespace wavetap::emu {

// Instructions a wave runs before the next wave of its workgroup gets its turn.
inline constexpr int64_t kQuantum = 20'000;

// A dispatch in flight. Everything but `launch` and `serial` is guarded by the engine's mutex.
struct Job {
  Launch launch;
  uint64_t serial = 0;

  uint64_t next_group = 0;         // how many have been handed out, `returned` included
  std::vector<uint64_t> returned;  // handed out, but not started after all; last first
  uint64_t finished_groups = 0;
  std::deque<std::unique_ptr<Workgroup>> parked;  // started, waiting for their next turn
  // Started, and never to be continued: the dispatch was stopped. Watchers are told at its end.
  std::vector<std::unique_ptr<Workgroup>> abandoned;
  uint32_t running = 0;  // workgroups that workers are running now
  uint64_t resident_limit = 1;
  // Turns since a workgroup last finished or the limit last grew; see Engine::Impl::note_stall().
  uint64_t stall = 0;
  uint64_t idle_turns = 0;  // consecutive turns in which every wave only slept

  // Faulted or cancelled: hand nothing out any more. Workers peek at it without the mutex.
  std::atomic<bool> stopped{false};
  bool cancelled = false;
  std::optional<Fault> fault;
  Counters counters;
  std::vector<std::shared_ptr<const LoweredCode>> code;  // kept alive for waves that run it

  uint64_t resident() const { return parked.size() + running; }
  bool has_unstarted() const { return next_group < launch.group_count || !returned.empty(); }
  bool is_over() const {
    return running == 0 && (stopped || finished_groups == launch.group_count);
  }
  bool is_cancelled_outside() const {
    const std::atomic<bool>* flag = launch.dispatch->cancelled;
    return flag != nullptr && flag->load(std::memory_order_relaxed);
  }
};

// Caches of one worker thread.
struct Worker {
  Tlb tlb;
  const Memory* tlb_memory = nullptr;
  JumpCache jumps;
};

// What one turn of a workgroup came to.
enum class Turn : uint8_t {
  kFinished,
  kFaulted,  // the wave that did it is in state kFaulted
  kUsedUp,   // has work left to do
  // Every wave that could run slept (s_sleep) or waits at a barrier for one that sleeps.
  kOnlySlept,
  kAbandoned,  // the dispatch was cancelled
};

// Gives a workgroup its turn: its waves run one after another, a quantum each, until one of the
// above.
class TurnRunner {
 public:
  TurnRunner(const EngineOptions& options, CodeCache& cache, Worker& worker, Job& job,
             std::mutex& job_mutex)
      : options_(options), cache_(cache), worker_(worker), job_(job), job_mutex_(job_mutex) {}

  Turn run(Workgroup& group);

 private:
  // Waves that stop at a barrier, end their turn or end altogether in a single slice each: many in
  // one guard, and pass after pass, as a guard costs as much as a short slice does.
  struct Row {
    TurnRunner* runner;
    Workgroup* group;
    int pass = 0;               // over the waves
    bool used_quantum = false;  // somebody has, in this pass
    bool moved = false;         // somebody did more than sleep, likewise
    size_t at = 0;              // the wave that comes next
    bool has_run = false;       // it had a slice already, and did something else
    uint64_t stop_at = 0;       // its quantum is used then
    bool side_by_side = false;  // waves that leave a barrier go on side by side

    Wave& wave() const { return group->waves[at]; }
  };
  void run_row(Row& row);
  void run_in_row(Row& row);

  // Runs one wave until it stops or its quantum is used. `has_run`: its first slice is over.
  void run_wave(Workgroup& group, Wave& wave, uint64_t stop_at, bool has_run);
  bool begin_slice(Wave& wave, uint64_t stop_at) const;
  void run_guarded_slice(Wave& wave);
  void lose_memory(Wave& wave, uint64_t host_address);
  void enter_other_code(Wave& wave);
  GpuAddr to_gpu_address(uint64_t host_address) const;

  const EngineOptions& options_;
  CodeCache& cache_;
  Worker& worker_;
  Job& job_;
  std::mutex& job_mutex_;
};

// Deterministic sequence for scheduling choices.
struct Random {
  uint64_t state;
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next();  // splitmix64
  uint64_t below(uint64_t bound) { return next() % bound; }
};

// The i-th of `count` workgroups to start: i itself, or a permutation chosen by `seed`.
uint64_t group_in_order(uint64_t i, uint64_t count, uint64_t seed);
// Puts the waves of a workgroup that has just been set up into the order chosen by `seed`.
void shuffle_waves(Workgroup& group, uint64_t seed);

}  // namespace wavetap::emu
