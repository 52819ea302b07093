// All rows of one table, from the pages where that works (table_scan.h), else from SQLite: the same
// calls either way. What is asked for are the columns of tables.inc, in its order; one that the file
// lacks because it is older, or that the caller does not want, is NULL in every row.
#pragma once

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "store/sqlite.h"
#include "store/table_scan.h"
#include "store/tables.h"

namespace wavetap::store {

// Names of the columns, null where there is none to ask for. Fails when one is missing that files
// of every version have.
Result<std::vector<const char*>> present_columns(Db& db, const TableSpec& table);
// The column that rows are numbered by.
std::string key_of(const TableSpec& table);

// Runs f(part) for every part, on threads of their own but for the first.
template <class F>
void in_parallel(size_t parts, F&& f) {
  std::vector<std::thread> threads;
  for (size_t part = 1; part < parts; ++part) threads.emplace_back([&f, part] { f(part); });
  f(size_t{0});
  for (std::thread& thread : threads) thread.join();
}

// Asks SQLite for every row, ascending by the key.
//   begin(rows)         makes room
//   visit(number, row)  takes a row
template <class Begin, class Visit>
Status query_table(Db& db, const TableSpec& table, const std::vector<const char*>& columns,
                   Begin&& begin, Visit&& visit) {
  Result<int64_t> count = db.query_int(std::string("select count(*) from ") + table.name);
  if (!count.ok()) return count.error();
  std::string list;
  for (const char* column : columns)
    list += std::string(list.empty() ? "" : ", ") + (column == nullptr ? "null" : column);
  Result<Stmt> stmt =
      db.prepare("select " + list + " from " + table.name + " order by " + key_of(table));
  if (!stmt.ok()) return stmt.error();
  const auto rows = static_cast<size_t>(*count);
  begin(rows);
  size_t number = 0;
  while (number < rows && stmt->step()) visit(number++, *stmt);
  if (!stmt->status().ok()) return stmt->status();
  if (number != rows)
    return errorf("%s: %s: rows are missing; the file is damaged, record it again",
                  db.path().c_str(), table.name);
  return {};
}

// The same from the pages where possible, on several threads.
//   begin(rows, parts)        is called again when the reading starts afresh
//   visit(part, number, row)  parts run at the same time
//   in_order()                whether the rows turned out to ascend by the key
template <class Begin, class Visit, class InOrder>
Status read_table(Db& db, const TableSpec& table, const std::vector<const char*>& columns,
                  Begin&& begin, Visit&& visit, InOrder&& in_order) {
  if (Result<TableScan> scan = TableScan::open(db, table.name, columns); scan.ok()) {
    begin(scan->rows(), scan->parts());
    std::vector<Status> results(scan->parts());
    in_parallel(scan->parts(), [&](size_t part) {
      results[part] =
          scan->run(part, [&](size_t number, const ScanRow& row) { visit(part, number, row); });
    });
    const bool all =
        std::all_of(results.begin(), results.end(), [](const Status& s) { return s.ok(); });
    if (all && in_order()) return {};
  }
  return query_table(
      db, table, columns, [&](size_t rows) { begin(rows, size_t{1}); },
      [&](size_t number, const Stmt& row) { visit(size_t{0}, number, row); });
}

// The same on one thread; begin(rows) and visit(number, row).
template <class Begin, class Visit>
Status read_table_in_turn(Db& db, const TableSpec& table, const std::vector<const char*>& columns,
                          Begin&& begin, Visit&& visit) {
  // Opening the file once more is not worth it for a few rows.
  constexpr size_t kFewRows = 500;
  if (Result<TableScan> scan = TableScan::open(db, table.name, columns);
      scan.ok() && scan->rows() > kFewRows) {
    begin(scan->rows());
    bool all = true;
    for (size_t part = 0; all && part < scan->parts(); ++part) all = scan->run(part, visit).ok();
    if (all) return {};
  }
  return query_table(db, table, columns, begin, visit);
}

}  // namespace wavetap::store
