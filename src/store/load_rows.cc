#include "store/load_rows.h"

#include <algorithm>
#include <charconv>

#include "store/row_finder.h"
#include "store/table_read.h"
#include "store/times.h"

namespace wavetap::store {
namespace {

// "0x7f00" as a number; 0 when it is none.
uint64_t parse_address(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  return value;
}

class RowLoader {
 public:
  RowLoader(Trace& trace, Db& db, const IdMap& strings, Problems& problems)
      : trace_(trace),
        db_(db),
        strings_(strings),
        problems_(problems),
        apis_(trace.apis.id),
        ops_(trace.ops.id) {}

  template <class Row>
  Status load(const TableSpec& table, std::vector<Row>& out) {
    if (!db_.has_table_or_view(table.name)) return {};
    Result<std::vector<const char*>> columns = present_columns(db_, table);
    if (!columns.ok()) return columns.error();
    unknown_strings_ = odd_times_ = 0;
    const auto begin = [&](size_t rows) { out.assign(rows, {}); };
    const auto visit = [&](size_t i, const auto& row) { take(row, out[i]); };
    if (Status s = read_table_in_turn(db_, table, *columns, begin, visit); !s.ok()) return s;
    const std::string name = table.name;
    problems_.count(name + " names a string that does not exist", unknown_strings_);
    problems_.count(name + " has a time that cannot be", odd_times_);
    return {};
  }

 private:
  template <ColumnKind K, class From>
  Loaded<K> value(const From& row, int at) {
    using enum ColumnKind;
    if (row.is_null(at)) return loaded_nothing<K>();
    if constexpr (K == kText || K == kBlob) {
      return trace_.strings.intern(row.text(at));
    } else if constexpr (K == kString) {
      const uint32_t number = strings_.find(row.int64(at));
      if (number != IdMap::kMissing) return number;
      ++unknown_strings_;
      return 0;
    } else if constexpr (K == kAddress) {
      return parse_address(row.text(at));
    } else if constexpr (K == kCall) {
      return apis_.find(row.int64(at));
    } else if constexpr (K == kOp) {
      return ops_.find(row.int64(at));
    } else if constexpr (K == kReal) {
      return row.real(at);
    } else if constexpr (K == kTime) {
      const int64_t time = row.int64(at);
      if (can_be_time(time)) return time;
      ++odd_times_;
      return 0;
    } else {
      return static_cast<Loaded<K>>(row.int64(at));
    }
  }

  // clang-format off
#define WT_TABLE(table, Row, since, text)                            \
  template <class From>                                              \
  void take(const From& from, loaded_by_hand::Row& out) {            \
    using At = rows::Row::At;
#define WT_LOADED_TABLE(table, Row, member, since, text)             \
  template <class From>                                              \
  void take(const From& from, Row& out) {                            \
    using At = rows::Row::At;
#define WT_COLUMN(column, member, kind, sql, since, text)            \
    out.member = value<ColumnKind::kind>(from, At::member);
#define WT_END() }
#include "store/tables.inc"
  // clang-format on

  Trace& trace_;
  Db& db_;
  const IdMap& strings_;
  Problems& problems_;
  RowFinder apis_, ops_;
  uint64_t unknown_strings_ = 0, odd_times_ = 0;  // of the table being read
};

bool is_wanted(TableId table, const LoadOptions& options) {
  switch (table) {
    case TableId::kMonitor: return options.monitors;
    case TableId::kStackFrame: return options.apis && options.stack_frames;
    case TableId::kCounter: return options.ops && options.counters;
    case TableId::kDispatch: return options.ops && options.dispatches;
    case TableId::kAllocationEvent: return options.apis;
    default: return true;
  }
}

template <class Row, class Before>
void sort_rows(std::vector<Row>& rows, Before before) {
  if (!std::is_sorted(rows.begin(), rows.end(), before))
    std::stable_sort(rows.begin(), rows.end(), before);
}

}  // namespace

Status load_rows(Trace& trace, Db& db, const LoadOptions& options, const IdMap& strings,
                 Problems& problems) {
  RowLoader loader(trace, db, strings, problems);
#define WT_LOADED_TABLE(table, Row, member, since, text) \
  if (is_wanted(TableId::k##Row, options))               \
    if (Status s = loader.load(table_of<rows::Row>(), trace.member); !s.ok()) return s;
#include "store/tables.inc"
  trace.has_allocations = db.has_table_or_view(table_of<rows::AllocationEvent>().name);
  trace.has_asked_bytes = db.has_column("wavetap_allocation", "asked_bytes");
  sort_rows(trace.libraries, [](const auto& a, const auto& b) { return a.time < b.time; });
  sort_rows(trace.allocations, [](const auto& a, const auto& b) { return a.start < b.start; });
  sort_rows(trace.counters, [](const auto& a, const auto& b) { return a.op < b.op; });
  sort_rows(trace.stack_frames, [](const auto& a, const auto& b) {
    return a.api != b.api ? a.api < b.api : a.depth < b.depth;
  });
  return {};
}

}  // namespace wavetap::store
