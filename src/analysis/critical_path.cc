// critical-path: the chain of work that decided how long the program ran, and how much later
// everything else could have finished without being felt (slack).
//
// Nodes are ops and the outermost calls of each thread. Edges, from what is known:
//   launch   a call started an op                                   fact (rocpd_api_ops)
//   queue    ops of one queue run in order                          fact
//   thread   calls of one thread follow each other                  fact
//   sync     a synchronising call returned after an op ended        inferred: which stream it waited for is
//                                                                   not in the trace, so the op of the same
//                                                                   process that ended last before is taken
// The path is walked backwards from the last end; at each step the predecessor that released the
// node last is the one that mattered. Time between that release and the node's start is shown for
// what it is: host code outside any recorded call, or launch latency.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "analysis/analysis.h"
#include "analysis/callstack_tree.h"
#include "analysis/op_kind.h"
#include "util/text.h"

namespace wavetap::analysis {
namespace {

using store::kNoRow;

struct Node {
  int64_t start = 0, end = 0;
  bool is_op = false;
  bool is_sync = false;
  uint32_t row = 0;
  uint32_t before = kNoRow;  // node: previous of the same queue or thread
  uint32_t cause = kNoRow;   // node: the launching call of an op, or the op a sync waited for
};

struct Graph {
  std::vector<Node> nodes;
  uint64_t inferred = 0;
};

class GraphBuilder {
 public:
  explicit GraphBuilder(const store::Trace& trace)
      : trace_(trace),
        node_of_api_(trace.apis.size(), kNoRow),
        node_of_op_(trace.ops.size(), kNoRow),
        outer_(trace.apis.size(), kNoRow),
        pid_of_op_(trace.ops.size(), -1) {}

  Graph build() {
    add_calls();
    add_ops();
    add_launch_edges();
    add_sync_edges();
    return std::move(graph_);
  }

 private:
  // The node becomes the last of its thread or queue, `last`.
  uint32_t add(Node node, std::optional<uint32_t>& last) {
    if (last) node.before = *last;
    last = static_cast<uint32_t>(graph_.nodes.size());
    graph_.nodes.push_back(node);
    return *last;
  }

  // Outermost recorded calls: markers are transparent, calls inside calls belong to the outer one.
  void add_calls() {
    const CallTree tree = build_call_tree(trace_);
    const store::Str marker = trace_.strings.find("UserMarker");
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
                               .is_sync = is_synchronising_call(trace_.str(trace_.apis.name[row])),
                               .row = row},
                              last_of_thread[trace_.apis.thread[row]]);
    }
  }

  void add_ops() {
    const store::Ops& ops = trace_.ops;
    std::vector<uint32_t> order(ops.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
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

  void add_sync_edges() {
    const std::vector<int64_t>& ends = trace_.ops.end;
    std::map<int64_t, std::vector<uint32_t>> ended;  // ops of each process by end time
    for (uint32_t op = 0; op < trace_.ops.size(); ++op) ended[pid_of_op_[op]].push_back(op);
    for (auto& [pid, list] : ended)
      std::sort(list.begin(), list.end(),
                [&](uint32_t a, uint32_t b) { return ends[a] < ends[b]; });
    for (Node& node : graph_.nodes) {
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
  Graph graph_;
  std::vector<uint32_t> node_of_api_, node_of_op_;
  std::vector<uint32_t> outer_;     // of each call: the outermost recorded one around it, or itself
  std::vector<int64_t> pid_of_op_;  // -1 when no call is linked to it
};

struct Piece {
  std::string kind;  // kernel, copy, call, sync, host code, launch latency
  std::string name;
  int64_t ns = 0;
};

// Walks back from the node that ends last.
class PathWalk {
 public:
  PathWalk(const store::Trace& trace, const Graph& graph)
      : trace_(trace), graph_(graph), kinds_(trace) {}

  std::vector<Piece> walk() {
    if (graph_.nodes.empty()) return {};
    uint32_t at = 0;
    for (uint32_t i = 0; i < graph_.nodes.size(); ++i)
      if (graph_.nodes[i].end > graph_.nodes[at].end) at = i;
    until_ = graph_.nodes[at].end;
    while (at != kNoRow)
      at = graph_.nodes[at].is_op ? leave_op(graph_.nodes[at]) : leave_call(graph_.nodes[at]);
    return std::move(path_);
  }

 private:
  // Each adds what the node contributed and returns the one before it, or kNoRow.
  uint32_t leave_op(const Node& node) {
    uint32_t next = kNoRow;
    int64_t released = 0;
    // Neighbours of one queue may overlap by a little; the earlier one then hands over at the start.
    if (node.before != kNoRow)
      next = node.before, released = std::min(graph_.nodes[next].end, node.start);
    if (node.cause != kNoRow) {
      const Node& call = graph_.nodes[node.cause];
      // A call still running when the op starts asked for it at some moment unknown; only its start
      // is sure.
      const int64_t asked = call.end <= node.start ? call.end : call.start;
      if (next == kNoRow || asked > released) next = node.cause, released = asked;
    }
    add(op_kind_name(kinds_[node.row]), trace_.str(trace_.ops.name(node.row)), until_ - node.start);
    return hand_over(node, next, released, "launch latency");
  }

  uint32_t leave_call(const Node& node) {
    const std::string_view name = trace_.str(trace_.apis.name[node.row]);
    if (node.cause != kNoRow && graph_.nodes[node.cause].end < until_) {
      const int64_t begin = std::max(graph_.nodes[node.cause].end, node.start);
      add("sync", name, until_ - begin);
      until_ = begin;
      return node.cause;
    }
    add("call", name, until_ - node.start);
    const int64_t released =
        node.before != kNoRow ? std::min(graph_.nodes[node.before].end, node.start) : 0;
    return hand_over(node, node.before, released, "host code");
  }

  // A predecessor that reaches past the node's start hands over at that start.
  uint32_t hand_over(const Node& node, uint32_t next, int64_t released, const char* between) {
    if (next == kNoRow) return kNoRow;
    if (released < node.start) add(between, between, node.start - released);
    until_ = std::min(released, node.start);
    return next;
  }

  void add(const char* kind, std::string_view name, int64_t ns) {
    path_.push_back({kind, std::string(name), ns});
  }

  const store::Trace& trace_;
  const Graph& graph_;
  const OpKinds kinds_;
  int64_t until_ = 0;  // what lies after it is on the path already
  std::vector<Piece> path_;
};

// Latest end of each node that would not move the end of the program, minus its actual end.
std::vector<int64_t> slacks(const Graph& graph) {
  int64_t finish = 0;
  for (const Node& node : graph.nodes) finish = std::max(finish, node.end);
  std::vector<int64_t> latest_end(graph.nodes.size(), finish);
  std::vector<uint32_t> order(graph.nodes.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  // Every edge goes from an earlier end to a later end or start; descending end visits successors
  // first.
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(graph.nodes[a].end, graph.nodes[a].start) >
           std::pair(graph.nodes[b].end, graph.nodes[b].start);
  });
  for (const uint32_t i : order) {
    const Node& node = graph.nodes[i];
    const int64_t room = latest_end[i] - node.end;
    // A predecessor the node waited for hands its delay on in full: what lies between, be it host
    // code, a launch or the return from waiting, takes its time all the same. One it did not wait
    // for could have ended as late as the node began.
    const auto limit = [&](uint32_t predecessor, bool waited_for) {
      const Node& p = graph.nodes[predecessor];
      const int64_t free = waited_for ? p.end : std::max(p.end, node.start);
      latest_end[predecessor] = std::min(latest_end[predecessor], free + room);
    };
    const bool both = node.is_op && node.before != kNoRow && node.cause != kNoRow;
    const bool queue_last = both && graph.nodes[node.before].end > graph.nodes[node.cause].end;
    if (node.before != kNoRow) limit(node.before, !both || queue_last);
    if (node.cause != kNoRow) limit(node.cause, !both || !queue_last);
  }
  std::vector<int64_t> out(graph.nodes.size());
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = std::max<int64_t>(0, latest_end[i] - graph.nodes[i].end);
  return out;
}

Table kind_table(const std::vector<Piece>& path, int64_t length) {
  std::map<std::string, int64_t> by_kind;
  for (const Piece& piece : path) by_kind[piece.kind] += piece.ns;
  Table table{.name = "kinds",
              .title = "What the path is made of",
              .columns = {{"kind", "KIND"},
                          {"time_ns", "TIME", Unit::kNs},
                          {"share", "SHARE", Unit::kShare},
                          {"bar", "", Unit::kBar}}};
  for (const auto& [kind, ns] : by_kind)
    table.rows.push_back({kind, ns, share_of(ns, length), share_of(ns, length)});
  sort_rows(table, 1);
  return table;
}

Table name_table(const std::vector<Piece>& path, int64_t length, const Options& options) {
  struct Sums {
    int64_t pieces = 0, ns = 0;
  };
  std::map<std::pair<std::string, std::string>, Sums> by_name;
  for (const Piece& piece : path) {
    Sums& sums = by_name[{piece.kind, piece.name}];
    ++sums.pieces;
    sums.ns += piece.ns;
  }
  Table table{.name = "names",
              .title = "By name",
              .columns = {{"name", "NAME", Unit::kKernel},
                          {"kind", "KIND"},
                          {"steps", "STEPS", Unit::kCount},
                          {"time_ns", "TIME", Unit::kNs},
                          {"share", "SHARE", Unit::kShare}}};
  for (const auto& [key, sums] : by_name)
    table.rows.push_back({key.second, key.first, sums.pieces, sums.ns, share_of(sums.ns, length)});
  sort_rows(table, 3);
  cut_to_top(table, options);
  return table;
}

Table slack_table(const store::Trace& trace, const Graph& graph, const Options& options) {
  const std::vector<int64_t> slack = slacks(graph);
  struct Sums {
    int64_t calls = 0, critical = 0, least = 0, total = 0, time = 0;
  };
  std::map<store::Str, Sums> by_op;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!graph.nodes[i].is_op) continue;
    Sums& s = by_op[trace.ops.name(graph.nodes[i].row)];
    s.least = s.calls == 0 ? slack[i] : std::min(s.least, slack[i]);
    ++s.calls;
    s.critical += slack[i] == 0 ? 1 : 0;
    s.total += slack[i];
    s.time += graph.nodes[i].end - graph.nodes[i].start;
  }
  Table table{.name = "slack",
              .title = "Slack of GPU work: how much later it could have ended unnoticed",
              .columns = {{"name", "OP", Unit::kKernel},
                          {"calls", "CALLS", Unit::kCount},
                          {"time_ns", "TIME", Unit::kNs},
                          {"critical_share", "CRITICAL", Unit::kShare},
                          {"least_ns", "LEAST", Unit::kNs},
                          {"mean_ns", "MEAN", Unit::kNs}}};
  for (const auto& [name, s] : by_op)
    table.rows.push_back({std::string(trace.str(name)), s.calls, s.time,
                          share_of(s.critical, s.calls), s.least, s.total / s.calls});
  sort_rows(table, 2);
  cut_to_top(table, options);
  return table;
}

Result<Report> run(const store::Trace& trace, const Options& options) {
  const Graph graph = GraphBuilder(trace).build();
  const std::vector<Piece> path = PathWalk(trace, graph).walk();
  int64_t length = 0;
  for (const Piece& piece : path) length += piece.ns;

  Report report;
  report.facts.push_back({"length_ns", "length of the path", Unit::kNs, length});
  report.facts.push_back({"steps", "steps", Unit::kCount, static_cast<int64_t>(path.size())});
  report.tables.push_back(kind_table(path, length));
  report.tables.push_back(name_table(path, length, options));
  report.tables.push_back(slack_table(trace, graph, options));
  if (graph.inferred > 0)
    report.notes.push_back(util::count_of(graph.inferred, "sync edge") +
                           " inferred: a synchronising call is taken to wait for the "
                           "op of its process that ended last before it returned");
  report.notes.push_back(
      "events recorded on one stream and waited for on another are not in the trace; such edges "
      "are missing");
  return report;
}

}  // namespace

extern const Analysis kCriticalPath{.name = "critical-path",
                                    .help = "what decided the run time, and the slack of the rest",
                                    .run = run};

}  // namespace wavetap::analysis
