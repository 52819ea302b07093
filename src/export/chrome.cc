// Chrome trace events in the dialect PyTorch's Kineto writes and Perfetto, chrome://tracing and
// holistic-trace tools read: numeric ids, microseconds with a fraction, a category per kind, flows
// from each launch to its op (cat ac2g), a track per stream, counters for work in flight.
//
// Times are relative to the trace's first event; `baseTimeNanoseconds` holds that event's own time.
// A double keeps 53 bits: microseconds since boot with a nanosecond fraction would not survive.
#include "export/chrome.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/analysis.h"
#include "analysis/call_args.h"
#include "analysis/marker.h"
#include "analysis/op_counters.h"
#include "analysis/op_kind.h"
#include "analysis/trace_index.h"
#include "export/gpu_annotations.h"
#include "export/ordered_chunks.h"
#include "export/queue_depths.h"

namespace wavetap::exporter {
namespace {

using analysis::OpKind;
using store::kNoRow;

// GPUs are shown as processes; their numbers must not meet a real process id.
int64_t gpu_pid(int32_t gpu) { return int64_t{1} << 31 | gpu; }

// Of all that is written: readers drop what lies before 0.
int64_t first_time(const store::Trace& trace) {
  int64_t first = analysis::trace_span(trace).begin;
  for (const store::Monitor& monitor : trace.monitors)
    if (monitor.start > 0) first = std::min(first, monitor.start);
  return first;
}

// What every event needs to look up; read by all threads.
struct Context {
  Context(const store::Trace& t, const Options& o)
      : trace(t),
        options(o),
        kinds(t),
        base(first_time(t)),
        marker(t.strings.find("UserMarker")),
        launch_of_call(analysis::launch_of_call(t)),
        copy_of_call(analysis::copy_of_call(t)),
        call_of_op(analysis::call_of_op(t)),
        counters(t),
        number_in_call(t.ops.size(), 0) {
    std::vector<uint32_t> count(t.apis.size(), 0);
    for (size_t op = 0; op < t.ops.size(); ++op)
      if (call_of_op[op] != kNoRow) number_in_call[op] = count[call_of_op[op]]++;
  }

  const store::Trace& trace;
  const Options& options;
  const analysis::OpKinds kinds;
  const int64_t base;
  const store::Str marker;
  const std::vector<uint32_t> launch_of_call, copy_of_call, call_of_op;
  const analysis::OpCounters counters;
  std::vector<uint32_t> number_in_call;  // of each op among those of its call
};

// Writes events, each preceded by a comma.
class Events {
 public:
  Events(const Context& context, Sink& sink) : c_(context), trace_(context.trace), sink_(sink) {}

  void names() {
    std::set<int64_t> processes;
    for (const store::Thread& thread : trace_.threads) {
      if (processes.insert(thread.pid).second) {
        name_event("process_name", thread.pid, 0, "process " + std::to_string(thread.pid));
        sort_event("process_sort_index", thread.pid, 0, 0);
      }
      name_event(
          "thread_name", thread.pid, thread.tid,
          "thread " + std::to_string(thread.tid) + (thread.tid == thread.pid ? " (main)" : ""));
    }
    std::map<int32_t, std::set<int32_t>> queues;
    for (size_t op = 0; op < trace_.ops.size(); ++op)
      queues[trace_.ops.gpu[op]].insert(trace_.ops.queue[op]);
    for (const auto& [gpu, ids] : queues) {
      name_event("process_name", gpu_pid(gpu), 0, "GPU " + std::to_string(gpu));
      sort_event("process_sort_index", gpu_pid(gpu), 0, 1000000 + gpu);
      for (const int32_t queue : ids)
        name_event("thread_name", gpu_pid(gpu), queue, "queue " + std::to_string(queue));
    }
  }

  void call(size_t row) {
    const store::Apis& apis = trace_.apis;
    if (!c_.options.wants(apis.start[row])) return;
    const store::Thread& thread = trace_.threads[apis.thread[row]];
    const bool marker = apis.name[row] == c_.marker;
    const std::string_view args = trace_.args(row);
    const bool instant = marker && apis.start[row] == apis.end[row];
    open(instant ? 'i' : 'X');
    const size_t numbers = marker ? analysis::find_marker_numbers(args) : std::string_view::npos;
    const bool numbered = numbers != std::string_view::npos;
    sink_.write(numbered ? ",\"cat\":\"cpu_op\""
                : marker ? ",\"cat\":\"user_annotation\""
                         : ",\"cat\":\"cuda_runtime\"");
    text(",\"name\":",
         marker && !args.empty() ? args.substr(0, numbers) : trace_.str(apis.name[row]));
    number(",\"pid\":", thread.pid);
    number(",\"tid\":", thread.tid);
    time(",\"ts\":", apis.start[row] - c_.base);
    if (instant) sink_.write(",\"s\":\"t\"");
    else time(",\"dur\":", std::max<int64_t>(apis.end[row] - apis.start[row], 0));
    sink_.write(",\"args\":{\"External id\":");
    sink_.integer(apis.id[row]);
    if (marker) {
      // An operator's marker carries its numbers in its text; they belong beside the name, not into
      // it.
      if (numbered) text(",\"args\":", args);
    } else {
      number(",\"correlation\":", apis.id[row]);
      if (!args.empty()) text(",\"args\":", args);
      if (apis.domain[row] != 0) text(",\"domain\":", trace_.str(apis.domain[row]));
    }
    sink_.write("}}");
  }

  void op(size_t row) {
    const store::Ops& ops = trace_.ops;
    if (!c_.options.wants(ops.start[row])) return;
    open('X');
    const OpKind kind = c_.kinds[row];
    text(",\"cat\":", kind == OpKind::kKernel ? "kernel"
                      : kind == OpKind::kCopy ? "gpu_memcpy"
                      : kind == OpKind::kFill ? "gpu_memset"
                                              : "gpu_op");
    text(",\"name\":", trace_.str(ops.name(row)));
    number(",\"pid\":", gpu_pid(ops.gpu[row]));
    number(",\"tid\":", ops.queue[row]);
    time(",\"ts\":", ops.start[row] - c_.base);
    time(",\"dur\":", std::max<int64_t>(ops.end[row] - ops.start[row], 0));
    sink_.write(",\"args\":{\"device\":");
    sink_.integer(ops.gpu[row]);
    number(",\"stream\":", ops.queue[row]);
    text(",\"type\":", trace_.str(ops.type[row]));
    if (const uint32_t api = c_.call_of_op[row]; api != kNoRow) {
      number(",\"correlation\":", trace_.apis.id[api]);
      if (c_.launch_of_call[api] != kNoRow && kind == OpKind::kKernel)
        launch_args(trace_.launches[c_.launch_of_call[api]]);
      if (c_.copy_of_call[api] != kNoRow && kind == OpKind::kCopy)
        number(",\"bytes\":", trace_.copies[c_.copy_of_call[api]].size_bytes);
      graph_args(analysis::find_arg(trace_.args(api), "graphExec"), c_.number_in_call[row]);
    }
    counter_args(row);
    sink_.write("}}");
  }

  // From a launch to its op.
  void flow(size_t i) {
    const uint32_t api = trace_.links.api[i], op = trace_.links.op[i];
    if (api == kNoRow || op == kNoRow || !c_.options.wants(trace_.apis.start[api]) ||
        !c_.options.wants(trace_.ops.start[op]))
      return;
    const store::Thread& thread = trace_.threads[trace_.apis.thread[api]];
    open('s');
    sink_.write(",\"cat\":\"ac2g\",\"name\":\"ac2g\"");
    number(",\"id\":", trace_.links.id[i]);
    number(",\"pid\":", thread.pid);
    number(",\"tid\":", thread.tid);
    time(",\"ts\":", trace_.apis.start[api] - c_.base);
    sink_.put('}');
    open('f');
    sink_.write(",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\"");
    number(",\"id\":", trace_.links.id[i]);
    number(",\"pid\":", gpu_pid(trace_.ops.gpu[op]));
    number(",\"tid\":", trace_.ops.queue[op]);
    time(",\"ts\":", trace_.ops.start[op] - c_.base);
    sink_.put('}');
  }

  // When the work launched inside a marker ran, on the queue it ran on.
  void annotations() {
    for (const GpuAnnotation& a : find_gpu_annotations(trace_)) {
      if (!c_.options.wants(a.begin)) continue;
      open('X');
      sink_.write(",\"cat\":\"gpu_user_annotation\"");
      text(",\"name\":", trace_.args(a.marker));
      number(",\"pid\":", gpu_pid(a.gpu));
      number(",\"tid\":", a.queue);
      time(",\"ts\":", a.begin - c_.base);
      time(",\"dur\":", a.end - a.begin);
      sink_.write(",\"args\":{\"External id\":");
      sink_.integer(trace_.apis.id[a.marker]);
      number(",\"ops\":", a.ops);
      sink_.write("}}");
    }
  }

  // Work in flight, one sample per point in time.
  void sample(const DepthSample& sample) {
    if (!c_.options.wants(sample.time)) return;
    open('C');
    sink_.write(",\"name\":\"in flight\"");
    number(",\"pid\":", gpu_pid(sample.gpu));
    time(",\"ts\":", sample.time - c_.base);
    sink_.write(",\"args\":{\"ops\":");
    sink_.integer(sample.depth);
    sink_.write("}}");
  }

  void monitors() {
    for (const store::Monitor& m : trace_.monitors) {
      const std::optional<uint64_t> value = analysis::parse_number(trace_.str(m.value));
      if (!value || !c_.options.wants(m.start)) continue;
      open('C');
      text(",\"name\":", trace_.str(m.type));
      number(",\"pid\":", gpu_pid(static_cast<int32_t>(m.device)));
      time(",\"ts\":", m.start - c_.base);
      sink_.write(",\"args\":{\"value\":");
      sink_.integer(static_cast<int64_t>(*value));
      sink_.write("}}");
    }
  }

 private:
  void open(char phase) {
    const char start[] = {',', '\n', '{', '"', 'p', 'h', '"', ':', '"', phase, '"'};
    sink_.write({start, sizeof start});
  }
  // Keys are given as they stand in the text, with comma, quotes and colon: one store instead of
  // three.
  template <size_t N>
  void number(const char (&key)[N], int64_t value) {
    sink_.write({key, N - 1});
    sink_.integer(value);
  }
  template <size_t N>
  void text(const char (&key)[N], std::string_view value) {
    sink_.write({key, N - 1});
    sink_.json_string(value);
  }
  // Microseconds, exact to the nanosecond.
  template <size_t N>
  void time(const char (&key)[N], int64_t ns) {
    sink_.write({key, N - 1});
    if (ns < 0) sink_.put('-'), ns = -ns;
    sink_.integer(ns / 1000);
    const auto fraction = static_cast<int>(ns % 1000);
    if (fraction == 0) return;
    const char digits[] = {'.', static_cast<char>('0' + fraction / 100),
                           static_cast<char>('0' + fraction / 10 % 10),
                           static_cast<char>('0' + fraction % 10)};
    sink_.write({digits, sizeof digits});
  }

  void name_event(std::string_view what, int64_t pid, int64_t tid, std::string_view value) {
    open('M');
    text(",\"name\":", what);
    number(",\"pid\":", pid);
    number(",\"tid\":", tid);
    sink_.write(",\"args\":{\"name\":");
    sink_.json_string(value);
    sink_.write("}}");
  }
  void sort_event(std::string_view what, int64_t pid, int64_t tid, int64_t index) {
    open('M');
    text(",\"name\":", what);
    number(",\"pid\":", pid);
    number(",\"tid\":", tid);
    sink_.write(",\"args\":{\"sort_index\":");
    sink_.integer(index);
    sink_.write("}}");
  }

  template <size_t N>
  void triple(const char (&key)[N], const int32_t (&v)[3]) {
    sink_.write({key, N - 1});
    for (int i = 0; i < 3; ++i) {
      if (i > 0) sink_.put(',');
      sink_.integer(v[i]);
    }
    sink_.put(']');
  }

  void launch_args(const store::KernelLaunch& launch) {
    triple(",\"grid\":[", launch.grid);
    triple(",\"block\":[", launch.workgroup);
    number(",\"shared memory\":", launch.group_segment_bytes);
    if (launch.private_segment_bytes != 0) number(",\"scratch\":", launch.private_segment_bytes);
    text(",\"hip stream\":", trace_.str(launch.stream));
  }

  void counter_args(size_t row) {
    const std::span<const store::Counter> counters = c_.counters.of(row);
    if (counters.empty()) return;
    sink_.write(",\"counters\":{");
    for (size_t i = 0; i < counters.size(); ++i) {
      if (i > 0) sink_.put(',');
      sink_.json_string(trace_.str(counters[i].name));
      sink_.put(':');
      sink_.json_number(counters[i].value);
    }
    sink_.put('}');
  }

  // Kineto's keys; the executable graph's address serves as its number.
  void graph_args(std::string_view exec, uint32_t node) {
    if (exec.empty()) return;
    if (const std::optional<uint64_t> id = analysis::parse_number(exec))
      number(",\"graph id\":", static_cast<int64_t>(*id));
    else text(",\"graph id\":", exec);
    number(",\"graph node id\":", node);
  }

  const Context& c_;
  const store::Trace& trace_;
  Sink& sink_;
};

void write_events(const store::Trace& trace, const Options& options, Sink& sink) {
  const Context context(trace, options);
  const auto progress = [&](double share) {
    if (options.progress) options.progress(share);
  };
  if (options.json_array) {
    sink.put('[');
  } else {
    sink.write("{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":");
    sink.integer(context.base);
    sink.write(trace.is_emulated() ? ",\"emulated\":true" : "");
    sink.write(",\"traceEvents\":[");
  }
  bool first = true;
  const auto emit = [&](std::string_view events) {
    if (events.empty()) return;
    sink.write(first ? events.substr(1) : events);  // no comma before the first
    first = false;
  };
  // `from` and `to`: the share of the whole done before and after these rows.
  const auto rows = [&](size_t count, void (Events::*write)(size_t), double from, double to) {
    size_t chunks = 0;
    for_ordered_chunks(
        count,
        [&](Sink& part, size_t begin, size_t end) {
          Events events(context, part);
          for (size_t row = begin; row < end; ++row) (events.*write)(row);
        },
        [&](std::string_view events) {
          emit(events);
          const auto done = static_cast<double>(std::min(count, ++chunks * kRowsPerChunk));
          progress(from + (to - from) * done / static_cast<double>(count));
        });
  };
  const auto once = [&](void (Events::*write)()) {
    Sink part = Sink::in_memory();
    (Events(context, part).*write)();
    emit(part.memory());
  };
  once(&Events::names);
  rows(trace.apis.size(), &Events::call, 0, 0.6);
  rows(trace.ops.size(), &Events::op, 0.6, 0.8);
  rows(trace.links.size(), &Events::flow, 0.8, 0.9);
  once(&Events::annotations);
  const std::vector<DepthSample> samples = queue_depths(trace, context.call_of_op);
  for_ordered_chunks(
      samples.size(),
      [&](Sink& part, size_t begin, size_t end) {
        Events events(context, part);
        for (size_t i = begin; i < end; ++i) events.sample(samples[i]);
      },
      emit);
  once(&Events::monitors);
  sink.write(options.json_array ? "\n]\n" : "\n]}\n");
  progress(1.0);
}

}  // namespace

Status write_chrome(const store::Trace& trace, const Options& options, Sink& sink) {
  if (options.rpd_compatible) return write_chrome_rpd(trace, options, sink);
  write_events(trace, options, sink);
  return {};
}

}  // namespace wavetap::exporter
