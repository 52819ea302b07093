// Any table or view of the file as CSV (RFC 4180), straight from SQLite; `counter` is made for people.
#include "util/csv.h"
#include "export/formats.h"
#include "store/sqlite.h"

namespace wavetap::exporter {
namespace {

// What every dispatch was counted to do, by name; the file itself holds numbers of strings.
constexpr char kCounters[] =
    "select c.op_id as op, o.gpuId as gpu, k.string as kernel, n.string as counter, c.value as value "
    "from rocpd_counter c join rocpd_op o on o.id = c.op_id "
    "left join rocpd_string k on k.id = o.description_id "
    "left join rocpd_string n on n.id = c.name_id order by c.op_id, n.string";

}  // namespace

Status write_csv(const store::Trace& trace, const Options& options, Sink& sink) {
  const std::string table = options.table.empty() ? "top" : options.table;
  Result<store::Db> db = store::Db::open_read_only(trace.path);
  if (!db.ok()) return db.error();
  const bool is_counters = table == "counter" && db->has_table_or_view("rocpd_counter");
  if (!is_counters && !db->has_table_or_view(table.c_str()))
    return errorf(
        "%s: no table or view %s; `wavetap query %s \"select name from sqlite_master\"` lists them",
        trace.path.c_str(), table.c_str(), trace.path.c_str());
  // The name exists in the schema, so quoting it is enough.
  Result<store::Stmt> stmt =
      db->prepare(is_counters ? kCounters : "select * from " + store::quoted_name(table));
  if (!stmt.ok()) return stmt.error();
  std::vector<std::string> fields;
  fields.reserve(static_cast<size_t>(stmt->columns()));
  for (int i = 0; i < stmt->columns(); ++i) fields.push_back(stmt->column_name(i));
  sink.write(util::csv_line(fields));
  while (stmt->step()) {
    for (int i = 0; i < stmt->columns(); ++i) fields[static_cast<size_t>(i)] = stmt->text(i);
    sink.write(util::csv_line(fields));
  }
  return stmt->status();
}

}  // namespace wavetap::exporter
