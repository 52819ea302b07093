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

Result<Report> run(const store::Trace& trace, const Options& options) {
  int64_t shortest = 1000;
  if (const auto found = options.settings.find("min-us"); found != options.settings.end()) {
    char* rest = nullptr;
    shortest = static_cast<int64_t>(std::strtod(found->second.c_str(), &rest) * 1000);
    if (*rest != '\0' || shortest < 0)
      return errorf("min-us=%s: not a number of microseconds; give one, such as min-us=10",
                    found->second.c_str());
  }
  const ThreadCalls calls(trace);
  const std::vector<uint32_t> call_of_op = analysis::call_of_op(trace);
  const IdleGaps found = find_idle_gaps(trace);
  const int64_t wall = found.wall_ns;
  std::vector<Gap> gaps;
  for (const IdleGap& gap : found.gaps)
    if (gap.time.end - gap.time.begin >= shortest)
      gaps.push_back({gap, cause_of(trace, calls, call_of_op, gap)});

  Report report;
  int64_t idle = 0;
  std::map<std::string, std::vector<int64_t>> by_cause;
  for (const Gap& gap : gaps) {
    idle += gap.time.end - gap.time.begin;
    by_cause[gap.cause].push_back(gap.time.end - gap.time.begin);
  }
  report.facts.push_back({"idle_ns", "idle between first and last op", Unit::kNs, idle});
  report.facts.push_back({"idle_share", "share of that time", Unit::kShare,
                          wall > 0 ? static_cast<double>(idle) / static_cast<double>(wall) : 0.0});

  Table causes{"causes",
               "Idle time by cause",
               {{"cause", "CAUSE"},
                {"gaps", "GAPS", Unit::kCount},
                {"total_ns", "TOTAL", Unit::kNs},
                {"longest_ns", "LONGEST", Unit::kNs},
                {"share", "OF IDLE", Unit::kShare}},
               {},
               0};
  for (const auto& [cause, lengths] : by_cause) {
    int64_t total = 0;
    for (const int64_t length : lengths) total += length;
    causes.rows.push_back(
        {cause, static_cast<int64_t>(lengths.size()), total,
         *std::max_element(lengths.begin(), lengths.end()),
         idle > 0 ? static_cast<double>(total) / static_cast<double>(idle) : 0.0});
  }
  std::stable_sort(causes.rows.begin(), causes.rows.end(), [](const auto& a, const auto& b) {
    return std::get<int64_t>(a[2]) > std::get<int64_t>(b[2]);
  });
  report.tables.push_back(std::move(causes));

  std::stable_sort(gaps.begin(), gaps.end(), [](const Gap& a, const Gap& b) {
    return a.time.end - a.time.begin > b.time.end - b.time.begin;
  });
  const Span span = trace_span(trace);
  Table longest{"longest",
                "Longest gaps",
                {{"at_ns", "AT", Unit::kTime},
                 {"length_ns", "LENGTH", Unit::kNs},
                 {"gpu", "GPU", Unit::kCount},
                 {"cause", "CAUSE"},
                 {"before", "AFTER OP", Unit::kKernel},
                 {"after", "BEFORE OP", Unit::kKernel}},
                {},
                0};
  for (const Gap& gap : gaps)
    longest.rows.push_back({gap.time.begin - span.begin, gap.time.end - gap.time.begin,
                            int64_t{gap.gpu}, std::string(gap.cause),
                            std::string(trace.str(trace.ops.name(gap.before))),
                            std::string(trace.str(trace.ops.name(gap.after)))});
  cut_to_top(longest, options);
  report.tables.push_back(std::move(longest));
  report.notes.push_back(
      "host late: the launching call began after the GPU was idle; sync, copy: its thread was "
      "waiting or "
      "copying for "
      "most of that time; queue: launched in time but started late; unknown: no call is linked to "
      "the op");
  report.notes.push_back(
      "idle time before the first and after the last op of a GPU is not counted");
  return report;
}

}  // namespace

extern const Analysis kGaps{"gaps",
                            "when a GPU was idle, and why",
                            "min-us: shortest gap in microseconds (1)",
                            false,
                            false,
                            run};

}  // namespace wavetap::analysis
