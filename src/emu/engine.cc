// The engine's thread pool.
//
// A worker takes a workgroup, gives it one turn (scheduler.cc), puts it back or finishes it, and
// takes the next, going round the dispatches in flight. So dispatches share the workers fairly, and
// one that waits for another, or for the host, cannot keep it from running.
//
// Workgroups start as others finish; normally no more are resident than there are workers. When
// turns go by and none finishes, the ones that have started may be waiting for one that has not, so
// the limit grows: at once when all do nothing but sleep, slowly when they compute. A cooperative
// dispatch has all of its workgroups resident from the start, as the hardware guarantees.
//
// One mutex guards jobs, their parked workgroups and the pool of workgroup storage. It is not held
// while instructions run. To take it less often, a worker claims several workgroups of a large
// dispatch at once and returns those it has not started when one of them does not finish in its
// first turn.
#include "emu/engine.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <iterator>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/allowed_cpus.h"
#include "base/check.h"
#include "emu/code_cache.h"
#include "emu/guest_read.h"
#include "emu/scheduler.h"
#include "emu/watch.h"
#include "emu/watching.h"

namespace wavetap::emu {
namespace {

// Storage for resident workgroups beyond which the limit grows only when nothing else helps.
constexpr size_t kStorageGoalBytes = 64 << 20;
// Storage of finished workgroups that is kept for the next ones.
constexpr size_t kMaxPooledBytes = 32 << 20;
// How much a turn counts towards growing the limit of resident workgroups; it grows when the sum
// reaches kGrowAt times the number of residents.
constexpr uint64_t kStallSlept = 4;
constexpr uint64_t kStallComputed = 1;
constexpr uint64_t kGrowAt = 4;
constexpr uint64_t kGrowAtOverGoal = 256;
// Most workgroups a worker claims at once, and the instructions after which it returns the rest.
constexpr uint64_t kMaxClaim = 16;
constexpr uint64_t kClaimInstructions = kQuantum;
// Naps of a worker that finds only sleeping workgroups: doubling from the first to the last.
constexpr std::chrono::microseconds kFirstNap{10};
constexpr int kNapDoublings = 4;

int worker_count(const EngineOptions& options) {
  if (options.threads > 0) return options.threads;
  return allowed_cpus();
}

// The application's signal handlers must not run on our threads.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  for (const int synchronous : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
    sigdelset(&all, synchronous);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace

class Engine::Impl {
 public:
  explicit Impl(const EngineOptions& options)
      : options_(options),
        thread_goal_(worker_count(options)),
        cache_(options.run_guarded, options.code_cache_bytes) {}

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_.notify_all();
    for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
  }

  DispatchResult run(const Dispatch& dispatch);
  void invalidate_code(GpuAddr begin, uint64_t size_bytes) { cache_.invalidate(begin, size_bytes); }

 private:
  struct Work {
    Job* job = nullptr;
    std::unique_ptr<Workgroup> group;
    // Claimed workgroups, none started yet: positions in the order of the dispatch.
    uint64_t next = 0;
    uint64_t claimed = 0;
    uint64_t finished = 0;  // of these, besides the one in `group`
    Counters counters;      // of those
  };

  void run_job(Job& job);
  bool start_workers();  // mutex_ held
  void work_until_stopped();
  Work take_work();                      // mutex_ held
  bool take_from(Job& job, Work* work);  // mutex_ held
  Turn run_work(Work& work, Worker& worker);
  void put_back(Work work, Turn turn);             // mutex_ held
  void note_stall(Job& job, Turn turn);            // mutex_ held
  void stop(Job& job);                             // mutex_ held
  void abandon_parked(Job& job);                   // mutex_ held
  int nap_level() const;                           // mutex_ held
  std::unique_ptr<Workgroup> make_group();         // mutex_ held
  void recycle(std::unique_ptr<Workgroup> group);  // mutex_ held

  const EngineOptions options_;
  const int thread_goal_;
  CodeCache cache_;

  std::mutex mutex_;
  std::condition_variable work_;  // something to do for a worker
  std::condition_variable over_;  // some job is over
  std::vector<pthread_t> threads_;
  std::vector<Job*> jobs_;  // in flight
  size_t turn_ = 0;         // which of jobs_ is served next
  bool stopping_ = false;
  uint64_t next_serial_ = 1;
  std::vector<std::unique_ptr<Workgroup>> pool_;
  size_t pooled_bytes_ = 0;
};

DispatchResult Engine::Impl::run(const Dispatch& dispatch) {
  DispatchResult result;
  Job job;
  bool has_workers = false;
  {
    const std::lock_guard lock(mutex_);
    job.serial = next_serial_++;
    has_workers = start_workers();
  }
  result.fault = prepare_launch(dispatch, options_, cache_, job.serial, &job.launch);
  if (!result.fault && !has_workers) {
    result.fault = Fault{};
    result.fault->kind = FaultKind::kBadDescriptor;
    result.fault->kernel_object = dispatch.kernel_object;
    std::snprintf(result.fault->detail, sizeof result.fault->detail,
                  "no worker thread could be started");
  }
  if (result.fault) return result;
  job.resident_limit =
      dispatch.cooperative ? job.launch.group_count : static_cast<uint64_t>(thread_goal_);
  job.code.push_back(job.launch.code);

  for (Watcher* watcher : dispatch.watchers) watcher->dispatch_began(job.launch);
  run_job(job);
  result.fault = job.fault;
  result.cancelled = job.cancelled;
  result.counters = job.counters;
  if (result.fault) {
    uint64_t encoding = 0;
    guest_read(*dispatch.memory, options_.run_guarded, result.fault->pc,
               std::as_writable_bytes(std::span(&encoding, 1)));
    result.fault->encoding = encoding;
  }
  for (Watcher* watcher : dispatch.watchers) watcher->dispatch_ended(job.launch, result);
  return result;
}

// Hands the job to the workers and waits until it is over.
void Engine::Impl::run_job(Job& job) {
  std::unique_lock lock(mutex_);
  jobs_.push_back(&job);
  for (uint64_t i = 0; i < std::min<uint64_t>(job.launch.group_count, threads_.size()); ++i)
    work_.notify_one();
  over_.wait(lock, [&] { return job.is_over(); });
  jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
  abandon_parked(job);
  lock.unlock();
  for (const std::unique_ptr<Workgroup>& group : job.abandoned) tell_workgroup_ended(*group);
  lock.lock();
  for (std::unique_ptr<Workgroup>& group : job.abandoned) recycle(std::move(group));
}

bool Engine::Impl::start_workers() {
  while (static_cast<int>(threads_.size()) < thread_goal_) {
    pthread_t thread;
    const auto body = [](void* self) -> void* {
      pthread_setname_np(pthread_self(), "wavetap-emu");
      block_signals();
      static_cast<Impl*>(self)->work_until_stopped();
      return nullptr;
    };
    if (pthread_create(&thread, nullptr, body, this) != 0) break;
    threads_.push_back(thread);
  }
  return !threads_.empty();
}

void Engine::Impl::work_until_stopped() {
  auto worker = std::make_unique<Worker>();
  int naps = 0;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    Work work = take_work();
    if (work.job == nullptr) {
      work_.wait(lock);
      continue;
    }
    Job& job = *work.job;
    ++job.running;
    lock.unlock();

    const Turn turn = run_work(work, *worker);

    lock.lock();
    --job.running;
    put_back(std::move(work), turn);
    // `job` may be gone from here on: run() returns once it is over.
    if (const int level = nap_level(); level == 0) {
      naps = 0;
    } else {
      work_.wait_for(lock, kFirstNap * (1 << std::min(naps, kNapDoublings)));
      ++naps;
    }
  }
}

namespace {

// Gives the workgroup a turn, and tells watchers when it was its last.
Turn run_turn(TurnRunner& runner, Workgroup& group) {
  const Turn turn = runner.run(group);
  if (turn != Turn::kUsedUp && turn != Turn::kOnlySlept) tell_workgroup_ended(group);
  return turn;
}

}  // namespace

// Runs the workgroup taken, or the claimed ones one after another.
Turn Engine::Impl::run_work(Work& work, Worker& worker) {
  Job& job = *work.job;
  TurnRunner runner(options_, cache_, worker, job, mutex_);
  if (work.claimed == 0) return run_turn(runner, *work.group);
  uint64_t instructions = 0;
  for (;;) {
    const uint64_t linear = group_in_order(work.next, job.launch.group_count, options_.seed);
    ++work.next;
    --work.claimed;
    if (!start_workgroup(job.launch, linear, *work.group)) {
      work.group->waves.assign(1, Wave{});
      Wave& wave = work.group->waves[0];
      wave.dispatch = job.launch.dispatch;
      wave.workgroup = work.group.get();
      wave.raise(FaultKind::kBadDescriptor, "no host memory for a workgroup's registers");
      return Turn::kFaulted;
    }
    shuffle_waves(*work.group, options_.seed);
    tell_workgroup_began(*work.group);
    const Turn turn = run_turn(runner, *work.group);
    if (turn != Turn::kFinished || work.claimed == 0 || job.stopped.load(std::memory_order_relaxed))
      return turn;
    for (const Wave& wave : work.group->waves) instructions += wave.executed;
    if (instructions >= kClaimInstructions) return turn;
    ++work.finished;
    if (job.launch.dispatch->count) work.counters.add(work.group->counters);
  }
}

Engine::Impl::Work Engine::Impl::take_work() {
  Work work;
  for (size_t tried = 0; tried < jobs_.size() && work.job == nullptr; ++tried) {
    turn_ = (turn_ + 1) % jobs_.size();
    take_from(*jobs_[turn_], &work);
  }
  return work;
}

bool Engine::Impl::take_from(Job& job, Work* work) {
  if (!job.stopped && job.is_cancelled_outside()) {
    job.cancelled = true;
    stop(job);
  }
  if (job.stopped) return false;
  if (job.has_unstarted() && job.resident() < job.resident_limit) {
    work->group = make_group();
    work->job = &job;
    work->claimed = 1;
    if (!job.returned.empty()) {
      work->next = job.returned.back();
      job.returned.pop_back();
      return true;
    }
    // Enough must be left for the other workers to be busy for as long.
    const uint64_t left = job.launch.group_count - job.next_group;
    work->claimed =
        std::clamp<uint64_t>(left / (8 * static_cast<uint64_t>(thread_goal_)), 1, kMaxClaim);
    if (job.launch.dispatch->cooperative) work->claimed = 1;
    work->next = job.next_group;
    job.next_group += work->claimed;
    return true;
  }
  if (job.parked.empty()) return false;
  work->group = std::move(job.parked.front());
  job.parked.pop_front();
  work->job = &job;
  return true;
}

void Engine::Impl::put_back(Work work, Turn turn) {
  Job& job = *work.job;
  const bool stopped_meanwhile = job.stopped;
  job.finished_groups += work.finished;
  job.counters.add(work.counters);
  if (work.finished != 0) job.stall = job.idle_turns = 0;
  if (work.claimed != 0) {
    for (uint64_t i = work.claimed; i > 0; --i) job.returned.push_back(work.next + i - 1);
    work_.notify_one();
  }
  switch (turn) {
    case Turn::kFinished:
      ++job.finished_groups;
      if (job.launch.dispatch->count) job.counters.add(work.group->counters);
      job.stall = 0;
      job.idle_turns = 0;
      break;
    case Turn::kFaulted:
      for (const Wave& wave : work.group->waves)
        if (wave.state == WaveState::kFaulted && !job.fault) job.fault = wave.fault;
      if (job.launch.dispatch->count) job.counters.add(work.group->counters);
      stop(job);
      break;
    case Turn::kAbandoned:
      job.cancelled = true;
      stop(job);
      break;
    case Turn::kUsedUp:
    case Turn::kOnlySlept:
      if (stopped_meanwhile) {
        job.abandoned.push_back(std::move(work.group));
      } else {
        job.parked.push_back(std::move(work.group));
        note_stall(job, turn);
      }
      break;
  }
  if (work.group != nullptr) recycle(std::move(work.group));
  // With one too many the dispatch would never be over.
  if (!WT_SOFT_CHECK(job.finished_groups <= job.launch.group_count, "a workgroup ends once"))
    stop(job);
  if (job.is_over()) over_.notify_all();
}

void Engine::Impl::note_stall(Job& job, Turn turn) {
  job.idle_turns = turn == Turn::kOnlySlept ? job.idle_turns + 1 : 0;
  job.stall += turn == Turn::kOnlySlept ? kStallSlept : kStallComputed;
  if (!job.has_unstarted()) return;
  const uint64_t resident = job.resident();
  const bool over_goal = resident * job.launch.storage_bytes_per_group() > kStorageGoalBytes;
  if (job.stall < resident * (over_goal ? kGrowAtOverGoal : kGrowAt)) return;
  job.resident_limit = std::max(job.resident_limit, resident + std::max<uint64_t>(1, resident / 2));
  job.stall = 0;
  work_.notify_all();
}

void Engine::Impl::stop(Job& job) {
  job.stopped = true;
  abandon_parked(job);
  if (job.is_over()) over_.notify_all();
}

void Engine::Impl::abandon_parked(Job& job) {
  std::move(job.parked.begin(), job.parked.end(), std::back_inserter(job.abandoned));
  job.parked.clear();
}

// 0 when there is something to compute or nobody to wait for; else every resident workgroup has
// slept through its last turns and nothing can change before the host, or time, changes it.
int Engine::Impl::nap_level() const {
  if (!options_.naps) return 0;
  bool any = false;
  for (const Job* job : jobs_) {
    if (job->stopped) continue;
    any = true;
    if (job->idle_turns < 2 * job->resident() || job->resident() == 0) return 0;
    if (job->has_unstarted() && job->resident() < job->resident_limit) return 0;
  }
  return any ? 1 : 0;
}

std::unique_ptr<Workgroup> Engine::Impl::make_group() {
  if (pool_.empty()) return std::make_unique<Workgroup>();
  std::unique_ptr<Workgroup> group = std::move(pool_.back());
  pool_.pop_back();
  if (WT_SOFT_CHECK(pooled_bytes_ >= group->storage_bytes(), "a pooled workgroup keeps its size"))
    pooled_bytes_ -= group->storage_bytes();
  return group;
}

void Engine::Impl::recycle(std::unique_ptr<Workgroup> group) {
  const size_t bytes = group->storage_bytes();
  if (pooled_bytes_ + bytes > kMaxPooledBytes) return;
  pooled_bytes_ += bytes;
  pool_.push_back(std::move(group));
}

Engine::Engine(const EngineOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Engine::~Engine() = default;

DispatchResult Engine::run(const Dispatch& dispatch) { return impl_->run(dispatch); }
void Engine::invalidate_code(GpuAddr begin, uint64_t size_bytes) {
  impl_->invalidate_code(begin, size_bytes);
}

}  // namespace wavetap::emu
