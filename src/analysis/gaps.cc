// gaps: when a GPU had nothing to do, and why. The op that ends a gap tells: if the call that
// launched it began only after the GPU had gone idle, the host was late, and what that thread did
// meanwhile (waited for the GPU, copied, something else) is the cause; if it was launched before,
// it waited in its queue.
#include <algorithm>
#include <map>

#include "analysis/analysis.h"
#include "analysis/idle_gaps.h"
#include "analysis/op_kind.h"
#include "analysis/trace_index.h"

namespace wavetap::analysis {
namespace {

using store::kNoRow;

struct Gap : IdleGap {
  const char* cause = "";
};

// Calls of each thread in start order, to see what a thread did during a gap.
class ThreadCalls {
 public:
  explicit ThreadCalls(const store::Trace& trace) : trace_(trace), rows_(trace.threads.size()) {
    for (uint32_t row = 0; row < trace.apis.size(); ++row)
      rows_[trace.apis.thread[row]].push_back(row);
    for (std::vector<uint32_t>& rows : rows_)
      std::sort(rows.begin(), rows.end(),
                [&](uint32_t a, uint32_t b) { return trace.apis.start[a] < trace.apis.start[b]; });
  }

  // Time within [begin, end) that the thread spent in calls accepted by `wanted`.
  template <class Wanted>
  int64_t time_in(uint32_t thread, int64_t begin, int64_t end, Wanted&& wanted) const {
    const std::vector<uint32_t>& rows = rows_[thread];
    // Calls that started before the gap may reach into it; nesting is shallow, so a short look back
    // does.
    auto it = std::lower_bound(rows.begin(), rows.end(), begin,
                               [&](uint32_t row, int64_t t) { return trace_.apis.start[row] < t; });
    for (int back = 0; back < 32 && it != rows.begin(); ++back) --it;
    std::vector<Interval> spent;
    for (; it != rows.end() && trace_.apis.start[*it] < end; ++it)
      if (trace_.apis.end[*it] > begin && wanted(*it))
        spent.push_back(
            {std::max(begin, trace_.apis.start[*it]), std::min(end, trace_.apis.end[*it])});
    return total_length(merged(std::move(spent)));
  }

 private:
  const store::Trace& trace_;
  std::vector<std::vector<uint32_t>> rows_;
};

const char* cause_of(const store::Trace& trace, const ThreadCalls& calls,
                     const std::vector<uint32_t>& call_of_op, const IdleGap& gap) {
  const uint32_t api = call_of_op[gap.after];
  if (api == kNoRow) return "unknown";
  const int64_t launched = trace.apis.start[api];
  // Launched in time, started late: dependency or dispatch.
  if (launched < gap.time.begin) return "queue";
  const int64_t waited = launched - gap.time.begin;
  const auto named = [&](auto&& predicate) {
    return calls.time_in(trace.apis.thread[api], gap.time.begin, launched,
                         [&](uint32_t row) { return predicate(trace.str(trace.apis.name[row])); });
  };
  const int64_t copying =
      named([](std::string_view n) { return n.find("Memcpy") != std::string_view::npos; });
  const int64_t synchronising = named([](std::string_view n) {
    return is_synchronising_call(n) && n.find("Memcpy") == std::string_view::npos;
  });
  if (2 * synchronising > waited) return "sync";
  if (2 * copying > waited) return "copy";
  return "host late";
}

constexpr Setting kMinUs{.name = "min-us",
                         .kind = SettingKind::kReal,
                         .fallback = "1",
                         .help = "shortest gap in microseconds",
                         .least = 0};
constexpr Setting kGapSettings[] = {kMinUs};

std::vector<Gap> find_gaps(const store::Trace& trace, const IdleGaps& idle, int64_t shortest) {
  const ThreadCalls calls(trace);
  const std::vector<uint32_t> call_of_op = analysis::call_of_op(trace);
  std::vector<Gap> gaps;
  for (const IdleGap& gap : idle.gaps)
    if (gap.length() >= shortest) gaps.push_back({gap, cause_of(trace, calls, call_of_op, gap)});
  return gaps;
}

Table cause_table(const std::vector<Gap>& gaps, int64_t idle) {
  struct Sums {
    int64_t gaps = 0, total = 0, longest = 0;
  };
  std::map<std::string, Sums> by_cause;
  for (const Gap& gap : gaps) {
    Sums& sums = by_cause[gap.cause];
    ++sums.gaps;
    sums.total += gap.length();
    sums.longest = std::max(sums.longest, gap.length());
  }
  Table table{.name = "causes",
              .title = "Idle time by cause",
              .columns = {{"cause", "CAUSE"},
                          {"gaps", "GAPS", Unit::kCount},
                          {"total_ns", "TOTAL", Unit::kNs},
                          {"longest_ns", "LONGEST", Unit::kNs},
                          {"share", "OF IDLE", Unit::kShare}}};
  for (const auto& [cause, sums] : by_cause)
    table.rows.push_back({cause, sums.gaps, sums.total, sums.longest, share_of(sums.total, idle)});
  sort_rows(table, 2);
  return table;
}

Table longest_table(const store::Trace& trace, const std::vector<Gap>& gaps,
                    const Options& options) {
  const Span span = trace_span(trace);
  Table table{.name = "longest",
              .title = "Longest gaps",
              .columns = {{"at_ns", "AT", Unit::kTime},
                          {"length_ns", "LENGTH", Unit::kNs},
                          {"gpu", "GPU", Unit::kCount},
                          {"cause", "CAUSE"},
                          {"before", "AFTER OP", Unit::kKernel},
                          {"after", "BEFORE OP", Unit::kKernel}}};
  for (const Gap& gap : gaps)
    table.rows.push_back({gap.time.begin - span.begin, gap.length(), int64_t{gap.gpu},
                          std::string(gap.cause),
                          std::string(trace.str(trace.ops.name(gap.before))),
                          std::string(trace.str(trace.ops.name(gap.after)))});
  sort_rows(table, 1);
  cut_to_top(table, options);
  return table;
}

Result<Report> analyze_gaps(const store::Trace& trace, const Options& options) {
  // No gap is as long as the most that a nanosecond count holds.
  const auto shortest = static_cast<int64_t>(std::min(options.settings.real(kMinUs) * 1e3, 9e18));
  const IdleGaps found = find_idle_gaps(trace);
  const std::vector<Gap> gaps = find_gaps(trace, found, shortest);
  int64_t idle = 0;
  for (const Gap& gap : gaps) idle += gap.length();

  Report report;
  report.facts.push_back({"idle_ns", "idle between first and last op", Unit::kNs, idle});
  report.facts.push_back(
      {"idle_share", "share of that time", Unit::kShare, share_of(idle, found.wall_ns)});
  report.tables.push_back(cause_table(gaps, idle));
  report.tables.push_back(longest_table(trace, gaps, options));
  report.notes.push_back(
      "host late: the launching call began after the GPU was idle; sync, copy: its thread was "
      "waiting or copying for most of that time; queue: launched in time but started late; "
      "unknown: no call is linked to the op");
  report.notes.push_back(
      "idle time before the first and after the last op of a GPU is not counted");
  return report;
}

}  // namespace

extern const Analysis kGaps{.name = "gaps",
                            .help = "when a GPU was idle, and why",
                            .settings = kGapSettings,
                            .run = analyze_gaps};

}  // namespace wavetap::analysis
