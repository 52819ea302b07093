// Filling the tables of a new database faster than SQL can: rows come in key order, so the pages of
// a table's b-tree can be written one after another, full, without ever searching, splitting or
// journalling.
//
//   create tables with SQL, close the Db
//   Result<BulkWriter> bulk = BulkWriter::open(path);
//   BulkTable* api = bulk->table("rocpd_api");
//   api->begin(1); api->null(); api->integer(pid); ...; api->end();
//   bulk->finish();                    // now it is an ordinary database again
//
// Indexes that exist by then are filled too: those of one integer column here (bulk_index.h),
// others by SQLite at the end. What is written is the file format SQLite documents
// (https://www.sqlite.org/fileformat2.html): leaf pages as they fill up, then the levels above
// them, and the top level into the root page SQLite had chosen. Tests hold the result against
// `pragma integrity_check`.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "base/scoped_fd.h"
#include "store/bulk_index.h"
#include "store/page_format.h"

namespace wavetap::store {

// The file as a sequence of pages, written in large pieces. Failures stick until status() is asked.
// Threads that fill tables of their own may append at the same time.
class PageFile {
 public:
  PageFile(ScopedFd fd, uint32_t pages) : fd_(std::move(fd)), next_(pages + 1) {}

  // The number of a new page at the end of the file, holding `page`.
  uint32_t append(const uint8_t* page);
  void overwrite(uint32_t number, const uint8_t* page);
  void flush();
  uint32_t pages() const { return next_ - 1; }
  int fd() const { return fd_.get(); }
  const Status& status() const { return status_; }

 private:
  void write_at(const void* data, size_t size, uint64_t offset);
  void flush_locked();

  std::mutex mutex_;  // guards all below
  ScopedFd fd_;
  uint32_t next_;
  std::vector<uint8_t> buffer_;
  uint32_t buffered_from_ = 0;  // page number of the buffer's first page
  Status status_;
};

// One thread.
class BulkTable {
 public:
  // A record's header counts its own bytes in one: room for this many columns, whose serial types
  // take at most five bytes each.
  static constexpr size_t kMaxColumns = 25;

  BulkTable(PageFile& file, uint32_t root);

  // Rowids must rise; a row that does not is left out and finish() fails. A column that is the
  // table's integer primary key is null().
  void begin(int64_t rowid) {
    rowid_ = rowid;
    header_bytes_ = 1;  // its own size
    column_ = 0;
    body_.clear();
  }
  void null() {
    next_column();
    header_[header_bytes_++] = 0;
  }
  void integer(int64_t value);
  void text(std::string_view value) { bytes(value.data(), value.size(), 13); }
  void blob(const void* data, size_t size) { bytes(data, size, 12); }
  void real(double value);
  // A value as it stands in another file of the format; `size` is what its serial type says.
  void stored(uint64_t serial_type, const uint8_t* data, size_t size);
  void end();

  uint64_t rows() const { return rows_; }
  int64_t last_rowid() const { return last_rowid_; }

 private:
  friend class BulkWriter;
  struct Child {
    uint32_t page;
    int64_t last_rowid;
  };

  void bytes(const void* data, size_t size, uint64_t base);
  // Every value passes here, with its number when it is an integer: indexes want it.
  void next_column(const int64_t* value = nullptr) {
    WT_CHECK(column_ < kMaxColumns, "a row has no more columns than its header has room for");
    if (!indexes_.empty()) note_key(value);
    ++column_;
  }
  void note_key(const int64_t* value);
  void close_leaf();
  void flush_leaf();
  uint32_t write_overflow(const uint8_t* data, size_t size);
  void finish();

  PageFile& file_;
  const uint32_t root_;
  std::vector<BulkIndex> indexes_;
  size_t column_ = 0;
  bool out_of_order_ = false;
  int64_t rowid_ = 0;
  int64_t last_rowid_ = 0;
  uint64_t rows_ = 0;
  size_t header_bytes_ = 0;
  uint8_t header_[128];
  std::vector<uint8_t> body_;
  std::vector<uint8_t> record_;  // scratch of end()

  uint8_t leaf_[kPageBytes];
  size_t cells_ = 0;
  size_t content_ = kPageBytes;
  std::vector<Child> children_;
};

class Db;

class BulkWriter {
 public:
  // The tables to fill must exist and be empty; nobody else may have the file open.
  static Result<BulkWriter> open(const std::string& path);

  // Null when there is no such table.
  BulkTable* table(const std::string& name);
  // Completes the tables and the file. The writer is of no use afterwards.
  Status finish();

 private:
  Status find_indexes(Db& db);

  std::string path_;
  std::map<std::string, uint32_t> roots_;
  std::multimap<std::string, BulkIndex> indexes_;          // by table
  std::multimap<std::string, std::string> other_indexes_;  // the same, for SQLite to fill
  std::map<std::string, std::unique_ptr<BulkTable>> tables_;
  std::unique_ptr<PageFile> file_;
};

}  // namespace wavetap::store
