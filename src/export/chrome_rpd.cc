// Chrome trace events exactly as RPD's converter writes them, for tools that depend on its event
// set: everything a string, GPUs as processes, one flow per call-op link, Idle and QueueDepth
// counters and "UserMarker frame" spans on the GPU. Two of its faults are not kept: names are
// escaped, so the JSON is always valid, and the quotes and tabs it drops from texts stay dropped
// only because its readers expect that. The last frame of each thread, which RPD forgets, is left
// out here as well.
#include <algorithm>
#include <map>
#include <set>

#include "analysis/call_args.h"
#include "export/chrome.h"

namespace wavetap::exporter {
namespace {

using store::kNoRow;

double us(int64_t ns) { return static_cast<double>(ns) / 1000.0; }

std::string without(std::string_view text, std::string_view dropped) {
  std::string out;
  for (const char c : text)
    if (dropped.find(c) == std::string_view::npos) out.push_back(c);
  return out;
}

class ChromeRpdWriter {
 public:
  ChromeRpdWriter(const store::Trace& trace, const Options& options, Sink& sink)
      : trace_(trace), options_(options), sink_(sink), marker_(trace.strings.find("UserMarker")) {}

  void run() {
    sink_.write(options_.json_array ? "[ {}\n" : "{\"traceEvents\": [ {}\n");
    write_names();
    write_ops();
    write_graph_launches();
    write_calls();
    write_flows();
    write_counters();
    write_monitors();
    write_frames();
    sink_.write(options_.json_array ? "]\n" : "]\n} \n");
  }

 private:
  bool has(size_t api_row) const {
    return options_.whole() || options_.wants(trace_.apis.start[api_row]);
  }
  bool has_op(size_t op) const { return options_.whole() || options_.wants(trace_.ops.start[op]); }

  void key(std::string_view name, int64_t value) {
    sink_.put('"');
    sink_.write(name);
    sink_.write("\":\"");
    sink_.integer(value);
    sink_.put('"');
  }
  void key_real(std::string_view name, double value) {
    sink_.put('"');
    sink_.write(name);
    sink_.write("\":\"");
    sink_.real(value);
    sink_.put('"');
  }

  void write_names() {
    std::set<int32_t> gpus(trace_.ops.gpu.begin(), trace_.ops.gpu.end());
    for (const int32_t gpu : gpus) {
      sink_.write(",{\"name\": \"process_name\", \"ph\": \"M\", ");
      key("pid", gpu);
      sink_.write(",\"args\":{\"name\":\"GPU");
      sink_.integer(gpu);
      sink_.write("\"}}\n,{\"name\": \"process_sort_index\", \"ph\": \"M\", ");
      key("pid", gpu);
      sink_.write(",\"args\":{");
      key("sort_index", int64_t{gpu} + 1000000);
      sink_.write("}}\n");
    }
    for (const store::Thread& thread : trace_.threads) {
      sink_.write(",{\"name\":\"thread_name\",\"ph\":\"M\",");
      key("pid", thread.pid);
      sink_.put(',');
      key("tid", thread.tid);
      sink_.write(",\"args\":{\"name\":\"Hip ");
      sink_.integer(thread.tid);
      sink_.write("\"}}\n,{\"name\":\"thread_sort_index\",\"ph\":\"M\",");
      key("pid", thread.pid);
      sink_.put(',');
      key("tid", thread.tid);
      sink_.write(",\"args\":{");
      key("sort_index", thread.tid * 2);
      sink_.write("}}\n");
    }
  }

  void complete(int64_t pid, int64_t tid, std::string_view name, double ts, double dur,
                std::string_view desc) {
    sink_.write(",{");
    key("pid", pid);
    sink_.put(',');
    key("tid", tid);
    sink_.write(",\"name\":");
    sink_.json_string(name);
    sink_.put(',');
    key_real("ts", ts);
    sink_.put(',');
    key_real("dur", dur);
    sink_.write(",\"ph\":\"X\",\"args\":{\"desc\":");
    sink_.json_string(desc);
    sink_.write("}}\n");
  }

  void write_ops() {
    const store::Ops& ops = trace_.ops;
    for (size_t op = 0; op < ops.size(); ++op)
      if (has_op(op))
        complete(ops.gpu[op], ops.queue[op], trace_.str(ops.name(op)), us(ops.start[op]),
                 us(ops.end[op] - ops.start[op]), trace_.str(ops.type[op]));
  }

  // RPD draws these only when its graph tool has left its tables in the file.
  void write_graph_launches() {
    if (!trace_.metadata.contains("Graph::Generated")) return;
    struct Span {
      int64_t first = 0, last = 0, ops = 0;
      int32_t gpu = 0, queue = 0;
    };
    std::map<uint32_t, Span> launches;
    const store::Str launch = trace_.strings.find("hipGraphLaunch");
    for (size_t i = 0; i < trace_.links.size(); ++i) {
      const uint32_t api = trace_.links.api[i], op = trace_.links.op[i];
      if (api == kNoRow || op == kNoRow || trace_.apis.name[api] != launch || !has(api)) continue;
      Span& span = launches[api];
      span.first =
          span.ops == 0 ? trace_.ops.start[op] : std::min(span.first, trace_.ops.start[op]);
      span.last = span.ops == 0 ? trace_.ops.end[op] : std::max(span.last, trace_.ops.end[op]);
      span.gpu = trace_.ops.gpu[op];
      span.queue = trace_.ops.queue[op];
      ++span.ops;
    }
    for (const auto& [api, span] : launches) {
      sink_.write(",{");
      key("pid", span.gpu);
      sink_.put(',');
      key("tid", span.queue);
      sink_.write(",\"name\":");
      sink_.json_string("Graph " + std::string(analysis::find_arg(trace_.args(api), "graphExec")));
      sink_.put(',');
      key_real("ts", us(span.first));
      sink_.put(',');
      key_real("dur", us(span.last - span.first));
      sink_.write(",\"ph\":\"X\",\"args\":{");
      key("kernels", span.ops);
      sink_.write("}}\n");
    }
  }

  void write_calls() {
    const store::Apis& apis = trace_.apis;
    for (size_t row = 0; row < apis.size(); ++row) {
      if (!has(row)) continue;
      const store::Thread& thread = trace_.threads[apis.thread[row]];
      const bool marker = apis.name[row] == marker_;
      const std::string args = without(trace_.args(row), marker ? "\"" : "\"\t");
      if (marker && apis.start[row] == apis.end[row]) {
        sink_.write(",{");
        key("pid", thread.pid);
        sink_.put(',');
        key("tid", thread.tid);
        sink_.write(",\"name\":");
        sink_.json_string(args);
        sink_.put(',');
        key_real("ts", us(apis.start[row]));
        sink_.write(",\"ph\":\"i\",\"s\":\"p\",\"args\":{\"desc\":");
        sink_.json_string(args);
        sink_.write("}}\n");
      } else {
        complete(thread.pid, thread.tid,
                 marker ? std::string_view(args) : trace_.str(apis.name[row]), us(apis.start[row]),
                 us(apis.end[row] - apis.start[row]), args);
      }
    }
  }

  void write_flows() {
    for (size_t i = 0; i < trace_.links.size(); ++i) {
      const uint32_t api = trace_.links.api[i], op = trace_.links.op[i];
      if (api == kNoRow || op == kNoRow || !has(api)) continue;
      const store::Thread& thread = trace_.threads[trace_.apis.thread[api]];
      const double begin = us(trace_.ops.start[op]);
      flow(thread.pid, thread.tid, std::min(us(trace_.apis.end[api]) - 2, begin),
           trace_.links.id[i], "\"ph\":\"s\"");
      flow(trace_.ops.gpu[op], trace_.ops.queue[op], begin, trace_.links.id[i],
           "\"ph\":\"f\", \"bp\":\"e\"");
    }
  }

  void flow(int64_t pid, int64_t tid, double ts, int64_t id, std::string_view phase) {
    sink_.write(",{");
    key("pid", pid);
    sink_.put(',');
    key("tid", tid);
    sink_.write(",\"cat\":\"api_op\",\"name\":\"api_op\",");
    key_real("ts", ts);
    sink_.put(',');
    key("id", id);
    sink_.put(',');
    sink_.write(phase);
    sink_.write("}\n");
  }

  void counter(int64_t pid, std::string_view name, double ts, std::string_view arg, int64_t value) {
    sink_.write(",{");
    key("pid", pid);
    sink_.write(",\"name\":\"");
    sink_.write(name);
    sink_.write("\",\"ph\":\"C\",\"ts\":");
    sink_.real(ts);
    sink_.write(",\"args\":{\"");
    sink_.write(arg);
    sink_.write("\":");
    sink_.integer(value);
    sink_.write("}}\n");
  }

  void write_counters() {
    std::map<int32_t, std::vector<std::pair<double, int>>> gpus;
    for (const int32_t gpu : trace_.ops.gpu) gpus[gpu];
    for (size_t i = 0; i < trace_.links.size(); ++i) {
      const uint32_t api = trace_.links.api[i], op = trace_.links.op[i];
      if (api == kNoRow || op == kNoRow || !has(api)) continue;
      gpus[trace_.ops.gpu[op]].push_back({us(trace_.apis.start[api]), 1});
      gpus[trace_.ops.gpu[op]].push_back({us(trace_.ops.end[op]), -1});
    }
    int64_t last = 0;
    for (const int64_t end : trace_.apis.end) last = std::max(last, end);
    for (const int64_t end : trace_.ops.end) last = std::max(last, end);
    const int64_t end_us =
        options_.end == std::numeric_limits<int64_t>::max() ? last / 1000 : options_.end / 1000;
    for (auto& [gpu, events] : gpus) {
      std::stable_sort(events.begin(), events.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      int64_t depth = 0;
      bool idle = true;
      for (const auto& [ts, delta] : events) {
        if (delta > 0 && idle) {
          idle = false;
          counter(gpu, "Idle", ts, "idle", 0);
        }
        if (delta < 0 && depth == 1) {
          idle = true;
          counter(gpu, "Idle", ts, "idle", 1);
        }
        depth += delta;
        counter(gpu, "QueueDepth", ts, "depth", depth);
      }
      counter_at_end(gpu, "Idle", end_us, "idle", idle ? 1 : 0);
      counter_at_end(gpu, "QueueDepth", end_us, "depth", depth);
    }
  }

  void counter_at_end(int64_t pid, std::string_view name, int64_t ts, std::string_view arg,
                      int64_t value) {
    sink_.write(",{");
    key("pid", pid);
    sink_.write(",\"name\":\"");
    sink_.write(name);
    sink_.write("\",\"ph\":\"C\",\"ts\":");
    sink_.integer(ts);
    sink_.write(",\"args\":{\"");
    sink_.write(arg);
    sink_.write("\":");
    sink_.integer(value);
    sink_.write("}}\n");
  }

  void write_monitors() {
    std::map<std::pair<int64_t, store::Str>, std::pair<int64_t, store::Str>> last;
    const auto emit = [&](const store::Monitor& m, int64_t at) {
      sink_.write(",{");
      key("pid", m.device);
      sink_.write(",\"name\":");
      sink_.json_string(trace_.str(m.type));
      sink_.write(",\"ph\":\"C\",\"ts\":");
      sink_.real(us(at));
      sink_.write(",\"args\":{");
      sink_.json_string(trace_.str(m.type));
      sink_.put(':');
      sink_.write(trace_.str(m.value));
      sink_.write("}}\n");
    };
    std::map<std::pair<int64_t, store::Str>, const store::Monitor*> ending;
    for (const store::Monitor& m : trace_.monitors) {
      if (!options_.whole() && !options_.wants(m.start)) continue;
      emit(m, m.start);
      const store::Monitor*& e = ending[{m.device, m.type}];
      if (e == nullptr || m.end > e->end) e = &m;
    }
    for (const auto& [key, m] : ending) emit(*m, m->end);
  }

  // The innermost open range around each op's launch becomes a span on the op's queue; neighbouring
  // ops of one range melt together when less than 200 us apart.
  void write_frames() {
    struct Event {
      double ts;
      int order;  // 0 range start, 1 range end, 2 op
      uint32_t row;
      uint32_t op;
    };
    std::vector<std::vector<Event>> per_thread(trace_.threads.size());
    const store::Apis& apis = trace_.apis;
    for (uint32_t row = 0; row < apis.size(); ++row) {
      if (apis.name[row] != marker_ || apis.start[row] == apis.end[row] || !has(row)) continue;
      per_thread[apis.thread[row]].push_back({us(apis.start[row]), 0, row, 0});
      per_thread[apis.thread[row]].push_back({us(apis.end[row]), 1, row, 0});
    }
    for (size_t i = 0; i < trace_.links.size(); ++i) {
      const uint32_t api = trace_.links.api[i], op = trace_.links.op[i];
      if (api == kNoRow || op == kNoRow || !has(api)) continue;
      per_thread[apis.thread[api]].push_back({us(apis.start[api]), 2, api, op});
    }
    struct Frame {
      uint32_t range = kNoRow;
      double start = 0, end = 0;
      std::set<std::pair<int32_t, int32_t>> queues;
      int64_t ops = 0;
    };
    for (std::vector<Event>& events : per_thread) {
      std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
        return a.ts != b.ts ? a.ts < b.ts : a.order < b.order;
      });
      std::vector<uint32_t> open;
      Frame frame;
      for (const Event& event : events) {
        if (event.order == 0) {
          open.push_back(event.row);
        } else if (event.order == 1) {
          if (!open.empty()) open.pop_back();
        } else if (!open.empty()) {
          const double begin = us(trace_.ops.start[event.op]);
          const double end = us(trace_.ops.end[event.op]);
          const bool same = frame.range != kNoRow &&
                            apis.start[frame.range] == apis.start[open.back()] &&
                            trace_.args(frame.range) == trace_.args(open.back());
          const bool near = std::abs(begin - frame.end) < 200 || std::abs(frame.start - end) < 200;
          if (same && near) {
            frame.start = std::min(frame.start, begin);
            frame.end = std::max(frame.end, end);
          } else {
            emit_frame(frame);
            frame = {open.back(), begin, end, {}, 0};
          }
          frame.queues.insert({trace_.ops.gpu[event.op], trace_.ops.queue[event.op]});
          ++frame.ops;
        }
      }
    }
  }

  template <class Frame>
  void emit_frame(const Frame& frame) {
    if (frame.range == kNoRow) return;
    for (const auto& [gpu, queue] : frame.queues)
      complete(gpu, queue, without(trace_.args(frame.range), "\""), frame.start - 1,
               frame.end - frame.start + 1,
               "UserMarker frame: " + std::to_string(frame.ops) + " ops");
  }

  const store::Trace& trace_;
  const Options& options_;
  Sink& sink_;
  const store::Str marker_;
};

}  // namespace

Status write_chrome_rpd(const store::Trace& trace, const Options& options, Sink& sink) {
  ChromeRpdWriter(trace, options, sink).run();
  return {};
}

}  // namespace wavetap::exporter
