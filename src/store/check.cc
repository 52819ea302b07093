#include "store/check.h"

#include <algorithm>
#include <optional>

#include "store/schema.h"
#include "store/sqlite.h"
#include "store/table_read.h"
#include "store/tables.h"
#include "store/times.h"

namespace wavetap::store {
namespace {

// A rule selects the id of every row that breaks it.
struct Rule {
  std::string what;
  std::string table;
  std::string sql;  // select id from … where <broken>
  bool is_error = true;
  int since = 2;                          // schema version
  std::vector<std::string> columns = {};  // without which there is nothing to check
  std::string refers_to = {};             // the same for another table
};

// The GPU's clock is compared with the CPU's now and then; in between it may be off by some
// microseconds. More than this means that one of them was misread.
constexpr const char* kClockErrorNs = "1000000";

// What tables.inc cannot say.
const std::vector<Rule>& own_rules() {
  static const std::vector<Rule> kRules = {
      {"rocpd_api: starts at or before zero", "rocpd_api",
       "select id from rocpd_api where start <= 0"},
      {"rocpd_op: no call is linked to it", "rocpd_op",
       "select id from rocpd_op where id not in (select op_id from rocpd_api_ops)",
       /*is_error=*/false},
      {"rocpd_op: starts before the call that launched it", "rocpd_op",
       std::string(
           "select o.id from rocpd_api_ops l join rocpd_api a on a.id = l.api_id join "
           "rocpd_op o on o.id = l.op_id where o.start < a.start and o.start >= a.start - ") +
           kClockErrorNs,
       /*is_error=*/false},
      {"rocpd_op: starts more than 1 ms before the call that launched it", "rocpd_op",
       std::string("select o.id from rocpd_api_ops l join rocpd_api a on a.id = l.api_id join "
                   "rocpd_op o on o.id = l.op_id where o.start < a.start - ") +
           kClockErrorNs},
      {"rocpd_api_ops: an op belongs to several calls", "rocpd_api_ops",
       "select min(id) from rocpd_api_ops group by op_id having count(*) > 1"},
      {"rocpd_copyapi: its size is not a number", "rocpd_copyapi",
       "select api_ptr_id from rocpd_copyapi where typeof(size) != 'integer' or size < 0"},
      {"wavetap_loss: the clock's rate was estimated: times of calls are not exact", "wavetap_loss",
       "select id from wavetap_loss where reason = 'clock estimated'", /*is_error=*/false},
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
  return kRules;
}

struct Referred {
  const char* table;
  const char* what;  // of the rule
};

// Nothing when values of this kind are no ids.
std::optional<Referred> referred_by(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kCall: return Referred{"rocpd_api", "a call"};
    case ColumnKind::kOp: return Referred{"rocpd_op", "an op"};
    case ColumnKind::kString: return Referred{"rocpd_string", "a string"};
    case ColumnKind::kArgs: return Referred{"rocpd_ustring", "a text"};
    default: return std::nullopt;
  }
}

// What is referred to exists, times can be, ends come after starts.
void add_table_rules(const TableSpec& table, std::vector<Rule>& rules) {
  const std::string name = table.name, select = "select " + key_of(table) + " from " + name;
  bool has_start = false, has_end = false;
  std::string odd_time;
  std::vector<std::string> times;
  for (const ColumnSpec& column : table.columns) {
    const std::string column_name = column.name;
    const int since = !table.is_rpd() ? 2 : column.kind == ColumnKind::kArgs ? 3 : column.since;
    if (const std::optional<Referred> to = referred_by(column.kind); to && name != to->table)
      rules.push_back({name + ": " + column_name + " names " + to->what + " that does not exist",
                       name,
                       select + " where " + column_name + " is not null and " + column_name +
                           " not in (select id from " + to->table + ")",
                       /*is_error=*/true,
                       since,
                       {column_name},
                       to->table});
    // What came later may be missing.
    if (column.kind != ColumnKind::kTime || column.since > table.since) continue;
    times.push_back(column_name);
    has_start = has_start || column_name == "start";
    has_end = has_end || column_name == "end";
    odd_time += (odd_time.empty() ? " where " : " or ") + column_name + " not between " +
                std::to_string(kEarliestTime) + " and " + std::to_string(kLatestTime);
  }
  if (has_start && has_end) {
    odd_time += " or end - start > " + std::to_string(kLongestTime);
    rules.push_back({name + ": ends before it starts", name,
                     select + " where end < start" + (table.is_rpd() ? "" : " and end != 0"),
                     /*is_error=*/true, /*since=*/2, times});
  }
  if (!odd_time.empty())
    rules.push_back({name + ": has a time that cannot be", name, select + odd_time,
                     /*is_error=*/true,
                     /*since=*/2, times});
}

// The rules of tables.inc table by table, each with its own after them.
std::vector<Rule> all_rules() {
  std::vector<Rule> rules;
  for (const TableSpec& table : all_tables()) {
    add_table_rules(table, rules);
    for (const Rule& rule : own_rules())
      if (rule.table == table.name) rules.push_back(rule);
  }
  return rules;
}

// Tables and columns that the file lacks because it is older break no rule.
bool applies(Db& db, const Rule& rule, int version) {
  const auto has = [&](const std::string& table) { return db.has_table_or_view(table.c_str()); };
  return version >= rule.since && has(rule.table) &&
         (rule.refers_to.empty() || has(rule.refers_to)) &&
         std::all_of(rule.columns.begin(), rule.columns.end(), [&](const std::string& column) {
           return db.has_column(rule.table.c_str(), column.c_str());
         });
}

Status add_findings(Db& db, int version, std::vector<Finding>& findings) {
  for (const Rule& rule : all_rules()) {
    if (!applies(db, rule, version)) continue;
    Result<Stmt> stmt =
        db.prepare("with broken(x) as (" + rule.sql + ") select count(*), min(x) from broken");
    if (!stmt.ok()) return stmt.error();
    if (!stmt->step()) {
      if (!stmt->status().ok()) return stmt->status();
      continue;
    }
    if (stmt->int64(0) > 0)
      findings.push_back({rule.what, static_cast<uint64_t>(stmt->int64(0)),
                          "id " + std::string(stmt->text(1)), rule.is_error});
  }
  return {};
}

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

  if (Status done = add_findings(*db, *version, result.findings); !done.ok()) return done.error();

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
    if (const std::string newer = newer_schema_warning(*db); !newer.empty())
      result.findings.push_back({newer, 1, "rocpd_metadata", /*is_error=*/false});
  }
  return result;
}

}  // namespace wavetap::store
