// A thin, typed front of SQLite: the only header of the project that other folders see of it.
//
//   Result<Db> db = Db::open_read_only(path);
//   Result<Stmt> stmt = db->prepare("select id, start from rocpd_op where gpuId = ?");
//   stmt->bind(1, 0);
//   while (stmt->step()) use(stmt->int64(0), stmt->int64(1));
//   if (!stmt->status().ok()) return stmt->status().error();
//
// One thread per Db. Failures carry the file's name and SQLite's own words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace wavetap::store {

class Stmt {
 public:
  Stmt() = default;
  Stmt(Stmt&& other) noexcept;
  Stmt& operator=(Stmt&& other) noexcept;
  Stmt(const Stmt&) = delete;
  Stmt& operator=(const Stmt&) = delete;
  ~Stmt();

  // Parameters count from 1.
  void bind(int index, int64_t value);
  void bind(int index, double value);
  void bind(int index, std::string_view text);        // copied
  void bind_blob(int index, std::string_view bytes);  // copied
  void bind_null(int index);

  // True while there is a row. False at the end and on failure: ask status().
  bool step();
  // For statements without rows: bind, run, ready for the next bind.
  bool run();
  void reset();
  const Status& status() const { return status_; }

  // Columns count from 0. Text and blobs stay valid until the next step().
  int64_t int64(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;
  bool is_null(int column) const;
  // SQLite's storage class of the value: 'i' integer, 'r' real, 't' text, 'b' blob, 'n' null.
  char type(int column) const;
  int columns() const;
  std::string column_name(int column) const;
  bool is_read_only() const;

 private:
  friend class Db;
  sqlite3_stmt* stmt_ = nullptr;
  std::string path_;
  Status status_;
};

// A name as SQL wants it: in double quotes.
std::string quoted_name(std::string_view name);

class Db {
 public:
  // Opens an existing file. Never writes: no journal, no lock file, works on read-only media.
  static Result<Db> open_read_only(const std::string& path);
  static Result<Db> open_read_write(const std::string& path);
  // Makes a new file; fails when one exists.
  static Result<Db> create(const std::string& path);
  static Result<Db> open_memory();

  Db() = default;
  Db(Db&& other) noexcept;
  Db& operator=(Db&& other) noexcept;
  Db(const Db&) = delete;
  Db& operator=(const Db&) = delete;
  ~Db();

  Result<Stmt> prepare(std::string_view sql);
  // Runs one or more statements without results.
  Status exec(std::string_view sql);
  Result<int64_t> query_int(std::string_view sql);
  bool has_table_or_view(const char* name);
  bool has_column(const char* table, const char* column);
  // The file itself, through SQLite's own handle: a descriptor of ours would drop SQLite's locks
  // when closed.
  bool read_file_bytes(uint64_t offset, std::span<uint8_t> bytes);
  uint64_t file_bytes();
  const std::string& path() const { return path_; }
  sqlite3* raw() { return db_; }

 private:
  static Result<Db> open(const std::string& path, int flags);
  sqlite3* db_ = nullptr;
  std::string path_;
};

}  // namespace wavetap::store
