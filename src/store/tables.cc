#include "store/tables.h"

namespace wavetap::store {
namespace {

// clang-format off
#define WT_TABLE(table, Row, since, text) constexpr ColumnSpec k##Row##Columns[] = {
#define WT_COLUMN(column, member, kind, sql, since, text) \
  {#column, ColumnKind::kind, ColumnRole::kPlain, sql, since, text},
#define WT_MAYBE(column, member, kind, sql, since, text) \
  {#column, ColumnKind::kind, ColumnRole::kMaybe, sql, since, text},
#define WT_KEY(column, member, kind, sql, since, text) \
  {#column, ColumnKind::kind, ColumnRole::kKey, sql, since, text},
#define WT_OWNER(column, member, kind, sql, since, text) \
  {#column, ColumnKind::kind, ColumnRole::kOwner, sql, since, text},
#define WT_NUMBER(column, sql, since, text) \
  {#column, ColumnKind::kId, ColumnRole::kNumber, sql, since, text},
#define WT_END() };
#include "store/tables.inc"
// clang-format on

constexpr TableSpec kTables[] = {
#define WT_TABLE(table, Row, since, text) {#table, since, text, k##Row##Columns},
#include "store/tables.inc"
};
static_assert(std::size(kTables) == kTableCount);

// The table whose ids a column holds; null when it refers to none of RPD's.
const char* referred_table(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kCall: return "rocpd_api";
    case ColumnKind::kOp: return "rocpd_op";
    case ColumnKind::kString: return "rocpd_string";
    case ColumnKind::kArgs: return "rocpd_ustring";
    default: return nullptr;
  }
}

}  // namespace

std::span<const TableSpec> all_tables() { return kTables; }

const TableSpec* find_table(std::string_view name) {
  for (const TableSpec& table : kTables)
    if (name == table.name) return &table;
  return nullptr;
}

std::string table_sql(const TableSpec& table) {
  std::string sql = std::string("create table ") + table.name + " (";
  for (const ColumnSpec& column : table.columns) {
    if (&column != table.columns.data()) sql += ", ";
    sql += std::string(column.name) + " " + column.sql;
    const bool is_key = column.role == ColumnRole::kKey || column.role == ColumnRole::kNumber;
    if (table.is_rpd()) sql += " not null";
    if (is_key || column.role == ColumnRole::kOwner) sql += " primary key";
    if (is_key && table.is_rpd()) sql += " autoincrement";
    const char* const referred = referred_table(column.kind);
    if (table.is_rpd() && !is_key && referred != nullptr)
      sql += std::string(" references ") + referred + " (id) deferrable initially deferred";
  }
  return sql + ")";
}

}  // namespace wavetap::store
