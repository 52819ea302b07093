// A merged trace is written table by table: the rows of the first file, then those of the second
// with everything shifted, and so on, which keeps them in the order of their ids. Tables are
// independent of each other and filled in parallel.
#include "store/merge.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>

#include "store/column_meaning.h"
#include "store/row_finder.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "store/table_copy.h"
#include "store/table_scan.h"
#include "store/tables.h"
#include "store/trace_writer.h"

namespace wavetap::store {
namespace {

struct Column {
  std::string name, type;
  bool is_key = false;  // integer primary key
};

struct Input {
  std::string path;
  int version = 3;
  uint64_t bytes = 0;
  std::map<std::string, std::string> metadata;
  std::string newer_schema;                           // newer_schema_warning()
  std::map<std::string, std::vector<Column>> tables;  // rocpd_* and wavetap_*
  int64_t first = 0;                                  // start of the first call
  int64_t last = 0;                                   // where the last one ends
  int64_t sessions = 1;                               // blocks of 2^32 ids it uses
  int64_t max_pid = 0, max_gpu = 0;
  int64_t empty_string = 0;  // id of "", which schema 2 needs for what it lacks
};

Result<std::vector<Column>> columns_of(Db& db, const std::string& table) {
  Result<Stmt> rows =
      db.prepare("select name, type, pk, lower(type) from pragma_table_info(?) order by cid");
  if (!rows.ok()) return rows.error();
  rows->bind(1, std::string_view(table));
  std::vector<Column> columns;
  while (rows->step())
    columns.push_back({std::string(rows->text(0)), std::string(rows->text(1)),
                       rows->int64(2) == 1 && rows->text(3) == "integer"});
  if (!rows->status().ok()) return rows->status().error();
  return columns;
}

// Calls visit(row) for every row of a table, some of them twice where the pages cannot be read to
// the end.
template <class Visit>
Status visit_rows(Db& db, const char* table, std::initializer_list<const char*> columns,
                  Visit&& visit) {
  if (Result<TableScan> scan = TableScan::open(db, table, columns); scan.ok()) {
    Status status;
    for (size_t part = 0; status.ok() && part < scan->parts(); ++part)
      status = scan->run(part, [&](size_t, const ScanRow& row) { visit(row); });
    if (status.ok()) return {};
  }
  std::string list;
  for (const char* column : columns) list += (list.empty() ? "" : ", ") + quoted_name(column);
  Result<Stmt> rows = db.prepare("select " + list + " from " + table);
  if (!rows.ok()) return rows.error();
  while (rows->step()) visit(*rows);
  return rows->status();
}

Result<Input> inspect(const std::string& path) {
  Result<Db> db = Db::open_read_only(path);
  if (!db.ok()) return db.error();
  if (Status s = db->exec("begin"); !s.ok()) return s.error();
  Result<int> version = schema_version(*db);
  if (!version.ok()) return version.error();
  Input input;
  input.path = path;
  input.version = *version;
  input.bytes = db->file_bytes();
  input.newer_schema = newer_schema_warning(*db);
  if (db->has_table_or_view("rocpd_metadata")) {
    Result<Stmt> stmt = db->prepare("select tag, value from rocpd_metadata");
    if (!stmt.ok()) return stmt.error();
    while (stmt->step()) input.metadata[std::string(stmt->text(0))] = stmt->text(1);
  }
  Result<Stmt> tables = db->prepare("select name from sqlite_master where type = 'table'");
  if (!tables.ok()) return tables.error();
  while (tables->step())
    if (const std::string name(tables->text(0)); is_trace_table(name)) {
      Result<std::vector<Column>> columns = columns_of(*db, name);
      if (!columns.ok()) return columns.error();
      input.tables[name] = std::move(*columns);
    }
  if (!tables->status().ok()) return tables->status().error();

  const auto number = [&](const std::string& sql) {
    Result<int64_t> value = db->query_int(sql);
    return value.ok() ? *value : 0;
  };
  bool any = false;
  const auto call = [&](const auto& row) {
    input.max_pid = std::max({input.max_pid, row.int64(0), row.int64(1)});
    input.first = any ? std::min(input.first, row.int64(2)) : row.int64(2);
    input.last = any ? std::max(input.last, row.int64(3)) : row.int64(3);
    any = true;
  };
  if (Status s = visit_rows(*db, "rocpd_api", {"pid", "tid", "start", "end"}, call); !s.ok())
    return s.error();
  const auto op = [&](const auto& row) {
    input.max_gpu = std::max({input.max_gpu, row.int64(0), row.int64(1)});
  };
  if (Status s = visit_rows(*db, "rocpd_op", {"gpuId", "queueId"}, op); !s.ok()) return s.error();
  input.empty_string = number("select coalesce(min(id), 0) from rocpd_string where string = ''");
  int64_t highest = 0;
  for (const auto& [table, columns] : input.tables)
    for (const Column& column : columns) {
      if (!column.is_key || meaning_of(table, column.name) == Meaning::kPlain) continue;
      const std::string of = "(" + quoted_name(column.name) + "), 0) from " + quoted_name(table);
      if (const int64_t lowest = number("select coalesce(min" + of); lowest < 0)
        return errorf("%s: %s: an id of %lld; the file is damaged", path.c_str(), table.c_str(),
                      static_cast<long long>(lowest));
      if (meaning_of(table, column.name) == Meaning::kGpu)
        input.max_gpu = std::max(input.max_gpu, number("select coalesce(max" + of));
      else highest = std::max(highest, number("select coalesce(max" + of));
    }
  input.sessions = (highest >> kSessionShift) + 1;
  return input;
}

std::optional<int64_t> number_of(const Input& input, const char* key) {
  const auto found = input.metadata.find(key);
  if (found == input.metadata.end()) return std::nullopt;
  return std::strtoll(found->second.c_str(), nullptr, 10);
}

std::string text_of(const Input& input, const char* key) {
  const auto found = input.metadata.find(key);
  return found == input.metadata.end() ? "" : found->second;
}

// What to add to `input`'s times so that they can be compared with those of `base`.
void align(const Input& base, const Input& input, Align how, MergedFile& file) {
  const std::optional<int64_t> here = number_of(input, "epoch_offset_ns"),
                               there = number_of(base, "epoch_offset_ns");
  if (how == Align::kNone) {
    file.method = "none";
  } else if (how == Align::kAuto && here && there) {
    file.shift_ns = *here - *there;
    file.method = "wall clock";
  } else if (how == Align::kAuto &&
             (&base == &input || (!text_of(base, "boot_id").empty() &&
                                  text_of(base, "boot_id") == text_of(input, "boot_id")))) {
    file.method = "same clock";
  } else {
    file.shift_ns = base.first - input.first;
    file.method = &base == &input ? "same clock" : "first event (inferred)";
  }
}

// What makes one doubt that these are ranks of one job. Nothing of it keeps them from being merged.
void find_conflicts(const std::vector<Input>& inputs, std::vector<MergedFile>& files) {
  for (size_t rank = 1; rank < inputs.size(); ++rank) {
    const Input& input = inputs[rank];
    MergedFile& file = files[rank];
    for (size_t other = 0; other < rank && file.conflicts.empty(); ++other) {
      const Input& before = inputs[other];
      std::error_code ignored;
      if (std::filesystem::equivalent(input.path, before.path, ignored))
        file.conflicts.push_back("is the same file as rank " + std::to_string(other));
      else if (!text_of(input, "boot_id").empty() && input.metadata == before.metadata &&
               input.first == before.first && input.last == before.last &&
               input.bytes == before.bytes)
        file.conflicts.push_back("looks like a copy of rank " + std::to_string(other));
    }
    if ((text_of(input, "emulated") == "1") != (text_of(inputs[0], "emulated") == "1"))
      file.conflicts.emplace_back(
          "one of a virtual GPU, one of hardware: their times cannot be compared");
    const int64_t begin = input.first + file.shift_ns, end = input.last + file.shift_ns;
    if (input.last != 0 && inputs[0].last != 0 && (begin > inputs[0].last || end < inputs[0].first))
      file.conflicts.emplace_back("no call at the time of rank 0's; another --align may be right");
  }
}

// What is added to the numbers of one file.
struct Shift {
  int64_t id = 0, time = 0, pid = 0, gpu = 0, session = 0;
};

CopyColumn plan_column(const std::string& table, const std::string& column, const Shift& shift) {
  CopyColumn out;
  out.from = column;
  switch (meaning_of(table, column)) {
    case Meaning::kPlain: break;
    case Meaning::kProcess: out.shift = shift.pid; break;
    case Meaning::kGpu:
      out.shift = shift.gpu;
      out.unless_negative = true;
      break;
    case Meaning::kTime:
      out.shift = shift.time;
      out.unless_zero = table.starts_with("wavetap_");
      break;
    case Meaning::kSession: out.shift = shift.session; break;
    default: out.shift = shift.id;
  }
  return out;
}

// How the rows of one file come into the table `name` of the new one; nothing when it has none.
std::optional<TableCopy> plan_table(const Input& input, const std::string& name,
                                    const std::vector<Column>& columns, const Shift& shift) {
  const auto has_column = [&](const auto& table, const std::string& column) {
    return std::any_of(table->second.begin(), table->second.end(),
                       [&](const Column& c) { return c.name == column; });
  };
  TableCopy copy;
  copy.table = name;
  // Schema 2 keeps the texts of arguments among the strings.
  if (input.version < 3 && name == "rocpd_ustring") copy.table = "rocpd_string";
  const auto source = input.tables.find(copy.table);
  if (source == input.tables.end()) return std::nullopt;
  // RPD's own files hold source and destination of copies swapped; ours do not, so they are swapped
  // on the way.
  static constexpr std::pair<const char*, const char*> kSwapped[] = {
      {"dst", "src"}, {"src", "dst"}, {"dstDevice", "srcDevice"}, {"srcDevice", "dstDevice"}};
  const bool swap = name == "rocpd_copyapi" && text_of(input, "producer").empty();
  for (size_t i = 0; i < columns.size(); ++i) {
    CopyColumn column = plan_column(name, columns[i].name, shift);
    const auto other = std::find_if(std::begin(kSwapped), std::end(kSwapped),
                                    [&](const auto& pair) { return column.from == pair.first; });
    if (swap && other != std::end(kSwapped)) column.from = other->second;
    if (input.version < 3 && name == "rocpd_api" &&
        (column.from == "domain_id" || column.from == "category_id"))
      column = CopyColumn::of(input.empty_string + shift.id);
    if (columns[i].is_key) copy.key = static_cast<int>(i);
    // A column only other files have.
    if (name.starts_with("wavetap_") && !has_column(source, column.from))
      column = CopyColumn::null();
    copy.columns.push_back(std::move(column));
  }
  return copy;
}

// The arguments of a file of schema 2, by id.
Result<std::vector<int64_t>> argument_ids(const std::string& path) {
  Result<Db> db = Db::open_read_only(path);
  if (!db.ok()) return db.error();
  Result<Stmt> rows = db->prepare("select distinct args_id from rocpd_api order by 1");
  if (!rows.ok()) return rows.error();
  std::vector<int64_t> ids;
  while (rows->step()) ids.push_back(rows->int64(0));
  if (!rows->status().ok()) return rows->status().error();
  return ids;
}

// One table of the new file, from all inputs.
Status fill_table(const std::vector<Input>& inputs, const std::vector<Shift>& shifts,
                  const std::string& name, const std::vector<Column>& columns, BulkTable& target,
                  std::vector<MergedFile>& files, std::atomic<uint64_t>& done_bytes) {
  for (size_t rank = 0; rank < inputs.size(); ++rank) {
    std::optional<TableCopy> copy = plan_table(inputs[rank], name, columns, shifts[rank]);
    if (!copy) continue;
    std::vector<int64_t> texts;
    if (copy->table != name) {
      Result<std::vector<int64_t>> ids = argument_ids(inputs[rank].path);
      if (!ids.ok()) return ids.error();
      texts = std::move(*ids);
      copy->conditions.push_back({0, [finder = RowFinder(texts)](int64_t id) mutable {
                                    return finder.find(id) != kNoRow;
                                  }});
    }
    const uint64_t before = target.rows();
    if (Status s = copy_rows(inputs[rank].path, *copy, target, done_bytes); !s.ok()) return s;
    const uint64_t rows = target.rows() - before;
    if (name == "rocpd_api") files[rank].calls = rows;
    if (name == "rocpd_op") files[rank].ops = rows;
    std::atomic_ref(files[rank].rows) += rows;  // tables are filled at the same time
  }
  return {};
}

using Tables = std::map<std::string, std::vector<Column>>;

// Our own tables as the inputs have them, the columns of all inputs together.
Tables wavetap_tables(const std::vector<Input>& inputs) {
  Tables tables;
  for (const Input& input : inputs)
    for (const auto& [name, columns] : input.tables) {
      if (!name.starts_with("wavetap_")) continue;
      std::vector<Column>& all = tables[name];
      for (const Column& column : columns)
        if (std::none_of(all.begin(), all.end(),
                         [&](const Column& c) { return c.name == column.name; }))
          all.push_back(column);
    }
  return tables;
}

// Makes the tables of the new file; `tables` gets all that are to be filled.
Status create_tables(Db& db, const std::vector<Input>& inputs, Tables& tables) {
  if (Status s = create_schema(db); !s.ok()) return s;
  tables = wavetap_tables(inputs);
  for (const auto& [name, columns] : tables) {
    if (columns.size() > BulkTable::kMaxColumns)
      return errorf("%s: %zu columns, this build carries %zu; merge with the version that wrote it",
                    name.c_str(), columns.size(), BulkTable::kMaxColumns);
    std::string list;
    for (const Column& column : columns)
      list += (list.empty() ? "" : ", ") + quoted_name(column.name) + " " +
              (column.is_key ? "integer primary key" : column.type);
    if (Status s = db.exec("create table " + quoted_name(name) + " (" + list + ")"); !s.ok())
      return s;
  }
  for (const TableSpec& table : all_tables()) {
    if (!table.is_rpd() || &table == &table_of<rows::Metadata>()) continue;
    Result<std::vector<Column>> columns = columns_of(db, table.name);
    if (!columns.ok()) return columns.error();
    tables[table.name] = std::move(*columns);
  }
  return create_indexes(db);
}

// Strides that keep ranks apart: powers of ten above anything in the files, at least RPD's.
struct Strides {
  int64_t pid = 10'000'000, gpu = 1000;
};

Result<Strides> find_strides(const std::vector<Input>& inputs) {
  Strides strides;
  constexpr int64_t kLargestStride = 1'000'000'000'000'000;
  for (const Input& input : inputs) {
    if (input.max_pid >= kLargestStride || input.max_gpu >= kLargestStride)
      return errorf(
          "%s: process or GPU numbers up to %lld leave no room for ranks; the file is damaged",
          input.path.c_str(), static_cast<long long>(std::max(input.max_pid, input.max_gpu)));
    while (input.max_pid >= strides.pid) strides.pid *= 10;
    while (input.max_gpu >= strides.gpu) strides.gpu *= 10;
  }
  return strides;
}

void add_metadata(const std::vector<Input>& inputs, const std::vector<MergedFile>& files,
                  const Strides& strides, int64_t sessions, TraceWriter& writer) {
  bool emulated = false;
  int64_t losses = 0;
  for (const Input& input : inputs) {
    emulated = emulated || text_of(input, "emulated") == "1";
    losses += number_of(input, "losses").value_or(0);
  }
  writer.add_metadata("pid_stride", std::to_string(strides.pid));
  writer.add_metadata("gpu_stride", std::to_string(strides.gpu));
  writer.add_metadata("session_count", std::to_string(sessions));
  writer.add_metadata("producer", "wavetap " WAVETAP_VERSION);
  if (emulated) writer.add_metadata("emulated", "1");
  writer.add_metadata("losses", std::to_string(losses));
  // Times are of the first file's clock.
  for (const char* tag : {"epoch_offset_ns", "boot_id", "hostname"})
    if (const std::string value = text_of(inputs[0], tag); !value.empty())
      writer.add_metadata(tag, value);
  for (size_t rank = 0; files.size() > 1 && rank < files.size(); ++rank)
    writer.add_metadata("merged::" + std::to_string(rank),
                        files[rank].path + " shift " + std::to_string(files[rank].shift_ns) +
                            " by " + files[rank].method);
}

// Where the ids, processes, GPUs and times of each file go.
Result<std::vector<Shift>> plan_shifts(const std::vector<Input>& inputs, const Strides& strides,
                                       Align how, std::vector<MergedFile>& files,
                                       int64_t& sessions) {
  std::vector<Shift> shifts;
  for (const Input& input : inputs) {
    MergedFile file;
    file.path = input.path;
    file.newer_schema = input.newer_schema;
    align(inputs[0], input, how, file);
    const auto rank = static_cast<int64_t>(shifts.size());
    shifts.push_back({.id = sessions << kSessionShift,
                      .time = file.shift_ns,
                      .pid = rank * strides.pid,
                      .gpu = rank * strides.gpu,
                      .session = sessions});
    sessions += input.sessions;
    if (sessions > INT32_MAX)
      return errorf("%s: its ids leave no room for those of other files; the file is damaged",
                    input.path.c_str());
    files.push_back(std::move(file));
  }
  return shifts;
}

Status fill(const std::string& part, const std::vector<Input>& inputs, const MergeOptions& options,
            std::vector<MergedFile>& files) {
  Result<Strides> strides = find_strides(inputs);
  if (!strides.ok()) return strides.error();
  int64_t sessions = 0;
  Result<std::vector<Shift>> shifts = plan_shifts(inputs, *strides, options.align, files, sessions);
  if (!shifts.ok()) return shifts.error();
  find_conflicts(inputs, files);
  Tables tables;
  Result<TraceWriter> writer = TraceWriter::create(
      part, [&](Db& db) -> Status { return create_tables(db, inputs, tables); });
  if (!writer.ok()) return writer.error();

  std::atomic<uint64_t> done_bytes = 0;
  std::vector<std::function<Status()>> jobs;
  for (const auto& table : tables) {
    const std::string& name = table.first;
    BulkTable* target = writer->table(name);
    if (target == nullptr) return errorf("%s: no table %s", part.c_str(), name.c_str());
    const auto job = [&, target] {
      return fill_table(inputs, *shifts, name, table.second, *target, files, done_bytes);
    };
    // The longest first.
    if (name == "rocpd_api" || name == "rocpd_ustring") jobs.insert(jobs.begin(), job);
    else jobs.push_back(job);
  }
  uint64_t total_bytes = 1;
  for (const Input& input : inputs) total_bytes += input.bytes;
  const auto progress = [&](uint64_t bytes) {
    if (options.progress)
      options.progress(
          std::min(1.0, static_cast<double>(bytes) / static_cast<double>(total_bytes)));
  };
  if (Status s = run_jobs(jobs, done_bytes, progress); !s.ok()) return s;
  add_metadata(inputs, files, *strides, sessions, *writer);
  // The schema's own strides make way for those of the ranks.
  return writer->finish({"delete from rocpd_metadata where tag in ('pid_stride', 'gpu_stride')"});
}

Result<std::vector<MergedFile>> write_merged(const std::vector<std::string>& paths,
                                             const std::string& output,
                                             const MergeOptions& options) {
  std::vector<Input> inputs(paths.size());
  std::vector<std::function<Status()>> jobs;
  for (size_t i = 0; i < paths.size(); ++i)
    jobs.push_back([&, i]() -> Status {
      Result<Input> input = inspect(paths[i]);
      if (!input.ok()) return input.error();
      inputs[i] = std::move(*input);
      return {};
    });
  if (Status s = run_jobs(jobs, /*done_bytes=*/0, nullptr); !s.ok()) return s.error();
  std::vector<MergedFile> files;
  const Status made = make_whole(output, /*overwrite=*/false, [&](const std::string& part) {
    return fill(part, inputs, options, files);
  });
  if (!made.ok()) return made.error();
  return files;
}

}  // namespace

Result<std::vector<MergedFile>> merge_traces(const std::vector<std::string>& paths,
                                             const std::string& output,
                                             const MergeOptions& options) {
  if (paths.size() < 2) return errorf("merge: %zu input; give at least two", paths.size());
  return write_merged(paths, output, options);
}

Result<MergedFile> convert_trace(const std::string& input, const std::string& output) {
  Result<std::vector<MergedFile>> files = write_merged({input}, output, {.align = Align::kNone});
  if (!files.ok()) return files.error();
  return (*files)[0];
}

}  // namespace wavetap::store
