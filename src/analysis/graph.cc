// graph: HIP/CUDA graphs: which kernels were captured into each, and how long its launches took.
//
// A capture is hipStreamBeginCapture … hipStreamEndCapture of one process and stream; the kernels
// are the launches on that stream in between (they run no op of their own then).
// hipGraphInstantiate ties the captured graph to the executable one that hipGraphLaunch names. Ops
// of a launch are the ops linked to it.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "analysis/analysis.h"
#include "analysis/call_args.h"
#include "store/derived_tables.h"

namespace wavetap::analysis {
namespace {

using store::kNoRow;

constexpr size_t kNoGraph = static_cast<size_t>(-1);

struct Graph {
  int64_t pid = 0;
  std::string graph = {}, exec = {}, stream = {};
  int64_t start = 0, end = 0;
  std::vector<uint32_t> launches = {};  // indices of Trace::launches, in start order
  bool captured = true;                 // false: built node by node
};

struct Launch {
  uint32_t api = kNoRow;
  std::string exec = {}, stream = {};
  size_t graph = kNoGraph;  // index of Graphs::graphs
  int64_t ops = 0;
  int64_t first = 0, last = 0, gpu_ns = 0;
};

struct Graphs {
  std::vector<Graph> graphs;
  std::vector<Launch> launches;
  bool any_graph_call = false;
};

// RPD writes the handles a call gave back as "graph" and "graphExec", our recorder under their own
// names.
std::string graph_arg(std::string_view args) {
  const std::string_view given = find_arg(args, "graph");
  return std::string(given.empty() ? find_arg(args, "pGraph") : given);
}
std::string exec_arg(std::string_view args) {
  const std::string_view given = find_arg(args, "graphExec");
  return std::string(given.empty() ? find_arg(args, "pGraphExec") : given);
}

bool is_graph_call(std::string_view function) {
  return function.find("Graph") != std::string_view::npos ||
         function.find("Capture") != std::string_view::npos;
}

// Walks the graph calls in time order.
class GraphFinder {
 public:
  explicit GraphFinder(const store::Trace& trace) : trace_(trace), apis_(trace.apis) {}

  Graphs find() {
    sort_launches();
    for (const uint32_t row : graph_calls()) take(row);
    add_ops();
    return std::move(out_);
  }

 private:
  using Handle = std::pair<int64_t, std::string>;  // pid, address

  std::vector<uint32_t> graph_calls() const {
    std::vector<bool> wanted(trace_.strings.size());
    for (store::Str name = 0; name < wanted.size(); ++name)
      wanted[name] = is_graph_call(trace_.str(name));
    std::vector<uint32_t> calls;
    for (uint32_t row = 0; row < apis_.size(); ++row)
      if (wanted[apis_.name[row]]) calls.push_back(row);
    std::stable_sort(calls.begin(), calls.end(),
                     [&](uint32_t a, uint32_t b) { return apis_.start[a] < apis_.start[b]; });
    return calls;
  }

  int64_t launch_start(uint32_t i) const { return apis_.start[trace_.launches[i].api]; }

  void sort_launches() {
    for (uint32_t i = 0; i < trace_.launches.size(); ++i) {
      const store::KernelLaunch& launch = trace_.launches[i];
      by_stream_[{trace_.threads[apis_.thread[launch.api]].pid, launch.stream}].push_back(i);
    }
    for (auto& [key, list] : by_stream_)
      std::stable_sort(list.begin(), list.end(),
                       [&](uint32_t a, uint32_t b) { return launch_start(a) < launch_start(b); });
  }

  void take(uint32_t row) {
    const std::string_view name = trace_.str(apis_.name[row]);
    const int64_t pid = trace_.threads[apis_.thread[row]].pid;
    const std::string_view args = trace_.args(row);
    const std::string stream(find_arg(args, "stream"));
    const std::string graph = graph_arg(args);
    const std::string exec = exec_arg(args);
    out_.any_graph_call = true;
    if (name.ends_with("StreamBeginCapture")) {
      capture_begin_[{pid, stream}] = apis_.start[row];
    } else if (name.ends_with("StreamEndCapture")) {
      end_capture(row, pid, stream, graph);
    } else if (name.find("GraphInstantiate") != std::string_view::npos) {
      const auto g = captured_.find({pid, graph});
      out_.graphs.push_back(g != captured_.end() ? g->second
                                                 : Graph{.pid = pid,
                                                         .graph = graph,
                                                         .start = apis_.start[row],
                                                         .end = apis_.end[row],
                                                         .captured = false});
      out_.graphs.back().exec = exec;
      // The address of an executable graph may have belonged to an earlier one.
      current_[{pid, exec}] = out_.graphs.size() - 1;
    } else if (name.ends_with("GraphLaunch")) {
      launch_of_api_[row] = out_.launches.size();
      const auto instance = current_.find({pid, exec});
      out_.launches.push_back({.api = row,
                               .exec = exec,
                               .stream = stream,
                               .graph = instance == current_.end() ? kNoGraph : instance->second});
    }
  }

  void end_capture(uint32_t row, int64_t pid, const std::string& stream, const std::string& graph) {
    const auto begun = capture_begin_.find({pid, stream});
    if (begun == capture_begin_.end()) return;
    Graph g{.pid = pid,
            .graph = graph,
            .stream = stream,
            .start = begun->second,
            .end = apis_.end[row]};
    if (const auto list = by_stream_.find({pid, trace_.strings.find(stream)});
        list != by_stream_.end())
      for (auto it = std::partition_point(list->second.begin(), list->second.end(),
                                          [&](uint32_t i) { return launch_start(i) < g.start; });
           it != list->second.end() && launch_start(*it) <= g.end; ++it)
        if (apis_.end[trace_.launches[*it].api] <= g.end) g.launches.push_back(*it);
    captured_[{pid, graph}] = std::move(g);
    capture_begin_.erase(begun);
  }

  void add_ops() {
    for (size_t i = 0; i < trace_.links.size(); ++i) {
      if (trace_.links.api[i] == kNoRow || trace_.links.op[i] == kNoRow) continue;
      const auto found = launch_of_api_.find(trace_.links.api[i]);
      if (found == launch_of_api_.end()) continue;
      Launch& launch = out_.launches[found->second];
      const uint32_t op = trace_.links.op[i];
      const int64_t start = trace_.ops.start[op], end = trace_.ops.end[op];
      launch.first = launch.ops == 0 ? start : std::min(launch.first, start);
      launch.last = launch.ops == 0 ? end : std::max(launch.last, end);
      launch.gpu_ns += end - start;
      ++launch.ops;
    }
  }

  const store::Trace& trace_;
  const store::Apis& apis_;
  Graphs out_;
  // Kernel launches by process and stream, in start order.
  std::map<std::pair<int64_t, store::Str>, std::vector<uint32_t>> by_stream_;
  std::map<Handle, int64_t> capture_begin_;  // by stream
  std::map<Handle, Graph> captured_;         // by graph
  std::map<Handle, size_t> current_;         // by executable graph: index of out_.graphs
  std::unordered_map<uint32_t, size_t> launch_of_api_;
};

struct GraphSums {
  int64_t launches = 0, ops = 0, api = 0, span = 0, gpu = 0;
};

Table graph_table(const store::Trace& trace, const Graphs& found, const Options& options) {
  std::vector<GraphSums> of_graph(found.graphs.size());
  // Launched, but made before the recording began; by (pid, exec).
  std::map<std::pair<int64_t, std::string>, GraphSums> unknown;
  for (const Launch& launch : found.launches) {
    GraphSums& sums = launch.graph == kNoGraph
                          ? unknown[{trace.threads[trace.apis.thread[launch.api]].pid, launch.exec}]
                          : of_graph[launch.graph];
    ++sums.launches;
    sums.ops += launch.ops;
    sums.api += trace.apis.end[launch.api] - trace.apis.start[launch.api];
    sums.span += launch.last - launch.first;
    sums.gpu += launch.gpu_ns;
  }
  Table table{.name = "graphs",
              .title = "Graphs",
              .columns = {{"exec", "GRAPH EXEC"},
                          {"graph", "GRAPH", Unit::kText, true},
                          {"stream", "STREAM"},
                          {"kernels", "KERNELS", Unit::kCount},
                          {"launches", "LAUNCHES", Unit::kCount},
                          {"ops", "OPS", Unit::kCount},
                          {"api_ns", "API", Unit::kNs},
                          {"span_ns", "OP SPAN", Unit::kNs},
                          {"gpu_ns", "GPU", Unit::kNs}}};
  for (size_t i = 0; i < found.graphs.size(); ++i) {
    const Graph& g = found.graphs[i];
    const GraphSums& sums = of_graph[i];
    table.rows.push_back({g.exec, g.graph, g.captured ? g.stream : std::string("(built)"),
                          g.captured ? Cell(static_cast<int64_t>(g.launches.size())) : Cell(),
                          sums.launches, sums.ops, sums.api, sums.span, sums.gpu});
  }
  for (const auto& [key, sums] : unknown)
    table.rows.push_back({key.second, std::string("(not seen)"), std::string(), std::monostate{},
                          sums.launches, sums.ops, sums.api, sums.span, sums.gpu});
  cut_to_top(table, options);
  return table;
}

Table kernel_table(const store::Trace& trace, const Graphs& found, const Options& options) {
  Table table{.name = "kernels",
              .title = "Kernels of captured graphs",
              .columns = {{"exec", "GRAPH EXEC"},
                          {"sequence", "#", Unit::kCount},
                          {"kernel", "KERNEL", Unit::kKernel},
                          {"grid", "GRID"},
                          {"workgroup", "WORKGROUP"}}};
  const auto dims = [](const int32_t(&v)[3]) {
    return std::to_string(v[0]) + "x" + std::to_string(v[1]) + "x" + std::to_string(v[2]);
  };
  for (const Graph& g : found.graphs)
    for (size_t i = 0; i < g.launches.size(); ++i) {
      const store::KernelLaunch& k = trace.launches[g.launches[i]];
      table.rows.push_back({g.exec, static_cast<int64_t>(i + 1), std::string(trace.str(k.kernel)),
                            dims(k.grid), dims(k.workgroup)});
    }
  cut_to_top(table, options);
  return table;
}

Result<Report> analyze_graph(const store::Trace& trace, const Options& options) {
  const Graphs found = GraphFinder(trace).find();
  Report report;
  report.tables.push_back(graph_table(trace, found, options));
  report.tables.push_back(kernel_table(trace, found, options));
  if (!found.any_graph_call) report.notes.push_back("the trace holds no graph calls");
  report.notes.push_back(
      "kernels are those launched on the captured stream itself; forked streams are not followed, "
      "and what graphs that a program builds node by node hold is not recorded");
  return report;
}

// What the statements below write has gone well, or the first failure.
Status first_failure(std::initializer_list<const store::Stmt*> statements) {
  for (const store::Stmt* stmt : statements)
    if (!stmt->status().ok()) return stmt->status();
  return {};
}

Status write_captured(const store::Trace& trace, const Graphs& found, store::Db& db) {
  Result<store::Stmt> graph = db.prepare("insert into ext_graph values (?, ?, ?, ?, ?, ?)");
  if (!graph.ok()) return graph.error();
  Result<store::Stmt> kernel =
      db.prepare("insert into ext_graph_kernelapis (graph_id, api_id, sequence) values (?, ?, ?)");
  if (!kernel.ok()) return kernel.error();
  int64_t id = 0;
  for (const Graph& g : found.graphs) {
    if (!g.captured) continue;
    graph->bind(1, ++id);
    graph->bind(2, std::string_view(g.graph));
    graph->bind(3, std::string_view(g.exec));
    graph->bind(4, std::string_view(g.stream));
    graph->bind(5, g.start);
    graph->bind(6, g.end);
    graph->run();
    for (size_t k = 0; k < g.launches.size(); ++k) {
      kernel->bind(1, id);
      kernel->bind(2, trace.apis.id[trace.launches[g.launches[k]].api]);
      kernel->bind(3, static_cast<int64_t>(k) + 1);
      kernel->run();
    }
  }
  return first_failure({&*graph, &*kernel});
}

Status write_calls(const store::Trace& trace, const Graphs& found, store::Db& db) {
  Result<store::Stmt> call = db.prepare("insert into rocpd_graphapi values (?, ?, ?, ?)");
  if (!call.ok()) return call.error();
  Result<store::Stmt> launch = db.prepare("insert into rocpd_graphLaunchapi values (?, ?, ?)");
  if (!launch.ok()) return launch.error();
  for (uint32_t row = 0; row < trace.apis.size(); ++row) {
    const std::string_view name = trace.str(trace.apis.name[row]);
    if (!name.ends_with("StreamBeginCapture") && !name.ends_with("StreamEndCapture") &&
        name.find("GraphInstantiate") == std::string_view::npos)
      continue;
    call->bind(1, trace.apis.id[row]);
    call->bind(2, find_arg(trace.args(row), "stream"));
    call->bind(3, std::string_view(graph_arg(trace.args(row))));
    call->bind(4, std::string_view(exec_arg(trace.args(row))));
    call->run();
  }
  for (const Launch& l : found.launches) {
    launch->bind(1, trace.apis.id[l.api]);
    launch->bind(2, std::string_view(l.exec));
    launch->bind(3, std::string_view(l.stream));
    launch->run();
  }
  return first_failure({&*call, &*launch});
}

Status write_graph(const std::string& path, const store::Trace& trace, const Options&) {
  const Graphs found = GraphFinder(trace).find();
  Result<store::DerivedWriter> writer = store::DerivedWriter::begin(path, store::kGraphTables);
  if (!writer.ok()) return writer.error();
  if (Status s = write_captured(trace, found, writer->db()); !s.ok()) return s;
  if (Status s = write_calls(trace, found, writer->db()); !s.ok()) return s;
  return writer->commit();
}

}  // namespace

extern const Analysis kGraph{.name = "graph",
                             .help = "graphs, their kernels and their launches",
                             .needs_args = true,
                             .run = analyze_graph,
                             .write = write_graph,
                             .needs_args_of = is_graph_call};

}  // namespace wavetap::analysis
