// The tables of a trace as types: a row of each as a struct whose members must all be given, and the
// same list as data for whatever asks by name. Everything here is made from tables.inc.
//
//   writer.put(rows::Call{.id = 1, .pid = pid, .tid = tid, .start = 10, .end = 20, …});
//   row.int64(rows::Call::At::start)                      the column in a list of all columns
//   for (const ColumnSpec& column : find_table("rocpd_api")->columns) …
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace wavetap::store {

// Raised when tables or columns wavetap_* are added: `since` of tables.inc counts in it.
inline constexpr int kWavetapTables = 3;

// What a column holds. It decides the type in a row, how merge and trim treat the value (Meaning),
// and what it refers to.
enum class ColumnKind : uint8_t {
  kNumber,
  kReal,
  kFlag,  // 0 or 1
  kText,
  kAddress,  // a text, "0x7f00": SQLite's integers are signed
  kBlob,
  kCall,     // id of rocpd_api
  kOp,       // id of rocpd_op
  kString,   // id of rocpd_string
  kArgs,     // id of rocpd_ustring; of rocpd_string in schema 2
  kId,       // id of another table
  kProcess,  // pid or tid
  kGpu,      // GPU or queue; negative is the host
  kTime,     // ns of CLOCK_MONOTONIC; in tables wavetap_*, 0 says there is none
  kSession,  // number of a recorded process
};

// How a column takes part in its row.
enum class ColumnRole : uint8_t {
  kKey,     // is the row's number, which the writer gives
  kNumber,  // is the row's number: 1, 2, 3 …
  kOwner,   // is unique without being the row's number
  kPlain,
  kMaybe,  // may be NULL
};

struct ColumnSpec {
  const char* name;
  ColumnKind kind;
  ColumnRole role;
  const char* sql;  // type as `create table` has it
  int since;
  const char* text;
};

struct TableSpec {
  const char* name;
  int since;
  const char* text;
  std::span<const ColumnSpec> columns;
  bool is_rpd() const { return std::string_view(name).starts_with("rocpd_"); }
};

// All tables, in the order of tables.inc.
std::span<const TableSpec> all_tables();
// Null when tables.inc has none of that name.
const TableSpec* find_table(std::string_view name);
// `create table …` of one.
std::string table_sql(const TableSpec& table);

// A value that must be given: forgetting a column does not compile.
template <class T>
struct Given {
  template <class U>
  requires std::convertible_to<U, T>
  // Implicit: `.pid = 7` is how rows are written.
  constexpr explicit(false) Given(U&& from) : value(static_cast<T>(std::forward<U>(from))) {}
  T value;
};

template <ColumnKind K>
auto stored_type() {
  using enum ColumnKind;
  if constexpr (K == kReal) return double{};
  else if constexpr (K == kFlag) return bool{};
  else if constexpr (K == kText) return std::string_view{};
  else if constexpr (K == kAddress) return uint64_t{};
  else if constexpr (K == kBlob) return std::span<const std::byte>{};
  else return int64_t{};
}
template <ColumnKind K>
using Stored = decltype(stored_type<K>());

// Places of the columns in TableSpec::columns, by the name of the row; a row knows them as At.
namespace places {
// clang-format off
#define WT_TABLE(table, Row, since, text) struct Row { enum : int {
#define WT_COLUMN(column, member, kind, sql, since, text) member,
#define WT_NUMBER(column, sql, since, text) row_number,
#define WT_END() }; };
#include "store/tables.inc"
// clang-format on
}  // namespace places

// Rows as they are written. Texts and blobs are copied when the row is put.
namespace rows {
// clang-format off
#define WT_TABLE(table, Row, since, text) struct Row { using At = places::Row;
#define WT_COLUMN(column, member, kind, sql, since, text) Given<Stored<ColumnKind::kind>> member;
#define WT_MAYBE(column, member, kind, sql, since, text) \
  Given<std::optional<Stored<ColumnKind::kind>>> member;
#define WT_END() };
#include "store/tables.inc"
// clang-format on
}  // namespace rows

// Number of a row's table in all_tables().
enum class TableId : uint8_t {
#define WT_TABLE(table, Row, since, text) k##Row,
#include "store/tables.inc"
  kCount,
};

template <class Row>
inline constexpr TableId kTableOf = TableId::kCount;
#define WT_TABLE(table, Row, since, text) \
  template <>                             \
  inline constexpr TableId kTableOf<rows::Row> = TableId::k##Row;
#include "store/tables.inc"

inline constexpr size_t kTableCount = static_cast<size_t>(TableId::kCount);

template <class Row>
const TableSpec& table_of() {
  return all_tables()[static_cast<size_t>(kTableOf<Row>)];
}

}  // namespace wavetap::store
