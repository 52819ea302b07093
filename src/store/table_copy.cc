#include "store/table_copy.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>

#include "store/table_scan.h"

namespace wavetap::store {
namespace {

constexpr uint64_t kRowsBetweenCounts = 4096;
constexpr size_t kMostThreads = 4;

template <class Target>
void copy_value(const ScanRow& row, int column, Target& target) {
  const ScanRow::Value& value = row.value(column);
  const uint64_t size = stored_bytes(value.serial_type);
  if (value.bytes == nullptr) {
    target.integer(row.rowid());
  } else if (value.serial_type == 10 || value.serial_type == 11) {
    target.null();  // kept for SQLite's own use; no file has them
  } else if constexpr (std::is_same_v<Target, BulkTable>) {
    // Integers are put together afresh: indexes want to know them.
    if (row.is_integer(column)) target.integer(row.int64(column));
    else target.stored(value.serial_type, value.bytes, size);
  } else if (value.serial_type == 0) {
    target.null();
  } else if (row.is_integer(column)) {
    target.integer(row.int64(column));
  } else if (value.serial_type < 12) {
    target.real(row.real(column));
  } else if (value.serial_type % 2 == 0) {
    target.blob(value.bytes, size);
  } else {
    target.text(row.text(column));
  }
}

template <class Target>
void copy_value(const Stmt& row, int column, Target& target) {
  switch (row.type(column)) {
    case 'i': return target.integer(row.int64(column));
    case 'r': return target.real(row.real(column));
    case 't': return target.text(row.text(column));
    case 'b': {
      const std::string_view bytes = row.text(column);
      return target.blob(bytes.data(), bytes.size());
    }
    default: return target.null();
  }
}

bool is_integer(const ScanRow& row, int column) { return row.is_integer(column); }
bool is_integer(const Stmt& row, int column) { return row.type(column) == 'i'; }

int64_t shifted(const CopyColumn& column, int64_t value) {
  const bool stays = (column.unless_zero && value == 0) || (column.unless_negative && value < 0);
  return stays ? value : value + column.shift;
}

template <class Target>
class Copier {
 public:
  Copier(const std::string& path, const TableCopy& copy, Target& target,
         std::atomic<uint64_t>& done_bytes)
      : path_(path), copy_(copy), target_(target), done_bytes_(done_bytes) {
    for (const CopyColumn& column : copy.columns) {
      source_.push_back(column.from.empty() ? -1 : static_cast<int>(names_.size()));
      if (!column.from.empty()) names_.push_back(column.from.c_str());
    }
  }

  Status run() {
    Result<Db> db = Db::open_read_only(path_);
    if (!db.ok()) return db.error();
    // Readers of raw pages need the file to stand still; the first select takes the lock.
    if (Status s = db->exec("begin; select 1 from sqlite_master"); !s.ok()) return s;
    const int key = copy_.key < 0 ? -1 : source_[static_cast<size_t>(copy_.key)];
    Result<TableScan> scan = TableScan::open(*db, copy_.table, names_);
    if (scan.ok() && (key < 0 || scan->is_rowid(key))) {
      bytes_per_row_ = scan->rows() == 0 ? 0 : scan->leaf_bytes() / scan->rows();
      Status status;
      for (size_t part = 0; status.ok() && part < scan->parts(); ++part)
        status = scan->run(part, *db, [&](size_t, const ScanRow& row) {
          last_ = row.rowid();
          take(row);
        });
      if (status.ok()) return {};
    }
    // All of it, or what is left behind the row that could not be read.
    std::string list;
    for (const char* name : names_) list += (list.empty() ? "t." : ", t.") + quoted_name(name);
    const std::string order =
        key < 0 ? "t.rowid" : "t." + quoted_name(names_[static_cast<size_t>(key)]);
    const std::string select = "select " + list + " from " + quoted_name(copy_.table) + " t ";
    Result<Stmt> rows =
        db->prepare(select + (last_ ? "where " + order + " > " + std::to_string(*last_) : "") +
                    " order by " + order);
    if (!rows.ok() && !last_ && key < 0) rows = db->prepare(select);  // a table without rowids
    if (!rows.ok()) return rows.error();
    while (rows->step()) take(*rows);
    return rows->status();
  }

 private:
  template <class Row>
  void take(const Row& row) {
    if (++taken_ % kRowsBetweenCounts == 0) done_bytes_ += kRowsBetweenCounts * bytes_per_row_;
    for (const TableCopy::Condition& condition : copy_.conditions) {
      const int at = source_[condition.column];
      if (!row.is_null(at) && !condition.holds(row.int64(at))) return;
    }
    for (const TableCopy::Collect& collect : copy_.collect) {
      const int64_t value = row.int64(source_[collect.column]);
      if (collect.into->empty() || collect.into->back() != value) collect.into->push_back(value);
    }
    const int64_t number = static_cast<int64_t>(target_.rows()) + 1;
    const auto key = static_cast<size_t>(copy_.key);
    target_.begin(copy_.key < 0 ? number : shifted(copy_.columns[key], row.int64(source_[key])));
    for (size_t i = 0; i < copy_.columns.size(); ++i) {
      const CopyColumn& column = copy_.columns[i];
      const int at = source_[i];
      if (std::is_same_v<Target, BulkTable> && i == key) target_.null();
      else if (at < 0 && column.is_null) target_.null();
      else if (at < 0) target_.integer(column.fixed);
      else if (column.shift != 0 && is_integer(row, at))
        target_.integer(shifted(column, row.int64(at)));
      else copy_value(row, at, target_);
    }
    target_.end();
  }

  const std::string& path_;
  const TableCopy& copy_;
  Target& target_;
  std::atomic<uint64_t>& done_bytes_;
  std::vector<int> source_;         // of each new column: its place in names_, -1 for none
  std::vector<const char*> names_;  // columns asked for
  std::optional<int64_t> last_;     // number of the row read last
  uint64_t taken_ = 0, bytes_per_row_ = 0;
};

// Takes rows and keeps nothing.
class NoTable {
 public:
  void begin(int64_t) {}
  void null() {}
  void integer(int64_t) {}
  void real(double) {}
  void text(std::string_view) {}
  void blob(const void*, size_t) {}
  void end() {}
  uint64_t rows() const { return 0; }
};

}  // namespace

Result<SqlTable> SqlTable::open(Db& db, const std::string& table,
                                const std::vector<std::string>& columns) {
  std::string names, values;
  for (const std::string& column : columns) {
    names += (names.empty() ? "" : ", ") + quoted_name(column);
    values += values.empty() ? "?" : ", ?";
  }
  Result<Stmt> stmt =
      db.prepare("insert into " + quoted_name(table) + " (" + names + ") values (" + values + ")");
  if (!stmt.ok()) return stmt.error();
  SqlTable out;
  out.stmt_ = std::move(*stmt);
  return out;
}

Status copy_rows(const std::string& path, const TableCopy& copy, BulkTable& target,
                 std::atomic<uint64_t>& done_bytes) {
  return Copier<BulkTable>(path, copy, target, done_bytes).run();
}

Status copy_rows(const std::string& path, const TableCopy& copy, SqlTable& target,
                 std::atomic<uint64_t>& done_bytes) {
  if (Status s = Copier<SqlTable>(path, copy, target, done_bytes).run(); !s.ok()) return s;
  return target.status();
}

Status collect_values(const std::string& path, const TableCopy& copy,
                      std::atomic<uint64_t>& done_bytes) {
  NoTable nowhere;
  return Copier<NoTable>(path, copy, nowhere, done_bytes).run();
}

Status run_jobs(const std::vector<std::function<Status()>>& jobs,
                const std::atomic<uint64_t>& done_bytes,
                const std::function<void(uint64_t)>& progress) {
  std::vector<Status> results(jobs.size());
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::condition_variable changed;
  size_t running = std::clamp<size_t>(
      std::min<size_t>(jobs.size(), std::thread::hardware_concurrency()), 1, kMostThreads);
  std::vector<std::thread> threads;
  for (size_t i = running; i > 0; --i)
    threads.emplace_back([&] {
      for (size_t job = next++; job < jobs.size(); job = next++) results[job] = jobs[job]();
      const std::lock_guard lock(mutex);
      --running;
      changed.notify_one();
    });
  {
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, std::chrono::milliseconds(100), [&] { return running == 0; }))
      if (progress) progress(done_bytes);
  }
  for (std::thread& thread : threads) thread.join();
  for (Status& status : results)
    if (!status.ok()) return std::move(status);
  return {};
}

}  // namespace wavetap::store
