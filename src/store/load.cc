// Loading is the larger part of most commands. The big tables are read straight from their pages,
// by several threads (table_scan.h); where that does not work, SQLite is asked for the same
// columns. Either way each row knows its number beforehand and is put into its place in the columns
// of Trace. Everything that needs another order than that of the ids sorts row numbers, not rows.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <thread>
#include <unordered_map>
#include <utility>

#include "store/arg_texts.h"
#include "store/row_finder.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "store/table_scan.h"
#include "store/trace.h"

namespace wavetap::store {
namespace {

// From a foreign 64-bit id to a small number. Ids come in dense runs (one per session), so each run
// of 2^32 gets a plain vector while that stays small, and a hash map when it does not.
class IdMap {
 public:
  static constexpr uint32_t kMissing = 0xffffffffu;

  void add(int64_t id, uint32_t value) {
    std::vector<uint32_t>& run = runs_[id >> 32];
    if (first_ == nullptr) {
      first_ = &run;  // maps do not move what they hold
      first_key_ = id >> 32;
    }
    const uint64_t low = static_cast<uint64_t>(id) & 0xffffffffu;
    if (low < run.size() * 4 + 4096) {
      if (low >= run.size()) run.resize(low + 1, kMissing);
      run[low] = value;
    } else {
      sparse_[id] = value;
    }
  }

  uint32_t find(int64_t id) const {
    // Most files have one session only.
    if (const uint64_t low = static_cast<uint64_t>(id) & 0xffffffffu;
        id >> 32 == first_key_ && low < first_->size() && (*first_)[low] != kMissing)
      return (*first_)[low];
    if (const auto run = runs_.find(id >> 32); run != runs_.end()) {
      const uint64_t low = static_cast<uint64_t>(id) & 0xffffffffu;
      if (low < run->second.size() && run->second[low] != kMissing) return run->second[low];
    }
    const auto found = sparse_.find(id);
    return found == sparse_.end() ? kMissing : found->second;
  }

 private:
  std::unordered_map<int64_t, std::vector<uint32_t>> runs_;
  std::unordered_map<int64_t, uint32_t> sparse_;
  const std::vector<uint32_t>* first_ = nullptr;             // one of runs_
  int64_t first_key_ = std::numeric_limits<int64_t>::min();  // no id has it
};

// Collects what could not be taken as it stands, by kind.
class Problems {
 public:
  void count(const char* what, uint64_t n = 1) {
    if (n > 0) counts_[what] += n;
  }
  std::vector<Problem> list() const {
    std::vector<Problem> out;
    for (const auto& [what, n] : counts_) out.push_back({what, n});
    return out;
  }

 private:
  std::map<std::string, uint64_t> counts_;
};

// Runs f(part) for every part, on threads of their own but for the first.
template <class F>
void in_parallel(size_t parts, F&& f) {
  std::vector<std::thread> threads;
  for (size_t part = 1; part < parts; ++part) threads.emplace_back([&f, part] { f(part); });
  f(size_t{0});
  for (std::thread& thread : threads) thread.join();
}

using Columns = std::span<const char* const>;

// Asks SQLite for `columns` of every row of `table`, ascending by `key`.
//   begin(rows)         makes room
//   visit(number, row)  takes a row
template <class Begin, class Visit>
Status query_table(Db& db, const std::string& table, const char* key, Columns columns,
                   Begin&& begin, Visit&& visit) {
  Result<int64_t> count = db.query_int("select count(*) from " + table);
  if (!count.ok()) return count.error();
  std::string list;
  for (const char* column : columns) list += (list.empty() ? "" : ", ") + std::string(column);
  Result<Stmt> stmt = db.prepare("select " + list + " from " + table + " order by " + key);
  if (!stmt.ok()) return stmt.error();
  const auto rows = static_cast<size_t>(*count);
  begin(rows);
  size_t number = 0;
  while (number < rows && stmt->step()) visit(number++, *stmt);
  if (!stmt->status().ok()) return stmt->status();
  if (number != rows)
    return errorf("%s: %s: rows are missing; the file is damaged, record it again",
                  db.path().c_str(), table.c_str());
  return {};
}

// The same from the pages where possible, on several threads.
//   begin(rows, parts)        is called again when the reading starts afresh
//   visit(part, number, row)  parts run at the same time
//   in_order()                whether the rows turned out to ascend by `key`
template <class Begin, class Visit, class InOrder>
Status read_table(Db& db, const std::string& table, const char* key, Columns columns, Begin&& begin,
                  Visit&& visit, InOrder&& in_order) {
  if (Result<TableScan> scan = TableScan::open(db, table, columns); scan.ok()) {
    begin(scan->rows(), scan->parts());
    std::vector<Status> results(scan->parts());
    in_parallel(scan->parts(), [&](size_t part) {
      results[part] =
          scan->run(part, [&](size_t number, const ScanRow& row) { visit(part, number, row); });
    });
    const bool all =
        std::all_of(results.begin(), results.end(), [](const Status& s) { return s.ok(); });
    if (all && in_order()) return {};
  }
  return query_table(
      db, table, key, columns, [&](size_t rows) { begin(rows, size_t{1}); },
      [&](size_t number, const Stmt& row) { visit(size_t{0}, number, row); });
}

class Loader {
 public:
  Loader(Trace& trace, Db& db, const LoadOptions& options)
      : trace_(trace), db_(db), options_(options) {}

  Status run() {
    // Readers of raw pages need the file to stand still; the first select takes the lock.
    if (Status s = db_.exec("begin"); !s.ok()) return s;
    if (Status s = load_metadata(); !s.ok()) return s;
    if (Status s = load_strings(); !s.ok()) return s;
    report(0.05);
    if (options_.apis)
      if (Status s = load_apis(); !s.ok()) return s;
    report(0.4);
    if (options_.ops)
      if (Status s = load_ops(); !s.ok()) return s;
    if (options_.apis && options_.ops)
      if (Status s = load_links(); !s.ok()) return s;
    report(0.6);
    if (options_.apis && options_.copies_and_launches) {
      if (Status s = load_launches(); !s.ok()) return s;
      if (Status s = load_copies(); !s.ok()) return s;
    }
    if (options_.monitors)
      if (Status s = load_monitors(); !s.ok()) return s;
    if (Status s = load_libraries(); !s.ok()) return s;
    if (options_.apis)
      if (Status s = load_allocations(); !s.ok()) return s;
    if (options_.apis && options_.stack_frames)
      if (Status s = load_stack_frames(); !s.ok()) return s;
    report(0.7);
    if (options_.apis && options_.args)
      if (Status s = load_args(); !s.ok()) return s;
    trace_.problems = problems_.list();
    report(1.0);
    return db_.exec("commit");
  }

  std::unique_ptr<ArgTexts> take_args() { return std::move(args_); }

 private:
  void report(double share) {
    if (options_.progress) options_.progress(share);
  }

  Str string_of(int64_t id, const char* problem) {
    const uint32_t number = string_ids_.find(id);
    if (number != IdMap::kMissing) return number;
    problems_.count(problem);
    return 0;
  }

  Status load_metadata() {
    if (!db_.has_table_or_view("rocpd_metadata")) return {};
    Result<Stmt> stmt = db_.prepare("select tag, value from rocpd_metadata order by id");
    if (!stmt.ok()) return stmt.error();
    while (stmt->step())
      trace_.metadata.emplace(std::string(stmt->text(0)), std::string(stmt->text(1)));
    return stmt->status();
  }

  Status load_strings() {
    Result<Stmt> stmt = db_.prepare("select id, string from rocpd_string order by id");
    if (!stmt.ok()) return stmt.error();
    while (stmt->step()) string_ids_.add(stmt->int64(0), trace_.strings.intern(stmt->text(1)));
    return stmt->status();
  }

  Status load_apis() {
    static constexpr const char* kColumns[] = {
        "id", "pid", "tid", "start", "end", "apiName_id", "args_id", "domain_id", "category_id"};
    const bool v3 = trace_.schema_version >= 3;
    Apis& apis = trace_.apis;
    // Each part numbers the threads it meets; the numbers are made one afterwards.
    struct Part {
      std::map<Thread, uint32_t> numbers;
      std::vector<Thread> threads;
      Thread last{-1, -1};
      uint32_t last_number = 0;
      size_t first_row = 0, rows = 0;
      uint64_t unknown_names = 0, negative = 0;
    };
    std::vector<Part> parts;
    const auto begin = [&](size_t rows, size_t part_count) {
      for (auto* column : {&apis.id, &apis.start, &apis.end, &args_ids_}) column->assign(rows, 0);
      for (auto* column : {&apis.thread, &apis.name}) column->assign(rows, 0);
      for (auto* column : {&apis.domain, &apis.category})
        column->assign(options_.domains ? rows : 0, 0);
      parts.assign(part_count, {});
    };
    const auto visit = [&](size_t part_number, size_t i, const auto& row) {
      Part& part = parts[part_number];
      if (part.rows++ == 0) part.first_row = i;
      const Thread thread{row.int64(1), row.int64(2)};
      if (thread != part.last || part.threads.empty()) {
        const auto [it, is_new] =
            part.numbers.emplace(thread, static_cast<uint32_t>(part.threads.size()));
        if (is_new) part.threads.push_back(thread);
        part.last = thread;
        part.last_number = it->second;
      }
      const auto known = [&](int64_t id) {
        const uint32_t number = string_ids_.find(id);
        part.unknown_names += number == IdMap::kMissing ? 1 : 0;
        return number == IdMap::kMissing ? Str{0} : number;
      };
      apis.id[i] = row.int64(0);
      apis.thread[i] = part.last_number;
      apis.start[i] = row.int64(3);
      apis.end[i] = row.int64(4);
      part.negative += apis.end[i] < apis.start[i] ? 1 : 0;
      apis.name[i] = known(row.int64(5));
      args_ids_[i] = row.int64(6);
      if (!v3) return;
      const Str domain = known(row.int64(7)), category = known(row.int64(8));
      if (!options_.domains) return;
      apis.domain[i] = domain;
      apis.category[i] = category;
    };
    const Columns columns = Columns(kColumns).first(v3 ? 9 : 7);
    if (Status s = read_table(db_, "rocpd_api", "id", columns, begin, visit,
                              [&] { return std::is_sorted(apis.id.begin(), apis.id.end()); });
        !s.ok())
      return s;

    std::map<Thread, uint32_t> numbers;
    for (const Part& part : parts) {
      problems_.count("rocpd_api names a string that does not exist", part.unknown_names);
      problems_.count("rocpd_api ends before it starts", part.negative);
      std::vector<uint32_t> renumber;
      for (const Thread& thread : part.threads) {
        const auto [it, is_new] =
            numbers.emplace(thread, static_cast<uint32_t>(trace_.threads.size()));
        if (is_new) trace_.threads.push_back(thread);
        renumber.push_back(it->second);
      }
      for (size_t i = part.first_row; i < part.first_row + part.rows; ++i)
        apis.thread[i] = renumber[apis.thread[i]];
    }
    return {};
  }

  Status load_ops() {
    static constexpr const char* kColumns[] = {"id",    "gpuId", "queueId",        "sequenceId",
                                               "start", "end",   "description_id", "opType_id"};
    Ops& ops = trace_.ops;
    std::vector<uint64_t> unknown, negative;
    const auto begin = [&](size_t rows, size_t parts) {
      for (auto* column : {&ops.id, &ops.sequence, &ops.start, &ops.end}) column->assign(rows, 0);
      for (auto* column : {&ops.gpu, &ops.queue}) column->assign(rows, 0);
      for (auto* column : {&ops.description, &ops.type}) column->assign(rows, 0);
      unknown.assign(parts, 0);
      negative.assign(parts, 0);
    };
    const auto visit = [&](size_t part, size_t i, const auto& row) {
      const auto known = [&](int64_t id) {
        const uint32_t number = string_ids_.find(id);
        unknown[part] += number == IdMap::kMissing ? 1 : 0;
        return number == IdMap::kMissing ? Str{0} : number;
      };
      ops.id[i] = row.int64(0);
      ops.gpu[i] = static_cast<int32_t>(row.int64(1));
      ops.queue[i] = static_cast<int32_t>(row.int64(2));
      ops.sequence[i] = row.int64(3);
      ops.start[i] = row.int64(4);
      ops.end[i] = row.int64(5);
      negative[part] += ops.end[i] < ops.start[i] ? 1 : 0;
      ops.description[i] = known(row.int64(6));
      ops.type[i] = known(row.int64(7));
    };
    if (Status s = read_table(db_, "rocpd_op", "id", kColumns, begin, visit,
                              [&] { return std::is_sorted(ops.id.begin(), ops.id.end()); });
        !s.ok())
      return s;
    for (const uint64_t n : unknown)
      problems_.count("rocpd_op names a string that does not exist", n);
    for (const uint64_t n : negative) problems_.count("rocpd_op ends before it starts", n);
    return {};
  }

  Status load_links() {
    static constexpr const char* kColumns[] = {"id", "api_id", "op_id"};
    Links& links = trace_.links;
    std::vector<RowFinder> apis, ops;
    const auto begin = [&](size_t rows, size_t parts) {
      links.id.assign(rows, 0);
      links.api.assign(rows, kNoRow);
      links.op.assign(rows, kNoRow);
      apis.clear();
      ops.clear();
      for (size_t part = 0; part < parts; ++part) {
        apis.emplace_back(trace_.apis.id);
        ops.emplace_back(trace_.ops.id);
      }
    };
    const auto visit = [&](size_t part, size_t i, const auto& row) {
      links.id[i] = row.int64(0);
      links.api[i] = apis[part].find(row.int64(1));
      links.op[i] = ops[part].find(row.int64(2));
    };
    if (Status s = read_table(db_, "rocpd_api_ops", "id", kColumns, begin, visit,
                              [&] { return std::is_sorted(links.id.begin(), links.id.end()); });
        !s.ok())
      return s;
    for (size_t i = 0; i < links.size(); ++i)
      if (links.api[i] == kNoRow || links.op[i] == kNoRow)
        problems_.count("rocpd_api_ops links a call or an op that does not exist");
    return {};
  }

  Status load_launches() {
    static constexpr const char* kColumns[] = {"api_ptr_id",
                                               "stream",
                                               "gridX",
                                               "gridY",
                                               "gridZ",
                                               "workgroupX",
                                               "workgroupY",
                                               "workgroupZ",
                                               "groupSegmentSize",
                                               "privateSegmentSize",
                                               "kernelName_id"};
    if (!db_.has_table_or_view("rocpd_kernelapi")) return {};
    RowFinder apis(trace_.apis.id);
    std::vector<KernelLaunch>& launches = trace_.launches;
    const auto begin = [&](size_t rows) { launches.assign(rows, {}); };
    const auto visit = [&](size_t i, const auto& row) {
      KernelLaunch& launch = launches[i];
      launch.api = apis.find(row.int64(0));
      if (launch.api == kNoRow) {
        problems_.count("rocpd_kernelapi belongs to no call");
        return;
      }
      launch.stream = trace_.strings.intern(row.text(1));
      for (int axis = 0; axis < 3; ++axis) {
        launch.grid[axis] = static_cast<int32_t>(row.int64(2 + axis));
        launch.workgroup[axis] = static_cast<int32_t>(row.int64(5 + axis));
      }
      launch.group_segment_bytes = row.int64(8);
      launch.private_segment_bytes = row.int64(9);
      launch.kernel =
          string_of(row.int64(10), "rocpd_kernelapi names a string that does not exist");
    };
    if (Status s = read_details("rocpd_kernelapi", kColumns, begin, visit); !s.ok()) return s;
    keep_known(launches);
    return {};
  }

  Status load_copies() {
    static constexpr const char* kColumns[] = {"api_ptr_id", "stream",    "size", "width",
                                               "height",     "kind",      "dst",  "src",
                                               "dstDevice",  "srcDevice", "sync", "pinned"};
    if (!db_.has_table_or_view("rocpd_copyapi")) return {};
    // RPD binds these columns in the wrong order; its files are known by the missing producer key.
    const bool swapped = trace_.producer().empty();
    RowFinder apis(trace_.apis.id);
    std::vector<Copy>& copies = trace_.copies;
    const auto begin = [&](size_t rows) { copies.assign(rows, {}); };
    const auto visit = [&](size_t i, const auto& row) {
      Copy& copy = copies[i];
      copy.api = apis.find(row.int64(0));
      if (copy.api == kNoRow) {
        problems_.count("rocpd_copyapi belongs to no call");
        return;
      }
      copy.stream = trace_.strings.intern(row.text(1));
      copy.size_bytes = row.int64(2);
      copy.width = row.int64(3);
      copy.height = row.int64(4);
      copy.kind = row.int64(5);
      copy.dst = trace_.strings.intern(row.text(swapped ? 7 : 6));
      copy.src = trace_.strings.intern(row.text(swapped ? 6 : 7));
      copy.dst_device = row.int64(swapped ? 9 : 8);
      copy.src_device = row.int64(swapped ? 8 : 9);
      copy.sync = row.int64(10) != 0;
      copy.pinned = row.int64(11) != 0;
    };
    if (Status s = read_details("rocpd_copyapi", kColumns, begin, visit); !s.ok()) return s;
    keep_known(copies);
    return {};
  }

  // Tables keyed by api_ptr_id. They intern texts, which is for one thread, so parts run one after
  // the other.
  template <class Begin, class Visit>
  Status read_details(const char* table, Columns columns, Begin&& begin, Visit&& visit) {
    const Problems before = problems_;
    if (Result<TableScan> scan = TableScan::open(db_, table, columns); scan.ok()) {
      begin(scan->rows());
      bool all = true;
      for (size_t part = 0; all && part < scan->parts(); ++part) all = scan->run(part, visit).ok();
      if (all) return {};
      problems_ = before;
    }
    return query_table(db_, table, "api_ptr_id", columns, begin, visit);
  }

  // Drops rows that belong to no call and puts the others into the calls' order.
  template <class T>
  static void keep_known(std::vector<T>& rows) {
    std::erase_if(rows, [](const T& row) { return row.api == kNoRow; });
    const auto by_call = [](const T& a, const T& b) { return a.api < b.api; };
    if (!std::is_sorted(rows.begin(), rows.end(), by_call))
      std::stable_sort(rows.begin(), rows.end(), by_call);
  }

  Status load_monitors() {
    if (!db_.has_table_or_view("rocpd_monitor")) return {};
    Result<Stmt> stmt = db_.prepare(
        "select deviceType, deviceId, monitorType, start, end, value from rocpd_monitor order by "
        "id");
    if (!stmt.ok()) return stmt.error();
    while (stmt->step())
      trace_.monitors.push_back({trace_.strings.intern(stmt->text(0)), stmt->int64(1),
                                 trace_.strings.intern(stmt->text(2)), stmt->int64(3),
                                 stmt->int64(4), trace_.strings.intern(stmt->text(5))});
    return stmt->status();
  }

  Status load_stack_frames() {
    if (!db_.has_table_or_view("rocpd_stackframe")) return {};
    Result<Stmt> stmt = db_.prepare(
        "select api_ptr_id, depth, name_id from rocpd_stackframe order by api_ptr_id, depth");
    if (!stmt.ok()) return stmt.error();
    RowFinder apis(trace_.apis.id);
    while (stmt->step())
      trace_.stack_frames.push_back(
          {apis.find(stmt->int64(0)), stmt->int64(1),
           string_of(stmt->int64(2), "rocpd_stackframe names a string that does not exist")});
    return stmt->status();
  }

  Status load_libraries() {
    if (!db_.has_table_or_view("wavetap_library")) return {};
    Result<Stmt> stmt = db_.prepare(
        "select pid, time, path, soname, build_id, answers_for, how from wavetap_library order by "
        "time, id");
    if (!stmt.ok()) return stmt.error();
    const auto text = [&](int column) { return trace_.strings.intern(stmt->text(column)); };
    while (stmt->step())
      trace_.libraries.push_back(
          {stmt->int64(0), stmt->int64(1), text(2), text(3), text(4), text(5), text(6)});
    return stmt->status();
  }

  Status load_allocations() {
    if (!db_.has_table_or_view("wavetap_allocation")) return {};
    trace_.has_allocations = true;
    Result<Stmt> stmt = db_.prepare(
        "select pid, api_id, gpuId, kind, address, bytes, start, end from wavetap_allocation order "
        "by start, "
        "id");
    if (!stmt.ok()) return stmt.error();
    RowFinder apis(trace_.apis.id);
    while (stmt->step())
      trace_.allocations.push_back({stmt->int64(0),
                                    stmt->is_null(1) ? kNoRow : apis.find(stmt->int64(1)),
                                    stmt->int64(2), trace_.strings.intern(stmt->text(3)),
                                    std::strtoull(std::string(stmt->text(4)).c_str(), nullptr, 0),
                                    stmt->int64(5), stmt->int64(6), stmt->int64(7)});
    return stmt->status();
  }

  Status load_args() {
    args_ = std::make_unique<ArgTexts>();
    args_->of_api.assign(trace_.apis.size(), 0);
    if (trace_.schema_version < 3) {
      for (Str s = 0; s < trace_.strings.size(); ++s) args_->texts.push_back(trace_.strings[s]);
      for (size_t row = 0; row < trace_.apis.size(); ++row)
        if (const uint32_t number = string_ids_.find(args_ids_[row]); number != IdMap::kMissing)
          args_->of_api[row] = number;
      return {};
    }
    if (!db_.has_table_or_view("rocpd_ustring")) {
      args_->texts.emplace_back();
      return {};
    }
    if (options_.args_of != nullptr) {
      Result<bool> done = load_some_args();
      if (!done.ok()) return done.error();
      if (*done) return {};
    }
    static constexpr const char* kColumns[] = {"id", "string"};
    std::vector<int64_t> ids;
    const auto begin = [&](size_t rows, size_t parts) {
      ids.assign(rows, 0);
      args_->texts.assign(rows + 1, {});
      args_->blocks = std::vector<TextBlocks>(parts);
    };
    const auto visit = [&](size_t part, size_t i, const auto& row) {
      ids[i] = row.int64(0);
      args_->texts[i + 1] = args_->blocks[part].keep(row.text(1));
    };
    if (Status s = read_table(db_, "rocpd_ustring", "id", kColumns, begin, visit,
                              [&] { return std::is_sorted(ids.begin(), ids.end()); });
        !s.ok())
      return s;
    RowFinder texts(ids);
    for (size_t row = 0; row < trace_.apis.size(); ++row)
      if (const uint32_t found = texts.find(args_ids_[row]); found != kNoRow)
        args_->of_api[row] = found + 1;
    return {};
  }

  // The texts of chosen functions, one by one. False when they are so many that reading all is
  // quicker.
  Result<bool> load_some_args() {
    constexpr size_t kMostShare = 20;  // one row in so many
    std::vector<bool> wanted(trace_.strings.size());
    for (Str name = 0; name < wanted.size(); ++name)
      wanted[name] = options_.args_of(trace_.strings[name]);
    std::vector<uint32_t> rows;
    for (uint32_t row = 0; row < trace_.apis.size(); ++row)
      if (wanted[trace_.apis.name[row]]) rows.push_back(row);
    if (rows.size() > trace_.apis.size() / kMostShare) return false;
    args_->texts.emplace_back();
    args_->blocks = std::vector<TextBlocks>(1);
    Result<Stmt> stmt = db_.prepare("select string from rocpd_ustring where id = ?");
    if (!stmt.ok()) return stmt.error();
    std::unordered_map<int64_t, uint32_t> known;
    for (const uint32_t row : rows) {
      const auto [at, is_new] = known.try_emplace(args_ids_[row], 0);
      if (is_new) {
        stmt->bind(1, args_ids_[row]);
        if (stmt->step()) {
          at->second = static_cast<uint32_t>(args_->texts.size());
          args_->texts.push_back(args_->blocks[0].keep(stmt->text(0)));
        }
        if (!stmt->status().ok()) return stmt->status().error();
        stmt->reset();
      }
      args_->of_api[row] = at->second;
    }
    return true;
  }

  Trace& trace_;
  Db& db_;
  const LoadOptions& options_;
  IdMap string_ids_;
  Problems problems_;
  // rocpd_ustring (schema 2: rocpd_string) id of each call's arguments.
  std::vector<int64_t> args_ids_;
  std::unique_ptr<ArgTexts> args_;
};

}  // namespace

Result<Trace> Trace::load(const std::string& path, const LoadOptions& options) {
  Result<Db> db = Db::open_read_only(path);
  if (!db.ok()) return db.error();
  Result<int> version = store::schema_version(*db);
  if (!version.ok()) return version.error();

  Trace trace;
  trace.path = path;
  trace.schema_version = *version;
  Loader loader(trace, *db, options);
  if (Status status = loader.run(); !status.ok()) return status.error();
  trace.arg_texts_ = loader.take_args();
  return trace;
}

}  // namespace wavetap::store
