// All rows of one table, from the pages where that works (table_scan.h), else from SQLite: the same
// calls either way. What is asked for are the columns of tables.inc, in its order; one that the file
// lacks because it is older, or that the caller does not want, is NULL in every row.
#pragma once

#include <functional>
#include <string>
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

using PageVisit = std::function<void(size_t number, const ScanRow& row)>;

// What becomes of the rows. Functions and no templates: the reading itself is compiled once.
struct RowVisits {
  std::function<void(size_t rows, size_t parts)>
      begin;                                         // called again when the reading starts afresh
  std::function<PageVisit(size_t part)> from_pages;  // parts run at the same time
  std::function<void(size_t number, const Stmt& row)> from_query;
  std::function<bool()> in_order;  // whether the rows turned out to ascend by the key
};
Status read_table_by(Db& db, const TableSpec& table, const std::vector<const char*>& columns,
                     const RowVisits& visits);
Status read_table_in_turn_by(Db& db, const TableSpec& table,
                             const std::vector<const char*>& columns, const RowVisits& visits);

// From the pages where possible, on several threads; else SQLite is asked, row after row.
//   begin(rows, parts)
//   visit(part, number, row)
//   in_order()
template <class Begin, class Visit, class InOrder>
Status read_table(Db& db, const TableSpec& table, const std::vector<const char*>& columns,
                  const Begin& begin, const Visit& visit, const InOrder& in_order) {
  return read_table_by(
      db, table, columns,
      {.begin = std::cref(begin),
       .from_pages = [&visit](size_t part) -> PageVisit {
         return [&visit, part](size_t number, const ScanRow& row) { visit(part, number, row); };
       },
       .from_query = [&visit](size_t number, const Stmt& row) { visit(size_t{0}, number, row); },
       .in_order = std::cref(in_order)});
}

// The same on one thread; begin(rows) and visit(number, row).
template <class Begin, class Visit>
Status read_table_in_turn(Db& db, const TableSpec& table, const std::vector<const char*>& columns,
                          const Begin& begin, const Visit& visit) {
  return read_table_in_turn_by(
      db, table, columns,
      {.begin = [&begin](size_t rows, size_t) { begin(rows); },
       .from_pages = [&visit](size_t) -> PageVisit { return std::cref(visit); },
       .from_query = std::cref(visit),
       .in_order = nullptr});
}

}  // namespace wavetap::store
