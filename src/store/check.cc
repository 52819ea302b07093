#include "store/check.h"

#include "store/schema.h"
#include "store/sqlite.h"

namespace wavetap::store {
namespace {

// Each rule selects the id of every row that breaks it.
struct Rule {
  const char* what;
  const char* table;
  const char* sql;  // select id from … where <broken>
  bool is_error = true;
  int since = 2;  // schema version
};

constexpr Rule kRules[] = {
    {"rocpd_api: ends before it starts", "rocpd_api", "select id from rocpd_api where end < start"},
    {"rocpd_api: starts at or before zero", "rocpd_api",
     "select id from rocpd_api where start <= 0"},
    {"rocpd_api: its name is no string of the file", "rocpd_api",
     "select id from rocpd_api where apiName_id not in (select id from rocpd_string)"},
    {"rocpd_api: its domain or category is no string of the file", "rocpd_api",
     "select id from rocpd_api where domain_id not in (select id from rocpd_string) or "
     "category_id not in (select id from rocpd_string)",
     true, 3},
    {"rocpd_api: its arguments are no text of the file", "rocpd_ustring",
     "select id from rocpd_api where args_id not in (select id from rocpd_ustring)", true, 3},
    {"rocpd_op: ends before it starts", "rocpd_op", "select id from rocpd_op where end < start"},
    {"rocpd_op: its description or type is no string of the file", "rocpd_op",
     "select id from rocpd_op where description_id not in (select id from rocpd_string) or "
     "opType_id not in (select id from rocpd_string)"},
    {"rocpd_op: no call is linked to it", "rocpd_op",
     "select id from rocpd_op where id not in (select op_id from rocpd_api_ops)", false},
    // The GPU's clock is compared with the CPU's now and then; in between it may be off by some
    // microseconds. More means that one of them was misread.
    {"rocpd_op: starts more than 1 ms before the call that launched it", "rocpd_op",
     "select o.id from rocpd_api_ops l join rocpd_api a on a.id = l.api_id join rocpd_op o on o.id "
     "= l.op_id where o.start < a.start - 1000000"},
    {"rocpd_op: starts before the call that launched it", "rocpd_op",
     "select o.id from rocpd_api_ops l join rocpd_api a on a.id = l.api_id join rocpd_op o on o.id "
     "= l.op_id where o.start < a.start and o.start >= a.start - 1000000",
     false},
    {"rocpd_api_ops: links a call that does not exist", "rocpd_api_ops",
     "select id from rocpd_api_ops where api_id not in (select id from rocpd_api)"},
    {"rocpd_api_ops: links an op that does not exist", "rocpd_api_ops",
     "select id from rocpd_api_ops where op_id not in (select id from rocpd_op)"},
    {"rocpd_api_ops: an op belongs to several calls", "rocpd_api_ops",
     "select min(id) from rocpd_api_ops group by op_id having count(*) > 1"},
    {"rocpd_kernelapi: belongs to no call", "rocpd_kernelapi",
     "select api_ptr_id from rocpd_kernelapi where api_ptr_id not in (select id from rocpd_api)"},
    {"rocpd_kernelapi: its kernel is no string of the file", "rocpd_kernelapi",
     "select api_ptr_id from rocpd_kernelapi where kernelName_id not in (select id from "
     "rocpd_string)"},
    {"rocpd_copyapi: belongs to no call", "rocpd_copyapi",
     "select api_ptr_id from rocpd_copyapi where api_ptr_id not in (select id from rocpd_api)"},
    {"rocpd_copyapi: its size is not a number", "rocpd_copyapi",
     "select api_ptr_id from rocpd_copyapi where typeof(size) != 'integer' or size < 0"},
    {"rocpd_monitor: ends before it starts", "rocpd_monitor",
     "select id from rocpd_monitor where end < start"},
    {"rocpd_stackframe: belongs to no call", "rocpd_stackframe",
     "select id from rocpd_stackframe where api_ptr_id not in (select id from rocpd_api)", true, 3},
    {"rocpd_stackframe: its name is no string of the file", "rocpd_stackframe",
     "select id from rocpd_stackframe where name_id not in (select id from rocpd_string)", true, 3},
    {"wavetap_loss: the clock's rate was estimated: times of calls are not exact", "wavetap_loss",
     "select id from wavetap_loss where reason = 'clock estimated'", false},
    {"wavetap_loss: the clock's rate is not known: times of calls are a guess", "wavetap_loss",
     "select id from wavetap_loss where reason = 'clock unknown'"},
    {"wavetap_device_figure: belongs to no GPU of the file", "wavetap_device_figure",
     "select id from wavetap_device_figure where gpuId is not null and gpuId not in (select id "
     "from wavetap_device)"},
    {"wavetap_device_figure: comes from no layer we know", "wavetap_device_figure",
     "select id from wavetap_device_figure where layer not in ('driver', 'hsa', 'hip', 'cuda', "
     "'environment')"},
    {"wavetap_device_figure: nothing was said", "wavetap_device_figure",
     "select id from wavetap_device_figure where field is null or field = '' or value is null"},
};

}  // namespace

Result<CheckResult> check_trace(const std::string& path) {
  Result<Db> db = Db::open_read_only(path);
  if (!db.ok()) return db.error();
  Result<int> version = schema_version(*db);
  if (!version.ok()) return version.error();

  CheckResult result;
  Result<Stmt> integrity = db->prepare("pragma quick_check(1)");
  if (!integrity.ok()) return integrity.error();
  if (integrity->step() && integrity->text(0) != "ok")
    result.findings.push_back(
        {"the database itself is damaged", 1, std::string(integrity->text(0)), true});
  if (!integrity->status().ok()) return integrity->status().error();

  for (const Rule& rule : kRules) {
    if (*version < rule.since || !db->has_table_or_view(rule.table)) continue;
    Result<Stmt> stmt = db->prepare(std::string("with broken(x) as (") + rule.sql +
                                    ") select count(*), min(x) from broken");
    if (!stmt.ok()) return stmt.error();
    if (!stmt->step()) {
      if (!stmt->status().ok()) return stmt->status().error();
      continue;
    }
    if (stmt->int64(0) > 0)
      result.findings.push_back({rule.what, static_cast<uint64_t>(stmt->int64(0)),
                                 "id " + std::string(stmt->text(1)), rule.is_error});
  }

  const auto count = [&](const char* table) -> uint64_t {
    Result<int64_t> rows = db->query_int(std::string("select count(*) from ") + table);
    return rows.ok() ? static_cast<uint64_t>(*rows) : 0;
  };
  result.calls = count("rocpd_api");
  result.ops = count("rocpd_op");
  result.links = count("rocpd_api_ops");
  result.strings = count("rocpd_string");
  if (db->has_table_or_view("rocpd_metadata")) {
    Result<Stmt> losses =
        db->prepare("select sum(cast(value as integer)) from rocpd_metadata where tag = 'losses'");
    if (losses.ok() && losses->step() && !losses->is_null(0)) result.losses = losses->text(0);
  }
  return result;
}

}  // namespace wavetap::store
