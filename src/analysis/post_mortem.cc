#include "analysis/post_mortem.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/kernel_name.h"
#include "util/text.h"

namespace wavetap::analysis {
namespace {

constexpr size_t kLastDispatches = 5;  // per queue
constexpr size_t kMaxShown = 16;       // of anything

std::string milliseconds(int64_t ns) {
  return fmt::format("{:.3f} ms", static_cast<double>(ns) / 1e6);
}

std::string printable(std::string_view text) { return util::escape_control(text); }

template <class Row>
std::string geometry(const Row& row) {
  return fmt::format("grid {}x{}x{}, workgroup {}x{}x{}", row.grid_x, row.grid_y, row.grid_z,
                     row.workgroup_x, row.workgroup_y, row.workgroup_z);
}

// Rows in the order of a member, a time.
template <class Row>
std::vector<const Row*> by_time(const std::vector<Row>& rows, int64_t Row::*time) {
  std::vector<const Row*> sorted;
  for (const Row& row : rows) sorted.push_back(&row);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Row* a, const Row* b) { return a->*time < b->*time; });
  return sorted;
}

// The end of each process, which may be long after the last thing it did.
class Ends {
 public:
  explicit Ends(const store::Trace& trace) {
    for (const store::ProcessRun& process : trace.processes) {
      int64_t& end = ends_[process.pid];
      end = std::max(end, process.end);
      last_ = std::max(last_, process.end);
    }
  }
  // How long before its end this was.
  int64_t before(int64_t pid, int64_t time) const {
    const auto found = ends_.find(pid);
    return std::max<int64_t>(0, (found == ends_.end() ? last_ : found->second) - time);
  }

 private:
  std::map<int64_t, int64_t> ends_;
  int64_t last_ = 0;
};

std::vector<const store::InflightWork*> in_flight(const store::Trace& trace) {
  std::vector<const store::InflightWork*> work =
      by_time(trace.inflight, &store::InflightWork::submitted);
  std::erase_if(work, [&](const auto* row) { return trace.str(row->kind) == "barrier"; });
  return work;
}

std::string fault_text(const store::Trace& trace, const store::FaultEvent& fault) {
  const std::string_view what = trace.str(fault.what);
  return what.empty() ? fmt::format("reason {:#x}", fault.reason) : printable(what);
}

void describe_faults(const store::Trace& trace, std::vector<std::string>& lines) {
  for (const store::FaultEvent* fault : by_time(trace.faults, &store::FaultEvent::time)) {
    if (lines.size() == kMaxShown) return;
    lines.push_back(fmt::format("GPU {}: fault at {:#x}: {}; {}", fault->gpu, fault->address,
                                fault_text(trace, *fault), printable(trace.str(fault->owner))));
  }
}

void describe_in_flight(const store::Trace& trace, const Ends& ends,
                        std::vector<std::string>& lines) {
  const std::vector<const store::InflightWork*> work = in_flight(trace);
  for (size_t i = 0; i < std::min(work.size(), kMaxShown); ++i) {
    const store::InflightWork& row = *work[i];
    std::string text = fmt::format("in flight on GPU {}, queue {}: {}", row.gpu, row.queue,
                                   printable(trace.str(row.name)));
    if (trace.str(row.kind) == "kernel") text += fmt::format(", {}", geometry(row));
    text += fmt::format(", submitted {} before the end",
                        milliseconds(ends.before(row.pid, row.submitted)));
    if (row.args != 0) text += fmt::format("; {}", printable(trace.str(row.args)));
    lines.push_back(std::move(text));
  }
  if (work.size() > kMaxShown)
    lines.push_back(
        fmt::format("and {} more in flight; see table wavetap_inflight", work.size() - kMaxShown));
}

// The last dispatches that ended on each queue, the oldest first.
std::map<int32_t, std::vector<const store::Dispatch*>> last_dispatches(const store::Trace& trace) {
  std::map<int32_t, std::vector<const store::Dispatch*>> queues;
  const auto is_earlier = [&](const store::Dispatch* a, const store::Dispatch* b) {
    return std::pair(trace.ops.end[a->op], a->op) < std::pair(trace.ops.end[b->op], b->op);
  };
  for (const store::Dispatch& dispatch : trace.dispatches) {
    if (dispatch.op == store::kNoRow) continue;
    std::vector<const store::Dispatch*>& last = queues[trace.ops.queue[dispatch.op]];
    last.insert(std::upper_bound(last.begin(), last.end(), &dispatch, is_earlier), &dispatch);
    if (last.size() > kLastDispatches) last.erase(last.begin());
  }
  return queues;
}

void describe_last(const store::Trace& trace, const Ends& ends, std::vector<std::string>& lines) {
  std::map<int64_t, int64_t> process_of_queue;
  for (const store::QueueUse& queue : trace.queues) process_of_queue[queue.id] = queue.pid;
  const std::map<int32_t, std::vector<const store::Dispatch*>> last = last_dispatches(trace);
  std::vector<std::string_view> names;
  for (const auto& [queue, dispatches] : last)
    for (const store::Dispatch* const dispatch : dispatches)
      names.push_back(trace.str(trace.ops.description[dispatch->op]));
  const std::vector<std::string> labels = kernel_labels(names);
  size_t shown = 0;
  for (const auto& [queue, dispatches] : last) {
    bool is_first = true;
    for (const store::Dispatch* const dispatch : dispatches) {
      if (shown == kMaxShown) return;
      const uint32_t op = dispatch->op;
      if (is_first)
        lines.push_back(fmt::format("last {} dispatches that finished on GPU {}, queue {}:",
                                    kLastDispatches, trace.ops.gpu[op], queue));
      is_first = false;
      lines.push_back(
          fmt::format("  {}, {}, took {}, ended {} before the end", printable(labels[shown++]),
                      geometry(*dispatch), milliseconds(trace.ops.end[op] - trace.ops.start[op]),
                      milliseconds(ends.before(process_of_queue[queue], trace.ops.end[op]))));
    }
  }
}

void describe_open_calls(const store::Trace& trace, const Ends& ends,
                         std::vector<std::string>& lines) {
  size_t shown = 0;
  for (const store::OpenCall* call : by_time(trace.open_calls, &store::OpenCall::start)) {
    if (shown++ == kMaxShown) return;
    lines.push_back(fmt::format("thread {} of process {} was in {} for {}", call->tid, call->pid,
                                printable(trace.str(call->name)),
                                milliseconds(ends.before(call->pid, call->start))));
  }
}

std::string text(const store::Trace& trace, store::Str s) { return std::string(trace.str(s)); }

}  // namespace

store::LoadOptions post_mortem_load() {
  store::LoadOptions options;
  options.apis = options.domains = options.copies_and_launches = false;
  options.monitors = options.counters = false;
  options.dispatches = true;
  return options;
}

std::vector<std::string> post_mortem(const store::Trace& trace) {
  const Ends ends(trace);
  std::vector<std::string> lines;
  describe_faults(trace, lines);
  describe_in_flight(trace, ends, lines);
  describe_last(trace, ends, lines);
  describe_open_calls(trace, ends, lines);
  return lines;
}

void add_post_mortem(const store::Trace& trace, const Options& options, Report& report) {
  const Ends ends(trace);
  const int64_t begin = trace_span(trace).begin;
  Table faults{.name = "faults",
               .title = "Faults",
               .columns = {{"gpu", "GPU", Unit::kCount},
                           {"at_ns", "AT", Unit::kTime},
                           {"address", "ADDRESS"},
                           {"what", "WHAT"},
                           {"owner", "WHOSE MEMORY"}},
               .rows = {}};
  for (const store::FaultEvent* fault : by_time(trace.faults, &store::FaultEvent::time))
    faults.rows.push_back({fault->gpu, fault->time - begin, fmt::format("{:#x}", fault->address),
                           fault_text(trace, *fault), text(trace, fault->owner)});
  Table work{.name = "in_flight",
             .title = "In flight when the recording ended",
             .columns = {{"gpu", "GPU", Unit::kCount},
                         {"queue", "QUEUE", Unit::kCount},
                         {"kind", "KIND"},
                         {"name", "NAME", Unit::kKernel},
                         {"before_end_ns", "SUBMITTED BEFORE THE END", Unit::kNs}},
             .rows = {}};
  for (const store::InflightWork* row : in_flight(trace))
    work.rows.push_back({row->gpu, row->queue, text(trace, row->kind), text(trace, row->name),
                         ends.before(row->pid, row->submitted)});
  Table calls{.name = "open_calls",
              .title = "Calls that threads were in at the end",
              .columns = {{"pid", "PROCESS", Unit::kCount},
                          {"tid", "THREAD", Unit::kCount},
                          {"call", "CALL"},
                          {"for_ns", "FOR", Unit::kNs}},
              .rows = {}};
  for (const store::OpenCall* call : by_time(trace.open_calls, &store::OpenCall::start))
    calls.rows.push_back(
        {call->pid, call->tid, text(trace, call->name), ends.before(call->pid, call->start)});
  for (Table* table : {&faults, &work, &calls}) {
    if (table->rows.empty()) continue;
    cut_to_top(*table, options);
    report.tables.push_back(std::move(*table));
  }
}

}  // namespace wavetap::analysis
