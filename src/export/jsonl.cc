// One JSON object per line, in start order: calls, markers and GPU work, for grep, jq and log
// pipelines. Fields: ts (ISO 8601 when the trace knows the wall clock), ns, kind, pid, tid, device,
// stream, function, args, result, duration_ns, and for GPU work the launching call's id.
#include <algorithm>

#include "analysis/analysis.h"
#include "analysis/call_args.h"
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

class Writer {
 public:
  Writer(const store::Trace& trace, Sink& sink) : sink_(sink), epoch_(epoch_offset(trace)) {}

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
  void close() { sink_.write("}\n"); }

 private:
  Sink& sink_;
  std::optional<int64_t> epoch_;
};

}  // namespace

Status write_jsonl(const store::Trace& trace, const Options& options, Sink& sink) {
  struct Row {
    int64_t start;
    uint32_t row;
    bool is_op;
  };
  std::vector<Row> rows;
  for (uint32_t i = 0; i < trace.apis.size(); ++i)
    if (options.wants(trace.apis.start[i])) rows.push_back({trace.apis.start[i], i, false});
  for (uint32_t i = 0; i < trace.ops.size(); ++i)
    if (options.wants(trace.ops.start[i])) rows.push_back({trace.ops.start[i], i, true});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.start < b.start; });

  const std::vector<uint32_t> api_of_op = analysis::call_of_op(trace),
                              launch_of_api = analysis::launch_of_call(trace),
                              copy_of_api = analysis::copy_of_call(trace);
  const store::Str marker = trace.strings.find("UserMarker");
  const analysis::OpKinds kinds(trace);

  Writer out(trace, sink);
  for (const Row& row : rows) {
    if (row.is_op) {
      const uint32_t op = row.row;
      out.open(row.start, analysis::op_kind_name(kinds[op]));
      out.number("id", trace.ops.id[op]);
      out.number("device", trace.ops.gpu[op]);
      out.number("queue", trace.ops.queue[op]);
      out.text("function", trace.str(trace.ops.name(op)));
      out.text("type", trace.str(trace.ops.type[op]));
      out.number("duration_ns", trace.ops.end[op] - trace.ops.start[op]);
      if (api_of_op[op] != kNoRow) {
        out.number("call", trace.apis.id[api_of_op[op]]);
        out.number("pid", trace.threads[trace.apis.thread[api_of_op[op]]].pid);
      }
      out.close();
      continue;
    }
    const uint32_t api = row.row;
    const bool is_marker = trace.apis.name[api] == marker;
    const std::string_view args = trace.args(api);
    out.open(row.start, is_marker ? "marker" : "call");
    out.number("id", trace.apis.id[api]);
    out.number("pid", trace.threads[trace.apis.thread[api]].pid);
    out.number("tid", trace.threads[trace.apis.thread[api]].tid);
    if (trace.apis.domain[api] != 0) out.text("domain", trace.str(trace.apis.domain[api]));
    out.text("function", is_marker && !args.empty() ? args : trace.str(trace.apis.name[api]));
    if (!is_marker && !args.empty()) {
      out.text("args", args);
      if (const std::string_view result = analysis::find_arg(args, "return"); !result.empty())
        out.text("result", result);
    }
    if (const uint32_t i = launch_of_api[api]; i != kNoRow) {
      out.text("kernel", trace.str(trace.launches[i].kernel));
      out.text("stream", trace.str(trace.launches[i].stream));
    }
    if (const uint32_t i = copy_of_api[api]; i != kNoRow) {
      out.number("bytes", trace.copies[i].size_bytes);
      out.text("stream", trace.str(trace.copies[i].stream));
    }
    out.number("duration_ns", trace.apis.end[api] - trace.apis.start[api]);
    out.close();
  }
  return {};
}

}  // namespace wavetap::exporter
