#include "rpd_style.h"

#include <pthread.h>
#include <sqlite3.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

namespace rpd_style {
namespace {

constexpr size_t kRing = 65536, kBatch = 4096;

struct Row {
  int64_t id, pid, tid, start, end, name, category, domain, args;
};

void check(int result, sqlite3* db, const char* what) {
  if (result == SQLITE_OK || result == SQLITE_DONE) return;
  std::fprintf(stderr, "rpd_style: %s: %s\n", what, sqlite3_errmsg(db));
  std::exit(1);
}

class Names {
 public:
  int64_t find(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return ids_.try_emplace(name, static_cast<int64_t>(ids_.size()) + 1).first->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, int64_t> ids_;
};

class Calls {
 public:
  explicit Calls(const char* path) {
    unlink(path);
    check(sqlite3_open(path, &db_), db_, path);
    run("create table rocpd_api (id integer primary key autoincrement, pid integer, tid integer, "
        "start integer,"
        " end integer, apiName_id bigint, category_id bigint, domain_id bigint, args_id bigint)");
    run("create temporary table temp_api as select * from rocpd_api");
    check(sqlite3_prepare_v2(db_, "insert into temp_api values (?, ?, ?, ?, ?, ?, ?, ?, ?)", -1,
                             &insert_, nullptr),
          db_, "insert");
    worker_ = std::thread([this] { work(); });
  }

  void add(Row row) {
    std::unique_lock lock(mutex_);
    while (head_ - tail_ == kRing) {
      changed_.notify_one();
      changed_.wait(lock);
    }
    row.id = static_cast<int64_t>(head_) + 1;
    ring_[head_++ % kRing] = row;
    if (head_ - tail_ >= kBatch) changed_.notify_one();
  }

  void close() {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    changed_.notify_all();
    worker_.join();
    run("begin");
    run("insert into rocpd_api select * from temp_api");
    run("commit");
    sqlite3_finalize(insert_);
    sqlite3_close(db_);
  }

 private:
  void run(const char* sql) { check(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr), db_, sql); }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      while (head_ - tail_ < kBatch && !is_ending_) changed_.wait(lock);
      if (head_ == tail_) return;
      const size_t begin = tail_, end = std::min(head_, tail_ + kBatch);
      lock.unlock();
      write(begin, end);
      lock.lock();
      tail_ = end;
      changed_.notify_all();
    }
  }

  void write(size_t begin, size_t end) {
    run("begin");
    for (size_t i = begin; i < end; ++i) {
      const Row& row = ring_[i % kRing];
      const int64_t values[] = {row.id,   row.pid,      row.tid,    row.start, row.end,
                                row.name, row.category, row.domain, row.args};
      for (int column = 0; column < 9; ++column)
        sqlite3_bind_int64(insert_, column + 1, values[column]);
      check(sqlite3_step(insert_), db_, "insert");
      sqlite3_reset(insert_);
    }
    run("commit");
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Row, kRing> ring_;
  size_t head_ = 0, tail_ = 0;
  bool is_ending_ = false;
  std::thread worker_;
};

Names* g_names;
Calls* g_calls;

}  // namespace

void open(const char* path) {
  g_names = new Names;
  g_calls = new Calls(path);
}

int64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000ll + time.tv_nsec;
}

void record_call(const char* name, int64_t start, int64_t end) {
  static const int64_t kPid = getpid(), kHip = g_names->find("hip"), kEmpty = g_names->find("");
  static thread_local const int64_t kTid = gettid();
  g_calls->add({0, kPid, kTid, start, end, g_names->find(name), kEmpty, kHip, 1});
}

void close() { g_calls->close(); }

}  // namespace rpd_style
