// callstack: where the time goes, by nesting. Inclusive time is a call with everything inside it,
// exclusive time is what it spent itself; GPU time is charged to the call that launched the work
// and, inclusively, to everything around it.
//
// --write stores ext_callstack, one row per (ancestor, call) pair, and the four views over it, as
// RPD's tool does. RPD never charges a root frame for its callees, so its roots come out with their
// whole duration as exclusive time and too much as inclusive time; --rpd-compatible reproduces
// that.
#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "analysis/analysis.h"
#include "analysis/callstack_tree.h"
#include "analysis/marker.h"
#include "store/sqlite.h"
#include "util/text.h"

namespace wavetap::analysis {
namespace {

using store::kNoRow;

struct PairRow {
  uint32_t ancestor = 0;
  uint32_t call = 0;
  int64_t depth = 0;
  int64_t cpu = 0;
  int64_t gpu = 0;
};

// Every (ancestor, call) pair, the call itself included at depth 0; callers of each call outermost
// first.
template <class Emit>
void for_each_pair(const CallTree& tree, Emit&& emit) {
  std::vector<uint32_t> chain;
  for (const uint32_t row : tree.order) {
    chain.clear();
    for (uint32_t at = row; at != kNoRow; at = tree.parent[at]) chain.push_back(at);
    for (size_t i = chain.size(); i-- > 0;)
      emit(PairRow{chain[i], row, static_cast<int64_t>(i), tree.cpu_self[row], tree.gpu_self[row]});
  }
}

// RPD's walk, with its tie rules: starts before ends at equal times, an end pops whatever is on
// top, and frame 0 is never charged.
template <class Emit>
void for_each_pair_rpd(const store::Trace& trace, Emit&& emit) {
  const store::Apis& apis = trace.apis;
  const std::vector<int64_t> gpu = gpu_time_per_api(trace);
  struct Event {
    int64_t time;
    uint32_t row;
    bool is_end;
  };
  std::vector<std::vector<Event>> per_thread(trace.threads.size());
  for (uint32_t row = 0; row < apis.size(); ++row) {
    per_thread[apis.thread[row]].push_back({apis.start[row], row, false});
    per_thread[apis.thread[row]].push_back({apis.end[row], row, true});
  }
  struct Frame {
    uint32_t row;
    int64_t start;
    int64_t child;
  };
  std::vector<Frame> stack;
  for (std::vector<Event>& events : per_thread) {
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return a.time != b.time ? a.time < b.time : a.is_end < b.is_end;
    });
    stack.clear();
    for (const Event& event : events) {
      if (!event.is_end) {
        stack.push_back({event.row, event.time, 0});
        continue;
      }
      if (stack.empty()) continue;
      const int64_t cpu = event.time - stack.back().start - stack.back().child;
      const size_t n = stack.size();
      for (size_t i = 0; i < n; ++i) {
        const size_t depth = n - 1 - i;
        if (depth > 0) stack[depth].child += cpu;
        emit(PairRow{stack[i].row, event.row, static_cast<int64_t>(depth), cpu, gpu[event.row]});
      }
      stack.pop_back();
    }
  }
}

struct Sums {
  int64_t calls = 0;
  int64_t cpu_inclusive = 0;
  int64_t cpu_exclusive = 0;
  int64_t gpu_inclusive = 0;
  int64_t gpu_exclusive = 0;
};

Result<Report> run(const store::Trace& trace, const Options& options) {
  Report report;
  // A call is known by its function, a marker by its text; each is numbered when first met.
  std::vector<std::string_view> names;
  std::vector<Sums> sums_of_name;
  const auto number_of = [&](std::string_view name) {
    names.push_back(name);
    sums_of_name.emplace_back();
    return static_cast<uint32_t>(names.size() - 1);
  };
  std::vector<uint32_t> of_function(trace.strings.size(), kNoRow);
  std::unordered_map<std::string_view, uint32_t> of_marker;
  const store::Str marker = trace.strings.find("UserMarker");
  const auto sums_of = [&](uint32_t row) -> Sums& {
    const store::Str name = trace.apis.name[row];
    if (name == marker && !trace.args(row).empty()) {
      const auto [it, is_new] = of_marker.emplace(marker_label(trace.args(row)), 0);
      if (is_new) it->second = number_of(it->first);
      return sums_of_name[it->second];
    }
    if (of_function[name] == kNoRow) of_function[name] = number_of(trace.str(name));
    return sums_of_name[of_function[name]];
  };
  if (options.rpd_compatible) {
    for_each_pair_rpd(trace, [&](const PairRow& pair) {
      Sums& sums = sums_of(pair.ancestor);
      sums.cpu_inclusive += pair.cpu;
      sums.gpu_inclusive += pair.gpu;
      if (pair.depth != 0) return;
      ++sums.calls;
      sums.cpu_exclusive += pair.cpu;
      sums.gpu_exclusive += pair.gpu;
    });
  } else {
    const CallTree tree = build_call_tree(trace);
    for (uint32_t row = 0; row < trace.apis.size(); ++row) {
      Sums& sums = sums_of(row);
      ++sums.calls;
      sums.cpu_inclusive += std::max<int64_t>(0, trace.apis.end[row] - trace.apis.start[row]);
      sums.cpu_exclusive += tree.cpu_self[row];
      sums.gpu_inclusive += tree.gpu_total[row];
      sums.gpu_exclusive += tree.gpu_self[row];
    }
    if (tree.crossing > 0)
      report.notes.push_back(
          util::count_of(tree.crossing, "call") +
          " overlapping a neighbour on the same thread without nesting: counted as siblings");
  }

  Table table{"calls",
              "Calls by inclusive CPU time",
              {{"name", "NAME", Unit::kText},
               {"calls", "CALLS", Unit::kCount},
               {"cpu_inclusive_ns", "CPU INCL", Unit::kNs},
               {"cpu_exclusive_ns", "CPU EXCL", Unit::kNs},
               {"gpu_inclusive_ns", "GPU INCL", Unit::kNs},
               {"gpu_exclusive_ns", "GPU EXCL", Unit::kNs}},
              {},
              0};
  std::vector<uint32_t> order(names.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(-sums_of_name[a].cpu_inclusive, names[a]) <
           std::pair(-sums_of_name[b].cpu_inclusive, names[b]);
  });
  for (const uint32_t i : order) {
    const Sums& s = sums_of_name[i];
    table.rows.push_back({std::string(names[i]), s.calls, s.cpu_inclusive, s.cpu_exclusive,
                          s.gpu_inclusive, s.gpu_exclusive});
  }
  cut_to_top(table, options);
  report.tables.push_back(std::move(table));
  if (trace.apis.size() == 0) report.notes.push_back("the trace holds no calls");
  report.notes.push_back(
      "calls of one thread nest by time alone; work handed to another thread is not followed");
  return report;
}

constexpr const char* kTables = R"sql(
drop view if exists callStack_inclusive_name;
drop view if exists callStack_exclusive_name;
drop view if exists callStack_inclusive;
drop view if exists callStack_exclusive;
drop table if exists ext_callstack;
create table ext_callstack (id integer not null primary key autoincrement, parent_id integer, child_id integer,
  depth integer not null, cpu_time integer default 0, gpu_time integer default 0);
create view callStack_inclusive as
  select parent_id, sum(cpu_time) as cpu_time, sum(gpu_time) as gpu_time from ext_callstack group by parent_id;
create view callStack_exclusive as
  select parent_id, sum(cpu_time) as cpu_time, sum(gpu_time) as gpu_time from ext_callstack
  where depth = 0 group by parent_id;
create view callStack_inclusive_name as
  select c.parent_id, a.apiName, a.args, c.cpu_time, c.gpu_time
  from callStack_inclusive c join api a on a.id = c.parent_id;
create view callStack_exclusive_name as
  select c.parent_id, a.apiName, a.args, c.cpu_time, c.gpu_time
  from callStack_exclusive c join api a on a.id = c.parent_id;
)sql";

Status write(const std::string& path, const store::Trace& trace, const Options& options) {
  Result<store::Db> db = store::Db::open_read_write(path);
  if (!db.ok()) return db.error();
  if (Status s = db->exec("begin immediate"); !s.ok()) return s;
  if (Status s = db->exec(kTables); !s.ok()) return s;
  Result<store::Stmt> insert = db->prepare("insert into ext_callstack values (?, ?, ?, ?, ?, ?)");
  if (!insert.ok()) return insert.error();
  int64_t sequence = 0;
  const auto emit = [&](const PairRow& pair) {
    insert->bind(1, sequence++);
    insert->bind(2, trace.apis.id[pair.ancestor]);
    insert->bind(3, trace.apis.id[pair.call]);
    insert->bind(4, pair.depth);
    insert->bind(5, pair.cpu);
    insert->bind(6, pair.gpu);
    insert->run();
  };
  if (options.rpd_compatible) for_each_pair_rpd(trace, emit);
  else for_each_pair(build_call_tree(trace), emit);
  if (!insert->status().ok()) return insert->status();
  if (Status s = db->exec(
          "delete from rocpd_metadata where tag in ('Callstack::Table', 'Callstack::Generated');"
          "insert into rocpd_metadata (tag, value) values ('Callstack::Table', 'True'), "
          "('Callstack::Generated', 'True')");
      !s.ok())
    return s;
  return db->exec("commit");
}

}  // namespace

extern const Analysis kCallstack{"callstack",
                                 "inclusive and exclusive CPU and GPU time of calls and markers",
                                 "",
                                 /*needs_args=*/true,
                                 false,
                                 run,
                                 write};

}  // namespace wavetap::analysis
