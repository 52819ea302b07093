// Rows of a table on their way into a new file: some stay behind, ids and times move. trim and
// merge are made of this. Read straight from the pages (table_scan.h) and written straight into
// pages (bulk_writer.h), a row costs a fraction of what SQL takes; where either is out of the
// ordinary, SQLite does its part.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/bulk_writer.h"
#include "store/sqlite.h"

namespace wavetap::store {

// A column of the new table.
struct CopyColumn {
  static CopyColumn of(int64_t fixed) {
    CopyColumn column;
    column.fixed = fixed;
    return column;
  }
  static CopyColumn null() {
    CopyColumn column;
    column.is_null = true;
    return column;
  }

  std::string from;              // the old table's column; "" for a fixed value
  int64_t shift = 0;             // added to integers
  bool unless_zero = false;      // … but not to 0,
  bool unless_negative = false;  // … nor to negative ones
  int64_t fixed = 0;
  bool is_null = false;  // the fixed value is NULL
};

struct TableCopy {
  std::string table;                // the old one
  std::vector<CopyColumn> columns;  // of the new one, all of them in order
  // Which of them is the new row's number; -1: rows are numbered from 1.
  int key = -1;
  // A row stays when these hold for the old values that are not NULL.
  struct Condition {
    size_t column = 0;
    std::function<bool(int64_t)> holds;
  };
  std::vector<Condition> conditions;
  // Gets the old values of the rows that stay.
  struct Collect {
    size_t column = 0;
    std::vector<int64_t>* into = nullptr;
  };
  std::vector<Collect> collect;
};

// A table filled by SQL, for those no BulkTable can fill; the same calls.
class SqlTable {
 public:
  // Columns that are not named get their default.
  static Result<SqlTable> open(Db& db, const std::string& table,
                               const std::vector<std::string>& columns);
  void begin(int64_t) { column_ = 0; }
  void null() { stmt_.bind_null(++column_); }
  void integer(int64_t value) { stmt_.bind(++column_, value); }
  void real(double value) { stmt_.bind(++column_, value); }
  void text(std::string_view value) { stmt_.bind(++column_, value); }
  void blob(const void* data, size_t size) {
    stmt_.bind_blob(++column_, {static_cast<const char*>(data), size});
  }
  void end() {
    stmt_.run();
    ++rows_;
  }
  uint64_t rows() const { return rows_; }
  const Status& status() const { return stmt_.status(); }

 private:
  Stmt stmt_;
  int column_ = 0;
  uint64_t rows_ = 0;
};

// Appends the rows of a table of the file `path` to `target`. `done_bytes` counts what was read.
Status copy_rows(const std::string& path, const TableCopy& copy, BulkTable& target,
                 std::atomic<uint64_t>& done_bytes);
Status copy_rows(const std::string& path, const TableCopy& copy, SqlTable& target,
                 std::atomic<uint64_t>& done_bytes);

// The same without a target: only what the copy collects.
Status collect_values(const std::string& path, const TableCopy& copy,
                      std::atomic<uint64_t>& done_bytes);

// Runs jobs on a few threads, the first ones first, and says how far `done_bytes` is now and then.
// The first failure, in order of the jobs.
Status run_jobs(const std::vector<std::function<Status()>>& jobs,
                const std::atomic<uint64_t>& done_bytes,
                const std::function<void(uint64_t)>& progress);

}  // namespace wavetap::store
