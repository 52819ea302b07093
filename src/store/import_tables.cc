#include "store/import_tables.h"

#include <fmt/format.h>

#include "store/schema.h"
#include "store/sqlite.h"

namespace wavetap::store {
namespace {

// Addresses are texts, "0x7f00": SQLite's integers are signed. Times are ns of the same clock as
// rocpd_api's.
constexpr const char* kTables = R"sql(
create table wavetap_process (session integer primary key, pid integer, parent integer, start integer, end integer,
  executable text, command text, hostname text, agent text, emulated integer, exited integer);
create table wavetap_thread (id integer primary key, pid integer, tid integer, name text);
create table wavetap_library (id integer primary key, pid integer, time integer, path text, soname text, build_id text,
  answers_for text, how text);
create table wavetap_device (id integer primary key, name text, product text, uuid text, compute_units integer,
  clock_mhz integer, wavefront integer, pci text, memory_bytes integer, peak_bytes integer, peak_time integer);
create table wavetap_device_figure (id integer primary key, pid integer, gpuId integer, pci text, layer text, field text,
  value text, told text);
create table wavetap_queue (id integer primary key, pid integer, gpuId integer, kind text, address text, size integer,
  created integer, destroyed integer);
create table wavetap_code_object (id integer primary key, pid integer, gpuId integer, target text, uri text, bytes integer,
  address text, loaded integer, unloaded integer);
create table wavetap_kernel (id integer primary key, pid integer, code_object_id integer, name text, mangled text,
  internal integer, vgprs integer, agprs integer, sgprs integer, vgpr_spills integer, sgpr_spills integer,
  lds_bytes integer, scratch_bytes integer, kernarg_bytes integer, wavefront integer);
create table wavetap_dispatch (op_id integer primary key, kernel_id integer, submitted integer, gridX integer, gridY integer,
  gridZ integer, workgroupX integer, workgroupY integer, workgroupZ integer, lds_bytes integer, dynamic_lds_bytes integer,
  scratch_bytes integer, kernarg_address text, kernarg blob, node integer, barrier integer, timed integer,
  by_order integer);
create table wavetap_allocation (id integer primary key, pid integer, api_id integer, gpuId integer, kind text, address text,
  bytes integer, start integer, end integer);
create table wavetap_inflight (id integer primary key, pid integer, api_id integer, kind text, gpuId integer, queueId integer,
  submitted integer, name text, gridX integer, gridY integer, gridZ integer, workgroupX integer, workgroupY integer,
  workgroupZ integer, args text);
create table wavetap_open_call (id integer primary key, pid integer, tid integer, name text, start integer);
create table wavetap_fault (id integer primary key, pid integer, time integer, gpuId integer, queueId integer, address text,
  reason integer, what text, owner text);
create table wavetap_control (id integer primary key, pid integer, time integer, event text, by_pid integer, count integer);
create table wavetap_loss (id integer primary key, pid integer, time integer, reason text, count integer, what text);
)sql";

}  // namespace

Status create_wavetap_tables(Db& db) { return db.exec(kTables); }

Status create_import_file(const std::string& path) {
  Result<Db> db = Db::create(path);
  if (!db.ok()) return db.error();
  if (Status s =
          db->exec("pragma page_size = 4096; pragma journal_mode = off; pragma synchronous = off");
      !s.ok())
    return s;
  if (Status s = create_schema(*db); !s.ok()) return s;
  if (Status s = create_wavetap_tables(*db); !s.ok()) return s;
  return create_indexes(*db);
}

Result<std::unique_ptr<ImportFile>> ImportFile::open(const std::string& path) {
  Result<BulkWriter> bulk = BulkWriter::open(path);
  if (!bulk.ok()) return bulk.error();
  auto file = std::make_unique<ImportFile>();
  file->path_ = path;
  file->bulk_ = std::move(*bulk);
  const std::pair<BulkTable**, const char*> tables[] = {
      {&file->string, "rocpd_string"},
      {&file->ustring, "rocpd_ustring"},
      {&file->api, "rocpd_api"},
      {&file->kernelapi, "rocpd_kernelapi"},
      {&file->copyapi, "rocpd_copyapi"},
      {&file->op, "rocpd_op"},
      {&file->api_ops, "rocpd_api_ops"},
      {&file->monitor, "rocpd_monitor"},
      {&file->stackframe, "rocpd_stackframe"},
      {&file->dispatch, "wavetap_dispatch"},
      {&file->allocation, "wavetap_allocation"},
  };
  for (const auto& [slot, name] : tables) {
    *slot = file->bulk_.table(name);
    if (*slot == nullptr) return errorf("%s: no table %s", path.c_str(), name);
  }
  return file;
}

uint64_t ImportFile::rows() const {
  uint64_t rows = 0;
  for (const BulkTable* table : {string, ustring, api, kernelapi, copyapi, op, api_ops, monitor,
                                 stackframe, dispatch, allocation})
    rows += table->rows();
  for (const auto& [table, list] : rows_) rows += list.size();
  return rows;
}

Status ImportFile::finish() {
  if (Status s = bulk_.finish(); !s.ok()) return s;
  Result<Db> db = Db::open_read_write(path_);
  if (!db.ok()) return db.error();
  if (Status s = db->exec("pragma journal_mode = off; pragma synchronous = off; pragma cache_size "
                          "= -65536; pragma temp_store = memory; begin");
      !s.ok())
    return s;
  for (const auto& [table, rows] : rows_) {
    std::string sql = "insert into " + table + " values (?";
    for (size_t i = 1; i < rows[0].size(); ++i) sql += ", ?";
    Result<Stmt> stmt = db->prepare(sql + ")");
    if (!stmt.ok()) return stmt.error();
    for (const std::vector<Cell>& cells : rows) {
      for (size_t i = 0; i < cells.size(); ++i) {
        const int index = static_cast<int>(i) + 1;
        if (const auto* number = std::get_if<int64_t>(&cells[i])) stmt->bind(index, *number);
        else if (const auto* text = std::get_if<std::string>(&cells[i]))
          stmt->bind(index, std::string_view(*text));
        else stmt->bind_null(index);
      }
      if (!stmt->run()) return stmt->status();
    }
  }
  Result<Stmt> stmt = db->prepare("insert into rocpd_metadata (tag, value) values (?, ?)");
  if (!stmt.ok()) return stmt.error();
  for (const auto& [tag, value] : metadata_) {
    stmt->bind(1, std::string_view(tag));
    stmt->bind(2, std::string_view(value));
    if (!stmt->run()) return stmt->status();
  }
  return db->exec("commit");
}

int64_t SessionStrings::id(std::string_view text) {
  const auto [at, added] =
      ids_.try_emplace(std::string(text), offset_ + static_cast<int64_t>(texts_.size()) + 1);
  if (added) texts_.push_back(&at->first);
  return at->second;
}

void SessionStrings::write(BulkTable& table) const {
  for (size_t i = 0; i < texts_.size(); ++i) {
    table.begin(offset_ + static_cast<int64_t>(i) + 1);
    table.null();
    table.text(*texts_[i]);
    table.end();
  }
}

}  // namespace wavetap::store
