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
#include "store/sqlite.h"

namespace wavetap::analysis {
namespace {

using store::kNoRow;

constexpr size_t kNoGraph = static_cast<size_t>(-1);

struct Graph {
  int64_t pid = 0;
  std::string graph, exec, stream;
  int64_t start = 0, end = 0;
  std::vector<uint32_t> launches;  // indices of Trace::launches, in start order
  bool captured = true;            // false: built node by node
};

struct Launch {
  uint32_t api = kNoRow;
  std::string exec, stream;
  int64_t ops = 0;
  int32_t gpu = -1, queue = -1;
  int64_t first = 0, last = 0, gpu_ns = 0, gpu_us = 0;
  size_t graph = kNoGraph;  // index of Graphs::graphs
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

Graphs find_graphs(const store::Trace& trace) {
  Graphs out;
  const store::Apis& apis = trace.apis;
  std::vector<bool> wanted(trace.strings.size());
  for (store::Str name = 0; name < wanted.size(); ++name)
    wanted[name] = is_graph_call(trace.str(name));
  std::vector<uint32_t> calls;
  for (uint32_t row = 0; row < apis.size(); ++row)
    if (wanted[apis.name[row]]) calls.push_back(row);
  std::stable_sort(calls.begin(), calls.end(),
                   [&](uint32_t a, uint32_t b) { return apis.start[a] < apis.start[b]; });

  // Kernel launches by process and stream, in start order.
  std::map<std::pair<int64_t, store::Str>, std::vector<uint32_t>> by_stream;
  for (uint32_t i = 0; i < trace.launches.size(); ++i)
    by_stream[{trace.threads[apis.thread[trace.launches[i].api]].pid, trace.launches[i].stream}]
        .push_back(i);
  for (auto& [key, list] : by_stream)
    std::stable_sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
      return apis.start[trace.launches[a].api] < apis.start[trace.launches[b].api];
    });

  std::map<std::pair<int64_t, std::string>, int64_t> capture_begin;
  std::map<std::pair<int64_t, std::string>, Graph> captured;  // by (pid, graph)
  std::map<std::pair<int64_t, std::string>, size_t> current;  // by (pid, exec): index of out.graphs
  std::unordered_map<uint32_t, size_t> launch_of_api;
  for (const uint32_t row : calls) {
    const std::string_view name = trace.str(apis.name[row]);
    const int64_t pid = trace.threads[apis.thread[row]].pid;
    const std::string_view args = trace.args(row);
    const std::string stream(find_arg(args, "stream"));
    const std::string graph = graph_arg(args);
    const std::string exec = exec_arg(args);
    out.any_graph_call = true;
    if (name.ends_with("StreamBeginCapture")) {
      capture_begin[{pid, stream}] = apis.start[row];
    } else if (name.ends_with("StreamEndCapture")) {
      const auto begun = capture_begin.find({pid, stream});
      if (begun == capture_begin.end()) continue;
      Graph g{pid, graph, "", stream, begun->second, apis.end[row], {}, /*captured=*/true};
      const auto launches = by_stream.find({pid, trace.strings.find(stream)});
      if (launches != by_stream.end())
        for (auto it = std::partition_point(
                 launches->second.begin(), launches->second.end(),
                 [&](uint32_t i) { return apis.start[trace.launches[i].api] < g.start; });
             it != launches->second.end() && apis.start[trace.launches[*it].api] <= g.end; ++it)
          if (apis.end[trace.launches[*it].api] <= g.end) g.launches.push_back(*it);
      captured[{pid, graph}] = std::move(g);
      capture_begin.erase(begun);
    } else if (name.find("GraphInstantiate") != std::string_view::npos) {
      const auto g = captured.find({pid, graph});
      if (g == captured.end())
        out.graphs.push_back(
            {pid, graph, exec, "", apis.start[row], apis.end[row], {}, /*captured=*/false});
      else out.graphs.push_back(g->second);
      out.graphs.back().exec = exec;
      // The address of an executable graph may have belonged to an earlier one.
      current[{pid, exec}] = out.graphs.size() - 1;
    } else if (name.ends_with("GraphLaunch")) {
      launch_of_api[row] = out.launches.size();
      const auto instance = current.find({pid, exec});
      out.launches.push_back({row, exec, stream, 0, -1, -1, 0, 0, 0, 0,
                              instance == current.end() ? kNoGraph : instance->second});
    }
  }
  for (size_t i = 0; i < trace.links.size(); ++i) {
    if (trace.links.api[i] == kNoRow || trace.links.op[i] == kNoRow) continue;
    const auto found = launch_of_api.find(trace.links.api[i]);
    if (found == launch_of_api.end()) continue;
    Launch& launch = out.launches[found->second];
    const uint32_t op = trace.links.op[i];
    const int64_t start = trace.ops.start[op], end = trace.ops.end[op];
    launch.first = launch.ops == 0 ? start : std::min(launch.first, start);
    launch.last = launch.ops == 0 ? end : std::max(launch.last, end);
    if (launch.ops == 0) launch.gpu = trace.ops.gpu[op], launch.queue = trace.ops.queue[op];
    launch.gpu_ns += end - start;
    launch.gpu_us += (end - start) / 1000;  // RPD rounds each op down
    ++launch.ops;
  }
  return out;
}

Result<Report> run(const store::Trace& trace, const Options& options) {
  const Graphs found = find_graphs(trace);
  Report report;
  Table graphs{"graphs",
               "Graphs",
               {{"exec", "GRAPH EXEC"},
                {"graph", "GRAPH", Unit::kText, true},
                {"stream", "STREAM"},
                {"kernels", "KERNELS", Unit::kCount},
                {"launches", "LAUNCHES", Unit::kCount},
                {"ops", "OPS", Unit::kCount},
                {"api_ns", "API", Unit::kNs},
                {"span_ns", "OP SPAN", Unit::kNs},
                {"gpu_ns", "GPU", Unit::kNs}},
               {},
               0};
  struct Sums {
    int64_t launches = 0, ops = 0, api = 0, span = 0, gpu = 0;
  };
  std::vector<Sums> of_graph(found.graphs.size());
  std::map<std::pair<int64_t, std::string>, Sums> unknown;  // by (pid, exec)
  for (const Launch& launch : found.launches) {
    Sums& sums = launch.graph == kNoGraph
                     ? unknown[{trace.threads[trace.apis.thread[launch.api]].pid, launch.exec}]
                     : of_graph[launch.graph];
    ++sums.launches;
    sums.ops += launch.ops;
    sums.api += trace.apis.end[launch.api] - trace.apis.start[launch.api];
    sums.span += launch.last - launch.first;
    sums.gpu += launch.gpu_ns;
  }
  for (size_t i = 0; i < found.graphs.size(); ++i) {
    const Graph& g = found.graphs[i];
    const Sums& sums = of_graph[i];
    graphs.rows.push_back({g.exec, g.graph, g.captured ? g.stream : std::string("(built)"),
                           g.captured ? Cell(static_cast<int64_t>(g.launches.size())) : Cell(),
                           sums.launches, sums.ops, sums.api, sums.span, sums.gpu});
  }
  // Launched, but made before the recording began.
  for (const auto& [key, sums] : unknown)
    graphs.rows.push_back({key.second, std::string("(not seen)"), std::string(), std::monostate{},
                           sums.launches, sums.ops, sums.api, sums.span, sums.gpu});
  cut_to_top(graphs, options);
  report.tables.push_back(std::move(graphs));

  Table kernels{"kernels",
                "Kernels of captured graphs",
                {{"exec", "GRAPH EXEC"},
                 {"sequence", "#", Unit::kCount},
                 {"kernel", "KERNEL", Unit::kKernel},
                 {"grid", "GRID"},
                 {"workgroup", "WORKGROUP"}},
                {},
                0};
  const auto dims = [](const int32_t(&v)[3]) {
    return std::to_string(v[0]) + "x" + std::to_string(v[1]) + "x" + std::to_string(v[2]);
  };
  for (const Graph& g : found.graphs)
    for (size_t i = 0; i < g.launches.size(); ++i) {
      const store::KernelLaunch& k = trace.launches[g.launches[i]];
      kernels.rows.push_back({g.exec, static_cast<int64_t>(i + 1), std::string(trace.str(k.kernel)),
                              dims(k.grid), dims(k.workgroup)});
    }
  cut_to_top(kernels, options);
  report.tables.push_back(std::move(kernels));
  if (!found.any_graph_call) report.notes.push_back("the trace holds no graph calls");
  report.notes.push_back(
      "kernels are those launched on the captured stream itself; forked streams are not followed, "
      "and what "
      "graphs "
      "that a program builds node by node hold is not recorded");
  return report;
}

constexpr const char* kTables = R"sql(
drop view if exists graphLaunch;
drop view if exists graphKernel;
drop view if exists graphLaunchapi;
drop view if exists graphapi;
drop table if exists ext_graph_kernelapis;
drop table if exists ext_graph;
drop table if exists rocpd_graphLaunchapi;
drop table if exists rocpd_graphapi;
create table ext_graph (id integer not null primary key autoincrement, graph varchar(18) not null,
  graphExec varchar(18) not null, stream varchar(18) not null, start integer not null, end integer not null);
create table ext_graph_kernelapis (id integer not null primary key autoincrement, graph_id integer not null,
  api_id integer not null, sequence integer not null);
create table rocpd_graphapi (api_ptr_id integer not null primary key, stream varchar(18) not null,
  graph varchar(18) not null, graphExec varchar(18) not null);
create table rocpd_graphLaunchapi (api_ptr_id integer not null primary key, graphExec varchar(18) not null,
  stream varchar(18) not null);
create view graphapi as
  select a.id, a.pid, a.tid, a.start, a.end, a.apiName, g.stream, g.graph, g.graphExec
  from rocpd_graphapi g join api a on a.id = g.api_ptr_id;
create view graphLaunchapi as
  select a.id, a.pid, a.tid, a.start, a.end, a.apiName, g.graphExec, g.stream
  from rocpd_graphLaunchapi g join api a on a.id = g.api_ptr_id;
create view graphLaunch as
  select a.id, a.pid, a.tid, a.apiName, g.graphExec, g.stream, o.gpuId, o.queueId,
         (a.end - a.start) / 1000 as apiDuration_usec, (max(o.end) - min(o.start)) / 1000 as opDuration_usec,
         sum((o.end - o.start) / 1000) as gpuTime_usec
  from rocpd_graphLaunchapi g join api a on a.id = g.api_ptr_id join rocpd_api_ops l on l.api_id = a.id
  join rocpd_op o on o.id = l.op_id group by a.id;
create view graphKernel as
  select e.graphExec, k.sequence, n.string as kernelName, x.gridX, x.gridY, x.gridZ, x.workgroupX, x.workgroupY,
         x.workgroupZ, x.groupSegmentSize, x.privateSegmentSize
  from ext_graph_kernelapis k join ext_graph e on e.id = k.graph_id join rocpd_kernelapi x on x.api_ptr_id = k.api_id
  join rocpd_string n on n.id = x.kernelName_id;
)sql";

Status write(const std::string& path, const store::Trace& trace, const Options&) {
  const Graphs found = find_graphs(trace);
  Result<store::Db> db = store::Db::open_read_write(path);
  if (!db.ok()) return db.error();
  if (Status s = db->exec("begin immediate"); !s.ok()) return s;
  if (Status s = db->exec(kTables); !s.ok()) return s;
  Result<store::Stmt> graph = db->prepare("insert into ext_graph values (?, ?, ?, ?, ?, ?)");
  Result<store::Stmt> kernel =
      db->prepare("insert into ext_graph_kernelapis (graph_id, api_id, sequence) values (?, ?, ?)");
  Result<store::Stmt> call = db->prepare("insert into rocpd_graphapi values (?, ?, ?, ?)");
  Result<store::Stmt> launch = db->prepare("insert into rocpd_graphLaunchapi values (?, ?, ?)");
  for (const Result<store::Stmt>* stmt : {&graph, &kernel, &call, &launch})
    if (!stmt->ok()) return stmt->error();
  int64_t graphs = 0;
  for (size_t i = 0; i < found.graphs.size(); ++i) {
    const Graph& g = found.graphs[i];
    if (!g.captured) continue;
    const int64_t id = ++graphs;
    graph->bind(1, id);
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
  for (const Result<store::Stmt>* stmt : {&graph, &kernel, &call, &launch})
    if (!(*stmt)->status().ok()) return (*stmt)->status();
  if (Status s =
          db->exec("delete from rocpd_metadata where tag in ('Graph::Table', 'Graph::Generated');"
                   "insert into rocpd_metadata (tag, value) values ('Graph::Generated', 'True')");
      !s.ok())
    return s;
  return db->exec("commit");
}

}  // namespace

extern const Analysis kGraph{"graph",
                             "graphs, their kernels and their launches",
                             "",
                             /*needs_args=*/true,
                             false,
                             run,
                             write,
                             nullptr,
                             is_graph_call};

}  // namespace wavetap::analysis
