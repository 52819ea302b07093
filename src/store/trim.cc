// A trimmed trace is written afresh: its tables are made as they are in the input, then filled with
// the rows that stay. First those that calls and ops decide about, in parallel; then the strings
// these still refer to.
#include "store/trim.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <vector>

#include "store/column_meaning.h"
#include "store/derived_tables.h"
#include "store/row_finder.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "store/table_copy.h"
#include "store/trace_writer.h"
#include "util/pattern.h"

namespace wavetap::store {
namespace {

// By row of the trace.
struct Keep {
  std::vector<bool> apis, ops;
};

Result<Keep> select_rows(const Trace& trace, const TrimOptions& options) {
  const auto in_time = [&](int64_t start) {
    return start >= options.begin && start <= options.end;
  };
  std::vector<bool> keep_api(trace.apis.size(), false), linked(trace.ops.size(), false),
      keep_op(trace.ops.size(), false);

  // Marked ranges per thread by start, each with the latest end of those that start no later than
  // it.
  std::vector<std::vector<std::pair<int64_t, int64_t>>> ranges(trace.threads.size());
  if (!options.marker.empty()) {
    Result<util::Pattern> pattern = util::compile_pattern(options.marker);
    if (!pattern.ok()) return pattern.error();
    const Str marker = trace.strings.find("UserMarker");
    for (size_t row = 0; row < trace.apis.size(); ++row)
      if (trace.apis.name[row] == marker && util::is_found(*pattern, trace.args(row)))
        ranges[trace.apis.thread[row]].push_back({trace.apis.start[row], trace.apis.end[row]});
    for (auto& list : ranges) {
      std::sort(list.begin(), list.end());
      for (size_t i = 1; i < list.size(); ++i)
        list[i].second = std::max(list[i].second, list[i - 1].second);
    }
  }
  const auto in_marker = [&](size_t row) {
    if (options.marker.empty()) return true;
    const auto& list = ranges[trace.apis.thread[row]];
    const auto after =
        std::upper_bound(list.begin(), list.end(), trace.apis.start[row],
                         [](int64_t start, const auto& range) { return start < range.first; });
    return after != list.begin() && std::prev(after)->second >= trace.apis.end[row];
  };

  for (size_t row = 0; row < trace.apis.size(); ++row)
    keep_api[row] = in_time(trace.apis.start[row]) && in_marker(row);
  std::vector<bool> wanted_op(trace.ops.size(), true);
  if (!options.kernel.empty()) {
    Result<util::Pattern> pattern = util::compile_pattern(options.kernel);
    if (!pattern.ok()) return pattern.error();
    for (size_t op = 0; op < trace.ops.size(); ++op) {
      wanted_op[op] = util::is_found(*pattern, trace.str(trace.ops.name(op)));
    }
    std::vector<bool> launches(trace.apis.size(), false);
    for (size_t i = 0; i < trace.links.size(); ++i)
      if (trace.links.api[i] != kNoRow && trace.links.op[i] != kNoRow &&
          wanted_op[trace.links.op[i]])
        launches[trace.links.api[i]] = true;
    for (size_t row = 0; row < trace.apis.size(); ++row)
      keep_api[row] = keep_api[row] && launches[row];
  }
  for (size_t i = 0; i < trace.links.size(); ++i) {
    const uint32_t api = trace.links.api[i], op = trace.links.op[i];
    if (op == kNoRow) continue;
    linked[op] = true;
    if (api != kNoRow && keep_api[api] && wanted_op[op]) keep_op[op] = true;
  }
  for (size_t op = 0; op < trace.ops.size(); ++op)
    if (!linked[op] && options.marker.empty() && wanted_op[op] && in_time(trace.ops.start[op]))
      keep_op[op] = true;
  return Keep{std::move(keep_api), std::move(keep_op)};
}

struct TableShape {
  std::string name;
  std::vector<std::string> columns;
  int key = -1;  // the column that is the row's number
  bool plain = true;
};

// The input's schema in the new file: tables and indexes now, so that they are filled together;
// views and triggers once all rows are in.
struct Schema {
  std::vector<TableShape> tables;
  std::vector<std::string> later;  // statements
  std::vector<std::string> left_out;
};

Result<TableShape> shape_of(Db& db, const std::string& table) {
  TableShape shape;
  shape.name = table;
  Result<Stmt> columns =
      db.prepare("select name, hidden, pk, lower(type) from pragma_table_xinfo(?) order by cid");
  if (!columns.ok()) return columns.error();
  columns->bind(1, std::string_view(table));
  int keys = 0;
  while (columns->step()) {
    if (columns->int64(1) != 0) {  // generated: SQLite works it out again
      shape.plain = false;
      continue;
    }
    if (columns->int64(2) != 0 && ++keys > 0 && columns->text(3) == "integer")
      shape.key = static_cast<int>(shape.columns.size());
    shape.columns.emplace_back(columns->text(0));
  }
  if (!columns->status().ok()) return columns->status().error();
  if (keys > 1) shape.key = -1;
  // A table without rowids has none to ask for.
  const bool has_rowids = db.prepare("select rowid from " + quoted_name(table)).ok();
  shape.plain = shape.plain && has_rowids && shape.columns.size() <= BulkTable::kMaxColumns;
  return shape;
}

Result<Schema> make_tables(Db& in, Db& out) {
  Schema schema;
  Result<Stmt> rows = in.prepare(
      "select type, name, sql from sqlite_master where sql is not null and name not like "
      "'sqlite\\_%' escape '\\' "
      "order by case type when 'table' then 0 when 'index' then 1 when 'view' then 2 else 3 end, "
      "rowid");
  if (!rows.ok()) return rows.error();
  while (rows->step()) {
    const std::string type(rows->text(0)), name(rows->text(1)), sql(rows->text(2));
    if (is_derived(name)) continue;
    if (type == "view" || type == "trigger") {
      schema.later.push_back(sql);
      continue;
    }
    std::string start = sql.substr(0, 14);
    std::transform(start.begin(), start.end(), start.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    if (start == "create virtual") {
      schema.left_out.push_back(name);
      continue;
    }
    // Indexes of what was left out fail, and are left out with it.
    if (Status s = out.exec(sql); !s.ok() && type == "index") continue;
    else if (!s.ok()) return s.error();
    if (type != "table") continue;
    Result<TableShape> shape = shape_of(in, name);
    if (!shape.ok()) return shape.error();
    schema.tables.push_back(std::move(*shape));
  }
  if (!rows->status().ok()) return rows->status().error();
  return schema;
}

// Whether an id is among the kept rows; one object per thread.
std::function<bool(int64_t)> is_kept(const std::vector<int64_t>& ids,
                                     const std::vector<bool>& keep) {
  return [finder = RowFinder(ids), &keep](int64_t id) mutable {
    const uint32_t row = finder.find(id);
    return row != kNoRow && keep[row];
  };
}

class Trimmer {
 public:
  Trimmer(const Trace& trace, const Keep& keep, const TrimOptions& options)
      : trace_(trace), keep_(keep), options_(options) {
    for (size_t row = 0; row < keep.apis.size(); ++row)
      if (keep.apis[row]) extend(trace.apis.start[row], trace.apis.end[row]);
    for (size_t row = 0; row < keep.ops.size(); ++row)
      if (keep.ops[row]) extend(trace.ops.start[row], trace.ops.end[row]);
  }

  // The names of tables that could not be carried over.
  Result<std::vector<std::string>> write(const std::string& path);

 private:
  void extend(int64_t start, int64_t end) {
    begin_ = std::min(begin_, start);
    end_ = std::max(end_, end);
  }

  bool is_text_table(std::string_view table) const {
    return table == "rocpd_string" || table == "rocpd_ustring";
  }

  TableCopy plan(const TableShape& shape) {
    TableCopy copy;
    copy.table = shape.name;
    copy.key = shape.key;
    for (size_t i = 0; i < shape.columns.size(); ++i) {
      copy.columns.emplace_back().from = shape.columns[i];
      if (is_text_table(shape.name)) continue;
      const Meaning meaning = meaning_of(shape.name, shape.columns[i]);
      if (meaning == Meaning::kCall)
        copy.conditions.push_back({i, is_kept(trace_.apis.id, keep_.apis)});
      if (meaning == Meaning::kOp)
        copy.conditions.push_back({i, is_kept(trace_.ops.id, keep_.ops)});
      if (meaning == Meaning::kString || (meaning == Meaning::kText && trace_.schema_version < 3))
        copy.collect.push_back({i, &strings_.emplace_back()});
      else if (meaning == Meaning::kText) copy.collect.push_back({i, &texts_.emplace_back()});
      // What was measured meanwhile, of the time that is left.
      if (shape.name == "rocpd_monitor" && begin_ <= end_ && shape.columns[i] == "end")
        copy.conditions.push_back({i, [this](int64_t end) { return end >= begin_; }});
      if (shape.name == "rocpd_monitor" && begin_ <= end_ && shape.columns[i] == "start")
        copy.conditions.push_back({i, [this](int64_t start) { return start <= end_; }});
    }
    return copy;
  }

  // Texts nobody uses any more go; strings that are "" stay, readers look for them.
  Status plan_texts(std::vector<int64_t>& ids, TableCopy& copy) {
    const bool strings = copy.table == "rocpd_string";
    for (std::vector<int64_t>& some : strings ? strings_ : texts_) {
      ids.insert(ids.end(), some.begin(), some.end());
      some = {};
    }
    if (strings) {
      Result<Db> db = Db::open_read_only(trace_.path);
      if (!db.ok()) return db.error();
      Result<Stmt> empty = db->prepare("select id from rocpd_string where string = ''");
      if (!empty.ok()) return empty.error();
      while (empty->step()) ids.push_back(empty->int64(0));
      if (!empty->status().ok()) return empty->status();
    }
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    const auto id = std::find_if(copy.columns.begin(), copy.columns.end(),
                                 [](const CopyColumn& c) { return c.from == "id"; });
    if (id != copy.columns.end())
      copy.conditions.push_back({static_cast<size_t>(id - copy.columns.begin()),
                                 [finder = RowFinder(ids)](int64_t value) mutable {
                                   return finder.find(value) != kNoRow;
                                 }});
    return {};
  }

  Status fill(TraceWriter& writer, const Schema& schema);
  Status complete(const std::string& path, const Schema& schema);

  const Trace& trace_;
  const Keep& keep_;
  const TrimOptions& options_;
  int64_t begin_ = std::numeric_limits<int64_t>::max(), end_ = std::numeric_limits<int64_t>::min();
  std::deque<std::vector<int64_t>> strings_, texts_;  // ids in use, by column; each is one thread's
  std::vector<int64_t> used_strings_, used_texts_;    // all of them; conditions refer to them
  std::deque<TableCopy> copies_;                      // jobs refer to them
  std::vector<std::pair<const TableShape*, const TableCopy*>>
      by_sql_;  // which no BulkTable can fill
  std::atomic<uint64_t> done_bytes_ = 0;
  uint64_t total_bytes_ = 1;
};

Result<std::vector<std::string>> Trimmer::write(const std::string& path) {
  Result<Db> in = Db::open_read_only(trace_.path);
  if (!in.ok()) return in.error();
  Schema schema;
  Result<TraceWriter> writer = TraceWriter::create(path, [&](Db& out) -> Status {
    Result<Schema> made = make_tables(*in, out);
    if (!made.ok()) return made.error();
    schema = std::move(*made);
    return {};
  });
  if (!writer.ok()) return writer.error();
  total_bytes_ = std::max<uint64_t>(1, in->file_bytes());
  if (Status s = fill(*writer, schema); !s.ok()) return s.error();
  if (Status s = writer->finish(); !s.ok()) return s.error();
  if (Status s = complete(path, schema); !s.ok()) return s.error();
  return schema.left_out;
}

// First the tables that calls and ops decide about, then the texts that these still refer to.
Status Trimmer::fill(TraceWriter& writer, const Schema& schema) {
  const auto progress = [&](uint64_t bytes) {
    if (options_.progress)
      options_.progress(
          std::min(1.0, static_cast<double>(bytes) / static_cast<double>(total_bytes_)));
  };
  std::vector<std::function<Status()>> first, second;
  for (const TableShape& shape : schema.tables) {
    TableCopy& copy = copies_.emplace_back(plan(shape));
    BulkTable* target = shape.plain ? writer.table(shape.name) : nullptr;
    if (target == nullptr) by_sql_.push_back({&shape, &copy});
    const bool is_text = is_text_table(shape.name);
    const auto job = [this, &copy, target, is_text]() -> Status {
      if (is_text)
        if (Status s = plan_texts(copy.table == "rocpd_string" ? used_strings_ : used_texts_, copy);
            !s.ok())
          return s;
      if (target != nullptr) return copy_rows(trace_.path, copy, *target, done_bytes_);
      // Its rows come last, the texts they refer to have to be known now.
      return copy.collect.empty() ? Status() : collect_values(trace_.path, copy, done_bytes_);
    };
    std::vector<std::function<Status()>>& phase = is_text ? second : first;
    // The longest first.
    if (shape.name == "rocpd_api" || shape.name == "rocpd_ustring")
      phase.insert(phase.begin(), job);
    else phase.push_back(job);
  }
  if (Status s = run_jobs(first, done_bytes_, progress); !s.ok()) return s;
  return run_jobs(second, done_bytes_, progress);
}

// What only SQL can do: odd tables, what described the whole, views and triggers.
Status Trimmer::complete(const std::string& path, const Schema& schema) {
  Result<Db> db = Db::open_read_write(path);
  if (!db.ok()) return db.error();
  if (Status s = db->exec("pragma journal_mode = off; pragma synchronous = off; begin"); !s.ok())
    return s;
  for (const auto& [shape, copy] : by_sql_) {
    Result<SqlTable> table = SqlTable::open(*db, shape->name, shape->columns);
    if (!table.ok()) return table.error();
    if (Status s = copy_rows(trace_.path, *copy, *table, done_bytes_); !s.ok()) return s;
  }
  if (Status s = db->exec(
          "delete from rocpd_metadata where tag like 'Callstack::%' or tag like 'Autograd::%' or "
          "tag like 'Graph::%' or tag like 'references::%'");
      !s.ok() && db->has_table_or_view("rocpd_metadata"))
    return s;
  for (const std::string& statement : schema.later)
    if (Status s = db->exec(statement); !s.ok()) return s;
  return db->exec("commit");
}

}  // namespace

Result<TrimResult> trim_trace(const Trace& trace, const std::string& output,
                              const TrimOptions& options) {
  Result<Keep> keep = select_rows(trace, options);
  if (!keep.ok()) return keep.error();
  TrimResult result;
  const Status made =
      make_whole(output, /*overwrite=*/false, [&](const std::string& part) -> Status {
        Result<std::vector<std::string>> left_out = Trimmer(trace, *keep, options).write(part);
        if (!left_out.ok()) return left_out.error();
        result.left_out = std::move(*left_out);
        return {};
      });
  if (!made.ok()) return made.error();
  const auto count = [](const std::vector<bool>& kept) {
    return static_cast<uint64_t>(std::count(kept.begin(), kept.end(), true));
  };
  result.calls_before = trace.apis.size();
  result.calls_after = count(keep->apis);
  result.ops_before = trace.ops.size();
  result.ops_after = count(keep->ops);
  return result;
}

}  // namespace wavetap::store
