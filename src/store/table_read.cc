#include "store/table_read.h"

#include <algorithm>
#include <set>
#include <thread>

namespace wavetap::store {
namespace {

// What files of every version that is read have.
int oldest_version(const TableSpec& table) { return table.is_rpd() ? 2 : 1; }

// Runs f(part) for every part, on threads of their own but for the first.
template <class F>
void in_parallel(size_t parts, F&& f) {
  std::vector<std::thread> threads;
  for (size_t part = 1; part < parts; ++part) threads.emplace_back([&f, part] { f(part); });
  f(size_t{0});
  for (std::thread& thread : threads) thread.join();
}

// Asks SQLite for every row, ascending by the key.
Status query_table(Db& db, const TableSpec& table, const std::vector<const char*>& columns,
                   const RowVisits& visits) {
  Result<int64_t> count = db.query_int(std::string("select count(*) from ") + table.name);
  if (!count.ok()) return count.error();
  std::string list;
  for (const char* column : columns)
    list += std::string(list.empty() ? "" : ", ") + (column == nullptr ? "null" : column);
  Result<Stmt> stmt =
      db.prepare("select " + list + " from " + table.name + " order by " + key_of(table));
  if (!stmt.ok()) return stmt.error();
  const auto rows = static_cast<size_t>(*count);
  visits.begin(rows, 1);
  size_t number = 0;
  while (number < rows && stmt->step()) visits.from_query(number++, *stmt);
  if (!stmt->status().ok()) return stmt->status();
  if (number != rows)
    return errorf("%s: %s: rows are missing; the file is damaged, record it again",
                  db.path().c_str(), table.name);
  return {};
}

}  // namespace

std::string key_of(const TableSpec& table) { return table.columns.front().name; }

Result<std::vector<const char*>> present_columns(Db& db, const TableSpec& table) {
  Result<Stmt> rows = db.prepare("select name from pragma_table_xinfo(?)");
  if (!rows.ok()) return rows.error();
  rows->bind(1, std::string_view(table.name));
  std::set<std::string, std::less<>> present;
  while (rows->step()) present.emplace(rows->text(0));
  if (!rows->status().ok()) return rows->status().error();
  std::vector<const char*> columns;
  for (const ColumnSpec& column : table.columns) {
    const bool is_there = present.contains(column.name);
    if (!is_there && column.since <= std::max(oldest_version(table), table.since))
      return errorf("%s: not a trace: table %s has no column %s; give a .rpd file",
                    db.path().c_str(), table.name, column.name);
    columns.push_back(is_there ? column.name : nullptr);
  }
  return columns;
}

Status read_table_by(Db& db, const TableSpec& table, const std::vector<const char*>& columns,
                     const RowVisits& visits) {
  if (Result<TableScan> scan = TableScan::open(db, table.name, columns); scan.ok()) {
    visits.begin(scan->rows(), scan->parts());
    std::vector<Status> results(scan->parts());
    in_parallel(scan->parts(),
                [&](size_t part) { results[part] = scan->run(part, visits.from_pages(part)); });
    const bool all =
        std::all_of(results.begin(), results.end(), [](const Status& s) { return s.ok(); });
    if (all && visits.in_order()) return {};
  }
  return query_table(db, table, columns, visits);
}

Status read_table_in_turn_by(Db& db, const TableSpec& table,
                             const std::vector<const char*>& columns, const RowVisits& visits) {
  // Opening the file once more is not worth it for a few rows.
  constexpr size_t kFewRows = 500;
  if (Result<TableScan> scan = TableScan::open(db, table.name, columns);
      scan.ok() && scan->rows() > kFewRows) {
    visits.begin(scan->rows(), scan->parts());
    bool all = true;
    for (size_t part = 0; all && part < scan->parts(); ++part)
      all = scan->run(part, visits.from_pages(part)).ok();
    if (all) return {};
  }
  return query_table(db, table, columns, visits);
}

}  // namespace wavetap::store
