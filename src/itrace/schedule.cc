#include "itrace/schedule.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <utility>

#include "base/round_up.h"
#include "isa/wait_counters.h"

namespace wavetap::itrace {
namespace {

using isa::WaitClass;
using isa::WaitCounter;

constexpr int64_t kFirstCycle = 64;
constexpr int64_t kDispatchCycles = 16;  // from a workgroup's end to the next one's start
constexpr int64_t kWaveCycles = 4;       // from one wave of a workgroup to the next

// Memory operations of one wave and counter that no wait has covered.
class Outstanding {
 public:
  struct Operation {
    int64_t done = 0;
    uint32_t site = 0;
  };

  void add(int64_t done, uint32_t site) { operations_.push_back({done, site}); }

  // When no more than `most` are left, and which ones are done then; they are forgotten.
  int64_t take(size_t most, std::vector<uint32_t>* sites) {
    if (operations_.size() <= most) return 0;
    const size_t count = operations_.size() - most;
    std::stable_sort(operations_.begin(), operations_.end(),
                     [](const Operation& a, const Operation& b) { return a.done < b.done; });
    const int64_t done = operations_[count - 1].done;
    if (sites != nullptr)
      for (size_t i = 0; i < count; ++i) sites->push_back(operations_[i].site);
    operations_.erase(operations_.begin(), operations_.begin() + static_cast<ptrdiff_t>(count));
    return done;
  }

  size_t size() const { return operations_.size(); }

 private:
  std::vector<Operation> operations_;
};

struct Group;

struct Runner {
  const RecordedWave* recorded = nullptr;
  Wave wave;
  Group* group = nullptr;
  size_t next = 0;
  int64_t tried = 0;  // when the next instruction was first tried
  std::array<Outstanding, isa::kWaitCounters> outstanding;
  std::array<int64_t, isa::kWaitClasses> last_done = {};  // of classes that are in order
  std::vector<int64_t> ready = std::vector<int64_t>(kRegisters);
  std::map<uint32_t, std::vector<std::vector<uint32_t>>> waits;  // what was waited for, by site
};

struct Group {
  std::vector<Runner*> at_barrier;
  size_t running = 0;
};

struct Event {
  int64_t time = 0;
  uint64_t order = 0;  // who came first
  Runner* runner = nullptr;
  bool operator>(const Event& other) const {
    return std::pair(time, order) > std::pair(other.time, other.order);
  }
};

class Unit {
 public:
  Unit(const std::vector<const RecordedWave*>& waves, const std::vector<SiteTiming>& timings,
       const ScheduleOptions& options)
      : timings_(timings), options_(options), quantum_(options.gfx_major == 9 ? 4 : 1) {
    for (const RecordedWave* wave : waves) {
      if (waiting_.empty() || waiting_.back().front()->workgroup != wave->workgroup)
        waiting_.emplace_back();
      waiting_.back().push_back(wave);
    }
    simd_pipes_.resize(options.simds);
    slots_.resize(options.simds);
    for (std::vector<bool>& slots : slots_) slots.resize(std::max(options.slots, 1u));
    ids_.resize(options.simds);
  }

  std::vector<Wave> run() {
    for (uint32_t i = 0; i < std::max(options_.workgroups, 1u); ++i) start_group(kFirstCycle);
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      step(*event.runner, event.time);
    }
    for (Wave& wave : done_) wave.timeline = timeline_of(wave);
    return std::move(done_);
  }

 private:
  void start_group(int64_t time) {
    if (waiting_.empty()) return;
    const std::vector<const RecordedWave*> waves = std::move(waiting_.front());
    waiting_.pop_front();
    groups_.push_back(std::make_unique<Group>());
    Group* group = groups_.back().get();
    uint32_t simd = emptiest_simd();
    for (const RecordedWave* recorded : waves) {
      runners_.push_back(std::make_unique<Runner>());
      Runner& runner = *runners_.back();
      runner.recorded = recorded;
      runner.group = group;
      ++group->running;
      place(runner, simd, time);
      simd = (simd + 1) % options_.simds;
      time += kWaveCycles;
    }
  }

  uint32_t emptiest_simd() const {
    uint32_t best = 0;
    const auto used = [&](uint32_t simd) {
      return std::count(slots_[simd].begin(), slots_[simd].end(), true);
    };
    for (uint32_t simd = 1; simd < options_.simds; ++simd)
      if (used(simd) < used(best)) best = simd;
    return best;
  }

  void place(Runner& runner, uint32_t simd, int64_t time) {
    std::vector<bool>& slots = slots_[simd];
    auto free = std::find(slots.begin(), slots.end(), false);
    if (free == slots.end()) free = slots.insert(slots.end(), false);  // more than the model holds
    *free = true;
    Wave& wave = runner.wave;
    wave.simd = simd;
    wave.slot = static_cast<uint32_t>(free - slots.begin());
    if (ids_[simd].size() <= wave.slot) ids_[simd].resize(wave.slot + 1);
    wave.id = ids_[simd][wave.slot]++;
    wave.se = runner.recorded->unit.se;
    wave.cu = runner.recorded->unit.cu;
    wave.workgroup = runner.recorded->workgroup;
    wave.wave_in_group = runner.recorded->wave_in_group;
    wave.is_cut = runner.recorded->lost != 0;
    wave.begin = round_up(time, quantum_);
    wave.issues.reserve(runner.recorded->sites.size());
    runner.tried = wave.begin + kWaveCycles;
    push(runner, runner.tried);
  }

  void push(Runner& runner, int64_t time) { events_.push({time, order_++, &runner}); }

  // The wave tries its next instruction, at `now` for the first time or again.
  void step(Runner& runner, int64_t now) {
    const std::vector<uint32_t>& sites = runner.recorded->sites;
    if (runner.next >= sites.size()) return end(runner, now);  // cut, or stopped by a fault
    const uint32_t site = sites[runner.next];
    const SiteTiming& timing = timings_[site];
    if (timing.is_barrier) return reach_barrier(runner);
    if (timing.effect.waits()) return wait(runner, site, timing);
    if (timing.sleep_cycles != 0) {
      note(runner, site, timing.category, now, timing.sleep_cycles);
      return go_on(runner, now + timing.sleep_cycles + quantum_);
    }
    const int64_t ready =
        std::max(registers_ready(runner, timing), room_in_counters(runner, timing));
    if (ready > now) return push(runner, round_up(ready, quantum_));
    int64_t* pipe = pipe_of(runner, timing.pipe);
    if (pipe != nullptr && *pipe > now) return push(runner, round_up(*pipe, quantum_));
    if (pipe != nullptr) *pipe = now + timing.pipe_cycles;
    issue(runner, site, timing, now);
  }

  int64_t registers_ready(const Runner& runner, const SiteTiming& timing) const {
    int64_t ready = 0;
    for (const std::vector<RegisterRange>* ranges : {&timing.reads, &timing.writes})
      for (const RegisterRange& range : *ranges)
        for (uint32_t i = 0; i < range.count; ++i)
          ready = std::max(ready, runner.ready[range.first + i]);
    return ready;
  }

  int64_t room_in_counters(Runner& runner, const SiteTiming& timing) const {
    int64_t room = 0;
    for (uint8_t of = 0; of < isa::kWaitClasses; ++of) {
      if ((timing.effect.issues >> of & 1) == 0) continue;
      const WaitCounter counter = isa::counter_of(static_cast<WaitClass>(of));
      const uint8_t full = isa::full_count(counter, static_cast<uint8_t>(options_.gfx_major));
      Outstanding& list = runner.outstanding[static_cast<size_t>(counter)];
      room = std::max(room, list.take(full - 1u, nullptr));
    }
    return room;
  }

  int64_t* pipe_of(const Runner& runner, Pipe pipe) {
    switch (pipe) {
      case Pipe::kNone: return nullptr;
      case Pipe::kLds:
      case Pipe::kMemory: return &unit_pipes_[static_cast<size_t>(pipe)];
      default: return &simd_pipes_[runner.wave.simd][static_cast<size_t>(pipe)];
    }
  }

  void issue(Runner& runner, uint32_t site, const SiteTiming& timing, int64_t now) {
    for (const RegisterRange& range : timing.writes)
      for (uint32_t i = 0; i < range.count && timing.effect.issues == 0; ++i)
        runner.ready[range.first + i] = now + timing.result_cycles;
    if (timing.effect.issues != 0) ask_memory(runner, site, timing, now);
    const bool shows_result = options_.gfx_major > 9 && timing.effect.issues == 0;
    note(runner, site, category(runner, timing), now, 0,
         shows_result ? std::max<int64_t>(timing.result_cycles, 1) : quantum_);
    if (timing.is_end) return end(runner, now + quantum_);
    go_on(runner, now + quantum_);
  }

  // A branch that was taken goes on elsewhere than behind it.
  Category category(const Runner& runner, const SiteTiming& timing) const {
    const std::vector<uint32_t>& sites = runner.recorded->sites;
    const bool is_taken = timing.is_branch && runner.next + 1 < sites.size() &&
                          timings_[sites[runner.next + 1]].pc != timing.next_pc;
    return is_taken ? Category::kJump : timing.category;
  }

  void ask_memory(Runner& runner, uint32_t site, const SiteTiming& timing, int64_t now) {
    int64_t begins = now;
    if (timing.memory_cycles != 0) {
      begins = std::max(now, memory_free_);
      memory_free_ = begins + timing.memory_cycles;
    }
    int64_t done = begins + timing.answer_cycles;
    for (uint8_t of = 0; of < isa::kWaitClasses; ++of) {
      if ((timing.effect.issues >> of & 1) == 0) continue;
      const auto wait_class = static_cast<WaitClass>(of);
      if (isa::is_ordered(wait_class)) done = std::max(done, runner.last_done[of]);
      runner.last_done[of] = done;
    }
    // In both counters of a flat instruction it is one operation.
    std::array<bool, isa::kWaitCounters> counted = {};
    for (uint8_t of = 0; of < isa::kWaitClasses; ++of) {
      if ((timing.effect.issues >> of & 1) == 0) continue;
      const auto counter = static_cast<size_t>(isa::counter_of(static_cast<WaitClass>(of)));
      if (!counted[counter]) runner.outstanding[counter].add(done, site);
      counted[counter] = true;
    }
  }

  void wait(Runner& runner, uint32_t site, const SiteTiming& timing) {
    int64_t until = runner.tried;
    std::vector<uint32_t> producers;
    for (const WaitCounter counter : isa::kAllWaitCounters) {
      const uint8_t most = timing.effect.limit(counter);
      if (most == isa::kNoWait) continue;
      until =
          std::max(until, runner.outstanding[static_cast<size_t>(counter)].take(most, &producers));
    }
    until = round_up(until, quantum_);
    std::sort(producers.begin(), producers.end());
    producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
    std::vector<std::vector<uint32_t>>& known = runner.waits[site];
    if (!producers.empty() && std::find(known.begin(), known.end(), producers) == known.end())
      known.push_back(std::move(producers));
    note(runner, site, timing.category, runner.tried, until - runner.tried);
    go_on(runner, until + quantum_);
  }

  void reach_barrier(Runner& runner) {
    runner.group->at_barrier.push_back(&runner);
    open_barrier(*runner.group);
  }

  void open_barrier(Group& group) {
    if (group.at_barrier.empty() || group.at_barrier.size() < group.running) return;
    int64_t last = 0;
    for (const Runner* runner : group.at_barrier) last = std::max(last, runner->tried);
    for (Runner* runner : std::exchange(group.at_barrier, {})) {
      const uint32_t site = runner->recorded->sites[runner->next];
      note(*runner, site, timings_[site].category, runner->tried, last - runner->tried);
      go_on(*runner, last + quantum_);
    }
  }

  // The instruction was tried at runner.tried; waits stall from then on.
  void note(Runner& runner, uint32_t site, Category category, int64_t now, int64_t waited,
            int64_t busy = 0) {
    const int64_t stall = now - runner.tried + waited;
    const int64_t duration = stall + (busy == 0 ? quantum_ : busy);
    runner.wave.issues.push_back(
        {runner.tried, static_cast<uint32_t>(std::min<int64_t>(stall, UINT32_MAX)),
         static_cast<uint32_t>(std::min<int64_t>(duration, UINT32_MAX)), site, category});
  }

  void go_on(Runner& runner, int64_t at) {
    ++runner.next;
    runner.tried = at;
    push(runner, at);
  }

  void end(Runner& runner, int64_t at) {
    Wave& wave = runner.wave;
    wave.end = at;
    for (const Issue& issue : wave.issues)
      wave.end = std::max(wave.end, issue.time + issue.duration);
    for (auto& [site, producers] : runner.waits)
      for (std::vector<uint32_t>& sites : producers) wave.waits.push_back({site, std::move(sites)});
    slots_[wave.simd][wave.slot] = false;
    done_.push_back(std::move(wave));
    Group& group = *runner.group;
    --group.running;
    if (group.running == 0) start_group(round_up(at + kDispatchCycles, quantum_));
    else open_barrier(group);
    runner.ready.clear();
    runner.ready.shrink_to_fit();
  }

  const std::vector<SiteTiming>& timings_;
  const ScheduleOptions options_;
  const int64_t quantum_;
  std::deque<std::vector<const RecordedWave*>> waiting_;  // workgroups
  std::vector<std::unique_ptr<Runner>> runners_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<std::array<int64_t, kPipes>> simd_pipes_;
  std::array<int64_t, kPipes> unit_pipes_ = {};
  int64_t memory_free_ = 0;
  std::vector<std::vector<bool>> slots_;    // taken, by SIMD
  std::vector<std::vector<uint32_t>> ids_;  // of the next wave, by SIMD and slot
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t order_ = 0;
  std::vector<Wave> done_;
};

}  // namespace

std::vector<StateSpan> timeline_of(const Wave& wave) {
  std::vector<StateSpan> spans;
  int64_t now = wave.begin;
  const auto until = [&](int64_t time, WaveState state) {
    if (time <= now) return;
    if (!spans.empty() && spans.back().state == state) spans.back().cycles += time - now;
    else spans.push_back({state, time - now});
    now = time;
  };
  for (size_t i = 0; i < wave.issues.size(); ++i) {
    const Issue& issue = wave.issues[i];
    until(issue.time, WaveState::kIdle);
    until(issue.time + issue.stall,
          issue.category == Category::kImmed ? WaveState::kWait : WaveState::kStall);
    const int64_t next = i + 1 < wave.issues.size() ? wave.issues[i + 1].time : wave.end;
    until(std::min(issue.time + issue.duration, next), WaveState::kExec);
  }
  until(wave.end, WaveState::kIdle);
  return spans;
}

std::vector<Wave> schedule(const std::vector<const RecordedWave*>& waves,
                           const std::vector<SiteTiming>& timings, const ScheduleOptions& options) {
  return Unit(waves, timings, options).run();
}

}  // namespace wavetap::itrace
