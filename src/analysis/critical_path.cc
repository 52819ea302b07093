// critical-path: the chain of work that decided how long the program ran, and how much later
// everything else could have finished without being felt (slack).
//
// work_graph.h says what is known to wait for what. The path is walked backwards from the last end; at
// each step the predecessor that released the node last is the one that mattered. Time between that
// release and the node's start is shown for what it is: host code outside any recorded call, or launch
// latency.
#include <algorithm>
#include <map>

#include "analysis/analysis.h"
#include "analysis/op_kind.h"
#include "analysis/work_graph.h"
#include "util/text.h"

namespace wavetap::analysis {
namespace {

using store::kNoRow;

struct Piece {
  std::string kind;  // kernel, copy, call, sync, host code, launch latency
  std::string name;
  int64_t ns = 0;
};

// Walks back from the node that ends last.
class PathWalk {
 public:
  PathWalk(const store::Trace& trace, const WorkGraph& graph)
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
  uint32_t leave_op(const WorkNode& node) {
    uint32_t next = kNoRow;
    int64_t released = 0;
    // Neighbours of one queue or stream may overlap by a little; the earlier one then hands over at the start.
    for (const uint32_t before : {node.before, node.stream}) {
      if (before == kNoRow) continue;
      const int64_t handed_over = std::min(graph_.nodes[before].end, node.start);
      if (next == kNoRow || handed_over > released) next = before, released = handed_over;
    }
    if (node.cause != kNoRow) {
      const WorkNode& call = graph_.nodes[node.cause];
      // A call still running when the op starts asked for it at some moment unknown; only its start
      // is sure.
      const int64_t asked = call.end <= node.start ? call.end : call.start;
      if (next == kNoRow || asked > released) next = node.cause, released = asked;
    }
    add(op_kind_name(kinds_[node.row]), trace_.str(trace_.ops.name(node.row)), until_ - node.start);
    return hand_over(node, next, released, "launch latency");
  }

  uint32_t leave_call(const WorkNode& node) {
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
  uint32_t hand_over(const WorkNode& node, uint32_t next, int64_t released, const char* between) {
    if (next == kNoRow) return kNoRow;
    if (released < node.start) add(between, between, node.start - released);
    until_ = std::min(released, node.start);
    return next;
  }

  void add(const char* kind, std::string_view name, int64_t ns) {
    path_.push_back({kind, std::string(name), ns});
  }

  const store::Trace& trace_;
  const WorkGraph& graph_;
  const OpKinds kinds_;
  int64_t until_ = 0;  // what lies after it is on the path already
  std::vector<Piece> path_;
};

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

Table slack_table(const store::Trace& trace, const WorkGraph& graph, const Options& options) {
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

Result<Report> analyze_critical_path(const store::Trace& trace, const Options& options) {
  const WorkGraph graph = build_work_graph(trace);
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
                                    .run = analyze_critical_path};

}  // namespace wavetap::analysis
