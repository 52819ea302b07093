// wavetap query: SQL over a trace, read-only.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "cli/command.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "util/csv.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/table.h"
#include "util/terminal.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct QueryOptions {
  std::string path;
  std::string sql;
  std::string format = "table";
};

nlohmann::ordered_json json_cell(const store::Stmt& stmt, int column) {
  switch (stmt.type(column)) {
    case 'i': return stmt.int64(column);
    case 'r': return stmt.real(column);
    case 'n': return nullptr;
    default: return std::string(stmt.text(column));
  }
}

int query(const QueryOptions& options) {
  Result<store::Db> db = store::Db::open_read_only(options.path);
  if (!db.ok()) return fail(db.error());
  if (Result<int> version = store::schema_version(*db); !version.ok()) return fail(version.error());
  Result<store::Stmt> stmt = db->prepare(options.sql);
  if (!stmt.ok()) return fail(stmt.error());
  if (!stmt->is_read_only())
    return fail({"query: the statement writes; only reading is allowed here"});
  if (const std::string newer = store::newer_schema_warning(*db); !newer.empty())
    warn({fmt::format("{}: {}", options.path, newer)});

  std::vector<util::Column> columns;
  for (int i = 0; i < stmt->columns(); ++i)
    columns.push_back({stmt->column_name(i), util::Align::kLeft, true});
  util::Table table(columns);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::vector<std::string> fields;
  for (const util::Column& column : columns) fields.push_back(column.title);
  if (options.format == "csv") fmt::print("{}", util::csv_line(fields));
  while (stmt->step()) {
    if (options.format == "csv") {
      for (int i = 0; i < stmt->columns(); ++i) fields[static_cast<size_t>(i)] = stmt->text(i);
      fmt::print("{}", util::csv_line(fields));
    } else if (options.format == "json") {
      nlohmann::ordered_json row;
      for (int i = 0; i < stmt->columns(); ++i) row[stmt->column_name(i)] = json_cell(*stmt, i);
      rows.push_back(std::move(row));
    } else {
      std::vector<std::string> cells;
      for (int i = 0; i < stmt->columns(); ++i)
        cells.push_back(util::escape_control(stmt->text(i)));
      table.add(std::move(cells));
    }
  }
  if (!stmt->status().ok()) return fail(stmt->status().error());
  if (options.format == "json") fmt::print("{}", util::json_text(rows));
  if (options.format == "table") fmt::print("{}", table.text(util::output_columns(STDOUT_FILENO)));
  return kDone;
}

}  // namespace

void add_query(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<QueryOptions>();
  Command& command = parent.add_command(
      "query", "run SQL on a trace, read-only", "query TRACE SQL [--format table|csv|json]",
      "  wavetap query trace.rpd 'select * from top limit 5'\n"
      "  wavetap query trace.rpd --format csv 'select * from kernel' > kernels.csv\n");
  command.add_option("TRACE", options->path, "a .rpd file")->required();
  command.add_option("SQL", options->sql, "one statement")->required();
  command.add_option("--format", options->format, "table, csv or json (table)")
      ->type_name("FORMAT")
      ->choices({"table", "csv", "json"});
  command.callback([options, &invocation] { invocation.exit_code = query(*options); });
}

}  // namespace wavetap::cli
