// Chrome trace events in the dialect PyTorch's Kineto writes and Perfetto, chrome://tracing and
// holistic-trace tools read: numeric ids, microseconds with a fraction, a category per kind, flows from
// each launch to its op (cat ac2g), a track per stream, counters for work in flight.
//
// Times are relative to the trace's first event; `baseTimeNanoseconds` holds that event's own time. A
// double keeps 53 bits: microseconds since boot with a nanosecond fraction would not survive.
#include "export/chrome.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/analysis.h"
#include "analysis/call_args.h"
#include "analysis/op_kind.h"

namespace wavetap::exporter {
namespace {

using analysis::OpKind;
using store::kNoRow;

// GPUs are shown as processes; their numbers must not meet a real process id.
int64_t gpu_pid(int32_t gpu) { return int64_t{1} << 31 | gpu; }

class Writer {
 public:
  Writer(const store::Trace& trace, const Options& options, Sink& sink)
      : trace_(trace),
        options_(options),
        sink_(sink),
        kinds_(trace),
        base_(analysis::trace_span(trace).begin),
        marker_(trace.strings.find("UserMarker")) {
    launch_of_api_.assign(trace.apis.size(), kNoRow);
    copy_of_api_.assign(trace.apis.size(), kNoRow);
    for (uint32_t i = 0; i < trace.launches.size(); ++i) launch_of_api_[trace.launches[i].api] = i;
    for (uint32_t i = 0; i < trace.copies.size(); ++i) copy_of_api_[trace.copies[i].api] = i;
    api_of_op_.assign(trace.ops.size(), kNoRow);
    for (size_t i = 0; i < trace.links.size(); ++i)
      if (trace.links.op[i] != kNoRow) api_of_op_[trace.links.op[i]] = trace.links.api[i];
  }

  void run() {
    if (options_.json_array) {
      sink_.put('[');
    } else {
      sink_.write("{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":");
      sink_.integer(base_);
      sink_.write(trace_.is_emulated() ? ",\"emulated\":true" : "");
      sink_.write(",\"traceEvents\":[");
    }
    write_names();
    write_calls();
    progress(0.5);
    write_ops();
    progress(0.7);
    write_flows();
    write_counters();
    write_monitors();
    sink_.write(options_.json_array ? "\n]\n" : "\n]}\n");
    progress(1.0);
  }

 private:
  void progress(double share) {
    if (options_.progress) options_.progress(share);
  }

  void open(char phase) {
    sink_.write(first_ ? "\n{\"ph\":\"" : ",\n{\"ph\":\"");
    first_ = false;
    sink_.put(phase);
    sink_.put('"');
  }
  void number(std::string_view name, int64_t value) {
    sink_.write(",\"");
    sink_.write(name);
    sink_.write("\":");
    sink_.integer(value);
  }
  void text(std::string_view name, std::string_view value) {
    sink_.write(",\"");
    sink_.write(name);
    sink_.write("\":");
    sink_.json_string(value);
  }
  // Microseconds, exact to the nanosecond.
  void time(std::string_view name, int64_t ns) {
    sink_.write(",\"");
    sink_.write(name);
    sink_.write("\":");
    if (ns < 0) sink_.put('-'), ns = -ns;
    sink_.integer(ns / 1000);
    if (ns % 1000 == 0) return;
    const int64_t fraction = ns % 1000;
    sink_.put('.');
    sink_.put(static_cast<char>('0' + fraction / 100));
    sink_.put(static_cast<char>('0' + fraction / 10 % 10));
    sink_.put(static_cast<char>('0' + fraction % 10));
  }

  void name_event(std::string_view what, int64_t pid, int64_t tid, std::string_view value) {
    open('M');
    text("name", what);
    number("pid", pid);
    number("tid", tid);
    sink_.write(",\"args\":{\"name\":");
    sink_.json_string(value);
    sink_.write("}}");
  }
  void sort_event(std::string_view what, int64_t pid, int64_t tid, int64_t index) {
    open('M');
    text("name", what);
    number("pid", pid);
    number("tid", tid);
    sink_.write(",\"args\":{\"sort_index\":");
    sink_.integer(index);
    sink_.write("}}");
  }

  void write_names() {
    std::set<int64_t> processes;
    for (const store::Thread& thread : trace_.threads) {
      if (processes.insert(thread.pid).second) {
        name_event("process_name", thread.pid, 0, "process " + std::to_string(thread.pid));
        sort_event("process_sort_index", thread.pid, 0, 0);
      }
      name_event("thread_name", thread.pid, thread.tid,
                 "thread " + std::to_string(thread.tid) + (thread.tid == thread.pid ? " (main)" : ""));
    }
    std::map<int32_t, std::set<int32_t>> queues;
    for (size_t op = 0; op < trace_.ops.size(); ++op) queues[trace_.ops.gpu[op]].insert(trace_.ops.queue[op]);
    for (const auto& [gpu, ids] : queues) {
      name_event("process_name", gpu_pid(gpu), 0, "GPU " + std::to_string(gpu));
      sort_event("process_sort_index", gpu_pid(gpu), 0, 1000000 + gpu);
      for (const int32_t queue : ids) name_event("thread_name", gpu_pid(gpu), queue, "queue " + std::to_string(queue));
    }
  }

  void write_calls() {
    const store::Apis& apis = trace_.apis;
    for (size_t row = 0; row < apis.size(); ++row) {
      if (!options_.wants(apis.start[row])) continue;
      const store::Thread& thread = trace_.threads[apis.thread[row]];
      const bool marker = apis.name[row] == marker_;
      const std::string_view args = trace_.args(row);
      const bool instant = marker && apis.start[row] == apis.end[row];
      open(instant ? 'i' : 'X');
      text("cat", marker ? "user_annotation" : "cuda_runtime");
      text("name", marker && !args.empty() ? args : trace_.str(apis.name[row]));
      number("pid", thread.pid);
      number("tid", thread.tid);
      time("ts", apis.start[row] - base_);
      if (instant)
        sink_.write(",\"s\":\"t\"");
      else
        time("dur", apis.end[row] - apis.start[row]);
      sink_.write(",\"args\":{\"External id\":");
      sink_.integer(apis.id[row]);
      if (!marker) {
        number("correlation", apis.id[row]);
        if (!args.empty()) text("args", args);
        if (trace_.str(apis.domain[row]) != "") text("domain", trace_.str(apis.domain[row]));
      }
      sink_.write("}}");
    }
  }

  void write_ops() {
    const store::Ops& ops = trace_.ops;
    for (size_t op = 0; op < ops.size(); ++op) {
      if (!options_.wants(ops.start[op])) continue;
      open('X');
      const OpKind kind = kinds_[op];
      text("cat", kind == OpKind::kKernel ? "kernel" : kind == OpKind::kCopy ? "gpu_memcpy" : kind == OpKind::kFill ? "gpu_memset" : "gpu_op");
      text("name", trace_.str(ops.name(op)));
      number("pid", gpu_pid(ops.gpu[op]));
      number("tid", ops.queue[op]);
      time("ts", ops.start[op] - base_);
      time("dur", ops.end[op] - ops.start[op]);
      sink_.write(",\"args\":{\"device\":");
      sink_.integer(ops.gpu[op]);
      number("stream", ops.queue[op]);
      text("type", trace_.str(ops.type[op]));
      const uint32_t api = api_of_op_[op];
      if (api != kNoRow) {
        number("correlation", trace_.apis.id[api]);
        if (launch_of_api_[api] != kNoRow && kind == OpKind::kKernel) launch_args(trace_.launches[launch_of_api_[api]]);
        if (copy_of_api_[api] != kNoRow && kind == OpKind::kCopy) number("bytes", trace_.copies[copy_of_api_[api]].size_bytes);
        const std::string_view exec = analysis::find_arg(trace_.args(api), "graphExec");
        if (!exec.empty()) text("graph", exec);
      }
      sink_.write("}}");
    }
  }

  void triple(std::string_view name, const int32_t (&v)[3]) {
    sink_.write(",\"");
    sink_.write(name);
    sink_.write("\":[");
    for (int i = 0; i < 3; ++i) {
      if (i > 0) sink_.put(',');
      sink_.integer(v[i]);
    }
    sink_.put(']');
  }

  void launch_args(const store::KernelLaunch& launch) {
    triple("grid", launch.grid);
    triple("block", launch.workgroup);
    number("shared memory", launch.group_segment_bytes);
    if (launch.private_segment_bytes != 0) number("scratch", launch.private_segment_bytes);
    text("hip stream", trace_.str(launch.stream));
  }

  void write_flows() {
    for (size_t i = 0; i < trace_.links.size(); ++i) {
      const uint32_t api = trace_.links.api[i], op = trace_.links.op[i];
      if (api == kNoRow || op == kNoRow || !options_.wants(trace_.apis.start[api]) || !options_.wants(trace_.ops.start[op]))
        continue;
      const store::Thread& thread = trace_.threads[trace_.apis.thread[api]];
      open('s');
      sink_.write(",\"cat\":\"ac2g\",\"name\":\"ac2g\"");
      number("id", trace_.links.id[i]);
      number("pid", thread.pid);
      number("tid", thread.tid);
      time("ts", trace_.apis.start[api] - base_);
      sink_.put('}');
      open('f');
      sink_.write(",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\"");
      number("id", trace_.links.id[i]);
      number("pid", gpu_pid(trace_.ops.gpu[op]));
      number("tid", trace_.ops.queue[op]);
      time("ts", trace_.ops.start[op] - base_);
      sink_.put('}');
    }
  }

  void write_counters() {
    std::map<int32_t, std::vector<std::pair<int64_t, int>>> gpus;
    for (size_t i = 0; i < trace_.links.size(); ++i) {
      const uint32_t api = trace_.links.api[i], op = trace_.links.op[i];
      if (api == kNoRow || op == kNoRow || !options_.wants(trace_.apis.start[api])) continue;
      gpus[trace_.ops.gpu[op]].push_back({trace_.apis.start[api], 1});
      gpus[trace_.ops.gpu[op]].push_back({std::max(trace_.ops.end[op], trace_.apis.start[api]), -1});
    }
    for (auto& [gpu, events] : gpus) {
      std::sort(events.begin(), events.end());
      int64_t depth = 0;
      for (size_t i = 0; i < events.size(); ++i) {
        depth += events[i].second;
        if (i + 1 < events.size() && events[i + 1].first == events[i].first) continue;
        open('C');
        text("name", "in flight");
        number("pid", gpu_pid(gpu));
        time("ts", events[i].first - base_);
        sink_.write(",\"args\":{\"ops\":");
        sink_.integer(depth);
        sink_.write("}}");
      }
    }
  }

  void write_monitors() {
    for (const store::Monitor& m : trace_.monitors) {
      const std::optional<uint64_t> value = analysis::parse_number(trace_.str(m.value));
      if (!value || !options_.wants(m.start)) continue;
      open('C');
      text("name", trace_.str(m.type));
      number("pid", gpu_pid(static_cast<int32_t>(m.device)));
      time("ts", m.start - base_);
      sink_.write(",\"args\":{\"value\":");
      sink_.integer(static_cast<int64_t>(*value));
      sink_.write("}}");
    }
  }

  const store::Trace& trace_;
  const Options& options_;
  Sink& sink_;
  const analysis::OpKinds kinds_;
  const int64_t base_;
  const store::Str marker_;
  std::vector<uint32_t> launch_of_api_, copy_of_api_, api_of_op_;
  bool first_ = true;
};

}  // namespace

Status write_chrome(const store::Trace& trace, const Options& options, Sink& sink) {
  if (options.rpd_compatible) return write_chrome_rpd(trace, options, sink);
  Writer(trace, options, sink).run();
  return {};
}

}  // namespace wavetap::exporter
