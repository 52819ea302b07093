#include "store/trim.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <regex>
#include <set>
#include <vector>

#include "store/schema.h"
#include "store/sqlite.h"
#include "store/trace.h"
#include "util/pattern.h"

namespace wavetap::store {
namespace {

// Everything hangs on the kept calls and ops; a table a file does not have is skipped.
struct Prune {
  const char* table;
  const char* sql;
};
constexpr Prune kPrunes[] = {
    {"rocpd_api_ops",
     "delete from rocpd_api_ops where api_id not in (select id from keep_api) or op_id not in (select id "
     "from keep_op)"},
    {"rocpd_api", "delete from rocpd_api where id not in (select id from keep_api)"},
    {"rocpd_op", "delete from rocpd_op where id not in (select id from keep_op)"},
    {"rocpd_kernelapi", "delete from rocpd_kernelapi where api_ptr_id not in (select id from keep_api)"},
    {"rocpd_copyapi", "delete from rocpd_copyapi where api_ptr_id not in (select id from keep_api)"},
    {"rocpd_stackframe", "delete from rocpd_stackframe where api_ptr_id not in (select id from keep_api)"},
    {"rocpd_counter", "delete from rocpd_counter where op_id not in (select id from keep_op)"},
    {"wavetap_dispatch", "delete from wavetap_dispatch where op_id not in (select id from keep_op)"},
    {"wavetap_allocation",
     "delete from wavetap_allocation where api_id is not null and api_id not in (select id from keep_api)"},
    {"wavetap_inflight",
     "delete from wavetap_inflight where api_id is not null and api_id not in (select id from keep_api)"},
    {"rocpd_ustring",
     "delete from rocpd_ustring where id not in (select args_id from rocpd_api) and string != ''"},
};
constexpr const char* kDerived[] = {"ext_callstack",        "ext_autogradapi", "ext_graph",
                                    "ext_graph_kernelapis", "rocpd_graphapi",  "rocpd_graphLaunchapi"};
constexpr const char* kDerivedViews[] = {"callStack_inclusive_name",
                                         "callStack_exclusive_name",
                                         "callStack_inclusive",
                                         "callStack_exclusive",
                                         "autogradKernel",
                                         "_autogradKernel",
                                         "_callstack_autograd_kernel_exclusive",
                                         "_callstack_autograd_kernel",
                                         "autograd",
                                         "graphLaunch",
                                         "graphKernel",
                                         "graphLaunchapi",
                                         "graphapi"};

struct Keep {
  std::vector<int64_t> apis, ops;
};

Result<Keep> select_rows(const Trace& trace, const TrimOptions& options) {
  Keep keep;
  const auto in_time = [&](int64_t start) { return start >= options.begin && start <= options.end; };
  std::vector<bool> keep_api(trace.apis.size(), false), linked(trace.ops.size(), false),
      keep_op(trace.ops.size(), false);

  // Marked ranges per thread by start, each with the latest end of those that start no later than it.
  std::vector<std::vector<std::pair<int64_t, int64_t>>> ranges(trace.threads.size());
  if (!options.marker.empty()) {
    Result<std::regex> pattern = util::compile_pattern(options.marker);
    if (!pattern.ok()) return pattern.error();
    const Str marker = trace.strings.find("UserMarker");
    for (size_t row = 0; row < trace.apis.size(); ++row)
      if (trace.apis.name[row] == marker && util::is_found(*pattern, trace.args(row)))
        ranges[trace.apis.thread[row]].push_back({trace.apis.start[row], trace.apis.end[row]});
    for (auto& list : ranges) {
      std::sort(list.begin(), list.end());
      for (size_t i = 1; i < list.size(); ++i) list[i].second = std::max(list[i].second, list[i - 1].second);
    }
  }
  const auto in_marker = [&](size_t row) {
    if (options.marker.empty()) return true;
    const auto& list = ranges[trace.apis.thread[row]];
    const auto after = std::upper_bound(list.begin(), list.end(), trace.apis.start[row],
                                        [](int64_t start, const auto& range) { return start < range.first; });
    return after != list.begin() && std::prev(after)->second >= trace.apis.end[row];
  };

  for (size_t row = 0; row < trace.apis.size(); ++row)
    keep_api[row] = in_time(trace.apis.start[row]) && in_marker(row);
  std::vector<bool> wanted_op(trace.ops.size(), true);
  if (!options.kernel.empty()) {
    Result<std::regex> pattern = util::compile_pattern(options.kernel);
    if (!pattern.ok()) return pattern.error();
    for (size_t op = 0; op < trace.ops.size(); ++op) {
      wanted_op[op] = util::is_found(*pattern, trace.str(trace.ops.name(op)));
    }
    std::vector<bool> launches(trace.apis.size(), false);
    for (size_t i = 0; i < trace.links.size(); ++i)
      if (trace.links.api[i] != kNoRow && trace.links.op[i] != kNoRow && wanted_op[trace.links.op[i]])
        launches[trace.links.api[i]] = true;
    for (size_t row = 0; row < trace.apis.size(); ++row) keep_api[row] = keep_api[row] && launches[row];
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
  for (size_t row = 0; row < trace.apis.size(); ++row)
    if (keep_api[row]) keep.apis.push_back(trace.apis.id[row]);
  for (size_t op = 0; op < trace.ops.size(); ++op)
    if (keep_op[op]) keep.ops.push_back(trace.ops.id[op]);
  return keep;
}

Status fill(Db& db, const char* table, const std::vector<int64_t>& ids) {
  if (Status s = db.exec(std::string("create temp table ") + table + " (id integer primary key)"); !s.ok())
    return s;
  Result<Stmt> insert = db.prepare(std::string("insert or ignore into ") + table + " values (?)");
  if (!insert.ok()) return insert.error();
  for (const int64_t id : ids) {
    insert->bind(1, id);
    if (!insert->run()) return insert->status();
  }
  return {};
}

Status prune(Db& db, const Keep& keep, int version) {
  if (Status s = db.exec("begin"); !s.ok()) return s;
  if (Status s = fill(db, "keep_api", keep.apis); !s.ok()) return s;
  if (Status s = fill(db, "keep_op", keep.ops); !s.ok()) return s;
  for (const char* view : kDerivedViews)
    if (Status s = db.exec(std::string("drop view if exists ") + view); !s.ok()) return s;
  for (const char* table : kDerived)
    if (Status s = db.exec(std::string("drop table if exists ") + table); !s.ok()) return s;
  for (const Prune& p : kPrunes)
    if (db.has_table_or_view(p.table))
      if (Status s = db.exec(p.sql); !s.ok()) return s;
  if (db.has_table_or_view("rocpd_monitor") && !keep.apis.empty())
    if (Status s =
            db.exec("delete from rocpd_monitor where end < (select min(start) from rocpd_api) or start > "
                    "(select max(e) from (select max(end) as e from rocpd_op union all select max(end) from "
                    "rocpd_api))");
        !s.ok())
      return s;
  // Strings nobody uses any more; "" stays, readers look for it.
  std::string used =
      "select apiName_id from rocpd_api union select description_id from rocpd_op union select opType_id "
      "from rocpd_op";
  if (db.has_table_or_view("rocpd_kernelapi")) used += " union select kernelName_id from rocpd_kernelapi";
  if (db.has_table_or_view("rocpd_stackframe")) used += " union select name_id from rocpd_stackframe";
  if (db.has_table_or_view("rocpd_counter")) used += " union select name_id from rocpd_counter";
  used += version >= 3 ? " union select domain_id from rocpd_api union select category_id from rocpd_api"
                       : " union select args_id from rocpd_api";
  if (Status s = db.exec("delete from rocpd_string where string != '' and id not in (" + used + ")"); !s.ok())
    return s;
  if (Status s = db.exec("delete from rocpd_metadata where tag like 'Callstack::%' or tag like 'Autograd::%' "
                         "or tag like 'Graph::%' or "
                         "tag like 'references::%'");
      !s.ok())
    return s;
  if (Status s = db.exec("commit"); !s.ok()) return s;
  return db.exec("vacuum");
}

}  // namespace

Result<TrimResult> trim_trace(const std::string& input, const std::string& output,
                              const TrimOptions& options) {
  LoadOptions load;
  load.args = !options.marker.empty();
  Result<Trace> trace = Trace::load(input, load);
  if (!trace.ok()) return trace.error();
  Result<Keep> keep = select_rows(*trace, options);
  if (!keep.ok()) return keep.error();

  // Work on a copy beside the output; it gets its name only when everything went well.
  if (access(output.c_str(), F_OK) == 0)
    return errorf("%s: exists already; name another file with -o", output.c_str());
  const std::string part = output + ".part-" + std::to_string(getpid());
  std::error_code failed;
  std::filesystem::copy_file(input, part, std::filesystem::copy_options::overwrite_existing, failed);
  if (failed)
    return errorf("%s: cannot be written: %s; name another file with -o", output.c_str(),
                  failed.message().c_str());
  std::filesystem::permissions(part, std::filesystem::perms::owner_write, std::filesystem::perm_options::add,
                               failed);
  Status status;
  {
    Result<Db> db = Db::open_read_write(part);
    status = db.ok() ? prune(*db, *keep, trace->schema_version) : Status(db.error());
  }
  if (status.ok() && std::rename(part.c_str(), output.c_str()) != 0)
    status = errorf("%s: cannot be put in place", output.c_str());
  if (!status.ok()) {
    std::filesystem::remove(part, failed);
    return status.error();
  }
  return TrimResult{trace->apis.size(), keep->apis.size(), trace->ops.size(), keep->ops.size()};
}

}  // namespace wavetap::store
