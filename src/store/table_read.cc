#include "store/table_read.h"

#include <set>

namespace wavetap::store {
namespace {

// What files of every version that is read have.
int oldest_version(const TableSpec& table) { return table.is_rpd() ? 2 : 1; }

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

}  // namespace wavetap::store
