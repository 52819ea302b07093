#include "store/queue_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
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
      case CallKind::kCreate:
      case CallKind::kOther: break;
    }
  }
  return out;
}

// The stream for which a worker was made: that of the call which waited for it. Nothing when several may have.
std::optional<StreamKey> stream_at_birth(const QueueWorker& worker, const std::vector<QueuedCall>& calls, const Grouped& grouped) {
  // A call that makes a stream is the likeliest, then one that names a stream.
  const auto rank = [](const QueuedCall& call) { return call.kind == CallKind::kCreate ? 2 : call.names_stream ? 1 : 0; };
  std::optional<StreamKey> found;
  int best = -1;
  bool several = false;
  for (size_t i = 0; i < calls.size() && worker.born != 0 && calls[i].start <= worker.born; ++i) {
    if (calls[i].end < worker.born || calls[i].owner.stream == worker.stream) continue;
    const int r = rank(calls[i]);
    if (r < best) continue;
    several = r == best && (several || found != grouped.key_of[i]);
    found = grouped.key_of[i];
    best = r;
  }
  return several ? std::nullopt : found;
}

// Lays a worker's operations beside the calls of a stream.
class Match {
 public:
  Match(const std::vector<QueuedCall>& calls, const Group& group, const std::vector<QueuedOp>& ops, const std::vector<size_t>& of_worker)
      : calls_(calls), group_(group), ops_(ops), of_worker_(of_worker) {
    for (const size_t i : group.work) (calls[i].kind == CallKind::kGraph ? graphs_left_ : launches_left_) += 1;
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
  const QueuedCall& work(size_t at) const { return calls_[group_.work[at]]; }

  bool fits(const QueuedCall& launch, const QueuedOp& op) const {
    return launch.start <= op.time && (launch.kernel.empty() || op.kernel.empty() || launch.kernel == op.kernel);
  }

  void pass() {
    if (work(at_).kind == CallKind::kGraph) last_graph_ = group_.work[at_];
    (work(at_).kind == CallKind::kGraph ? graphs_left_ : launches_left_) -= 1;
    nodes_left_.reset();
    ++at_;
  }

  std::optional<size_t> next_work(const QueuedOp& op) {
    while (at_ < group_.work.size()) {
      if (work(at_).kind == CallKind::kGraph) {
        // Every launch has one kernel; what is more than that is the graphs', in equal parts.
        if (!nodes_left_) nodes_left_ = kernels_left_ > launches_left_ ? (kernels_left_ - launches_left_) / graphs_left_ : 0;
        if (*nodes_left_ > 0 && work(at_).start <= op.time) {
          --*nodes_left_;
          return group_.work[at_];
        }
      } else if (fits(work(at_), op)) {
        const size_t found = group_.work[at_];
        pass();
        return found;
      } else if (!fits_later(op)) {
        return std::nullopt;
      }
      pass();
    }
    return std::nullopt;
  }

  bool fits_later(const QueuedOp& op) const {
    for (size_t i = at_ + 1; i < group_.work.size() && i < at_ + kLookAhead; ++i)
      if (work(i).kind == CallKind::kGraph || fits(work(i), op)) return true;
    return false;
  }

  // A kernel the runtime puts before a launch of the program.
  std::optional<size_t> peek_work(const QueuedOp& op) const {
    if (at_ < group_.work.size() && work(at_).start <= op.time) return group_.work[at_];
    return std::nullopt;
  }

  std::optional<size_t> next_move(const QueuedOp& op) {
    for (; move_at_ < group_.moves.size(); ++move_at_, moved_ = 0) {
      const QueuedCall& move = calls_[group_.moves[move_at_]];
      if (move.start > op.time) return graph_at(op.time);
      const bool is_over = move.synchronous && move.end < op.time;
      const bool is_kind = op.kind == OpKind::kFillKernel ? move.kind == CallKind::kFill : move.kind == CallKind::kCopy;
      if (is_over || !is_kind || (op.kind == OpKind::kCopy && move.bytes != 0 && moved_ + op.bytes > move.bytes)) continue;
      const size_t found = group_.moves[move_at_];
      moved_ += op.bytes;
      // One that is waited for may come in many parts; of the others a kernel does all, and copies do what was asked.
      const bool is_whole = op.kind != OpKind::kCopy || moved_ >= move.bytes;
      if (!move.synchronous && is_whole) ++move_at_, moved_ = 0;
      return found;
    }
    return graph_at(op.time);
  }

  // A copy that no call asked for is a node of the graph that is being worked off.
  std::optional<size_t> graph_at(uint64_t time) const {
    if (at_ < group_.work.size() && work(at_).kind == CallKind::kGraph && work(at_).start <= time) return group_.work[at_];
    return last_graph_;
  }

  const std::vector<QueuedCall>& calls_;
  const Group& group_;
  const std::vector<QueuedOp>& ops_;
  const std::vector<size_t>& of_worker_;
  size_t at_ = 0;
  size_t move_at_ = 0;
  uint64_t moved_ = 0;
  size_t launches_left_ = 0, graphs_left_ = 0, kernels_left_ = 0;
  std::optional<size_t> nodes_left_;  // of the graph at at_
  std::optional<size_t> last_graph_;  // before at_
};

// A copy goes to the queue of the device that has the memory, whatever the caller's device is. While its call waits for
// it, the two are found by time.
void give_to_waiting(const std::vector<QueuedCall>& calls, const std::vector<QueuedOp>& ops, std::vector<format::Owner>& owners) {
  for (size_t i = 0; i < ops.size(); ++i) {
    const QueuedOp& op = ops[i];
    if (owners[i].call != 0 || op.kind == OpKind::kKernel || op.kind == OpKind::kOtherKernel) continue;
    const CallKind wanted = op.kind == OpKind::kFillKernel ? CallKind::kFill : CallKind::kCopy;
    const QueuedCall* found = nullptr;
    bool several = false;
    for (const QueuedCall& call : calls) {
      if (call.start > op.time) break;
      if (call.kind != wanted || !call.synchronous || call.end < op.time) continue;
      several = found != nullptr;
      found = &call;
    }
    if (found != nullptr && !several) owners[i] = found->owner;
  }
}

}  // namespace

std::vector<format::Owner> owners_by_order(const std::vector<QueuedCall>& calls, const std::vector<QueuedOp>& ops,
                                           const std::vector<QueueWorker>& workers) {
  std::vector<format::Owner> owners(ops.size());
  const Grouped grouped = group_by_stream(calls);
  std::unordered_map<uint32_t, std::vector<size_t>> ops_of;
  for (size_t i = 0; i < ops.size(); ++i) ops_of[ops[i].worker].push_back(i);

  const auto take = [&](const std::vector<std::pair<size_t, size_t>>& found) {
    for (const auto& [op, call] : found) owners[op] = calls[call].owner;
  };
  std::set<StreamKey> served;
  std::vector<const QueueWorker*> undecided;
  for (const QueueWorker& worker : workers) {
    const std::optional<StreamKey> key = stream_at_birth(worker, calls, grouped);
    const auto group = key ? grouped.groups.find(*key) : grouped.groups.end();
    if (group == grouped.groups.end()) {
      undecided.push_back(&worker);
      continue;
    }
    served.insert(*key);
    take(Match(calls, group->second, ops, ops_of[worker.stream]).run());
  }
  // Every worker beside every stream of the program that is left; the best pairs first.
  struct Pair {
    std::vector<std::pair<size_t, size_t>> found;
    size_t left_over = 0;  // of the stream's launches
    uint32_t worker = 0;
    StreamKey key;
  };
  std::vector<Pair> pairs;
  for (const QueueWorker* worker : undecided) {
    for (const auto& [key, group] : grouped.groups) {
      if (served.contains(key) || group.is_graph) continue;
      Pair pair{Match(calls, group, ops, ops_of[worker->stream]).run(), 0, worker->stream, key};
      pair.left_over = group.work.size() - std::min(group.work.size(), pair.found.size());
      if (!pair.found.empty()) pairs.push_back(std::move(pair));
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return a.found.size() != b.found.size() ? a.found.size() > b.found.size() : a.left_over < b.left_over;
  });
  std::unordered_set<uint32_t> decided;
  for (const Pair& pair : pairs) {
    if (served.contains(pair.key) || !decided.insert(pair.worker).second) continue;
    served.insert(pair.key);
    take(pair.found);
  }
  give_to_waiting(calls, ops, owners);
  return owners;
}

}  // namespace wavetap::store
