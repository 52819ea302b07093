// Loading is the larger part of most commands, so it is done once, in columns, with the big tables cut
// into id ranges that are read by several connections at once. SQLite gives rows in id order for free;
// everything that needs another order sorts row numbers, not rows.
#include "store/trace.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <thread>
#include <unordered_map>
#include <utility>

#include "store/schema.h"
#include "store/sqlite.h"

namespace wavetap::store {

// --- Strings

struct Strings::Index {
  std::unordered_map<std::string_view, Str> by_text;
  // Texts live in blocks that never move.
  std::deque<std::string> long_texts;
  std::vector<std::unique_ptr<char[]>> blocks;
  size_t used = 0;
  size_t capacity = 0;
};

Strings::Strings() : index_(std::make_unique<Index>()) { intern(""); }
Strings::~Strings() = default;
Strings::Strings(Strings&&) noexcept = default;
Strings& Strings::operator=(Strings&&) noexcept = default;

Str Strings::intern(std::string_view text) {
  if (const auto found = index_->by_text.find(text); found != index_->by_text.end()) return found->second;
  constexpr size_t kBlock = 1 << 16;
  std::string_view kept;
  if (text.size() > kBlock / 4) {
    kept = index_->long_texts.emplace_back(text);
  } else {
    if (index_->capacity - index_->used < text.size()) {
      index_->blocks.push_back(std::make_unique<char[]>(kBlock));
      index_->used = 0;
      index_->capacity = kBlock;
    }
    char* at = index_->blocks.empty() ? nullptr : index_->blocks.back().get() + index_->used;
    std::copy(text.begin(), text.end(), at);
    index_->used += text.size();
    kept = {at, text.size()};
  }
  const Str number = static_cast<Str>(texts_.size());
  texts_.push_back(kept);
  index_->by_text.emplace(kept, number);
  return number;
}

Str Strings::find(std::string_view text) const {
  const auto found = index_->by_text.find(text);
  return found == index_->by_text.end() ? 0xffffffffu : found->second;
}

// --- Argument texts: one arena, offsets by row of Apis.

struct Trace::ArgTexts {
  std::string arena;
  std::vector<uint64_t> begin;  // per api row
  std::vector<uint32_t> size;
};

namespace {

// From a foreign 64-bit id to a small number. Ids come in dense runs (one per session), so each run of
// 2^32 gets a plain vector while that stays small, and a hash map when it does not.
class IdMap {
 public:
  static constexpr uint32_t kMissing = 0xffffffffu;

  void add(int64_t id, uint32_t value) {
    std::vector<uint32_t>& run = runs_[id >> 32];
    const uint64_t low = static_cast<uint64_t>(id) & 0xffffffffu;
    if (low < run.size() * 4 + 4096) {
      if (low >= run.size()) run.resize(low + 1, kMissing);
      run[low] = value;
    } else {
      sparse_[id] = value;
    }
  }

  uint32_t find(int64_t id) const {
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
};

// Row of `id` in a sorted column. Lookups come mostly in ascending order, so the row after the last hit
// is tried before the binary search.
class RowFinder {
 public:
  explicit RowFinder(const std::vector<int64_t>& ids) : ids_(ids) {}
  uint32_t find(int64_t id) {
    for (const size_t guess : {next_, next_ + 1})
      if (guess < ids_.size() && ids_[guess] == id) return found(guess);
    const auto it = std::lower_bound(ids_.begin(), ids_.end(), id);
    if (it == ids_.end() || *it != id) return kNoRow;
    return found(static_cast<size_t>(it - ids_.begin()));
  }

 private:
  uint32_t found(size_t row) {
    next_ = row;
    return static_cast<uint32_t>(row);
  }
  const std::vector<int64_t>& ids_;
  size_t next_ = 0;
};

struct IdRange {
  int64_t first = 0;  // inclusive
  int64_t last = 0;   // inclusive
};

// Cuts a table into about `parts` ranges of equal row counts.
Result<std::vector<IdRange>> split_table(Db& db, const char* table, int parts) {
  const std::string name = table;
  Result<int64_t> count = db.query_int("select count(*) from " + name);
  if (!count.ok()) return count.error();
  std::vector<IdRange> ranges;
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
  if (*count < 50'000 || parts < 2) return std::vector<IdRange>{{kLowest, kHighest}};
  int64_t first = kLowest;
  for (int part = 1; part < parts; ++part) {
    Result<int64_t> cut = db.query_int("select id from " + name + " order by id limit 1 offset " +
                                       std::to_string(*count / parts * part));
    if (!cut.ok()) return cut.error();
    ranges.push_back({first, *cut - 1});
    first = *cut;
  }
  ranges.push_back({first, kHighest});
  return ranges;
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

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

class Loader {
 public:
  Loader(Trace& trace, Db& db, const LoadOptions& options) : trace_(trace), db_(db), options_(options) {}

  Status run() {
    if (Status s = load_metadata(); !s.ok()) return s;
    if (Status s = load_strings(); !s.ok()) return s;
    report(0.05);
    if (options_.apis)
      if (Status s = load_apis(); !s.ok()) return s;
    report(0.6);
    if (options_.ops)
      if (Status s = load_ops(); !s.ok()) return s;
    if (options_.apis && options_.ops)
      if (Status s = load_links(); !s.ok()) return s;
    report(0.8);
    if (options_.apis && options_.copies_and_launches) {
      if (Status s = load_launches(); !s.ok()) return s;
      if (Status s = load_copies(); !s.ok()) return s;
    }
    if (options_.monitors)
      if (Status s = load_monitors(); !s.ok()) return s;
    if (options_.apis && options_.stack_frames)
      if (Status s = load_stack_frames(); !s.ok()) return s;
    trace_.problems = problems_.list();
    report(1.0);
    return {};
  }

  const IdMap& string_ids() const { return string_ids_; }

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
    while (stmt->step()) trace_.metadata.emplace(std::string(stmt->text(0)), std::string(stmt->text(1)));
    return stmt->status();
  }

  Status load_strings() {
    Result<Stmt> stmt = db_.prepare("select id, string from rocpd_string order by id");
    if (!stmt.ok()) return stmt.error();
    while (stmt->step()) string_ids_.add(stmt->int64(0), trace_.strings.intern(stmt->text(1)));
    return stmt->status();
  }

  struct ApiPart {
    Apis rows;
    std::vector<Thread> threads;  // Apis::thread counts in here until merged
    uint64_t unknown_names = 0;
    Status status;
  };

  void load_api_part(const IdRange& range, ApiPart& part) {
    Result<Db> db = Db::open_read_only(db_.path());
    if (!db.ok()) {
      part.status = db.error();
      return;
    }
    const bool v3 = trace_.schema_version >= 3;
    Result<Stmt> stmt = db->prepare(
        v3 ? "select id, pid, tid, start, end, apiName_id, args_id, domain_id, category_id from rocpd_api "
             "where id between ? and ? order by id"
           : "select id, pid, tid, start, end, apiName_id, args_id from rocpd_api where id between ? and ? order by id");
    if (!stmt.ok()) {
      part.status = stmt.error();
      return;
    }
    stmt->bind(1, range.first);
    stmt->bind(2, range.last);
    std::map<Thread, uint32_t> thread_numbers;
    Thread last{-1, -1};
    uint32_t last_number = 0;
    while (stmt->step()) {
      const Thread thread{stmt->int64(1), stmt->int64(2)};
      if (thread != last || part.threads.empty()) {
        const auto [it, is_new] = thread_numbers.emplace(thread, part.threads.size());
        if (is_new) part.threads.push_back(thread);
        last = thread;
        last_number = it->second;
      }
      part.rows.id.push_back(stmt->int64(0));
      part.rows.thread.push_back(last_number);
      part.rows.start.push_back(stmt->int64(3));
      part.rows.end.push_back(stmt->int64(4));
      const auto known = [&](int64_t id) {
        const uint32_t number = string_ids_.find(id);
        part.unknown_names += number == IdMap::kMissing ? 1 : 0;
        return number == IdMap::kMissing ? Str{0} : number;
      };
      part.rows.name.push_back(known(stmt->int64(5)));
      part.rows.args_id.push_back(stmt->int64(6));
      part.rows.domain.push_back(v3 ? known(stmt->int64(7)) : 0);
      part.rows.category.push_back(v3 ? known(stmt->int64(8)) : 0);
    }
    part.status = stmt->status();
  }

  Status load_apis() {
    const int workers = std::clamp<int>(static_cast<int>(std::thread::hardware_concurrency()), 1, 4);
    Result<std::vector<IdRange>> ranges = split_table(db_, "rocpd_api", workers);
    if (!ranges.ok()) return ranges.error();
    std::vector<ApiPart> parts(ranges->size());
    std::vector<std::thread> threads;
    for (size_t i = 1; i < parts.size(); ++i)
      threads.emplace_back([&, i] { load_api_part((*ranges)[i], parts[i]); });
    load_api_part(ranges->front(), parts.front());
    for (std::thread& t : threads) t.join();

    std::map<Thread, uint32_t> numbers;
    for (ApiPart& part : parts) {
      if (!part.status.ok()) return part.status;
      problems_.count("rocpd_api names a string that does not exist", part.unknown_names);
      std::vector<uint32_t> renumber;
      for (const Thread& thread : part.threads) {
        const auto [it, is_new] = numbers.emplace(thread, trace_.threads.size());
        if (is_new) trace_.threads.push_back(thread);
        renumber.push_back(it->second);
      }
      for (uint32_t& t : part.rows.thread) t = renumber[t];
      merge(part.rows);
    }
    for (size_t row = 0; row < trace_.apis.size(); ++row)
      if (trace_.apis.end[row] < trace_.apis.start[row]) problems_.count("rocpd_api ends before it starts");
    return {};
  }

  void merge(Apis& part) {
    Apis& all = trace_.apis;
    if (all.size() == 0) {
      all = std::move(part);
      return;
    }
    append(all.id, part.id);
    append(all.start, part.start);
    append(all.end, part.end);
    append(all.thread, part.thread);
    append(all.name, part.name);
    append(all.domain, part.domain);
    append(all.category, part.category);
    append(all.args_id, part.args_id);
    part = {};
  }

  Status load_ops() {
    Result<Stmt> stmt = db_.prepare(
        "select id, gpuId, queueId, sequenceId, start, end, description_id, opType_id from rocpd_op order by id");
    if (!stmt.ok()) return stmt.error();
    Ops& ops = trace_.ops;
    while (stmt->step()) {
      ops.id.push_back(stmt->int64(0));
      ops.gpu.push_back(static_cast<int32_t>(stmt->int64(1)));
      ops.queue.push_back(static_cast<int32_t>(stmt->int64(2)));
      ops.sequence.push_back(stmt->int64(3));
      ops.start.push_back(stmt->int64(4));
      ops.end.push_back(stmt->int64(5));
      if (ops.end.back() < ops.start.back()) problems_.count("rocpd_op ends before it starts");
      ops.description.push_back(string_of(stmt->int64(6), "rocpd_op names a string that does not exist"));
      ops.type.push_back(string_of(stmt->int64(7), "rocpd_op names a string that does not exist"));
    }
    return stmt->status();
  }

  Status load_links() {
    Result<Stmt> stmt = db_.prepare("select id, api_id, op_id from rocpd_api_ops order by id");
    if (!stmt.ok()) return stmt.error();
    RowFinder apis(trace_.apis.id);
    RowFinder ops(trace_.ops.id);
    Links& links = trace_.links;
    while (stmt->step()) {
      links.id.push_back(stmt->int64(0));
      links.api.push_back(apis.find(stmt->int64(1)));
      links.op.push_back(ops.find(stmt->int64(2)));
      if (links.api.back() == kNoRow || links.op.back() == kNoRow)
        problems_.count("rocpd_api_ops links a call or an op that does not exist");
    }
    return stmt->status();
  }

  Status load_launches() {
    if (!db_.has_table_or_view("rocpd_kernelapi")) return {};
    Result<Stmt> stmt = db_.prepare(
        "select api_ptr_id, stream, gridX, gridY, gridZ, workgroupX, workgroupY, workgroupZ, groupSegmentSize, "
        "privateSegmentSize, kernelName_id from rocpd_kernelapi order by api_ptr_id");
    if (!stmt.ok()) return stmt.error();
    RowFinder apis(trace_.apis.id);
    while (stmt->step()) {
      KernelLaunch launch;
      launch.api = apis.find(stmt->int64(0));
      if (launch.api == kNoRow) {
        problems_.count("rocpd_kernelapi belongs to no call");
        continue;
      }
      launch.stream = trace_.strings.intern(stmt->text(1));
      for (int axis = 0; axis < 3; ++axis) {
        launch.grid[axis] = static_cast<int32_t>(stmt->int64(2 + axis));
        launch.workgroup[axis] = static_cast<int32_t>(stmt->int64(5 + axis));
      }
      launch.group_segment_bytes = stmt->int64(8);
      launch.private_segment_bytes = stmt->int64(9);
      launch.kernel = string_of(stmt->int64(10), "rocpd_kernelapi names a string that does not exist");
      trace_.launches.push_back(launch);
    }
    return stmt->status();
  }

  Status load_copies() {
    if (!db_.has_table_or_view("rocpd_copyapi")) return {};
    Result<Stmt> stmt = db_.prepare(
        "select api_ptr_id, stream, size, width, height, kind, dst, src, dstDevice, srcDevice, sync, pinned "
        "from rocpd_copyapi order by api_ptr_id");
    if (!stmt.ok()) return stmt.error();
    // RPD binds these columns in the wrong order; its files are known by the missing producer key.
    const bool swapped = trace_.producer().empty();
    RowFinder apis(trace_.apis.id);
    while (stmt->step()) {
      Copy copy;
      copy.api = apis.find(stmt->int64(0));
      if (copy.api == kNoRow) {
        problems_.count("rocpd_copyapi belongs to no call");
        continue;
      }
      copy.stream = trace_.strings.intern(stmt->text(1));
      copy.size_bytes = stmt->int64(2);
      copy.width = stmt->int64(3);
      copy.height = stmt->int64(4);
      copy.kind = stmt->int64(5);
      copy.dst = trace_.strings.intern(stmt->text(swapped ? 7 : 6));
      copy.src = trace_.strings.intern(stmt->text(swapped ? 6 : 7));
      copy.dst_device = stmt->int64(swapped ? 9 : 8);
      copy.src_device = stmt->int64(swapped ? 8 : 9);
      copy.sync = stmt->int64(10) != 0;
      copy.pinned = stmt->int64(11) != 0;
      trace_.copies.push_back(copy);
    }
    return stmt->status();
  }

  Status load_monitors() {
    if (!db_.has_table_or_view("rocpd_monitor")) return {};
    Result<Stmt> stmt =
        db_.prepare("select deviceType, deviceId, monitorType, start, end, value from rocpd_monitor order by id");
    if (!stmt.ok()) return stmt.error();
    while (stmt->step())
      trace_.monitors.push_back({trace_.strings.intern(stmt->text(0)), stmt->int64(1),
                                 trace_.strings.intern(stmt->text(2)), stmt->int64(3), stmt->int64(4),
                                 trace_.strings.intern(stmt->text(5))});
    return stmt->status();
  }

  Status load_stack_frames() {
    if (!db_.has_table_or_view("rocpd_stackframe")) return {};
    Result<Stmt> stmt = db_.prepare("select api_ptr_id, depth, name_id from rocpd_stackframe order by api_ptr_id, depth");
    if (!stmt.ok()) return stmt.error();
    RowFinder apis(trace_.apis.id);
    while (stmt->step())
      trace_.stack_frames.push_back({apis.find(stmt->int64(0)), stmt->int64(1),
                                     string_of(stmt->int64(2), "rocpd_stackframe names a string that does not exist")});
    return stmt->status();
  }

  Trace& trace_;
  Db& db_;
  const LoadOptions& options_;
  IdMap string_ids_;
  Problems problems_;
};

}  // namespace

// --- Trace

Trace::Trace() = default;
Trace::~Trace() = default;
Trace::Trace(Trace&&) noexcept = default;
Trace& Trace::operator=(Trace&&) noexcept = default;

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
  if (!options.args || !options.apis) return trace;

  // Argument ids ascend with call ids in every file seen, so one walk over the texts with a look-ahead
  // pairs them; what is out of order goes through a map.
  auto texts = std::make_unique<ArgTexts>();
  texts->begin.assign(trace.apis.size(), 0);
  texts->size.assign(trace.apis.size(), 0);
  if (trace.schema_version < 3) {
    for (size_t row = 0; row < trace.apis.size(); ++row) {
      const uint32_t number = loader.string_ids().find(trace.apis.args_id[row]);
      if (number == IdMap::kMissing) continue;
      texts->begin[row] = texts->arena.size();
      texts->size[row] = static_cast<uint32_t>(trace.strings[number].size());
      texts->arena += trace.strings[number];
    }
  } else {
    std::vector<uint32_t> rows(trace.apis.size());
    for (size_t row = 0; row < rows.size(); ++row) rows[row] = static_cast<uint32_t>(row);
    const auto by_args = [&](uint32_t a, uint32_t b) { return trace.apis.args_id[a] < trace.apis.args_id[b]; };
    if (!std::is_sorted(rows.begin(), rows.end(), by_args)) std::stable_sort(rows.begin(), rows.end(), by_args);
    Result<Stmt> stmt = db->prepare("select id, string from rocpd_ustring order by id");
    if (!stmt.ok()) return stmt.error();
    size_t next = 0;
    while (next < rows.size() && stmt->step()) {
      const int64_t id = stmt->int64(0);
      while (next < rows.size() && trace.apis.args_id[rows[next]] < id) ++next;
      if (next >= rows.size() || trace.apis.args_id[rows[next]] != id) continue;
      const std::string_view text = stmt->text(1);
      const uint64_t begin = texts->arena.size();
      texts->arena += text;
      for (; next < rows.size() && trace.apis.args_id[rows[next]] == id; ++next) {
        texts->begin[rows[next]] = begin;
        texts->size[rows[next]] = static_cast<uint32_t>(text.size());
      }
    }
    if (!stmt->status().ok()) return stmt->status().error();
  }
  trace.arg_texts_ = std::move(texts);
  return trace;
}

std::string_view Trace::args(size_t api_row) const {
  if (arg_texts_ == nullptr) return {};
  return std::string_view(arg_texts_->arena).substr(arg_texts_->begin[api_row], arg_texts_->size[api_row]);
}

bool Trace::is_emulated() const {
  const auto found = metadata.find("emulated");
  return found != metadata.end() && found->second == "1";
}

std::string Trace::producer() const {
  const auto found = metadata.find("producer");
  return found == metadata.end() ? "" : found->second;
}

uint32_t Trace::api_row(int64_t id) const { return RowFinder(apis.id).find(id); }
uint32_t Trace::op_row(int64_t id) const { return RowFinder(ops.id).find(id); }

}  // namespace wavetap::store
