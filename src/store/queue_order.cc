#include "store/queue_order.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace wavetap::store {
namespace {

using CallKind = QueuedCall::Kind;
using OpKind = QueuedOp::Kind;

// How far a launch that nothing came of is looked past.
constexpr size_t kLookAhead = 256;

// A HIP stream's life: its handle may be another stream's later.
using StreamKey = std::pair<uint64_t, uint32_t>;

struct Group {
  std::vector<size_t> work;   // launches and graph launches, as indices into the calls
  std::vector<size_t> moves;  // copies and fills
  std::vector<size_t> waits;  // for all that was asked before
  bool is_graph = false;      // the streams a graph has for its branches
};

struct Grouped {
  std::map<StreamKey, Group> groups;
  std::vector<StreamKey> key_of;  // by call
};

Grouped group_by_stream(const std::vector<QueuedCall>& calls) {
  Grouped out;
  out.key_of.reserve(calls.size());
  std::unordered_map<uint64_t, uint32_t> lives;
  std::unordered_set<uint64_t> capturing;
  for (size_t i = 0; i < calls.size(); ++i) {
    const QueuedCall& call = calls[i];
    const StreamKey key{call.stream, lives[call.stream]};
    out.key_of.push_back(key);
    switch (call.kind) {
      case CallKind::kDestroy: ++lives[call.stream]; break;
      case CallKind::kBeginCapture: capturing.insert(call.stream); break;
      case CallKind::kEndCapture: capturing.erase(call.stream); break;
      case CallKind::kLaunch:
      case CallKind::kGraph:
        // While a stream is captured its launches become nodes of a graph and reach no queue.
        if (capturing.contains(call.stream)) break;
        out.groups[key].work.push_back(i);
        if (call.kind == CallKind::kGraph && call.graph != 0) {
          Group& own = out.groups[{call.graph, lives[call.graph]}];
          own.is_graph = true;
          own.work.push_back(i);
        }
        break;
      case CallKind::kCopy:
      case CallKind::kFill:
        if (!capturing.contains(call.stream)) out.groups[key].moves.push_back(i);
        break;
      case CallKind::kWait: out.groups[key].waits.push_back(i); break;
      case CallKind::kCreate:
      case CallKind::kOther: break;
    }
  }
  return out;
}

// A stream for which a worker may have been made.
struct Candidate {
  StreamKey key;
  int rank = 0;  // how much speaks for it
};

// For each worker the streams of the calls that were open when it was made: one of them waited for
// it.
std::vector<std::vector<Candidate>> candidates_at_birth(const std::vector<QueueWorker>& workers,
                                                        const std::vector<QueuedCall>& calls,
                                                        const Grouped& grouped) {
  // A call that makes a stream is the likeliest, then one that names a stream.
  const auto rank = [](const QueuedCall& call) {
    return call.kind == CallKind::kCreate ? 2 : call.names_stream ? 1 : 0;
  };
  std::vector<size_t> by_birth(workers.size());
  std::iota(by_birth.begin(), by_birth.end(), size_t{0});
  std::stable_sort(by_birth.begin(), by_birth.end(),
                   [&](size_t a, size_t b) { return workers[a].born < workers[b].born; });
  std::vector<std::vector<Candidate>> out(workers.size());
  std::vector<size_t> open;
  size_t next = 0;
  for (const size_t w : by_birth) {
    const QueueWorker& worker = workers[w];
    if (worker.born == 0) continue;
    for (; next < calls.size() && calls[next].start <= worker.born; ++next) open.push_back(next);
    std::erase_if(open, [&](size_t i) { return calls[i].end < worker.born; });
    std::map<StreamKey, int> found;
    for (const size_t i : open) {
      if (calls[i].owner.stream == worker.stream) continue;
      int& best = found[grouped.key_of[i]];
      best = std::max(best, rank(calls[i]));
    }
    for (const auto& [key, best] : found)
      if (grouped.groups.contains(key)) out[w].push_back({key, best});
  }
  return out;
}

// Some of a stream's calls, to be worked off in the order they were queued. That is the order they
// began; of calls of several threads that overlap, either may have been first.
class Row {
 public:
  Row(const std::vector<QueuedCall>& calls, const std::vector<size_t>& members,
      const std::vector<size_t>& waits)
      : calls_(calls), members_(members), done_(members.size()) {
    // The first to end of a wait and all after it.
    std::vector<uint64_t> ends(waits.size() + 1, UINT64_MAX);
    for (size_t i = waits.size(); i-- > 0;) ends[i] = std::min(ends[i + 1], calls[waits[i]].end);
    deadlines_.reserve(members.size());
    for (const size_t i : members) {
      const auto wait = std::partition_point(
          waits.begin(), waits.end(), [&](size_t w) { return calls[w].start < calls[i].end; });
      deadlines_.push_back(ends[static_cast<size_t>(wait - waits.begin())]);
    }
  }

  size_t size() const { return members_.size(); }
  size_t first() const { return first_; }
  size_t index(size_t at) const { return members_[at]; }
  const QueuedCall& at(size_t at) const { return calls_[members_[at]]; }
  // When a call waited for this one's work, the end of that wait.
  uint64_t deadline(size_t at) const { return deadlines_[at]; }

  void finish(size_t at) {
    done_[at] = true;
    while (first_ < size() && done_[first_]) ++first_;
  }

  // Of the calls that may be the next: the one that fits best, and of those the one that ended
  // first, because the most calls come after it. A graph is no such call, and none after it. `fit`
  // says how well, 0 for not at all.
  template <typename Fit>
  std::optional<size_t> next(const Fit& fit) const {
    std::optional<size_t> best;
    int best_fit = 0;
    uint64_t first_end = UINT64_MAX;
    for (size_t i = first_;
         i < size() && at(i).start <= first_end && at(i).kind != CallKind::kGraph; ++i) {
      if (done_[i]) continue;
      first_end = std::min(first_end, at(i).end);
      const int f = fit(i);
      if (f > best_fit || (f != 0 && f == best_fit && at(i).end < at(*best).end))
        best = i, best_fit = f;
    }
    return best;
  }

  // Past calls that nothing came of: the first one that fits, or a graph.
  template <typename Fit>
  std::optional<size_t> later(const Fit& fit) const {
    size_t seen = 0;
    for (size_t i = first_; i < size() && seen < kLookAhead; ++i) {
      if (done_[i]) continue;
      ++seen;
      if (i != first_ && (at(i).kind == CallKind::kGraph || fit(i) != 0)) return i;
    }
    return std::nullopt;
  }

  // The calls not done that were over before this one began, or all before it when it is a graph.
  std::vector<size_t> passed_by(size_t chosen) const {
    std::vector<size_t> out;
    for (size_t i = first_; i < chosen; ++i)
      if (!done_[i] && (at(chosen).kind == CallKind::kGraph || at(i).end < at(chosen).start))
        out.push_back(i);
    return out;
  }

 private:
  const std::vector<QueuedCall>& calls_;
  const std::vector<size_t>& members_;
  std::vector<bool> done_;
  std::vector<uint64_t> deadlines_;
  size_t first_ = 0;  // not done
};

// Lays a worker's operations beside the calls of a stream.
class Match {
 public:
  Match(const std::vector<QueuedCall>& calls, const Group& group, const std::vector<QueuedOp>& ops,
        const std::vector<size_t>& of_worker)
      : ops_(ops),
        of_worker_(of_worker),
        work_(calls, group.work, group.waits),
        moves_(calls, group.moves, group.waits),
        moved_(group.moves.size()) {
    for (const size_t i : group.work)
      (calls[i].kind == CallKind::kGraph ? graphs_left_ : launches_left_) += 1;
    for (const size_t i : of_worker) kernels_left_ += ops[i].kind == OpKind::kKernel;
  }

  // (op, call) for each that was found.
  std::vector<std::pair<size_t, size_t>> run() {
    std::vector<std::pair<size_t, size_t>> found;
    for (const size_t i : of_worker_) {
      const QueuedOp& op = ops_[i];
      const std::optional<size_t> call = op.kind == OpKind::kKernel        ? next_work(op)
                                         : op.kind == OpKind::kOtherKernel ? peek_work(op)
                                                                           : next_move(op);
      if (op.kind == OpKind::kKernel) --kernels_left_;
      if (call) found.emplace_back(i, *call);
    }
    return found;
  }

 private:
  std::optional<size_t> next_work(const QueuedOp& op) {
    const auto fit = [&](size_t at) { return launch_fits(at, op); };
    while (work_.first() < work_.size()) {
      const size_t first = work_.first();
      if (work_.at(first).kind == CallKind::kGraph) {
        // Every launch has one kernel; what is more than that is the graphs', in equal parts.
        if (!nodes_left_)
          nodes_left_ =
              kernels_left_ > launches_left_ ? (kernels_left_ - launches_left_) / graphs_left_ : 0;
        if (*nodes_left_ > 0 && work_.at(first).start <= op.time) {
          --*nodes_left_;
          return work_.index(first);
        }
        finish_work(first);
      } else if (const std::optional<size_t> launch = work_.next(fit)) {
        finish_work(*launch);
        return work_.index(*launch);
      } else if (const std::optional<size_t> later = work_.later(fit)) {
        for (const size_t passed : work_.passed_by(*later)) finish_work(passed);
      } else {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  int launch_fits(size_t at, const QueuedOp& op) const {
    const QueuedCall& launch = work_.at(at);
    return launch.start <= op.time && op.time <= work_.deadline(at) &&
           (launch.kernel.empty() || op.kernel.empty() || launch.kernel == op.kernel) &&
           (launch.shape == LaunchShape{} || op.shape == LaunchShape{} || launch.shape == op.shape);
  }

  void finish_work(size_t at) {
    const bool is_graph = work_.at(at).kind == CallKind::kGraph;
    if (is_graph) last_graph_ = work_.index(at);
    (is_graph ? graphs_left_ : launches_left_) -= 1;
    nodes_left_.reset();
    work_.finish(at);
  }

  // A kernel the runtime puts before a launch of the program.
  std::optional<size_t> peek_work(const QueuedOp& op) const {
    if (work_.first() < work_.size() && work_.at(work_.first()).start <= op.time)
      return work_.index(work_.first());
    return std::nullopt;
  }

  std::optional<size_t> next_move(const QueuedOp& op) {
    while (moves_.first() < moves_.size() && is_over(moves_.first(), op.time))
      moves_.finish(moves_.first());
    const auto fit = [&](size_t at) { return move_fits(at, op); };
    std::optional<size_t> found = moves_.next(fit);
    if (!found) found = moves_.later(fit);
    if (!found) return graph_at(op.time);
    for (const size_t passed : moves_.passed_by(*found)) moves_.finish(passed);
    const QueuedCall& move = moves_.at(*found);
    moved_[*found] += op.bytes;
    // One that is waited for may come in many parts; of the others a kernel does all, and copies do
    // what was asked.
    const bool is_whole = op.kind != OpKind::kCopy || moved_[*found] >= move.bytes;
    if (!move.synchronous && is_whole) moves_.finish(*found);
    return moves_.index(*found);
  }

  bool is_over(size_t at, uint64_t time) const {
    return moves_.deadline(at) < time || (moves_.at(at).synchronous && moves_.at(at).end < time);
  }

  // 2: it is all that was asked for, 1: it may be a part.
  int move_fits(size_t at, const QueuedOp& op) const {
    const QueuedCall& move = moves_.at(at);
    const bool is_kind = op.kind == OpKind::kFillKernel ? move.kind == CallKind::kFill
                                                        : move.kind == CallKind::kCopy;
    if (move.start > op.time || is_over(at, op.time) || !is_kind) return 0;
    if (op.kind != OpKind::kCopy || move.bytes == 0) return 1;
    const uint64_t left = move.bytes - std::min(move.bytes, moved_[at]);
    return op.bytes == left ? 2 : op.bytes < left;
  }

  // A copy that no call asked for is a node of the graph that is being worked off.
  std::optional<size_t> graph_at(uint64_t time) const {
    const size_t first = work_.first();
    if (first < work_.size() && work_.at(first).kind == CallKind::kGraph &&
        work_.at(first).start <= time)
      return work_.index(first);
    return last_graph_;
  }

  const std::vector<QueuedOp>& ops_;
  const std::vector<size_t>& of_worker_;
  Row work_;
  Row moves_;
  std::vector<uint64_t> moved_;  // bytes of each of moves_
  size_t launches_left_ = 0, graphs_left_ = 0, kernels_left_ = 0;
  std::optional<size_t> nodes_left_;  // of the graph that is first
  std::optional<size_t> last_graph_;  // before it
};

// A copy goes to the queue of the device that has the memory, whatever the caller's device is.
// While its call waits for it, the two are found by time.
void give_to_waiting(const std::vector<QueuedCall>& calls, const std::vector<QueuedOp>& ops,
                     CallKind kind, std::vector<format::Owner>& owners) {
  std::vector<size_t> left;  // by time
  for (size_t i = 0; i < ops.size(); ++i) {
    const bool is_fill = ops[i].kind == OpKind::kFillKernel;
    const bool is_copy = ops[i].kind == OpKind::kCopy || ops[i].kind == OpKind::kCopyKernel;
    if (owners[i].call == 0 && (kind == CallKind::kFill ? is_fill : is_copy)) left.push_back(i);
  }
  std::stable_sort(left.begin(), left.end(),
                   [&](size_t a, size_t b) { return ops[a].time < ops[b].time; });
  std::vector<const QueuedCall*> open;
  size_t next = 0;
  for (const size_t i : left) {
    for (; next < calls.size() && calls[next].start <= ops[i].time; ++next)
      if (calls[next].kind == kind && calls[next].synchronous) open.push_back(&calls[next]);
    std::erase_if(open, [&](const QueuedCall* call) { return call->end < ops[i].time; });
    if (open.size() == 1) owners[i] = open.front()->owner;
  }
}

}  // namespace

std::vector<format::Owner> owners_by_order(const std::vector<QueuedCall>& calls,
                                           const std::vector<QueuedOp>& ops,
                                           const std::vector<QueueWorker>& workers) {
  std::vector<format::Owner> owners(ops.size());
  const Grouped grouped = group_by_stream(calls);
  std::unordered_map<uint32_t, std::vector<size_t>> ops_of;
  for (size_t i = 0; i < ops.size(); ++i) ops_of[ops[i].worker].push_back(i);

  // A worker beside a stream.
  struct Pair {
    size_t found = 0;      // operations
    size_t left_over = 0;  // of the stream's launches
    size_t choices = 0;    // streams that the worker may serve
    int rank = 0;
    uint32_t worker = 0;
    const std::pair<const StreamKey, Group>* stream = nullptr;
  };
  std::set<StreamKey> served;
  std::unordered_set<uint32_t> decided;
  const auto match = [&](uint32_t worker, const Group& group) {
    return Match(calls, group, ops, ops_of[worker]).run();
  };
  const auto add = [&](std::vector<Pair>& pairs, uint32_t worker, const Candidate& candidate,
                       size_t choices) {
    const auto& stream = *grouped.groups.find(candidate.key);
    const size_t found = match(worker, stream.second).size();
    const size_t launches = stream.second.work.size();
    if (found == 0) return;
    pairs.push_back(
        {found, launches - std::min(launches, found), choices, candidate.rank, worker, &stream});
  };
  // The best pairs first. Only a graph has several workers.
  const auto decide = [&](std::vector<Pair> pairs) {
    std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
      return std::tie(b.found, a.left_over, a.choices, b.rank) <
             std::tie(a.found, b.left_over, b.choices, a.rank);
    });
    for (const Pair& pair : pairs) {
      const auto& [key, group] = *pair.stream;
      if (served.contains(key) || !decided.insert(pair.worker).second) continue;
      if (!group.is_graph) served.insert(key);
      for (const auto& [op, call] : match(pair.worker, group)) owners[op] = calls[call].owner;
    }
  };

  std::vector<Pair> pairs;
  const std::vector<std::vector<Candidate>> candidates =
      candidates_at_birth(workers, calls, grouped);
  for (size_t w = 0; w < workers.size(); ++w)
    for (const Candidate& candidate : candidates[w])
      add(pairs, workers[w].stream, candidate, candidates[w].size());
  decide(std::move(pairs));
  // Who is left, beside every stream of the program that is left.
  pairs.clear();
  for (const QueueWorker& worker : workers) {
    if (decided.contains(worker.stream)) continue;
    for (const auto& [key, group] : grouped.groups)
      if (!served.contains(key) && !group.is_graph) add(pairs, worker.stream, {key, 0}, 0);
  }
  decide(std::move(pairs));
  give_to_waiting(calls, ops, CallKind::kCopy, owners);
  give_to_waiting(calls, ops, CallKind::kFill, owners);
  return owners;
}

}  // namespace wavetap::store
