// Folded stacks, "a;b;c 123" per line, as flame-graph tools read them: calls and markers by
// nesting, with the kernels they launched as leaves. The number is exclusive time in nanoseconds,
// CPU for calls and GPU for kernels; kernels are marked [gpu] so that the two are never mistaken
// for each other.
#include <algorithm>
#include <map>

#include "analysis/callstack_tree.h"
#include "analysis/marker.h"
#include "export/formats.h"

namespace wavetap::exporter {
namespace {

using store::kNoRow;

// Frames are separated by ';' and lines by '\n', so neither may occur in a name.
std::string frame_name(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), ';', ',');
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return out.empty() ? "?" : out;
}

}  // namespace

Status write_folded(const store::Trace& trace, const Options& options, Sink& sink) {
  const analysis::CallTree tree = analysis::build_call_tree(trace);
  const store::Str marker = trace.strings.find("UserMarker");
  std::vector<std::vector<uint32_t>> ops_of(trace.apis.size());
  for (size_t i = 0; i < trace.links.size(); ++i)
    if (trace.links.api[i] != kNoRow && trace.links.op[i] != kNoRow)
      ops_of[trace.links.api[i]].push_back(trace.links.op[i]);

  std::map<std::string, int64_t> stacks;
  std::vector<std::string> path(trace.apis.size());
  for (const uint32_t row : tree.order) {
    if (!options.wants(trace.apis.start[row])) continue;
    const std::string_view args = trace.args(row);
    const std::string name = frame_name(trace.apis.name[row] == marker && !args.empty()
                                            ? analysis::marker_label(args)
                                            : trace.str(trace.apis.name[row]));
    const store::Thread& thread = trace.threads[trace.apis.thread[row]];
    const uint32_t parent = tree.parent[row];
    path[row] = parent != kNoRow && !path[parent].empty()
                    ? path[parent] + ";" + name
                    : "thread " + std::to_string(thread.tid) + ";" + name;
    if (tree.cpu_self[row] > 0) stacks[path[row]] += tree.cpu_self[row];
    for (const uint32_t op : ops_of[row])
      stacks[path[row] + ";[gpu] " + frame_name(trace.str(trace.ops.name(op)))] +=
          std::max<int64_t>(0, trace.ops.end[op] - trace.ops.start[op]);
  }
  for (const auto& [stack, ns] : stacks) {
    sink.write(stack);
    sink.put(' ');
    sink.integer(ns);
    sink.put('\n');
  }
  return {};
}

}  // namespace wavetap::exporter
