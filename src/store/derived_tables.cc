#include "store/derived_tables.h"

#include <algorithm>

namespace wavetap::store {
namespace {

constexpr std::string_view kStringReferences = "references::rocpd_string.id";

constexpr std::string_view kCallstackNames[] = {"ext_callstack"};
constexpr std::string_view kCallstackViews[] = {"callStack_inclusive_name",
                                                "callStack_exclusive_name", "callStack_inclusive",
                                                "callStack_exclusive"};
constexpr std::string_view kCallstackSql = R"sql(
create table ext_callstack (id integer not null primary key autoincrement, parent_id integer, child_id integer,
  depth integer not null, cpu_time integer default 0, gpu_time integer default 0);
create view callStack_inclusive as
  select parent_id, sum(cpu_time) as cpu_time, sum(gpu_time) as gpu_time from ext_callstack group by parent_id;
create view callStack_exclusive as
  select parent_id, sum(cpu_time) as cpu_time, sum(gpu_time) as gpu_time from ext_callstack
  where depth = 0 group by parent_id;
create view callStack_inclusive_name as
  select c.parent_id, a.apiName, a.args, c.cpu_time, c.gpu_time
  from callStack_inclusive c join api a on a.id = c.parent_id;
create view callStack_exclusive_name as
  select c.parent_id, a.apiName, a.args, c.cpu_time, c.gpu_time
  from callStack_exclusive c join api a on a.id = c.parent_id;
)sql";

constexpr std::string_view kAutogradNames[] = {"ext_autogradapi"};
constexpr std::string_view kAutogradViews[] = {"autogradKernel", "_autogradKernel",
                                               "_callstack_autograd_kernel_exclusive",
                                               "_callstack_autograd_kernel", "autograd"};
constexpr std::string_view kAutogradStrings[] = {"(\"ext_autogradapi\", \"autogradName_id\")"};
constexpr std::string_view kAutogradSql = R"sql(
create table ext_autogradapi (api_ptr_id integer not null primary key references rocpd_api (id) deferrable initially deferred,
  autogradName_id integer not null references rocpd_string (id) deferrable initially deferred,
  seq integer not null, op_id integer not null, sizes varchar(4096) not null, input_op_ids varchar(4096) not null);
create view autograd as
  select a.id, a.pid, a.tid, a.start, a.end, a.apiName, a.args, n.string as autogradName, x.seq, x.op_id, x.sizes, x.input_op_ids
  from ext_autogradapi x join api a on a.id = x.api_ptr_id join rocpd_string n on n.id = x.autogradName_id;
create view _callstack_autograd_kernel as
  select c.parent_id, c.child_id, c.depth, c.cpu_time, c.gpu_time, x.autogradName_id, x.sizes, k.kernelName_id
  from ext_callstack c join ext_autogradapi x on x.api_ptr_id = c.parent_id
  join rocpd_kernelapi k on k.api_ptr_id = c.child_id;
create view _callstack_autograd_kernel_exclusive as select * from _callstack_autograd_kernel where depth = 1;
create view _autogradKernel as
  select autogradName_id, kernelName_id, sizes, count(*) as calls, avg(gpu_time) as avg_gpu, sum(gpu_time) as total_gpu
  from _callstack_autograd_kernel_exclusive group by autogradName_id, kernelName_id, sizes;
create view autogradKernel as
  select n.string as autogradName, k.string as kernelName, g.sizes, g.calls, g.avg_gpu, g.total_gpu
  from _autogradKernel g join rocpd_string n on n.id = g.autogradName_id join rocpd_string k on k.id = g.kernelName_id;
)sql";

constexpr std::string_view kGraphNames[] = {"ext_graph_kernelapis", "ext_graph",
                                            "rocpd_graphLaunchapi", "rocpd_graphapi"};
constexpr std::string_view kGraphViews[] = {"graphLaunch", "graphKernel", "graphLaunchapi",
                                            "graphapi"};
constexpr std::string_view kGraphSql = R"sql(
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

std::string tag_of(const DerivedTables& tables, std::string_view what) {
  return std::string(tables.tool) + "::" + std::string(what);
}

}  // namespace

const DerivedTables kCallstackTables{.tool = "Callstack",
                                     .tables = kCallstackNames,
                                     .views = kCallstackViews,
                                     .create = kCallstackSql};
const DerivedTables kAutogradTables{.tool = "Autograd",
                                    .tables = kAutogradNames,
                                    .views = kAutogradViews,
                                    .create = kAutogradSql,
                                    .string_columns = kAutogradStrings};
const DerivedTables kGraphTables{.tool = "Graph",
                                 .table_tag = false,
                                 .tables = kGraphNames,
                                 .views = kGraphViews,
                                 .create = kGraphSql};

bool is_derived(std::string_view name) {
  for (const DerivedTables* tables : {&kCallstackTables, &kAutogradTables, &kGraphTables})
    for (const auto names : {tables->tables, tables->views})
      if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  return false;
}

bool has_derived(const Trace& trace, const DerivedTables& tables) {
  return trace.metadata.contains(tag_of(tables, "Generated"));
}

Result<DerivedWriter> DerivedWriter::begin(const std::string& path, const DerivedTables& tables) {
  Result<Db> db = Db::open_read_write(path);
  if (!db.ok()) return db.error();
  std::string sql = "begin immediate;";
  for (const std::string_view view : tables.views)
    sql += "drop view if exists " + quoted_name(view) + ";";
  for (const std::string_view table : tables.tables)
    sql += "drop table if exists " + quoted_name(table) + ";";
  if (Status s = db->exec(sql.append(tables.create)); !s.ok()) return s.error();
  return DerivedWriter(std::move(*db), tables);
}

Status DerivedWriter::commit() {
  Result<Stmt> forget =
      db_.prepare("delete from rocpd_metadata where tag = ?1 and (?2 is null or value = ?2)");
  if (!forget.ok()) return forget.error();
  Result<Stmt> note = db_.prepare("insert into rocpd_metadata (tag, value) values (?, ?)");
  if (!note.ok()) return note.error();
  const auto write = [&](const std::string& tag, std::string_view value) {
    note->bind(1, std::string_view(tag));
    note->bind(2, value);
    note->run();
  };
  for (const char* const what : {"Table", "Generated"}) {
    const std::string tag = tag_of(*tables_, what);
    forget->bind(1, std::string_view(tag));
    forget->bind_null(2);
    forget->run();
    if (tables_->table_tag || what == std::string_view("Generated")) write(tag, "True");
  }
  for (const std::string_view column : tables_->string_columns) {
    forget->bind(1, kStringReferences);
    forget->bind(2, column);
    forget->run();
    write(std::string(kStringReferences), column);
  }
  for (const Stmt* stmt : {&*forget, &*note})
    if (!stmt->status().ok()) return stmt->status();
  return db_.exec("commit");
}

}  // namespace wavetap::store
