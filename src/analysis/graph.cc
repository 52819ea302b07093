// graph: HIP/CUDA graphs: which kernels were captured into each, and how long its launches took.
//
// A capture is hipStreamBeginCapture … hipStreamEndCapture of one process and stream; the kernels are the
// launches on that stream in between (they run no op of their own then). hipGraphInstantiate ties the
// captured graph to the executable one that hipGraphLaunch names. Ops of a launch are the ops linked to it.
#include <algorithm>
#include <map>

#include "analysis/analysis.h"
#include "analysis/call_args.h"
#include "store/sqlite.h"

namespace wavetap::analysis {
namespace {

using store::kNoRow;

struct Graph {
  int64_t pid = 0;
  std::string graph, exec, stream;
  int64_t start = 0, end = 0;
  std::vector<uint32_t> launches;  // indices of Trace::launches, in start order
};

struct Launch {
  uint32_t api = kNoRow;
  std::string exec, stream;
  int64_t ops = 0;
  int32_t gpu = -1, queue = -1;
  int64_t first = 0, last = 0, gpu_ns = 0, gpu_us = 0;
};

struct Graphs {
  std::vector<Graph> graphs;
  std::vector<Launch> launches;
  bool any_graph_call = false;
};

Graphs find_graphs(const store::Trace& trace) {
  Graphs out;
  const store::Apis& apis = trace.apis;
  std::vector<uint32_t> calls;
  for (uint32_t row = 0; row < apis.size(); ++row) {
    const std::string_view name = trace.str(apis.name[row]);
    if (name.find("Graph") != std::string_view::npos || name.find("Capture") != std::string_view::npos)
      calls.push_back(row);
  }
  std::stable_sort(calls.begin(), calls.end(),
                   [&](uint32_t a, uint32_t b) { return apis.start[a] < apis.start[b]; });

  // Kernel launches by process and stream, in start order.
  std::map<std::pair<int64_t, store::Str>, std::vector<uint32_t>> by_stream;
  for (uint32_t i = 0; i < trace.launches.size(); ++i)
    by_stream[{trace.threads[apis.thread[trace.launches[i].api]].pid, trace.launches[i].stream}].push_back(i);
  for (auto& [key, list] : by_stream)
    std::stable_sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
      return apis.start[trace.launches[a].api] < apis.start[trace.launches[b].api];
    });

  std::map<std::pair<int64_t, std::string>, int64_t> capture_begin;
  std::map<std::pair<int64_t, std::string>, Graph> captured;  // by (pid, graph)
  std::map<uint32_t, size_t> launch_of_api;
  for (const uint32_t row : calls) {
    const std::string_view name = trace.str(apis.name[row]);
    const int64_t pid = trace.threads[apis.thread[row]].pid;
    const std::string_view args = trace.args(row);
    const std::string stream(find_arg(args, "stream"));
    const std::string graph(find_arg(args, "graph"));
    const std::string exec(find_arg(args, "graphExec"));
    out.any_graph_call = true;
    if (name.ends_with("StreamBeginCapture")) {
      capture_begin[{pid, stream}] = apis.start[row];
    } else if (name.ends_with("StreamEndCapture")) {
      const auto begun = capture_begin.find({pid, stream});
      if (begun == capture_begin.end()) continue;
      Graph g{pid, graph, "", stream, begun->second, apis.end[row], {}};
      const auto launches = by_stream.find({pid, trace.strings.find(stream)});
      if (launches != by_stream.end())
        for (const uint32_t i : launches->second) {
          const int64_t end = apis.end[trace.launches[i].api];
          if (end >= g.start && end <= g.end) g.launches.push_back(i);
        }
      captured[{pid, graph}] = std::move(g);
      capture_begin.erase(begun);
    } else if (name.find("GraphInstantiate") != std::string_view::npos) {
      const auto g = captured.find({pid, graph});
      if (g == captured.end()) continue;
      out.graphs.push_back(g->second);
      out.graphs.back().exec = exec;
    } else if (name.ends_with("GraphLaunch")) {
      launch_of_api[row] = out.launches.size();
      out.launches.push_back({row, exec, stream, 0, -1, -1, 0, 0, 0, 0});
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
               "Captured graphs",
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
  std::map<std::pair<int64_t, std::string>, Sums> by_exec;
  for (const Launch& launch : found.launches) {
    Sums& sums = by_exec[{trace.threads[trace.apis.thread[launch.api]].pid, launch.exec}];
    ++sums.launches;
    sums.ops += launch.ops;
    sums.api += trace.apis.end[launch.api] - trace.apis.start[launch.api];
    sums.span += launch.last - launch.first;
    sums.gpu += launch.gpu_ns;
  }
  for (const Graph& g : found.graphs) {
    const Sums sums = by_exec[{g.pid, g.exec}];
    by_exec.erase({g.pid, g.exec});
    graphs.rows.push_back({g.exec, g.graph, g.stream, static_cast<int64_t>(g.launches.size()), sums.launches,
                           sums.ops, sums.api, sums.span, sums.gpu});
  }
  // Launched, but captured before the recording began or built node by node.
  for (const auto& [key, sums] : by_exec)
    graphs.rows.push_back({key.second, std::string("(not captured here)"), std::string(), std::monostate{},
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
      "kernels are those launched on the captured stream itself; forked streams are not followed");
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
  for (size_t i = 0; i < found.graphs.size(); ++i) {
    const Graph& g = found.graphs[i];
    const int64_t id = static_cast<int64_t>(i) + 1;
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
    call->bind(3, find_arg(trace.args(row), "graph"));
    call->bind(4, find_arg(trace.args(row), "graphExec"));
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
  if (Status s = db->exec("delete from rocpd_metadata where tag in ('Graph::Table', 'Graph::Generated');"
                          "insert into rocpd_metadata (tag, value) values ('Graph::Generated', 'True')");
      !s.ok())
    return s;
  return db->exec("commit");
}

}  // namespace

extern const Analysis kGraph{"graph",
                             "captured graphs, their kernels and their launches",
                             "",
                             /*needs_args=*/true,
                             false,
                             run,
                             write};

}  // namespace wavetap::analysis
