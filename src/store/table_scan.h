// TableScan: all rows of one table, read straight from the pages of an SQLite file.
//
// Asking SQLite for a million rows costs a virtual-machine program per row; a trace's tables are
// plain rowid tables whose format is documented (https://www.sqlite.org/fileformat2.html), so the
// loader walks their leaf pages itself, several threads at once, each row knowing its place
// beforehand. That is an order of magnitude faster and changes nothing else: whatever is out of the
// ordinary (write-ahead log, UTF-16, WITHOUT ROWID, generated columns, any damage) makes open() or
// run() fail, and the caller asks SQLite instead, which then gives the answer or the error.
//
// The caller holds a read transaction on the file meanwhile, so that no writer changes it.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/sqlite.h"

namespace wavetap::store {

// One row, as Stmt shows it: the same questions, the same conversions.
class ScanRow {
 public:
  int64_t int64(int column) const {
    const Value& v = value(column);
    if (v.serial_type - 1 >= 6 || v.bytes == nullptr) return other_int64(column);
    // Big-endian, 1 to 8 bytes; there are always eight to be read (kPaddingBytes).
    constexpr uint8_t kUnusedBits[] = {56, 48, 40, 32, 16, 0};
    uint64_t word;
    std::memcpy(&word, v.bytes, sizeof word);
    if (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
    return static_cast<int64_t>(word) >> kUnusedBits[v.serial_type - 1];
  }
  double real(int column) const;
  // Valid until the next row.
  std::string_view text(int column) const;
  bool is_null(int column) const { return is_stored(column) && value(column).serial_type == 0; }
  bool is_integer(int column) const;

  // The value as the file holds it. Not for the column that names the row itself, which holds
  // nothing.
  struct Value {
    uint64_t serial_type = 0;
    const uint8_t* bytes = nullptr;
  };
  bool is_stored(int column) const { return value(column).bytes != nullptr; }
  const Value& value(int column) const { return values_[static_cast<size_t>(column)]; }
  int64_t rowid() const { return rowid_; }

 private:
  friend class TableScan;
  int64_t other_int64(int column) const;
  std::vector<Value> values_;  // by the caller's column order
  int64_t rowid_ = 0;
  mutable std::string converted_;
};

// Bytes a value of this serial type takes.
uint64_t stored_bytes(uint64_t serial_type);

class TableScan {
 public:
  // Fails when the file or the table is not of the plain kind. A null column is not asked for: its
  // values are NULL.
  static Result<TableScan> open(Db& db, const std::string& table,
                                std::span<const char* const> columns);

  size_t rows() const { return rows_; }
  uint64_t leaf_bytes() const { return uint64_t{page_bytes_} * leaves_.size(); }
  // Whether the caller's column is another name of the row's number, in whose order the rows come.
  bool is_rowid(int column) const { return rowid_column_ == column; }
  // Parts that can run at the same time; each covers rows of its own.
  size_t parts() const { return first_leaf_of_part_.size(); }
  size_t first_row_of_part(size_t part) const { return first_row_of_part_[part]; }
  // Calls visit(row number, row) for every row of a part, ascending. Any thread.
  Status run(size_t part, const std::function<void(size_t, const ScanRow&)>& visit) const;
  // The same through a connection to the file that nobody else uses meanwhile: to open one is to
  // read the whole schema.
  Status run(size_t part, Db& db, const std::function<void(size_t, const ScanRow&)>& visit) const;

 private:
  struct Leaf {
    uint32_t page = 0;
    uint32_t cells = 0;
  };
  Status read_columns(Db& db, const std::string& table, std::span<const char* const> columns);
  Status collect_leaves(Db& db, uint32_t root);
  Status read_page(Db& db, uint32_t page, std::span<uint8_t> bytes) const;
  bool parse_record(std::string_view payload, ScanRow& row) const;
  Status read_overflow(Db& db, uint32_t page, uint64_t missing, std::string& payload) const;
  Error odd(const char* what) const;

  std::string path_;
  std::string table_;
  uint32_t page_bytes_ = 0;
  uint32_t usable_bytes_ = 0;
  uint32_t pages_ = 0;
  size_t columns_ = 0;       // the caller's
  std::vector<int> wanted_;  // stored column -> caller's column, -1 for none
  int rowid_column_ = -1;    // caller's column that names the row itself
  std::vector<Leaf> leaves_;
  size_t rows_ = 0;
  std::vector<size_t> first_leaf_of_part_, first_row_of_part_;
};

}  // namespace wavetap::store
