// rocpd: rocprofv3's SQLite databases. Tables carry the suffix of the process that wrote them; a file may hold
// those of several. Versions differ in columns, so columns are asked, never the version: before 4.0 a row names
// its process, thread, queue and stream, from then on its track does.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "foreign/recording.h"
#include "store/sqlite.h"

namespace wavetap::foreign {
namespace {

using store::Db;
using store::Stmt;

constexpr std::string_view kPrefix = "rocpd_";

// One table, its columns by name.
class Table {
 public:
  static Result<Table> open(Db& db, const std::string& name) {
    Table table;
    Result<Stmt> all = db.prepare("select * from " + store::quoted_name(name));
    if (!all.ok()) return all.error();
    table.stmt_ = std::move(*all);
    table.name_ = name;
    for (int i = 0; i < table.stmt_.columns(); ++i) table.columns_[table.stmt_.column_name(i)] = i;
    return table;
  }

  bool next() {
    ++row_;
    return stmt_.step();
  }
  const Status& status() const { return stmt_.status(); }
  std::string where() const { return name_ + " row " + std::to_string(row_); }
  bool has(const char* column) const { return columns_.contains(column); }
  int64_t number(const char* column) const {
    const auto found = columns_.find(column);
    return found == columns_.end() ? 0 : stmt_.int64(found->second);
  }
  double real(const char* column) const {
    const auto found = columns_.find(column);
    return found == columns_.end() ? 0 : stmt_.real(found->second);
  }
  std::string text(const char* column) const {
    const auto found = columns_.find(column);
    return found == columns_.end() ? "" : std::string(stmt_.text(found->second));
  }
  bool is_null(const char* column) const {
    const auto found = columns_.find(column);
    return found == columns_.end() || stmt_.is_null(found->second);
  }

 private:
  Stmt stmt_;
  std::string name_;
  uint64_t row_ = 0;
  std::unordered_map<std::string, int> columns_;
};

struct Symbol {
  std::string name;
  int64_t vgprs = 0, agprs = 0, sgprs = 0;
};
struct Track {
  int64_t pid = 0, tid = 0, queue = 0, stream = 0;
};
struct Event {
  int64_t correlation = 0, stack = 0, category = 0;
};

// The tables of one suffix.
class RocpdReader {
 public:
  RocpdReader(Db& db, const std::string& path, const std::string& suffix,
              const std::set<std::string>& tables, Recording& to)
      : db_(db), path_(path), suffix_(suffix), tables_(tables), to_(to) {}

  Status read() {
    using Step = void (RocpdReader::*)(Table&);
    const std::pair<const char*, Step> steps[] = {{"string", &RocpdReader::string},
                                                  {"info_node", &RocpdReader::node},
                                                  {"info_process", &RocpdReader::process},
                                                  {"info_thread", &RocpdReader::thread},
                                                  {"info_agent", &RocpdReader::agent},
                                                  {"info_kernel_symbol", &RocpdReader::symbol},
                                                  {"info_category", &RocpdReader::category},
                                                  {"info_pmc", &RocpdReader::pmc},
                                                  {"track", &RocpdReader::track},
                                                  {"event", &RocpdReader::event},
                                                  {"region", &RocpdReader::region},
                                                  {"kernel_dispatch", &RocpdReader::kernel},
                                                  {"memory_copy", &RocpdReader::copy},
                                                  {"memory_allocate", &RocpdReader::allocation},
                                                  {"pmc_event", &RocpdReader::counter}};
    for (const auto& [name, step] : steps) {
      const std::string table_name = std::string(kPrefix) + name + suffix_;
      if (!tables_.contains(table_name)) continue;
      Result<Table> table = Table::open(db_, table_name);
      if (!table.ok()) return damaged(table_name, table.error());
      while (table->next()) (this->*step)(*table);
      if (!table->status().ok()) return damaged(table->where(), table->status().error());
    }
    // Values of instances are summed by now.
    for (const auto& [event, values] : counters_) {
      const auto dispatch = dispatch_of_event_.find(event);
      if (dispatch == dispatch_of_event_.end()) {
        to_.lose(path_, "counters of an event that no dispatch has");
        continue;
      }
      to_.dispatches[dispatch->second].counters = values;
    }
    return {};
  }

 private:
  Status damaged(const std::string& where, const Error& error) const {
    return errorf("%s: %s: %s", path_.c_str(), where.c_str(), error.message.c_str());
  }
  std::string name_of(int64_t id) const {
    const auto found = strings_.find(id);
    return found == strings_.end() ? "" : found->second;
  }
  std::string scope(int64_t pid) const { return path_ + suffix_ + "#" + std::to_string(pid); }
  std::string gpu(int64_t agent) const { return gpu_key(agent); }
  // GPUs of one machine are the same for all its processes.
  std::string gpu_key(int64_t agent) const {
    const auto found = agents_.find(agent);
    return found == agents_.end() ? "" : found->second;
  }

  // Process, thread, queue and stream: of the row, else of its track.
  Track place(const Table& t) const {
    if (t.has("track_id")) {
      const auto found = tracks_.find(t.number("track_id"));
      return found == tracks_.end() ? Track{} : found->second;
    }
    return {t.number("pid"), t.number("tid"), t.number("queue_id"), t.number("stream_id")};
  }
  int64_t real_tid(int64_t id) const {
    const auto found = threads_.find(id);
    return found == threads_.end() ? id : found->second;
  }
  bool times(const Table& t, int64_t& start, int64_t& end) {
    start = t.number("start"), end = t.number("end");
    if (end >= start) return true;
    to_.lose(path_ + ": " + t.where(), "ends before it begins");
    return false;
  }
  Event event_of(const Table& t) const {
    const auto found = events_.find(t.number("event_id"));
    return found == events_.end() ? Event{} : found->second;
  }
  // Calls and what they started share the stack id; older files the correlation id.
  static int64_t link(const Event& event) {
    return event.stack != 0 ? event.stack : event.correlation;
  }

  void string(Table& t) { strings_[t.number("id")] = t.text("string"); }
  void node(Table& t) { hosts_[t.number("id")] = t.text("hostname"); }
  void process(Table& t) {
    const int64_t id = t.number("id");
    Process& made = to_.processes[scope(id)];
    made.pid = t.number("pid");
    made.command = t.text("command");
    const auto host = hosts_.find(t.number("nid"));
    if (host != hosts_.end()) made.hostname = host->second;
  }
  void thread(Table& t) { threads_[t.number("id")] = t.number("tid"); }
  void agent(Table& t) {
    if (t.text("type") != "GPU") return;
    const auto host = hosts_.find(t.number("nid"));
    std::string key = host == hosts_.end() ? "" : host->second;
    key += "/" + (t.text("uuid").empty() || t.number("uuid") == 0
                      ? std::to_string(t.number("absolute_index"))
                      : t.text("uuid"));
    agents_[t.number("id")] = key;
    Gpu& made = to_.gpus[key];
    made.target = t.text("name");
    made.product = t.text("product_name");
    if (made.product.empty()) made.product = t.text("model_name");
  }
  void symbol(Table& t) {
    Symbol& made = symbols_[t.number("id")];
    for (const char* const column :
         {"truncated_kernel_name", "kernel_name", "formatted_kernel_name", "display_name"})
      if (const std::string name = t.text(column); !name.empty()) made.name = name;
    made.vgprs = t.number("arch_vgpr_count");
    made.agprs = t.number("accum_vgpr_count");
    made.sgprs = t.number("sgpr_count");
  }
  void category(Table& t) {
    categories_[t.number("id")] = t.has("name") ? t.text("name") : name_of(t.number("name_id"));
  }
  void pmc(Table& t) {
    pmcs_[t.number("id")] = t.text("symbol").empty() ? t.text("name") : t.text("symbol");
  }
  void track(Table& t) {
    tracks_[t.number("id")] = {t.number("pid"), t.number("tid"), t.number("queue_id"),
                               t.number("stream_id")};
  }
  void event(Table& t) {
    events_[t.number("id")] = {t.number("correlation_id"), t.number("stack_id"),
                               t.number("category_id")};
  }

  void region(Table& t) {
    Call c;
    if (!times(t, c.start, c.end)) return;
    const Track at = place(t);
    const Event event = event_of(t);
    c.scope = scope(at.pid);
    to_.processes[c.scope];
    c.tid = real_tid(at.tid);
    c.name = t.has("name_id") ? name_of(t.number("name_id")) : t.text("name");
    const auto category = categories_.find(event.category);
    const std::string of =
        category != categories_.end() ? category->second : name_of(event.category);
    c.is_marker = of.find("MARKER") != std::string::npos;
    c.domain = of.starts_with("HIP") ? "hip" : of.starts_with("HSA") ? "hsa" : of;
    c.correlation = link(event);
    to_.calls.push_back(std::move(c));
  }

  void kernel(Table& t) {
    int64_t start = 0, end = 0;
    if (!times(t, start, end)) return;
    const Track at = place(t);
    const auto symbol = symbols_.find(t.number("kernel_id"));
    const std::string name = symbol == symbols_.end()
                                 ? "kernel " + std::to_string(t.number("kernel_id"))
                                 : symbol->second.name;
    const std::string in = scope(at.pid);
    to_.processes[in];
    Dispatch& d = to_.dispatch(in, t.number("id"), name);
    d.start = start, d.end = end;
    d.number = t.number("dispatch_id");
    d.gpu = gpu(t.number("agent_id"));
    to_.gpus[d.gpu];
    d.tid = real_tid(at.tid);
    d.queue = std::to_string(at.queue);
    d.stream = at.stream;
    d.correlation = link(event_of(t));
    d.lds_bytes = t.number("group_segment_size");
    d.scratch_bytes = t.number("private_segment_size");
    const char* const grid[] = {"grid_size_x", "grid_size_y", "grid_size_z"};
    const char* const group[] = {"workgroup_size_x", "workgroup_size_y", "workgroup_size_z"};
    for (int axis = 0; axis < 3; ++axis) {
      d.grid[axis] = std::max<int64_t>(t.number(grid[axis]), 1);
      d.workgroup[axis] = std::max<int64_t>(t.number(group[axis]), 1);
    }
    if (symbol != symbols_.end()) {
      d.vgprs = symbol->second.vgprs;
      d.agprs = symbol->second.agprs;
      d.sgprs = symbol->second.sgprs;
    }
    dispatch_of_event_[t.number("event_id")] = static_cast<size_t>(&d - to_.dispatches.data());
  }

  void copy(Table& t) {
    Copy c;
    if (!times(t, c.start, c.end)) return;
    const Track at = place(t);
    c.scope = scope(at.pid);
    to_.processes[c.scope];
    const std::string to = gpu(t.number("dst_agent_id")), from = gpu(t.number("src_agent_id"));
    c.kind = !to.empty() && !from.empty() ? "CopyDeviceToDevice"
             : !to.empty()                ? "CopyHostToDevice"
             : !from.empty()              ? "CopyDeviceToHost"
                                          : copy_kind(name_of(t.number("name_id")));
    c.gpu = !to.empty() ? to : from;
    c.bytes = t.number("size");
    c.stream = at.stream;
    c.correlation = link(event_of(t));
    to_.copies.push_back(std::move(c));
  }

  void allocation(Table& t) {
    Allocation a;
    if (t.text("type") == "FREE" || !times(t, a.start, a.end)) return;
    const Track at = place(t);
    a.scope = scope(at.pid);
    to_.processes[a.scope];
    a.gpu = gpu(t.number("agent_id"));
    a.bytes = t.number("size");
    a.address = static_cast<uint64_t>(t.number("address"));
    a.correlation = link(event_of(t));
    to_.allocations.push_back(std::move(a));
  }

  // Streamed samples belong to a moment, not to a dispatch.
  void counter(Table& t) {
    if (t.has("sample_id") && !t.is_null("sample_id")) return;
    const auto name = pmcs_.find(t.number("pmc_id"));
    if (name == pmcs_.end()) return to_.lose(path_ + ": " + t.where(), "names no counter");
    counters_[t.number("event_id")][name->second] += t.real("value");
  }

  Db& db_;
  const std::string& path_;
  const std::string suffix_;
  const std::set<std::string>& tables_;
  Recording& to_;
  std::unordered_map<int64_t, std::string> strings_, hosts_, agents_, categories_, pmcs_;
  std::unordered_map<int64_t, int64_t> threads_;
  std::unordered_map<int64_t, Symbol> symbols_;
  std::unordered_map<int64_t, Track> tracks_;
  std::unordered_map<int64_t, Event> events_;
  std::unordered_map<int64_t, size_t> dispatch_of_event_;
  std::map<int64_t, std::map<std::string, double>> counters_;  // by event
};

}  // namespace

Status read_rocpd(const std::string& path, Recording& recording) {
  Result<Db> db = Db::open_read_only(path);
  if (!db.ok()) return db.error();
  Result<Stmt> list = db->prepare("select name from sqlite_master where type in ('table', 'view')");
  if (!list.ok()) return list.error();
  std::set<std::string> tables;
  while (list->step()) tables.insert(std::string(list->text(0)));
  if (!list->status().ok())
    return errorf("%s: list of tables: %s", path.c_str(), list->status().error().message.c_str());
  std::set<std::string> suffixes;
  constexpr std::string_view kKernels = "rocpd_kernel_dispatch", kRegions = "rocpd_region";
  for (const std::string& table : tables)
    for (const std::string_view start : {kKernels, kRegions})
      if (table.starts_with(start)) suffixes.insert(table.substr(start.size()));
  // The plain names are views over all; without them the tables have no suffix.
  if (suffixes.size() > 1) suffixes.erase("");
  if (suffixes.empty())
    return errorf("%s: has no rocpd_kernel_dispatch; it is not a database of rocprofv3",
                  path.c_str());
  ++recording.files;
  for (const std::string& suffix : suffixes)
    if (const Status read = RocpdReader(*db, path, suffix, tables, recording).read(); !read.ok())
      return read;
  return {};
}

}  // namespace wavetap::foreign
