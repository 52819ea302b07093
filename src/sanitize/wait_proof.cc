#include "sanitize/wait_proof.h"

#include <algorithm>
#include <vector>

#include "isa/wait_counters.h"
#include "sanitize/code_flow.h"
#include "sanitize/register_set.h"

namespace wavetap::sanitize {
namespace {

using isa::kWaitClasses;
using isa::WaitClass;
using isa::WaitCounter;
using isa::WaitEffect;

constexpr WaitClass class_at(uint8_t number) { return static_cast<WaitClass>(number); }

// A load that may be on its way.
struct Pending {
  int32_t load = 0;
  uint8_t classes = 0;  // that have to get this far, by bit
  // By class: the fewest operations that were issued from it on, itself included.
  uint8_t since[kWaitClasses] = {};

  bool operator==(const Pending&) const = default;
};

// All that may be on their way at one place, by `load`.
class State {
 public:
  const std::vector<Pending>& all() const { return all_; }

  // The counter is at `most` or below.
  void wait(WaitCounter counter, uint8_t most) {
    std::erase_if(all_, [&](Pending& one) {
      for (uint8_t of = 0; of < kWaitClasses; ++of) {
        if ((one.classes >> of & 1) == 0 || isa::counter_of(class_at(of)) != counter) continue;
        if (most == 0 || (isa::is_ordered(class_at(of)) && one.since[of] > most))
          one.classes = static_cast<uint8_t>(one.classes & ~(1u << of));
      }
      return one.classes == 0;
    });
  }
  void issue(const WaitEffect& effect, uint8_t major) {
    for (uint8_t of = 0; of < kWaitClasses; ++of) {
      if ((effect.issues >> of & 1) == 0) continue;
      // A full counter lets nothing more be issued.
      const WaitCounter counter = isa::counter_of(class_at(of));
      wait(counter, static_cast<uint8_t>(isa::full_count(counter, major) - 1));
      for (Pending& one : all_)
        if (one.since[of] != 0xff) ++one.since[of];
    }
  }
  void add(int32_t load, const WaitEffect& effect) {
    const auto at = std::lower_bound(all_.begin(), all_.end(), load, before);
    Pending fresh{.load = load, .classes = effect.issues};
    std::fill(std::begin(fresh.since), std::end(fresh.since), uint8_t{1});
    if (at != all_.end() && at->load == load) *at = fresh;
    else all_.insert(at, fresh);
  }
  // What may be on its way here or there. True: more than was known here.
  bool join(const State& other) {
    bool is_news = false;
    for (const Pending& one : other.all_) {
      const auto at = std::lower_bound(all_.begin(), all_.end(), one.load, before);
      if (at == all_.end() || at->load != one.load) {
        all_.insert(at, one);
        is_news = true;
        continue;
      }
      const Pending old = *at;
      for (uint8_t of = 0; of < kWaitClasses; ++of)
        at->since[of] = std::min(at->since[of], one.since[of]);
      at->classes |= one.classes;
      is_news |= !(*at == old);
    }
    return is_news;
  }

 private:
  static bool before(const Pending& one, int32_t load) { return one.load < load; }
  std::vector<Pending> all_;
};

class Proof {
 public:
  explicit Proof(const isa::Program& program) : program_(program) {}

  bool run() {
    if (!read_instructions()) return false;
    entry_.resize(facts_.size());
    is_known_.resize(facts_.size());
    is_seen_.resize(facts_.size());
    // Each visit of a block can only add to what is known at others.
    int64_t steps_left = 64 * int64_t{program_.size()} + 4096;
    // A wave may also come in where no way leads from the first instruction.
    for (int32_t first = 0; first < program_.size(); ++first) {
      if (is_seen_[static_cast<size_t>(first)]) continue;
      if (program_.insts()[first].op == isa::Op::kInvalid) continue;
      arrive(first, State());
      while (!waiting_.empty()) {
        const int32_t block = waiting_.back();
        waiting_.pop_back();
        is_waiting_[static_cast<size_t>(block)] = false;
        if (!walk(block, &steps_left)) return false;
      }
    }
    return true;
  }

 private:
  struct Facts {
    WaitEffect effect;
    NamedRegisters named;
    RegisterSet loaded;  // registers that come with its data
    bool begins_block = false;
  };

  bool read_instructions() {
    const auto count = static_cast<size_t>(program_.size());
    facts_.resize(count);
    is_waiting_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const isa::Inst& inst = program_.insts()[i];
      if (leaves_program(inst)) return false;
      Facts& facts = facts_[i];
      facts.effect = isa::wait_effect_of(inst, program_.target().major);
      facts.named = named_registers(inst);
      if (facts.named.may_use_others) return false;
      if (facts.effect.issues != 0) facts.loaded = facts.named.writes;
      const Flow flow = flow_of(inst);
      if (flow == Flow::kJump || flow == Flow::kEither) {
        if (inst.target >= program_.size()) return false;
        facts_[static_cast<size_t>(inst.target)].begins_block = true;
        if (i + 1 < count) facts_[i + 1].begins_block = true;
      }
    }
    return count != 0;
  }

  void arrive(int32_t block, const State& state) {
    const auto at = static_cast<size_t>(block);
    const bool is_first = !is_known_[at];
    is_known_[at] = true;
    if (!entry_[at].join(state) && !is_first) return;
    if (!is_waiting_[at]) waiting_.push_back(block);
    is_waiting_[at] = true;
  }

  // False: something may be used too early, or this takes too long.
  bool walk(int32_t index, int64_t* steps_left) {
    State state = entry_[static_cast<size_t>(index)];
    for (bool is_first = true;; ++index, is_first = false) {
      if (index >= program_.size()) return false;
      const Facts& facts = facts_[static_cast<size_t>(index)];
      if (facts.begins_block && !is_first) {
        arrive(index, state);
        return true;
      }
      *steps_left -= 1 + static_cast<int64_t>(state.all().size()) / 8;
      if (*steps_left < 0) return false;
      is_seen_[static_cast<size_t>(index)] = true;
      if (uses_pending(facts, state)) return false;
      apply(index, facts, state);
      const isa::Inst& inst = program_.insts()[index];
      switch (flow_of(inst)) {
        case Flow::kNext: break;
        case Flow::kEnd: return true;
        case Flow::kJump: arrive(inst.target, state); return true;
        case Flow::kEither: arrive(inst.target, state); break;
      }
    }
  }

  bool uses_pending(const Facts& facts, const State& state) const {
    return std::any_of(state.all().begin(), state.all().end(), [&](const Pending& one) {
      const RegisterSet& loaded = facts_[static_cast<size_t>(one.load)].loaded;
      if (facts.named.reads.meets(loaded)) return true;
      // What comes later in the same order overwrites what came before.
      const uint8_t ordered = facts.effect.issues & isa::kOrderedWaitClasses;
      return (one.classes & ~ordered) != 0 && facts.named.writes.meets(loaded);
    });
  }

  void apply(int32_t index, const Facts& facts, State& state) const {
    const WaitEffect& effect = facts.effect;
    if (effect.waits()) {
      for (const WaitCounter counter : isa::kAllWaitCounters)
        if (effect.limit(counter) != isa::kNoWait) state.wait(counter, effect.limit(counter));
      return;
    }
    if (effect.issues == 0) return;
    state.issue(effect, program_.target().major);
    if (!facts.loaded.empty()) state.add(index, effect);
  }

  const isa::Program& program_;
  std::vector<Facts> facts_;
  std::vector<State> entry_;  // of the blocks that have been reached
  std::vector<bool> is_known_;
  std::vector<bool> is_waiting_;
  std::vector<bool> is_seen_;
  std::vector<int32_t> waiting_;
};

}  // namespace

bool has_all_waits(const isa::Program& program) { return Proof(program).run(); }

}  // namespace wavetap::sanitize
