// The one door through which traces are written: import, merge, trim, converters, tests and
// benchmarks.
//
//   Result<TraceWriter> writer = TraceWriter::create("new.rpd");
//   SessionTexts texts(*writer, /*session=*/0);
//   writer->put(rows::Call{.id = texts.offset() + 1, .pid = 7, …, .name = texts.string("hipMalloc")});
//   writer->set_metadata("producer", "me 1.0");
//   texts.finish();
//   Status done = writer->finish();
//
// Rows go straight into pages (bulk_writer.h), so the numbers of a table's rows must rise; finish()
// fails when they do not. Threads may fill tables of their own at the same time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "store/bulk_writer.h"
#include "store/schema.h"
#include "store/tables.h"

namespace wavetap::store {

// Makes a file whole or not at all: `fill` gets a name beside `output`, which becomes `output` when
// all went well and is removed when it did not.
Status make_whole(const std::string& output, bool overwrite,
                  const std::function<Status(const std::string& path)>& fill);

class TraceWriter {
 public:
  // A new file with the tables of tables.inc, views and indexes; with `wavetap_tables` false only
  // RPD's.
  static Result<TraceWriter> create(const std::string& path, bool wavetap_tables = true);
  // A new file whose tables `make` creates; put() takes rows of those that tables.inc knows.
  static Result<TraceWriter> create(const std::string& path,
                                    const std::function<Status(Db&)>& make);

  template <class Row>
  void put(const Row& row);
  template <class Row>
  uint64_t rows() const {
    const BulkTable* const table = tables_[static_cast<size_t>(kTableOf<Row>)];
    return table == nullptr ? 0 : table->rows();
  }
  // Of all tables.
  uint64_t rows() const;
  // For rows that are copied from another file as they are; null when there is no such table.
  BulkTable* table(const std::string& name) { return bulk_->table(name); }
  // Keys may repeat.
  void add_metadata(const std::string& tag, const std::string& value) {
    metadata_.emplace_back(tag, value);
  }

  // Completes the file, metadata last. Statements of `later` (views, triggers) run before those.
  Status finish(const std::vector<std::string>& later = {});

 private:
  explicit TraceWriter(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::unique_ptr<BulkWriter> bulk_;
  std::array<BulkTable*, kTableCount> tables_{};  // null: the file has none
  std::vector<std::pair<std::string, std::string>> metadata_;
};

// The texts of one session. Equal strings get one id and are written by finish(); texts of calls
// are written as they come, in a table of their own. The first of both is "".
class SessionTexts {
 public:
  SessionTexts(TraceWriter& writer, int64_t session);

  // Where the session's ids begin.
  int64_t offset() const { return offset_; }
  int64_t string(std::string_view text);
  int64_t text(std::string_view text);
  int64_t no_string() const { return offset_ + 1; }
  int64_t no_text() const { return offset_ + 1; }
  void finish();

 private:
  TraceWriter& writer_;
  int64_t offset_;
  int64_t texts_ = 0;
  // Found by views, without making a string of them.
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> ids_;
  std::vector<const std::string*> strings_;  // by id
};

// --- How a row becomes a record.

namespace detail {

// "0x7f00" of an address.
class HexText {
 public:
  explicit HexText(uint64_t value);
  std::string_view view() const { return {text_, length_}; }

 private:
  char text_[20];
  size_t length_;
};

template <ColumnKind K>
void put_value(BulkTable& table, const Stored<K>& value) {
  using enum ColumnKind;
  if constexpr (K == kReal) table.real(value);
  else if constexpr (K == kFlag) table.integer(value ? 1 : 0);
  else if constexpr (K == kText) table.text(value);
  else if constexpr (K == kAddress) table.text(HexText(value).view());
  else if constexpr (K == kBlob) table.blob(value.data(), value.size());
  else table.integer(value);
}

template <ColumnKind K>
void put_value(BulkTable& table, const std::optional<Stored<K>>& value) {
  if (value) put_value<K>(table, *value);
  else table.null();
}

// The row's number comes before its columns; the column that is the number holds nothing.
// clang-format off
#define WT_TABLE(name, Row, since, text) inline void put_row(BulkTable& table, const rows::Row& row) {
#define WT_KEY(column, member, kind, sql, since, text) \
  table.begin(row.member.value); table.null();
#define WT_NUMBER(column, sql, since, text) \
  table.begin(static_cast<int64_t>(table.rows()) + 1); table.null();
#define WT_OWNER(column, member, kind, sql, since, text) \
  table.begin(static_cast<int64_t>(table.rows()) + 1); table.integer(row.member.value);
#define WT_COLUMN(column, member, kind, sql, since, text) \
  put_value<ColumnKind::kind>(table, row.member.value);
#define WT_END() table.end(); }
#include "store/tables.inc"
// clang-format on

}  // namespace detail

template <class Row>
void TraceWriter::put(const Row& row) {
  if (BulkTable* const table = tables_[static_cast<size_t>(kTableOf<Row>)]; table != nullptr)
    detail::put_row(*table, row);
}

}  // namespace wavetap::store
