// One JSON object per line, in start order: calls, markers and GPU work, for grep, jq and log
// pipelines. Fields: ts (ISO 8601 when the trace knows the wall clock), ns, kind, pid, tid, device,
// stream, function, args, result, duration_ns, and for GPU work the launching call's id and counters.
#include <algorithm>

#include "analysis/analysis.h"
#include "analysis/call_args.h"
#include "analysis/op_counters.h"
#include "analysis/op_kind.h"
#include "analysis/trace_index.h"
#include "export/formats.h"

namespace wavetap::exporter {
namespace {

using store::kNoRow;

// Offset from the trace's clock to the Unix epoch, from the metadata key our recorder writes.
std::optional<int64_t> epoch_offset(const store::Trace& trace) {
  const auto found = trace.metadata.find("epoch_offset_ns");
  if (found == trace.metadata.end()) return std::nullopt;
  return std::strtoll(found->second.c_str(), nullptr, 10);
}

class JsonlWriter {
 public:
  JsonlWriter(const store::Trace& trace, Sink& sink) : sink_(sink), epoch_(epoch_offset(trace)) {}

  void open(int64_t ns, std::string_view kind) {
    sink_.put('{');
    if (epoch_) {
      const int64_t unix_ns = ns + *epoch_;
      const time_t seconds = unix_ns / 1'000'000'000;
      tm utc{};
      gmtime_r(&seconds, &utc);
      char text[64];
      const size_t used = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
      std::snprintf(text + used, sizeof text - used, ".%09lldZ",
                    static_cast<long long>(unix_ns % 1'000'000'000));
      sink_.write("\"ts\":\"");
      sink_.write(text);
      sink_.write("\",");
    }
    sink_.write("\"ns\":");
    sink_.integer(ns);
    text("kind", kind);
  }
  void text(std::string_view name, std::string_view value) {
    sink_.write(",\"");
    sink_.write(name);
    sink_.write("\":");
    sink_.json_string(value);
  }
  void number(std::string_view name, int64_t value) {
    sink_.write(",\"");
    sink_.write(name);
    sink_.write("\":");
    sink_.integer(value);
  }
  void counters(const store::Trace& trace, std::span<const store::Counter> counters) {
    if (counters.empty()) return;
    sink_.write(",\"counters\":{");
    for (size_t i = 0; i < counters.size(); ++i) {
      if (i > 0) sink_.put(',');
      sink_.json_string(trace.str(counters[i].name));
      sink_.put(':');
      sink_.json_number(counters[i].value);
    }
    sink_.put('}');
  }
  void close() { sink_.write("}\n"); }

 private:
  Sink& sink_;
  std::optional<int64_t> epoch_;
};

struct Row {
  int64_t start;
  uint32_t row;  // of Ops or Apis
  bool is_op;
};

std::vector<Row> rows_by_start(const store::Trace& trace, const Options& options) {
  std::vector<Row> rows;
  rows.reserve(trace.apis.size() + trace.ops.size());
  for (uint32_t i = 0; i < trace.apis.size(); ++i)
    if (options.wants(trace.apis.start[i])) rows.push_back({trace.apis.start[i], i, false});
  for (uint32_t i = 0; i < trace.ops.size(); ++i)
    if (options.wants(trace.ops.start[i])) rows.push_back({trace.ops.start[i], i, true});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.start < b.start; });
  return rows;
}

class Rows {
 public:
  Rows(const store::Trace& trace, Sink& sink)
      : trace_(trace),
        out_(trace, sink),
        api_of_op_(analysis::call_of_op(trace)),
        launch_of_api_(analysis::launch_of_call(trace)),
        copy_of_api_(analysis::copy_of_call(trace)),
        marker_(trace.strings.find("UserMarker")),
        kinds_(trace),
        counters_(trace) {}

  void write_op(uint32_t op) {
    const store::Ops& ops = trace_.ops;
    out_.open(ops.start[op], analysis::op_kind_name(kinds_[op]));
    out_.number("id", ops.id[op]);
    out_.number("device", ops.gpu[op]);
    out_.number("queue", ops.queue[op]);
    out_.text("function", trace_.str(ops.name(op)));
    out_.text("type", trace_.str(ops.type[op]));
    out_.number("duration_ns", ops.end[op] - ops.start[op]);
    if (const uint32_t api = api_of_op_[op]; api != kNoRow) {
      out_.number("call", trace_.apis.id[api]);
      out_.number("pid", trace_.threads[trace_.apis.thread[api]].pid);
    }
    out_.counters(trace_, counters_.of(op));
    out_.close();
  }

  void write_call(uint32_t api) {
    const store::Apis& apis = trace_.apis;
    const bool is_marker = apis.name[api] == marker_;
    const std::string_view args = trace_.args(api);
    out_.open(apis.start[api], is_marker ? "marker" : "call");
    out_.number("id", apis.id[api]);
    out_.number("pid", trace_.threads[apis.thread[api]].pid);
    out_.number("tid", trace_.threads[apis.thread[api]].tid);
    if (apis.domain[api] != 0) out_.text("domain", trace_.str(apis.domain[api]));
    out_.text("function", is_marker && !args.empty() ? args : trace_.str(apis.name[api]));
    if (!is_marker && !args.empty()) {
      out_.text("args", args);
      if (const std::string_view result = analysis::find_arg(args, "return"); !result.empty())
        out_.text("result", result);
    }
    if (const uint32_t i = launch_of_api_[api]; i != kNoRow) {
      out_.text("kernel", trace_.str(trace_.launches[i].kernel));
      out_.text("stream", trace_.str(trace_.launches[i].stream));
    }
    if (const uint32_t i = copy_of_api_[api]; i != kNoRow) {
      out_.number("bytes", trace_.copies[i].size_bytes);
      out_.text("stream", trace_.str(trace_.copies[i].stream));
    }
    out_.number("duration_ns", apis.end[api] - apis.start[api]);
    out_.close();
  }

 private:
  const store::Trace& trace_;
  JsonlWriter out_;
  const std::vector<uint32_t> api_of_op_, launch_of_api_, copy_of_api_;
  const store::Str marker_;
  const analysis::OpKinds kinds_;
  const analysis::OpCounters counters_;
};

}  // namespace

Status write_jsonl(const store::Trace& trace, const Options& options, Sink& sink) {
  Rows out(trace, sink);
  for (const Row& row : rows_by_start(trace, options)) {
    if (row.is_op) out.write_op(row.row);
    else out.write_call(row.row);
  }
  return {};
}

}  // namespace wavetap::exporter
