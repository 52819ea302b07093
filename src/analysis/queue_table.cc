#include "analysis/queue_table.h"

#include <map>
#include <set>

#include "analysis/intervals.h"
#include "analysis/op_kind.h"
#include "analysis/trace_index.h"
#include "util/text.h"

namespace wavetap::analysis {
namespace {

using store::kNoRow;

struct Queue {
  int64_t kernels = 0, copies = 0, other = 0;
  std::vector<Interval> busy;
  std::set<store::Str> streams;  // HIP streams seen on it
};

using Queues = std::map<std::pair<int32_t, int32_t>, Queue>;  // by GPU and queue

Queues collect_queues(const store::Trace& trace) {
  const OpKinds kinds(trace);
  std::vector<store::Str> stream_of_api(trace.apis.size(), 0);
  for (const store::KernelLaunch& launch : trace.launches)
    stream_of_api[launch.api] = launch.stream;
  for (const store::Copy& copy : trace.copies) stream_of_api[copy.api] = copy.stream;
  const std::vector<uint32_t> call_of_op = analysis::call_of_op(trace);

  Queues queues;
  for (size_t op = 0; op < trace.ops.size(); ++op) {
    Queue& queue = queues[{trace.ops.gpu[op], trace.ops.queue[op]}];
    (kinds[op] == OpKind::kKernel ? queue.kernels
     : kinds[op] == OpKind::kCopy ? queue.copies
                                  : queue.other) += 1;
    queue.busy.push_back({trace.ops.start[op], trace.ops.end[op]});
    if (call_of_op[op] != kNoRow && stream_of_api[call_of_op[op]] != 0)
      queue.streams.insert(stream_of_api[call_of_op[op]]);
  }
  return queues;
}

}  // namespace

Table queue_table(const store::Trace& trace, const Options& options) {
  const Span span = trace_span(trace);
  Table table{.name = "queues",
              .title = "Queues",
              .columns = {{"gpu", "GPU", Unit::kCount},
                          {"queue", "QUEUE", Unit::kCount},
                          {"kernels", "KERNELS", Unit::kCount},
                          {"copies", "COPIES", Unit::kCount},
                          {"other", "OTHER", Unit::kCount},
                          {"busy_ns", "BUSY", Unit::kNs},
                          {"busy_share", "BUSY", Unit::kShare},
                          {"streams", "STREAMS"}}};
  Queues queues = collect_queues(trace);
  for (auto& [id, queue] : queues) {
    const int64_t busy = total_length(merged(std::move(queue.busy)));
    std::vector<std::string> names;
    for (const store::Str s : queue.streams) names.emplace_back(trace.str(s));
    table.rows.push_back({int64_t{id.first}, int64_t{id.second}, queue.kernels, queue.copies,
                          queue.other, busy, share_of(busy, span.length()),
                          util::join(names, " ")});
  }
  cut_to_top(table, options);
  return table;
}

}  // namespace wavetap::analysis
