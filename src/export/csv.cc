// Any table or view of the file as CSV (RFC 4180), straight from SQLite.
#include "util/csv.h"
#include "export/formats.h"
#include "store/sqlite.h"

namespace wavetap::exporter {
Status write_csv(const store::Trace& trace, const Options& options, Sink& sink) {
  const std::string table = options.table.empty() ? "top" : options.table;
  Result<store::Db> db = store::Db::open_read_only(trace.path);
  if (!db.ok()) return db.error();
  if (!db->has_table_or_view(table.c_str()))
    return errorf("%s: no table or view %s; `wavetap query %s \"select name from sqlite_master\"` lists them",
                  trace.path.c_str(), table.c_str(), trace.path.c_str());
  // The name exists in the schema, so quoting it is enough.
  std::string quoted;
  for (const char c : table) quoted += c == '"' ? "\"\"" : std::string(1, c);
  Result<store::Stmt> stmt = db->prepare("select * from \"" + quoted + "\"");
  if (!stmt.ok()) return stmt.error();
  for (int i = 0; i < stmt->columns(); ++i) {
    if (i > 0) sink.put(',');
    sink.write(util::csv_field(stmt->column_name(i)));
  }
  sink.put('\n');
  while (stmt->step()) {
    for (int i = 0; i < stmt->columns(); ++i) {
      if (i > 0) sink.put(',');
      sink.write(util::csv_field(stmt->text(i)));
    }
    sink.put('\n');
  }
  return stmt->status();
}

}  // namespace wavetap::exporter
