#include "analysis/work_graph.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "analysis/callstack_tree.h"
#include "analysis/op_kind.h"
#include "util/sort_runs.h"

namespace wavetap::analysis {
namespace {

using store::kNoRow;

class GraphBuilder {
 public:
  explicit GraphBuilder(const store::Trace& trace)
      : trace_(trace),
        node_of_api_(trace.apis.size(), kNoRow),
        node_of_op_(trace.ops.size(), kNoRow),
        outer_(trace.apis.size(), kNoRow),
        pid_of_op_(trace.ops.size(), -1) {}

  WorkGraph build() {
    add_calls();
    add_ops();
    add_launch_edges();
    add_stream_edges();
    add_sync_edges();
    return std::move(graph_);
  }

 private:
  // The node becomes the last of its thread or queue, `last`.
  uint32_t add(WorkNode node, std::optional<uint32_t>& last) {
    if (last) node.before = *last;
    last = static_cast<uint32_t>(graph_.nodes.size());
    graph_.nodes.push_back(node);
    return *last;
  }

  // Outermost recorded calls: markers are transparent, calls inside calls belong to the outer one.
  void add_calls() {
    const CallTree tree = build_call_tree(trace_);
    const store::Str marker = trace_.strings.find("UserMarker");
    const std::vector<bool> is_sync = synchronising_names();
    std::vector<std::optional<uint32_t>> last_of_thread(trace_.threads.size());
    for (const uint32_t row : tree.order) {
      const uint32_t parent = tree.parent[row];
      if (parent != kNoRow && outer_[parent] != kNoRow) {
        outer_[row] = outer_[parent];
        continue;
      }
      if (trace_.apis.name[row] == marker) continue;
      outer_[row] = row;
      node_of_api_[row] = add({.start = trace_.apis.start[row],
                               .end = trace_.apis.end[row],
                               .is_sync = is_sync[trace_.apis.name[row]],
                               .row = row},
                              last_of_thread[trace_.apis.thread[row]]);
    }
  }

  // By name of a call: there are few names, and many calls.
  std::vector<bool> synchronising_names() const {
    std::vector<bool> is_known(trace_.strings.size()), is_sync(trace_.strings.size());
    for (const store::Str name : trace_.apis.name) {
      if (is_known[name]) continue;
      is_known[name] = true;
      is_sync[name] = is_synchronising_call(trace_.str(name));
    }
    return is_sync;
  }

  void add_ops() {
    const store::Ops& ops = trace_.ops;
    std::vector<uint32_t> order(ops.size());
    std::iota(order.begin(), order.end(), 0);
    util::sort_runs(order, [&](uint32_t a, uint32_t b) {
      return std::pair(ops.start[a], ops.end[a]) < std::pair(ops.start[b], ops.end[b]);
    });
    std::map<std::pair<int32_t, int32_t>, std::optional<uint32_t>> last_of_queue;
    for (const uint32_t op : order)
      node_of_op_[op] = add({.start = ops.start[op], .end = ops.end[op], .is_op = true, .row = op},
                            last_of_queue[{ops.gpu[op], ops.queue[op]}]);
  }

  // And which process each op belongs to.
  void add_launch_edges() {
    for (size_t i = 0; i < trace_.links.size(); ++i) {
      const uint32_t api = trace_.links.api[i], op = trace_.links.op[i];
      if (api == kNoRow || op == kNoRow) continue;
      pid_of_op_[op] = pid_of(api);
      if (outer_[api] != kNoRow) graph_.nodes[node_of_op_[op]].cause = node_of_api_[outer_[api]];
    }
  }

  // A copy waits for the kernels before it in its stream, and kernels for copies. Ops were added by start.
  void add_stream_edges() {
    std::vector<store::Str> stream_of_call(trace_.apis.size(), 0);
    for (const store::KernelLaunch& launch : trace_.launches)
      if (launch.api != kNoRow) stream_of_call[launch.api] = launch.stream;
    for (const store::Copy& copy : trace_.copies)
      if (copy.api != kNoRow) stream_of_call[copy.api] = copy.stream;
    std::vector<store::Str> stream_of_op(trace_.ops.size(), 0);
    for (size_t i = 0; i < trace_.links.size(); ++i)
      if (trace_.links.api[i] != kNoRow && trace_.links.op[i] != kNoRow)
        stream_of_op[trace_.links.op[i]] = stream_of_call[trace_.links.api[i]];
    std::map<std::pair<int64_t, store::Str>, uint32_t> last;
    for (uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      WorkNode& node = graph_.nodes[i];
      if (!node.is_op || stream_of_op[node.row] == 0) continue;
      const auto [found, is_first] =
          last.emplace(std::pair(pid_of_op_[node.row], stream_of_op[node.row]), i);
      if (!is_first && found->second != node.before) node.stream = found->second;
      found->second = i;
    }
  }

  void add_sync_edges() {
    const std::vector<int64_t>& ends = trace_.ops.end;
    std::map<int64_t, std::vector<uint32_t>> ended;  // ops of each process by end time
    for (uint32_t op = 0; op < trace_.ops.size(); ++op) ended[pid_of_op_[op]].push_back(op);
    for (auto& [pid, list] : ended)
      util::sort_runs(list, [&](uint32_t a, uint32_t b) { return ends[a] < ends[b]; });
    for (WorkNode& node : graph_.nodes) {
      if (!node.is_sync) continue;
      const auto list = ended.find(pid_of(node.row));
      if (list == ended.end()) continue;
      const auto after = std::upper_bound(list->second.begin(), list->second.end(), node.end,
                                          [&](int64_t t, uint32_t op) { return t < ends[op]; });
      if (after == list->second.begin() || ends[*(after - 1)] <= node.start) continue;
      node.cause = node_of_op_[*(after - 1)];
      ++graph_.inferred;
    }
  }

  int64_t pid_of(uint32_t api) const { return trace_.threads[trace_.apis.thread[api]].pid; }

  const store::Trace& trace_;
  WorkGraph graph_;
  std::vector<uint32_t> node_of_api_, node_of_op_;
  std::vector<uint32_t> outer_;     // of each call: the outermost recorded one around it, or itself
  std::vector<int64_t> pid_of_op_;  // -1 when no call is linked to it
};

}  // namespace

WorkGraph build_work_graph(const store::Trace& trace) { return GraphBuilder(trace).build(); }

uint32_t last_release(const std::vector<WorkNode>& nodes, const WorkNode& op) {
  uint32_t last = kNoRow;
  int64_t released = 0;
  for (const uint32_t before : {op.cause, op.stream, op.before}) {
    if (before == kNoRow) continue;
    // A call still running when the op starts asked for it at some moment unknown; only its start is sure.
    const WorkNode& node = nodes[before];
    const int64_t at = node.end <= op.start || node.is_op ? node.end : node.start;
    if (last == kNoRow || at > released) last = before, released = at;
  }
  return last;
}

std::vector<int64_t> slacks(const WorkGraph& graph) {
  int64_t finish = 0;
  for (const WorkNode& node : graph.nodes) finish = std::max(finish, node.end);
  std::vector<int64_t> latest_end(graph.nodes.size(), finish);
  std::vector<uint32_t> order(graph.nodes.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  // Every edge goes from an earlier end to a later end or start; descending end visits successors
  // first.
  util::sort_runs(order, [&](uint32_t a, uint32_t b) {
    return std::pair(graph.nodes[a].end, graph.nodes[a].start) >
           std::pair(graph.nodes[b].end, graph.nodes[b].start);
  });
  for (const uint32_t i : order) {
    const WorkNode& node = graph.nodes[i];
    const int64_t room = latest_end[i] - node.end;
    // A predecessor the node waited for hands its delay on in full: what lies between, be it host
    // code, a launch or the return from waiting, takes its time all the same. One it did not wait
    // for could have ended as late as the node began.
    const auto limit = [&](uint32_t predecessor, bool waited_for) {
      const WorkNode& p = graph.nodes[predecessor];
      const int64_t free = waited_for ? p.end : std::max(p.end, node.start);
      latest_end[predecessor] = std::min(latest_end[predecessor], free + room);
    };
    const uint32_t awaited = node.is_op ? last_release(graph.nodes, node) : kNoRow;
    for (const uint32_t before : {node.before, node.stream, node.cause})
      if (before != kNoRow) limit(before, !node.is_op || before == awaited);
  }
  std::vector<int64_t> out(graph.nodes.size());
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = std::max<int64_t>(0, latest_end[i] - graph.nodes[i].end);
  return out;
}

}  // namespace wavetap::analysis
