#include "itrace/analysis.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "itrace/row_effects.h"

namespace wavetap::itrace {
namespace {

using isa::WaitClass;
using isa::WaitCounter;
using isa::WaitEffect;

// An operation of one wave that no wait has covered yet.
struct Operation {
  uint32_t row = 0;
  int64_t issued = 0;
};

// Goes through one wave.
class WaveWalk {
 public:
  WaveWalk(const Trace& trace, const std::vector<WaitEffect>& effects, Analysis& result,
           std::map<std::pair<uint32_t, uint32_t>, Edge>& edges)
      : trace_(trace), effects_(effects), result_(result), edges_(edges) {}

  void walk(const Wave& wave) {
    int64_t end = wave.begin;
    for (const Issue& issue : wave.issues) {
      RowCost& cost = result_.rows[issue.row];
      ++cost.hits;
      ++result_.by_category[static_cast<size_t>(issue.category)];
      const uint32_t stall = std::min(issue.stall, issue.duration);
      cost.issue += issue.duration - stall;
      spend(cost, Cause::kIdle, std::max<int64_t>(issue.time - end, 0));
      const WaitEffect& effect = effects_[issue.row];
      const Cause cause = effect.waits() ? wait(issue, effect) : cause_of(issue);
      spend(cost, cause, stall);
      if (effect.issues != 0) issue_operation(issue, effect);
      end = std::max(end, issue.time + issue.duration);
    }
    result_.wave_cycles += static_cast<uint64_t>(std::max<int64_t>(wave.end - wave.begin, 0));
    result_.instructions += wave.issues.size();
  }

 private:
  void spend(RowCost& cost, Cause cause, int64_t cycles) {
    cost.cycles[static_cast<size_t>(cause)] += static_cast<uint64_t>(cycles);
    result_.by_cause[static_cast<size_t>(cause)] += static_cast<uint64_t>(cycles);
  }

  Cause cause_of(const Issue& issue) const {
    const std::string_view text = trace_.code[issue.row].text;
    if (text.starts_with("s_barrier")) return Cause::kBarrier;
    if (text.starts_with("s_sleep") || text.starts_with("s_nop")) return Cause::kSleep;
    switch (issue.category) {
      case Category::kValu: return Cause::kVectorBusy;
      case Category::kSalu:
      case Category::kSmem: return Cause::kScalarBusy;
      case Category::kVmem:
      case Category::kFlat:
      case Category::kBvh: return Cause::kMemoryBusy;
      case Category::kLds: return Cause::kLdsBusy;
      case Category::kJump:
      case Category::kNext: return Cause::kBranchBusy;
      default: return Cause::kOther;
    }
  }

  void issue_operation(const Issue& issue, const WaitEffect& effect) {
    const Operation operation{issue.row, issue.time + issue.stall};
    std::array<bool, isa::kWaitCounters> counted = {};
    for (uint8_t of = 0; of < isa::kWaitClasses; ++of) {
      if ((effect.issues >> of & 1) == 0) continue;
      const auto counter = static_cast<size_t>(isa::counter_of(static_cast<WaitClass>(of)));
      if (std::exchange(counted[counter], true)) continue;
      std::vector<Operation>& list = outstanding_[counter];
      // A full counter has let one go.
      const size_t full = isa::full_count(static_cast<WaitCounter>(counter),
                                          static_cast<uint8_t>(trace_.gfx_major));
      if (list.size() >= full) list.erase(list.begin());
      list.push_back(operation);
    }
  }

  // What the wait covers, and why it took as long as it did: the slowest kind among that.
  Cause wait(const Issue& issue, const WaitEffect& effect) {
    std::vector<Operation> covered;
    for (const WaitCounter counter : isa::kAllWaitCounters) {
      const uint8_t most = effect.limit(counter);
      std::vector<Operation>& list = outstanding_[static_cast<size_t>(counter)];
      if (most == isa::kNoWait || list.size() <= most) continue;
      const auto end = list.end() - most;
      covered.insert(covered.end(), list.begin(), end);
      list.erase(list.begin(), end);
    }
    if (covered.empty()) return by_limits(effect);
    Cause worst = Cause::kLds;
    int64_t youngest = INT64_MIN;
    for (const Operation& operation : covered) {
      worst = std::min(worst, kind_of(operation.row));
      youngest = std::max(youngest, operation.issued);
    }
    const uint32_t stall = std::min(issue.stall, issue.duration);
    for (const Operation& operation : covered) {
      Edge& edge = edges_[{issue.row, operation.row}];
      ++edge.times;
      edge.hidden += static_cast<uint64_t>(std::max<int64_t>(issue.time - operation.issued, 0));
      if (operation.issued == youngest) edge.exposed += stall;
    }
    result_.hidden += static_cast<uint64_t>(std::max<int64_t>(issue.time - youngest, 0));
    result_.exposed += stall;
    return worst;
  }

  Cause kind_of(uint32_t row) const {
    const uint8_t issues = effects_[row].issues;
    const std::string_view text = trace_.code[row].text;
    const bool is_store = text.find("_store") != std::string_view::npos;
    if ((issues & isa::bit_of(WaitClass::kStore)) != 0) return Cause::kStore;
    if ((issues & isa::bit_of(WaitClass::kVector)) != 0)
      return is_store ? Cause::kStore : Cause::kVectorLoad;
    if ((issues & isa::bit_of(WaitClass::kScalar)) != 0) return Cause::kScalarLoad;
    return (issues & isa::bit_of(WaitClass::kMessage)) != 0 ? Cause::kMessage : Cause::kLds;
  }

  // Nothing that the trace has seen is waited for: its beginning may be missing.
  static Cause by_limits(const WaitEffect& effect) {
    if (effect.limit(WaitCounter::kVmcnt) != isa::kNoWait) return Cause::kVectorLoad;
    return effect.limit(WaitCounter::kVscnt) != isa::kNoWait ? Cause::kStore : Cause::kLds;
  }

  const Trace& trace_;
  const std::vector<WaitEffect>& effects_;
  Analysis& result_;
  std::map<std::pair<uint32_t, uint32_t>, Edge>& edges_;
  std::array<std::vector<Operation>, isa::kWaitCounters> outstanding_;
};

// Loops of one wave: each is entered, repeated by jumps back, and left.
class LoopWalk {
 public:
  explicit LoopWalk(std::map<std::pair<uint32_t, uint32_t>, Loop>& loops) : loops_(loops) {}

  void walk(const Wave& wave) {
    std::vector<Active> active;
    for (size_t i = 0; i < wave.issues.size(); ++i) {
      const Issue& issue = wave.issues[i];
      const bool is_last = i + 1 == wave.issues.size();
      const uint32_t next = is_last ? UINT32_MAX : wave.issues[i + 1].row;
      // Code outside of it, reached by no jump back: the loop is over.
      while (!active.empty() &&
             (issue.row < active.back().first || issue.row > active.back().last)) {
        close(active.back());
        active.pop_back();
      }
      if (is_last || issue.category != Category::kJump || next > issue.row) continue;
      const int64_t now = wave.issues[i + 1].time;
      while (!active.empty() && active.back().first > next) {
        close(active.back());
        active.pop_back();
      }
      if (active.empty() || active.back().first != next || active.back().last != issue.row) {
        active.push_back({next, issue.row, 2, now, 0});
        continue;
      }
      Active& loop = active.back();
      ++loop.iterations;
      loop.cycles += static_cast<uint64_t>(std::max<int64_t>(now - loop.began, 0));
      loop.began = now;
    }
    for (const Active& loop : active) close(loop);
  }

 private:
  struct Active {
    uint32_t first, last;
    uint64_t iterations;
    int64_t began;  // the iteration that runs
    uint64_t cycles;
  };

  void close(const Active& active) {
    Loop& loop = loops_[{active.first, active.last}];
    loop.first = active.first;
    loop.last = active.last;
    loop.least = loop.entered == 0 ? active.iterations : std::min(loop.least, active.iterations);
    loop.most = std::max(loop.most, active.iterations);
    ++loop.entered;
    loop.iterations += active.iterations;
    loop.cycles += active.cycles;
    loop.measured += active.iterations - 2;
  }

  std::map<std::pair<uint32_t, uint32_t>, Loop>& loops_;
};

std::vector<SourceCost> by_source(const Trace& trace, const std::vector<RowCost>& rows) {
  std::map<std::pair<std::string, uint32_t>, std::pair<SourceCost, RowCost>> lines;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].hits == 0) continue;
    const codeobj::SourceFrame place = users_place(trace.code[i]);
    if (place.line == 0) continue;
    auto& [cost, sums] = lines[{place.file, place.line}];
    cost.file = place.file;
    cost.line = place.line;
    cost.hits += rows[i].hits;
    cost.stalled += rows[i].stalled();
    cost.cycles += rows[i].stalled() + rows[i].issue;
    for (size_t cause = 0; cause < kCauses; ++cause) sums.cycles[cause] += rows[i].cycles[cause];
  }
  std::vector<SourceCost> sorted;
  for (auto& [place, line] : lines) {
    line.first.worst = line.second.worst();
    sorted.push_back(std::move(line.first));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const SourceCost& a, const SourceCost& b) { return a.cycles > b.cycles; });
  return sorted;
}

struct CauseName {
  std::string_view name, title;
};
constexpr CauseName kNames[kCauses] = {
    {"vector-load", "waiting for vector loads"},
    {"store", "waiting for stores"},
    {"scalar-load", "waiting for scalar loads"},
    {"message", "waiting for messages"},
    {"lds", "waiting for LDS"},
    {"barrier", "at barriers"},
    {"sleep", "sleeping"},
    {"vector-busy", "vector ALU busy or operands not ready"},
    {"scalar-busy", "scalar unit busy or operands not ready"},
    {"memory-busy", "vector memory unit busy"},
    {"lds-busy", "LDS busy"},
    {"branch-busy", "branch unit busy"},
    {"other", "other"},
    {"idle", "between instructions"},
};

}  // namespace

std::string_view name_of(Cause cause) { return kNames[static_cast<size_t>(cause)].name; }
std::string_view title_of(Cause cause) { return kNames[static_cast<size_t>(cause)].title; }

uint64_t RowCost::stalled() const {
  return std::accumulate(cycles.begin(), cycles.end(), uint64_t{0});
}

Cause RowCost::worst() const {
  return static_cast<Cause>(std::max_element(cycles.begin(), cycles.end()) - cycles.begin());
}

uint64_t Analysis::stalled() const {
  return std::accumulate(by_cause.begin(), by_cause.end(), uint64_t{0});
}

Analysis analyze(const Trace& trace) {
  Analysis result;
  result.rows.resize(trace.code.size());
  const std::vector<WaitEffect> effects = row_effects(trace);
  std::map<std::pair<uint32_t, uint32_t>, Edge> edges;
  std::map<std::pair<uint32_t, uint32_t>, Loop> loops;
  for (const Wave& wave : trace.waves) {
    WaveWalk(trace, effects, result, edges).walk(wave);
    LoopWalk(loops).walk(wave);
    for (const Wait& wait : wave.waits)
      for (const uint32_t producer : wait.producers) edges.try_emplace({wait.row, producer});
    const bool is_first = &wave == &trace.waves.front();
    result.first_cycle = is_first ? wave.begin : std::min(result.first_cycle, wave.begin);
    result.last_cycle = std::max(result.last_cycle, wave.end);
  }
  for (auto& [rows, edge] : edges) {
    std::tie(edge.wait, edge.producer) = rows;
    result.edges.push_back(edge);
  }
  for (const auto& [rows, loop] : loops) result.loops.push_back(loop);
  result.lines = by_source(trace, result.rows);
  return result;
}

}  // namespace wavetap::itrace
