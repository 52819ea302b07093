// Loading is the larger part of most commands. The big tables are read straight from their pages,
// by several threads (table_read.h); where that does not work, SQLite is asked for the same
// columns. Either way each row knows its number beforehand and is put into its place in the columns
// of Trace. Everything that needs another order than that of the ids sorts row numbers, not rows.
// Tables that are kept row by row are loaded by load_rows.cc.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "store/arg_texts.h"
#include "store/id_map.h"
#include "store/load_rows.h"
#include "store/row_finder.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "store/table_read.h"
#include "store/times.h"
#include "store/trace.h"

namespace wavetap::store {
namespace {

// Counts of one part of a table. Parts are read at the same time, each by a core with a cache of its
// own.
struct alignas(64) PartProblems {
  uint64_t unknown_names = 0, negative = 0, odd_times = 0;

  Str name(const IdMap& strings, int64_t id) {
    const uint32_t number = strings.find(id);
    unknown_names += number == IdMap::kMissing ? 1 : 0;
    return number == IdMap::kMissing ? Str{0} : number;
  }
  void interval(int64_t& start, int64_t& end) {
    if (!can_be_interval(start, end)) {
      ++odd_times;
      make_interval(start, end);
    }
    negative += end < start ? 1 : 0;
  }
};

// Threads in the order of their first call. Each part of the table numbers those it meets; the
// numbers are made one afterwards.
struct alignas(64) PartThreads {
  std::map<Thread, uint32_t> numbers;
  std::vector<Thread> threads;
  Thread last{-1, -1};
  uint32_t last_number = 0;
  size_t first_row = 0, rows = 0;

  uint32_t number(const Thread& thread) {
    if (thread != last || threads.empty()) {
      const auto [it, is_new] = numbers.emplace(thread, static_cast<uint32_t>(threads.size()));
      if (is_new) threads.push_back(thread);
      last = thread;
      last_number = it->second;
    }
    return last_number;
  }
};

class Loader {
 public:
  Loader(Trace& trace, Db& db, const LoadOptions& options)
      : trace_(trace), db_(db), options_(options) {}

  Status run();
  std::unique_ptr<ArgTexts> take_args() { return std::move(args_); }

 private:
  Status load_metadata();
  Status load_strings();
  Status load_apis();
  Status load_ops();
  Status load_links();
  Status load_launches();
  Status load_copies();
  Status load_args();
  Status load_all_args();
  Result<bool> load_some_args();

  // read_table() of table_read.h for the table of a row.
  template <class Row, class Begin, class Visit, class InOrder>
  Status read(Begin&& begin, Visit&& visit, InOrder&& in_order) {
    Result<std::vector<const char*>> columns = present_columns(db_, table_of<Row>());
    if (!columns.ok()) return columns.error();
    return read_table(db_, table_of<Row>(), *columns, begin, visit, in_order);
  }
  // Tables that belong to calls. They intern texts, which is for one thread.
  template <class Row, class Detail, class Take>
  Status read_details(std::vector<Detail>& details, Take&& take);

  void merge_threads(const std::vector<PartThreads>& parts);
  void count(const char* table, const std::vector<PartProblems>& parts);
  void report(double share) const {
    if (options_.progress) options_.progress(share);
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

Status Loader::run() {
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
  if (Status s = load_rows(trace_, db_, options_, string_ids_, problems_); !s.ok()) return s;
  report(0.7);
  if (options_.apis && options_.args)
    if (Status s = load_args(); !s.ok()) return s;
  trace_.problems = problems_.list();
  report(1.0);
  return db_.exec("commit");
}

Status Loader::load_metadata() {
  if (!db_.has_table_or_view("rocpd_metadata")) return {};
  Result<Stmt> stmt = db_.prepare("select tag, value from rocpd_metadata order by id");
  if (!stmt.ok()) return stmt.error();
  while (stmt->step())
    trace_.metadata.emplace(std::string(stmt->text(0)), std::string(stmt->text(1)));
  if (const std::string newer = newer_schema_warning(trace_.metadata); !newer.empty())
    trace_.warnings.push_back(newer);
  return stmt->status();
}

Status Loader::load_strings() {
  Result<Stmt> stmt = db_.prepare("select id, string from rocpd_string order by id");
  if (!stmt.ok()) return stmt.error();
  while (stmt->step()) string_ids_.add(stmt->int64(0), trace_.strings.intern(stmt->text(1)));
  return stmt->status();
}

Status Loader::load_apis() {
  using At = rows::Call::At;
  const bool v3 = trace_.schema_version >= 3;
  Apis& apis = trace_.apis;
  std::vector<PartThreads> threads;
  std::vector<PartProblems> problems;
  const auto begin = [&](size_t rows, size_t parts) {
    for (auto* column : {&apis.id, &apis.start, &apis.end, &args_ids_}) column->assign(rows, 0);
    for (auto* column : {&apis.thread, &apis.name}) column->assign(rows, 0);
    for (auto* column : {&apis.domain, &apis.category})
      column->assign(options_.domains ? rows : 0, 0);
    threads.assign(parts, {});
    problems.assign(parts, {});
  };
  const auto visit = [&](size_t part, size_t i, const auto& row) {
    PartThreads& met = threads[part];
    PartProblems& odd = problems[part];
    if (met.rows++ == 0) met.first_row = i;
    apis.thread[i] = met.number({row.int64(At::pid), row.int64(At::tid)});
    apis.id[i] = row.int64(At::id);
    apis.start[i] = row.int64(At::start);
    apis.end[i] = row.int64(At::end);
    odd.interval(apis.start[i], apis.end[i]);
    apis.name[i] = odd.name(string_ids_, row.int64(At::name));
    args_ids_[i] = row.int64(At::args);
    if (!v3) return;
    const Str domain = odd.name(string_ids_, row.int64(At::domain));
    const Str category = odd.name(string_ids_, row.int64(At::category));
    if (!options_.domains) return;
    apis.domain[i] = domain;
    apis.category[i] = category;
  };
  if (Status s = read<rows::Call>(begin, visit,
                                  [&] { return std::is_sorted(apis.id.begin(), apis.id.end()); });
      !s.ok())
    return s;
  count("rocpd_api", problems);
  merge_threads(threads);
  return {};
}

void Loader::merge_threads(const std::vector<PartThreads>& parts) {
  std::map<Thread, uint32_t> numbers;
  for (const PartThreads& part : parts) {
    std::vector<uint32_t> renumber;
    for (const Thread& thread : part.threads) {
      const auto [it, is_new] =
          numbers.emplace(thread, static_cast<uint32_t>(trace_.threads.size()));
      if (is_new) trace_.threads.push_back(thread);
      renumber.push_back(it->second);
    }
    for (size_t i = part.first_row; i < part.first_row + part.rows; ++i)
      trace_.apis.thread[i] = renumber[trace_.apis.thread[i]];
  }
}

void Loader::count(const char* table, const std::vector<PartProblems>& parts) {
  const std::string name = table;
  for (const PartProblems& part : parts) {
    problems_.count(name + " names a string that does not exist", part.unknown_names);
    problems_.count(name + " ends before it starts", part.negative);
    problems_.count(name + " has a time that cannot be", part.odd_times);
  }
}

Status Loader::load_ops() {
  using At = rows::Op::At;
  Ops& ops = trace_.ops;
  std::vector<PartProblems> problems;
  const auto begin = [&](size_t rows, size_t parts) {
    for (auto* column : {&ops.id, &ops.sequence, &ops.start, &ops.end}) column->assign(rows, 0);
    for (auto* column : {&ops.gpu, &ops.queue}) column->assign(rows, 0);
    for (auto* column : {&ops.description, &ops.type}) column->assign(rows, 0);
    problems.assign(parts, {});
  };
  const auto visit = [&](size_t part, size_t i, const auto& row) {
    PartProblems& odd = problems[part];
    ops.id[i] = row.int64(At::id);
    ops.gpu[i] = static_cast<int32_t>(row.int64(At::gpu));
    ops.queue[i] = static_cast<int32_t>(row.int64(At::queue));
    ops.sequence[i] = row.int64(At::sequence);
    ops.start[i] = row.int64(At::start);
    ops.end[i] = row.int64(At::end);
    odd.interval(ops.start[i], ops.end[i]);
    ops.description[i] = odd.name(string_ids_, row.int64(At::description));
    ops.type[i] = odd.name(string_ids_, row.int64(At::type));
  };
  if (Status s = read<rows::Op>(begin, visit,
                                [&] { return std::is_sorted(ops.id.begin(), ops.id.end()); });
      !s.ok())
    return s;
  count("rocpd_op", problems);
  return {};
}

Status Loader::load_links() {
  using At = rows::Link::At;
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
    links.id[i] = row.int64(At::row_number);
    links.api[i] = apis[part].find(row.int64(At::call));
    links.op[i] = ops[part].find(row.int64(At::op));
  };
  if (Status s = read<rows::Link>(begin, visit,
                                  [&] { return std::is_sorted(links.id.begin(), links.id.end()); });
      !s.ok())
    return s;
  for (size_t i = 0; i < links.size(); ++i)
    if (links.api[i] == kNoRow || links.op[i] == kNoRow)
      problems_.count("rocpd_api_ops links a call or an op that does not exist");
  return {};
}

template <class Row, class Detail, class Take>
Status Loader::read_details(std::vector<Detail>& details, Take&& take) {
  const TableSpec& table = table_of<Row>();
  if (!db_.has_table_or_view(table.name)) return {};
  Result<std::vector<const char*>> columns = present_columns(db_, table);
  if (!columns.ok()) return columns.error();
  RowFinder apis(trace_.apis.id);
  uint64_t lost = 0;
  PartProblems problems;
  const auto begin = [&](size_t rows) {
    details.assign(rows, {});
    lost = 0;
    problems = {};
  };
  const auto visit = [&](size_t i, const auto& row) {
    details[i].api = apis.find(row.int64(Row::At::call));
    if (details[i].api == kNoRow) ++lost;
    else take(row, details[i], problems);
  };
  if (Status s = read_table_in_turn(db_, table, *columns, begin, visit); !s.ok()) return s;
  problems_.count(std::string(table.name) + " belongs to no call", lost);
  count(table.name, {problems});
  std::erase_if(details, [](const Detail& detail) { return detail.api == kNoRow; });
  const auto by_call = [](const Detail& a, const Detail& b) { return a.api < b.api; };
  if (!std::is_sorted(details.begin(), details.end(), by_call))
    std::stable_sort(details.begin(), details.end(), by_call);
  return {};
}

Status Loader::load_launches() {
  using At = rows::LaunchCall::At;
  const auto take = [&](const auto& row, KernelLaunch& launch, PartProblems& odd) {
    launch.stream = trace_.strings.intern(row.text(At::stream));
    for (int axis = 0; axis < 3; ++axis) {
      launch.grid[axis] = static_cast<int32_t>(row.int64(At::grid_x + axis));
      launch.workgroup[axis] = static_cast<int32_t>(row.int64(At::workgroup_x + axis));
    }
    launch.group_segment_bytes = row.int64(At::group_bytes);
    launch.private_segment_bytes = row.int64(At::private_bytes);
    launch.kernel = odd.name(string_ids_, row.int64(At::kernel));
  };
  return read_details<rows::LaunchCall>(trace_.launches, take);
}

Status Loader::load_copies() {
  using At = rows::CopyCall::At;
  // RPD binds these columns in the wrong order; its files are known by the missing producer key.
  const bool swapped = trace_.producer().empty();
  const auto take = [&](const auto& row, Copy& copy, PartProblems&) {
    copy.stream = trace_.strings.intern(row.text(At::stream));
    copy.size_bytes = row.int64(At::size);
    copy.width = row.int64(At::width);
    copy.height = row.int64(At::height);
    copy.kind = row.int64(At::kind);
    copy.dst = trace_.strings.intern(row.text(swapped ? At::src : At::dst));
    copy.src = trace_.strings.intern(row.text(swapped ? At::dst : At::src));
    copy.dst_device = row.int64(swapped ? At::src_device : At::dst_device);
    copy.src_device = row.int64(swapped ? At::dst_device : At::src_device);
    copy.sync = row.int64(At::sync) != 0;
    copy.pinned = row.int64(At::pinned) != 0;
  };
  return read_details<rows::CopyCall>(trace_.copies, take);
}

Status Loader::load_args() {
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
  return load_all_args();
}

Status Loader::load_all_args() {
  using At = rows::ArgText::At;
  std::vector<int64_t> ids;
  const auto begin = [&](size_t rows, size_t parts) {
    ids.assign(rows, 0);
    args_->texts.assign(rows + 1, {});
    args_->blocks = std::vector<TextBlocks>(parts);
  };
  const auto visit = [&](size_t part, size_t i, const auto& row) {
    ids[i] = row.int64(At::id);
    args_->texts[i + 1] = args_->blocks[part].keep(row.text(At::text));
  };
  if (Status s =
          read<rows::ArgText>(begin, visit, [&] { return std::is_sorted(ids.begin(), ids.end()); });
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
Result<bool> Loader::load_some_args() {
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
