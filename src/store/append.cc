#include "store/append.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "store/column_meaning.h"
#include "store/schema.h"
#include "store/sqlite.h"

namespace wavetap::store {
namespace {

struct AppendColumn {
  std::string name, type;
  bool is_key = false;
};
using AppendTables = std::map<std::string, std::vector<AppendColumn>>;

// What is added to the numbers of the new sessions.
struct Moves {
  int64_t id = 0, session = 0, time = 0, pid = 0, queue = 0;
  std::map<int64_t, int64_t> gpus;  // those whose number changes
};

class Append {
 public:
  explicit Append(Db& db) : db_(db) {}

  Result<AppendResult> run() {
    for (Status (Append::*step)() :
         {&Append::inspect, &Append::find_time_shift, &Append::find_pid_shift, &Append::find_gpus,
          &Append::copy_tables, &Append::write_metadata})
      if (Status s = (this->*step)(); !s.ok()) return s.error();
    return result_;
  }

 private:
  int64_t number(const std::string& sql) {
    Result<int64_t> value = db_.query_int(sql);
    return value.ok() ? *value : 0;
  }
  std::string metadata(const char* database, const char* tag) {
    Result<Stmt> rows = db_.prepare(std::string("select value from ") + database +
                                    ".rocpd_metadata where tag = ? order by id desc limit 1");
    if (!rows.ok()) return "";
    rows->bind(1, std::string_view(tag));
    return rows->step() ? std::string(rows->text(0)) : "";
  }

  Result<AppendTables> tables_of(const char* database);
  bool has_column(const AppendTables& tables, const std::string& table, const char* column) const;
  std::string moved(const std::string& table, const std::string& column) const;

  Status inspect();
  Status find_time_shift();
  Status find_pid_shift();
  Status find_gpus();
  Status adapt_table(const std::string& name, const std::vector<AppendColumn>& columns);
  Status copy_tables();
  Status write_metadata();

  Db& db_;
  AppendTables before_, added_;
  bool same_machine_ = false;
  Moves moves_;
  AppendResult result_;
};

Result<AppendTables> Append::tables_of(const char* database) {
  Result<Stmt> names = db_.prepare(std::string("select name from ") + database +
                                   ".sqlite_master where type = 'table'");
  if (!names.ok()) return names.error();
  AppendTables tables;
  while (names->step())
    if (const std::string name(names->text(0)); is_trace_table(name)) tables[name];
  if (!names->status().ok()) return names->status().error();
  for (auto& [name, columns] : tables) {
    Result<Stmt> rows =
        db_.prepare("select name, type, pk from pragma_table_info(?, ?) order by cid");
    if (!rows.ok()) return rows.error();
    rows->bind(1, std::string_view(name));
    rows->bind(2, std::string_view(database));
    while (rows->step())
      columns.push_back(
          {std::string(rows->text(0)), std::string(rows->text(1)), rows->int64(2) == 1});
    if (!rows->status().ok()) return rows->status().error();
  }
  return tables;
}

bool Append::has_column(const AppendTables& tables, const std::string& table,
                        const char* column) const {
  const auto found = tables.find(table);
  return found != tables.end() &&
         std::any_of(found->second.begin(), found->second.end(),
                     [&](const AppendColumn& c) { return c.name == column; });
}

// Which tables there are, and how many sessions the file uses.
Status Append::inspect() {
  Result<AppendTables> before = tables_of("main"), added = tables_of("added");
  if (!before.ok()) return before.error();
  if (!added.ok()) return added.error();
  before_ = std::move(*before);
  added_ = std::move(*added);
  int64_t highest = 0;
  for (const auto& [table, columns] : before_)
    for (const AppendColumn& column : columns) {
      const Meaning meaning = meaning_of(table, column.name);
      if (!column.is_key || meaning == Meaning::kPlain || meaning == Meaning::kGpu ||
          meaning == Meaning::kSession)
        continue;
      highest = std::max(highest, number("select coalesce(max(" + quoted_name(column.name) +
                                         "), 0) from main." + quoted_name(table)));
    }
  const int64_t counted = std::strtoll(metadata("main", "session_count").c_str(), nullptr, 10);
  const bool is_empty = highest == 0;
  moves_.session =
      std::max((highest >> kSessionShift) + (is_empty ? 0 : 1),
               has_column(before_, "wavetap_process", "session")
                   ? number("select coalesce(max(session) + 1, 0) from wavetap_process")
                   : 0);
  moves_.session = std::max(moves_.session, counted);
  if (moves_.session > INT32_MAX)
    return errorf("%s: its ids leave no room for more; name another file with -o",
                  db_.path().c_str());
  moves_.id = moves_.session << kSessionShift;
  result_.calls_before = static_cast<uint64_t>(number("select count(*) from main.rocpd_api"));
  result_.ops_before = static_cast<uint64_t>(number("select count(*) from main.rocpd_op"));
  return {};
}

Status Append::find_time_shift() {
  const std::string here = metadata("added", "boot_id"), there = metadata("main", "boot_id");
  same_machine_ = metadata("added", "hostname") == metadata("main", "hostname") || here == there;
  const std::string new_offset = metadata("added", "epoch_offset_ns"),
                    old_offset = metadata("main", "epoch_offset_ns");
  result_.method = "same clock";
  // RPD's files name no boot: their times are CLOCK_MONOTONIC of some boot of this machine.
  if (there.empty() || here == there) return {};
  if (new_offset.empty() || old_offset.empty()) return {};
  moves_.time =
      std::strtoll(new_offset.c_str(), nullptr, 10) - std::strtoll(old_offset.c_str(), nullptr, 10);
  result_.method = "wall clock";
  return {};
}

// Numbers of processes are used again, by later processes and on other machines.
Status Append::find_pid_shift() {
  const int64_t stride =
      std::max<int64_t>(1, std::strtoll(metadata("main", "pid_stride").c_str(), nullptr, 10));
  // By a list of its own: the table has no index on processes.
  if (Status s =
          db_.exec("create temp table taken_pid as select distinct pid from main.rocpd_api; "
                   "create temp table added_pid as select distinct pid from added.rocpd_api");
      !s.ok())
    return s;
  if (before_.contains("wavetap_process"))
    if (Status s = db_.exec("insert into taken_pid select pid from main.wavetap_process"); !s.ok())
      return s;
  if (added_.contains("wavetap_process"))
    if (Status s = db_.exec("insert into added_pid select pid from added.wavetap_process"); !s.ok())
      return s;
  while (number("select count(*) from added_pid where pid + " + std::to_string(moves_.pid) +
                " in (select pid from taken_pid)") != 0)
    moves_.pid += stride;
  result_.renumbered = moves_.pid != 0;
  return {};
}

// A GPU that both files know has one number; queues are numbered on.
Status Append::find_gpus() {
  int64_t next = number("select coalesce(max(gpuId) + 1, 0) from main.rocpd_op");
  int64_t queues = number("select coalesce(max(queueId) + 1, 0) from main.rocpd_op");
  const bool has_devices = before_.contains("wavetap_device");
  if (has_devices)
    next = std::max(next, number("select coalesce(max(id) + 1, 0) from main.wavetap_device"));
  if (before_.contains("wavetap_queue"))
    queues = std::max(queues, number("select coalesce(max(id) + 1, 0) from main.wavetap_queue"));
  moves_.queue = queues;
  if (!added_.contains("wavetap_device") || !has_devices) return {};
  Result<Stmt> rows = db_.prepare(
      "select a.id, (select b.id from main.wavetap_device b where b.name is a.name and b.pci is "
      "a.pci and b.uuid is a.uuid and b.product is a.product limit 1) from added.wavetap_device a "
      "order by a.id");
  if (!rows.ok()) return rows.error();
  while (rows->step()) {
    const int64_t number_there = rows->int64(0);
    const bool known = same_machine_ && !rows->is_null(1);
    const int64_t number_here = known ? rows->int64(1) : next++;
    if (number_here != number_there) moves_.gpus[number_there] = number_here;
  }
  return rows->status();
}

// The value of a column of the added file in the new numbering, as SQL.
std::string Append::moved(const std::string& table, const std::string& column) const {
  const std::string name = quoted_name(column);
  const auto plus = [&](int64_t shift) {
    return shift == 0 ? name : name + " + " + std::to_string(shift);
  };
  switch (meaning_of(table, column)) {
    case Meaning::kPlain: break;
    case Meaning::kProcess: return plus(moves_.pid);
    case Meaning::kSession: return plus(moves_.session);
    case Meaning::kTime:
      if (!table.starts_with("wavetap_") || moves_.time == 0) return plus(moves_.time);
      return "case when " + name + " = 0 then 0 else " + plus(moves_.time) + " end";
    case Meaning::kGpu:
      if (column == "queueId" || (table == "wavetap_queue" && column == "id"))
        return plus(moves_.queue);
      break;
    default: return plus(moves_.id);
  }
  const bool is_gpu = meaning_of(table, column) == Meaning::kGpu ||
                      (table == "rocpd_copyapi" && column.ends_with("Device"));
  if (!is_gpu || moves_.gpus.empty()) return name;
  std::string text = "case " + name;
  for (const auto& [from, to] : moves_.gpus)
    text += " when " + std::to_string(from) + " then " + std::to_string(to);
  return text + " else " + name + " end";
}

// The table as `added` has it: made, or given the columns it lacks.
Status Append::adapt_table(const std::string& name, const std::vector<AppendColumn>& columns) {
  const auto found = before_.find(name);
  if (found == before_.end()) {
    std::string list;
    for (const AppendColumn& column : columns)
      list += (list.empty() ? "" : ", ") + quoted_name(column.name) + " " +
              (column.is_key ? "integer primary key" : column.type);
    return db_.exec("create table main." + quoted_name(name) + " (" + list + ")");
  }
  for (const AppendColumn& column : columns) {
    if (has_column(before_, name, column.name.c_str())) continue;
    if (Status s = db_.exec("alter table main." + quoted_name(name) + " add column " +
                            quoted_name(column.name) + " " + column.type);
        !s.ok())
      return s;
  }
  return {};
}

Status Append::copy_tables() {
  for (const auto& [name, columns] : added_) {
    if (name == "rocpd_metadata") continue;
    if (Status s = adapt_table(name, columns); !s.ok()) return s;
    std::string to, from;
    for (const AppendColumn& column : columns) {
      to += (to.empty() ? "" : ", ") + quoted_name(column.name);
      from += (from.empty() ? "" : ", ") + moved(name, column.name);
    }
    // A GPU that is there already keeps its row.
    const std::string conflict = name == "wavetap_device" ? " on conflict do nothing" : "";
    if (Status s = db_.exec("insert into main." + quoted_name(name) + " (" + to + ") select " +
                            from + " from added." + quoted_name(name) + " where true" + conflict);
        !s.ok())
      return s;
  }
  return create_indexes(db_);
}

Status Append::write_metadata() {
  const auto sum = [&](const char* tag) {
    return std::strtoll(metadata("main", tag).c_str(), nullptr, 10) +
           std::strtoll(metadata("added", tag).c_str(), nullptr, 10);
  };
  std::map<std::string, std::string> values;
  values["session_count"] = std::to_string(
      moves_.session +
      std::max<int64_t>(1, std::strtoll(metadata("added", "session_count").c_str(), nullptr, 10)));
  values["losses"] = std::to_string(sum("losses"));
  if (metadata("added", "emulated") == "1") values["emulated"] = "1";
  for (const char* tag : {"producer", "epoch_offset_ns", "boot_id", "hostname"})
    if (metadata("main", tag).empty()) values[tag] = metadata("added", tag);
  for (const auto& [tag, value] : values) {
    Result<Stmt> drop = db_.prepare("delete from main.rocpd_metadata where tag = ?");
    Result<Stmt> put = db_.prepare("insert into main.rocpd_metadata (tag, value) values (?, ?)");
    if (!drop.ok()) return drop.error();
    if (!put.ok()) return put.error();
    drop->bind(1, std::string_view(tag));
    put->bind(1, std::string_view(tag));
    put->bind(2, std::string_view(value));
    if (!drop->run()) return drop->status();
    if (!put->run()) return put->status();
  }
  return {};
}

}  // namespace

Result<AppendResult> append_trace(const std::string& file, const std::string& added) {
  Result<Db> db = Db::open_read_write(file);
  if (!db.ok()) return db.error();
  Result<int> version = schema_version(*db);
  if (!version.ok()) return version.error();
  if (*version != 3)
    return errorf(
        "%s: schema %d, which cannot be added to; wavetap import %s -o NEW makes one that can",
        file.c_str(), *version, file.c_str());
  Result<Stmt> attach = db->prepare("attach database ? as added");
  if (!attach.ok()) return attach.error();
  attach->bind(1, std::string_view(added));
  if (!attach->run()) return attach->status().error();
  // Others may be at the file for a moment: a viewer, RPD's own tracer.
  if (Status s =
          db->exec("pragma busy_timeout = 60000; pragma temp_store = memory; begin immediate");
      !s.ok())
    return s.error();
  Result<AppendResult> result = Append(*db).run();
  if (!result.ok()) {
    (void)db->exec("rollback");
    return result.error();
  }
  if (Status s = db->exec("commit"); !s.ok()) return s.error();
  return result;
}

std::string metadata_of(const std::string& file, const std::string& tag) {
  Result<Db> db = Db::open_read_only(file);
  if (!db.ok()) return "";
  Result<Stmt> rows =
      db->prepare("select value from rocpd_metadata where tag = ? order by id desc limit 1");
  if (!rows.ok()) return "";
  rows->bind(1, std::string_view(tag));
  return rows->step() ? std::string(rows->text(0)) : "";
}

Status set_metadata(const std::string& file, const std::string& tag, const std::string& value) {
  Result<Db> db = Db::open_read_write(file);
  if (!db.ok()) return db.error();
  Result<Stmt> put = db->prepare("insert into rocpd_metadata (tag, value) values (?, ?)");
  if (!put.ok()) return put.error();
  put->bind(1, std::string_view(tag));
  put->bind(2, std::string_view(value));
  put->run();
  return put->status();
}

}  // namespace wavetap::store
