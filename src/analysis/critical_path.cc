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

Graph build_graph(const store::Trace& trace) {
  Graph graph;
  const CallTree tree = build_call_tree(trace);
  const store::Str marker = trace.strings.find("UserMarker");
  std::vector<uint32_t> node_of_api(trace.apis.size(), kNoRow),
      node_of_op(trace.ops.size(), kNoRow);

  // Outermost recorded calls: markers are transparent, calls inside calls belong to the outer one.
  std::vector<uint32_t> outer(trace.apis.size(), kNoRow);
  std::map<uint32_t, uint32_t> last_of_thread;
  for (const uint32_t row : tree.order) {
    const uint32_t parent = tree.parent[row];
    if (parent != kNoRow && outer[parent] != kNoRow) {
      outer[row] = outer[parent];
      continue;
    }
    if (trace.apis.name[row] == marker) continue;
    outer[row] = row;
    Node node{trace.apis.start[row],
              trace.apis.end[row],
              false,
              is_synchronising_call(trace.str(trace.apis.name[row])),
              row,
              kNoRow,
              kNoRow};
    const auto last = last_of_thread.find(trace.apis.thread[row]);
    if (last != last_of_thread.end()) node.before = last->second;
    node_of_api[row] = static_cast<uint32_t>(graph.nodes.size());
    last_of_thread[trace.apis.thread[row]] = node_of_api[row];
    graph.nodes.push_back(node);
  }

  std::vector<uint32_t> ops(trace.ops.size());
  for (uint32_t op = 0; op < ops.size(); ++op) ops[op] = op;
  std::sort(ops.begin(), ops.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(trace.ops.start[a], trace.ops.end[a]) <
           std::pair(trace.ops.start[b], trace.ops.end[b]);
  });
  std::map<std::pair<int32_t, int32_t>, uint32_t> last_of_queue;
  for (const uint32_t op : ops) {
    Node node{trace.ops.start[op], trace.ops.end[op], true, false, op, kNoRow, kNoRow};
    const auto key = std::pair(trace.ops.gpu[op], trace.ops.queue[op]);
    if (const auto last = last_of_queue.find(key); last != last_of_queue.end())
      node.before = last->second;
    node_of_op[op] = static_cast<uint32_t>(graph.nodes.size());
    last_of_queue[key] = node_of_op[op];
    graph.nodes.push_back(node);
  }
  // Launch edges, and which process each op belongs to.
  std::vector<int64_t> pid_of_op(trace.ops.size(), -1);
  for (size_t i = 0; i < trace.links.size(); ++i) {
    const uint32_t api = trace.links.api[i], op = trace.links.op[i];
    if (api == kNoRow || op == kNoRow) continue;
    pid_of_op[op] = trace.threads[trace.apis.thread[api]].pid;
    if (outer[api] != kNoRow) graph.nodes[node_of_op[op]].cause = node_of_api[outer[api]];
  }
  // Sync edges: ops of each process by end time.
  std::map<int64_t, std::vector<uint32_t>> ended;
  for (uint32_t op = 0; op < trace.ops.size(); ++op) ended[pid_of_op[op]].push_back(op);
  for (auto& [pid, list] : ended)
    std::sort(list.begin(), list.end(),
              [&](uint32_t a, uint32_t b) { return trace.ops.end[a] < trace.ops.end[b]; });
  for (Node& node : graph.nodes) {
    if (!node.is_sync) continue;
    const auto list = ended.find(trace.threads[trace.apis.thread[node.row]].pid);
    if (list == ended.end()) continue;
    const auto after =
        std::upper_bound(list->second.begin(), list->second.end(), node.end,
                         [&](int64_t t, uint32_t op) { return t < trace.ops.end[op]; });
    if (after == list->second.begin() || trace.ops.end[*(after - 1)] <= node.start) continue;
    node.cause = node_of_op[*(after - 1)];
    ++graph.inferred;
  }
  return graph;
}

struct Piece {
  std::string kind;  // kernel, copy, call, sync, host code, launch latency
  std::string name;
  int64_t ns = 0;
};

// Walks back from the node that ends last.
std::vector<Piece> walk(const store::Trace& trace, const Graph& graph) {
  std::vector<Piece> path;
  if (graph.nodes.empty()) return path;
  const OpKinds kinds(trace);
  uint32_t at = 0;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].end > graph.nodes[at].end) at = i;
  int64_t until = graph.nodes[at].end;
  while (at != kNoRow) {
    const Node& node = graph.nodes[at];
    const std::string name(node.is_op ? trace.str(trace.ops.name(node.row))
                                      : trace.str(trace.apis.name[node.row]));
    uint32_t next = kNoRow;
    int64_t released = 0;
    const char* between = "host code";
    if (node.is_op) {
      between = "launch latency";
      // Neighbours of one queue may overlap by a little; the earlier one then hands over at the
      // start.
      if (node.before != kNoRow)
        next = node.before, released = std::min(graph.nodes[next].end, node.start);
      if (node.cause != kNoRow) {
        const Node& call = graph.nodes[node.cause];
        // A call still running when the op starts asked for it at some moment unknown; only its
        // start is sure.
        const int64_t asked = call.end <= node.start ? call.end : call.start;
        if (next == kNoRow || asked > released) next = node.cause, released = asked;
      }
      path.push_back({op_kind_name(kinds[node.row]), name, until - node.start});
    } else {
      int64_t begin = node.start;
      if (node.cause != kNoRow && graph.nodes[node.cause].end < until) {
        begin = std::max(graph.nodes[node.cause].end, node.start);
        path.push_back({"sync", name, until - begin});
        until = begin;
        at = node.cause;
        continue;
      }
      path.push_back({"call", name, until - begin});
      next = node.before;
      if (next != kNoRow) released = std::min(graph.nodes[next].end, node.start);
    }
    if (next == kNoRow) break;
    // A predecessor that reaches past the node's start hands over at that start.
    if (released < node.start) path.push_back({between, between, node.start - released});
    until = std::min(released, node.start);
    at = next;
  }
  return path;
}

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

Result<Report> run(const store::Trace& trace, const Options& options) {
  const Graph graph = build_graph(trace);
  const std::vector<Piece> path = walk(trace, graph);
  Report report;
  int64_t length = 0;
  std::map<std::string, int64_t> by_kind;
  struct Sums {
    int64_t pieces = 0, ns = 0;
  };
  std::map<std::pair<std::string, std::string>, Sums> by_name;
  for (const Piece& piece : path) {
    length += piece.ns;
    by_kind[piece.kind] += piece.ns;
    Sums& sums = by_name[{piece.kind, piece.name}];
    ++sums.pieces;
    sums.ns += piece.ns;
  }
  const auto share = [&](int64_t ns) {
    return length > 0 ? static_cast<double>(ns) / static_cast<double>(length) : 0.0;
  };
  report.facts.push_back({"length_ns", "length of the path", Unit::kNs, length});
  report.facts.push_back({"steps", "steps", Unit::kCount, static_cast<int64_t>(path.size())});

  Table kinds{"kinds",
              "What the path is made of",
              {{"kind", "KIND"},
               {"time_ns", "TIME", Unit::kNs},
               {"share", "SHARE", Unit::kShare},
               {"bar", "", Unit::kBar}},
              {},
              0};
  std::vector<std::pair<std::string, int64_t>> sorted(by_kind.begin(), by_kind.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [kind, ns] : sorted) kinds.rows.push_back({kind, ns, share(ns), share(ns)});
  report.tables.push_back(std::move(kinds));

  Table names{"names",
              "By name",
              {{"name", "NAME", Unit::kKernel},
               {"kind", "KIND"},
               {"steps", "STEPS", Unit::kCount},
               {"time_ns", "TIME", Unit::kNs},
               {"share", "SHARE", Unit::kShare}},
              {},
              0};
  for (const auto& [key, sums] : by_name)
    names.rows.push_back({key.second, key.first, sums.pieces, sums.ns, share(sums.ns)});
  std::stable_sort(names.rows.begin(), names.rows.end(), [](const auto& a, const auto& b) {
    return std::get<int64_t>(a[3]) > std::get<int64_t>(b[3]);
  });
  cut_to_top(names, options);
  report.tables.push_back(std::move(names));

  const std::vector<int64_t> slack = slacks(graph);
  struct Slack {
    int64_t calls = 0, critical = 0, least = 0, total = 0, time = 0;
  };
  std::map<store::Str, Slack> by_op;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!graph.nodes[i].is_op) continue;
    Slack& s = by_op[trace.ops.name(graph.nodes[i].row)];
    s.least = s.calls == 0 ? slack[i] : std::min(s.least, slack[i]);
    ++s.calls;
    s.critical += slack[i] == 0 ? 1 : 0;
    s.total += slack[i];
    s.time += graph.nodes[i].end - graph.nodes[i].start;
  }
  Table ops{"slack",
            "Slack of GPU work: how much later it could have ended unnoticed",
            {{"name", "OP", Unit::kKernel},
             {"calls", "CALLS", Unit::kCount},
             {"time_ns", "TIME", Unit::kNs},
             {"critical_share", "CRITICAL", Unit::kShare},
             {"least_ns", "LEAST", Unit::kNs},
             {"mean_ns", "MEAN", Unit::kNs}},
            {},
            0};
  for (const auto& [name, s] : by_op)
    ops.rows.push_back({std::string(trace.str(name)), s.calls, s.time,
                        static_cast<double>(s.critical) / static_cast<double>(s.calls), s.least,
                        s.total / s.calls});
  std::stable_sort(ops.rows.begin(), ops.rows.end(), [](const auto& a, const auto& b) {
    return std::get<int64_t>(a[2]) > std::get<int64_t>(b[2]);
  });
  cut_to_top(ops, options);
  report.tables.push_back(std::move(ops));
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

extern const Analysis kCriticalPath{
    "critical-path", "what decided the run time, and the slack of the rest", "", false, false, run};

}  // namespace wavetap::analysis
