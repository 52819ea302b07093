#include "store/schema.h"

#include <cstdlib>

#include "store/tables.h"

namespace wavetap::store {
namespace {

constexpr const char* kVersions = R"sql(
insert into rocpd_metadata (tag, value) values
  ('schema_version', '3'), ('gpu_stride', '1000'), ('pid_stride', '10000000');
)sql";

// Left joins where RPD uses inner ones: a row whose string is missing is shown with '' rather than
// lost. `top` counts every op, RPD's drops those with equal name and times; `busy` still reports
// RPD's columns, with overlap counted once.
constexpr const char* kViews = R"sql(
create view api as
  select a.id, a.pid, a.tid, a.start, a.end, coalesce(d.string, '') as domain,
         coalesce(c.string, '') as category, coalesce(n.string, '') as apiName, coalesce(u.string, '') as args
  from rocpd_api a left join rocpd_string n on n.id = a.apiName_id
  left join rocpd_string c on c.id = a.category_id left join rocpd_string d on d.id = a.domain_id
  left join rocpd_ustring u on u.id = a.args_id;
create view op as
  select o.id, o.gpuId, o.queueId, o.sequenceId, o.start, o.end,
         coalesce(d.string, '') as description, coalesce(t.string, '') as opType
  from rocpd_op o left join rocpd_string d on d.id = o.description_id
  left join rocpd_string t on t.id = o.opType_id;
create view busy as
  with marked as (
    select gpuId, start, end, max(end) over (partition by gpuId order by start, end
      rows between unbounded preceding and 1 preceding) as reached from rocpd_op),
  own as (
    select gpuId, sum(max(0, end - max(start, coalesce(reached, start)))) as GpuTime from marked group by gpuId),
  wall as (select max(end) - min(start) as WallTime from rocpd_op)
  select gpuId, GpuTime, WallTime, GpuTime * 1.0 / WallTime as Busy from own, wall;
create view top as
  with named as (
    select case when o.description = '' then o.opType else o.description end as Name, o.end - o.start as ns from op o),
  total as (select sum(ns) as ns from named)
  select Name, count(*) as TotalCalls, sum(named.ns) / 1000 as TotalDuration_us,
         sum(named.ns) / count(*) / 1000.0 as Ave_us, sum(named.ns) * 100.0 / total.ns as Percentage
  from named, total group by Name order by TotalDuration_us desc;
create view kernel as
  select o.id, o.gpuId, o.queueId, o.sequenceId, o.start, o.end, o.end - o.start as duration, k.stream,
         k.gridX, k.gridY, k.gridZ as gridz, k.workgroupX, k.workgroupY, k.workgroupZ,
         k.groupSegmentSize, k.privateSegmentSize, coalesce(n.string, '') as kernelName
  from rocpd_api_ops l join rocpd_op o on o.id = l.op_id join rocpd_kernelapi k on k.api_ptr_id = l.api_id
  left join rocpd_string n on n.id = k.kernelName_id;
create view copy as
  select a.id, a.pid, a.tid, a.start, a.end, coalesce(n.string, '') as apiName, c.stream, c.size, c.width,
         c.height, c.kind, c.dst, c.src, c.dstDevice, c.srcDevice, c.sync, c.pinned
  from rocpd_copyapi c join rocpd_api a on a.id = c.api_ptr_id left join rocpd_string n on n.id = a.apiName_id;
create view copyop as
  select o.id, o.gpuId, o.queueId, o.sequenceId, o.start, o.end, o.end - o.start as duration, c.stream, c.size,
         c.width, c.height, c.kind, c.dst, c.src, c.dstDevice, c.srcDevice, c.sync, c.pinned,
         coalesce(n.string, '') as apiName
  from rocpd_api_ops l join rocpd_op o on o.id = l.op_id join rocpd_copyapi c on c.api_ptr_id = l.api_id
  join rocpd_api a on a.id = l.api_id left join rocpd_string n on n.id = a.apiName_id;
create view stackframe as
  select f.id, n.string, f.depth, s.string
  from rocpd_stackframe f left join rocpd_api a on a.id = f.api_ptr_id
  left join rocpd_string n on n.id = a.apiName_id left join rocpd_string s on s.id = f.name_id;
create view napi as
  select a.id, a.pid / m.stride as node, a.pid % m.stride as pid, a.tid % m.stride as tid, a.start, a.end,
         a.domain, a.category, a.apiName, a.args
  from api a, (select cast(value as integer) as stride from rocpd_metadata where tag = 'pid_stride') m;
create view nop as
  select o.id, o.gpuId / m.stride as node, o.gpuId % m.stride as gpuId, o.queueId % m.stride as queueId,
         o.sequenceId, o.start, o.end, o.description, o.opType
  from op o, (select cast(value as integer) as stride from rocpd_metadata where tag = 'gpu_stride') m;
)sql";

constexpr const char* kIndexes = R"sql(
create index if not exists rocpd_strin_string_c7b9cd_idx on rocpd_string (string);
create index if not exists rocpd_api_ops_api_id_f87632ad on rocpd_api_ops (api_id);
create index if not exists rocpd_api_ops_op_id_b35ab7c9 on rocpd_api_ops (op_id);
create index if not exists rocpd_stackframe_api_ptr_id on rocpd_stackframe (api_ptr_id);
)sql";

}  // namespace

Status create_schema(Db& db) {
  for (const TableSpec& table : all_tables())
    if (table.is_rpd())
      if (Status status = db.exec(table_sql(table)); !status.ok()) return status;
  if (Status status = db.exec(kVersions); !status.ok()) return status;
  return db.exec(kViews);
}

Status create_wavetap_tables(Db& db) {
  for (const TableSpec& table : all_tables())
    if (!table.is_rpd())
      if (Status status = db.exec(table_sql(table)); !status.ok()) return status;
  return {};
}

Status create_indexes(Db& db) { return db.exec(kIndexes); }

std::string newer_schema_warning(const std::multimap<std::string, std::string>& metadata) {
  for (auto [at, end] = metadata.equal_range("schema_version"); at != end; ++at)
    if (const long long version = std::strtoll(at->second.c_str(), nullptr, 10);
        version > kSchemaVersion)
      return "the file says schema version " + std::to_string(version) + ", this build knows " +
             std::to_string(kSchemaVersion) + "; it is read as that, and may be misread";
  return "";
}

std::string newer_schema_warning(Db& db) {
  if (!db.has_table_or_view("rocpd_metadata")) return "";
  Result<Stmt> newest = db.prepare(
      "select max(cast(value as integer)) from rocpd_metadata where tag = 'schema_version'");
  if (!newest.ok() || !newest->step()) return "";
  return newer_schema_warning({{"schema_version", std::string(newest->text(0))}});
}

// A view in a table's place may refer to what does not exist, and may have rows without end.
static Status refuse_views(Db& db) {
  Result<Stmt> views = db.prepare("select lower(name) from sqlite_master where type = 'view'");
  if (!views.ok()) return views.error();
  while (views->step())
    if (const TableSpec* table = find_table(views->text(0)))
      return errorf("%s: %s is a view, not a table; give a file as a recorder wrote it",
                    db.path().c_str(), table->name);
  return views->status();
}

Result<int> schema_version(Db& db) {
  for (const char* table : {"rocpd_api", "rocpd_op", "rocpd_string", "rocpd_api_ops"})
    if (!db.has_table_or_view(table))
      return errorf("%s: not a trace: no table %s; give a .rpd file", db.path().c_str(), table);
  if (Status s = refuse_views(db); !s.ok()) return s.error();
  // Version 2 files carry no version key, or say 2; what counts is the shape of the tables.
  return db.has_column("rocpd_api", "domain_id") ? 3 : 2;
}

}  // namespace wavetap::store
