#include "store/sqlite.h"

#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace wavetap::store {

// --- Stmt

Stmt::Stmt(Stmt&& other) noexcept
    : stmt_(std::exchange(other.stmt_, nullptr)),
      path_(std::move(other.path_)),
      status_(std::move(other.status_)) {}

Stmt& Stmt::operator=(Stmt&& other) noexcept {
  std::swap(stmt_, other.stmt_);
  std::swap(path_, other.path_);
  std::swap(status_, other.status_);
  return *this;
}

Stmt::~Stmt() { sqlite3_finalize(stmt_); }

void Stmt::bind(int index, int64_t value) { sqlite3_bind_int64(stmt_, index, value); }
void Stmt::bind(int index, double value) { sqlite3_bind_double(stmt_, index, value); }
void Stmt::bind(int index, std::string_view text) {
  // A null pointer would bind NULL; an empty text is still a text.
  sqlite3_bind_text64(stmt_, index, text.data() == nullptr ? "" : text.data(), text.size(),
                      SQLITE_TRANSIENT, SQLITE_UTF8);
}
void Stmt::bind_blob(int index, std::string_view bytes) {
  sqlite3_bind_blob64(stmt_, index, bytes.data() == nullptr ? "" : bytes.data(), bytes.size(),
                      SQLITE_TRANSIENT);
}
void Stmt::bind_null(int index) { sqlite3_bind_null(stmt_, index); }

bool Stmt::step() {
  if (stmt_ == nullptr || !status_.ok()) return false;
  const int rc = sqlite3_step(stmt_);
  if (rc == SQLITE_ROW) return true;
  if (rc != SQLITE_DONE)
    status_ = errorf("%s: %s%s", path_.c_str(), sqlite3_errmsg(sqlite3_db_handle(stmt_)),
                     rc == SQLITE_CORRUPT || rc == SQLITE_NOTADB
                         ? "; the file is damaged, record it again"
                         : "");
  return false;
}

bool Stmt::run() {
  while (step()) {
  }
  sqlite3_reset(stmt_);
  return status_.ok();
}

void Stmt::reset() { sqlite3_reset(stmt_); }

int64_t Stmt::int64(int column) const { return sqlite3_column_int64(stmt_, column); }
double Stmt::real(int column) const { return sqlite3_column_double(stmt_, column); }
std::string_view Stmt::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(stmt_, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<size_t>(sqlite3_column_bytes(stmt_, column))};
}
bool Stmt::is_null(int column) const { return sqlite3_column_type(stmt_, column) == SQLITE_NULL; }
char Stmt::type(int column) const {
  switch (sqlite3_column_type(stmt_, column)) {
    case SQLITE_INTEGER: return 'i';
    case SQLITE_FLOAT: return 'r';
    case SQLITE_TEXT: return 't';
    case SQLITE_BLOB: return 'b';
    default: return 'n';
  }
}
int Stmt::columns() const { return sqlite3_column_count(stmt_); }
std::string Stmt::column_name(int column) const {
  const char* name = sqlite3_column_name(stmt_, column);
  return name == nullptr ? "" : name;
}
bool Stmt::is_read_only() const { return sqlite3_stmt_readonly(stmt_) != 0; }

// --- Db

std::string quoted_name(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

Result<Db> Db::open_read_only(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return errorf("%s: is a folder; give a .rpd file", path.c_str());
  if (access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
    return errorf("%s: does not exist; check the path", path.c_str());
  if (access(path.c_str(), R_OK) != 0)
    return errorf("%s: cannot be read: %s; check its rights", path.c_str(), std::strerror(errno));
  return open(path, SQLITE_OPEN_READONLY);
}

Result<Db> Db::open_read_write(const std::string& path) {
  if (access(path.c_str(), R_OK | W_OK) != 0)
    return errorf("%s: cannot be written; check the path and its rights", path.c_str());
  return open(path, SQLITE_OPEN_READWRITE);
}

Result<Db> Db::create(const std::string& path) {
  if (access(path.c_str(), F_OK) == 0)
    return errorf("%s: exists already; name another file or remove it", path.c_str());
  return open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
}

Result<Db> Db::open_memory() {
  return open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
}

Result<Db> Db::open(const std::string& path, int flags) {
  Db db;
  db.path_ = path;
  const int rc = sqlite3_open_v2(path.c_str(), &db.db_, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  if (rc != SQLITE_OK)
    return errorf("%s: cannot be opened: %s; check the path and its rights", path.c_str(),
                  sqlite3_errstr(rc));
  sqlite3_busy_timeout(db.db_, 5000);
  // The first read tells whether it is an SQLite file at all. Hostile schemas get no functions to
  // call.
  sqlite3_db_config(db.db_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db.db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  if (sqlite3_exec(db.db_, "select count(*) from sqlite_master", nullptr, nullptr, nullptr) !=
      SQLITE_OK)
    return errorf("%s: not a trace: %s; give a .rpd file", path.c_str(), sqlite3_errmsg(db.db_));
  return db;
}

Db::Db(Db&& other) noexcept
    : db_(std::exchange(other.db_, nullptr)), path_(std::move(other.path_)) {}

Db& Db::operator=(Db&& other) noexcept {
  std::swap(db_, other.db_);
  std::swap(path_, other.path_);
  return *this;
}

Db::~Db() { sqlite3_close_v2(db_); }

Result<Stmt> Db::prepare(std::string_view sql) {
  Stmt stmt;
  stmt.path_ = path_;
  const char* const end = sql.data() + sql.size();
  const char* rest = end;
  if (sqlite3_prepare_v2(db_, sql.data(), static_cast<int>(sql.size()), &stmt.stmt_, &rest) !=
      SQLITE_OK)
    return errorf("%s: %s", path_.c_str(), sqlite3_errmsg(db_));
  if (stmt.stmt_ == nullptr)
    return errorf("%s: empty statement; give one SQL statement", path_.c_str());
  // Blanks and comments may follow; a second statement would be left out without a word.
  if (rest != end) {
    Stmt second;
    const int rc =
        sqlite3_prepare_v2(db_, rest, static_cast<int>(end - rest), &second.stmt_, nullptr);
    if (rc != SQLITE_OK || second.stmt_ != nullptr)
      return errorf("%s: more than one statement; give one at a time", path_.c_str());
  }
  return stmt;
}

Status Db::exec(std::string_view sql) {
  char* message = nullptr;
  if (sqlite3_exec(db_, std::string(sql).c_str(), nullptr, nullptr, &message) == SQLITE_OK)
    return {};
  const Error error = errorf("%s: %s", path_.c_str(), message == nullptr ? "failed" : message);
  sqlite3_free(message);
  return error;
}

Result<int64_t> Db::query_int(std::string_view sql) {
  Result<Stmt> stmt = prepare(sql);
  if (!stmt.ok()) return stmt.error();
  if (!stmt->step()) {
    if (!stmt->status().ok()) return stmt->status().error();
    return errorf("%s: no row for: %.*s", path_.c_str(), static_cast<int>(sql.size()), sql.data());
  }
  return stmt->int64(0);
}

namespace {

sqlite3_file* file_of(sqlite3* db) {
  sqlite3_file* file = nullptr;
  const int rc = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  return rc == SQLITE_OK && file != nullptr && file->pMethods != nullptr ? file : nullptr;
}

}  // namespace

bool Db::read_file_bytes(uint64_t offset, std::span<uint8_t> bytes) {
  sqlite3_file* file = file_of(db_);
  return file != nullptr &&
         file->pMethods->xRead(file, bytes.data(), static_cast<int>(bytes.size()),
                               static_cast<sqlite3_int64>(offset)) == SQLITE_OK;
}

uint64_t Db::file_bytes() {
  sqlite3_file* file = file_of(db_);
  sqlite3_int64 size = 0;
  return file != nullptr && file->pMethods->xFileSize(file, &size) == SQLITE_OK
             ? static_cast<uint64_t>(size)
             : 0;
}

bool Db::has_table_or_view(const char* name) {
  Result<Stmt> stmt =
      prepare("select 1 from sqlite_master where name = ? and type in ('table', 'view')");
  if (!stmt.ok()) return false;
  stmt->bind(1, std::string_view(name));
  return stmt->step();
}

bool Db::has_column(const char* table, const char* column) {
  Result<Stmt> stmt = prepare("select 1 from pragma_table_info(?) where name = ?");
  if (!stmt.ok()) return false;
  stmt->bind(1, std::string_view(table));
  stmt->bind(2, std::string_view(column));
  return stmt->step();
}

}  // namespace wavetap::store
