// Perfetto's protobuf trace: one track per thread and per GPU queue, flows from launches to ops,
// counters of work in flight.
//
// Slices of one track must nest. Calls do, by build_call_tree(); a call that overlaps its neighbour
// without nesting and an op that overlaps the one before it on its queue go to an extra lane beside
// it.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "analysis/analysis.h"
#include "analysis/callstack_tree.h"
#include "analysis/lanes.h"
#include "analysis/marker.h"
#include "analysis/op_counters.h"
#include "analysis/op_kind.h"
#include "analysis/trace_index.h"
#include "export/formats.h"
#include "export/perfetto_packets.h"
#include "export/queue_depths.h"

namespace wavetap::exporter {
namespace {

using perfetto::Known;
using store::kNoRow;

// Slices of one track that the importer nests; it loses what lies deeper.
constexpr size_t kDeepestSlice = 512;

// Track ids: any distinct numbers; the kind sits in the high bits.
uint64_t track_of_process(int64_t pid) { return uint64_t{1} << 60 | static_cast<uint64_t>(pid); }
uint64_t track_of_thread(uint32_t thread) { return uint64_t{2} << 60 | thread; }
uint64_t track_of_gpu(int32_t gpu) { return uint64_t{3} << 60 | static_cast<uint32_t>(gpu); }
uint64_t track_of_counter(int32_t gpu) { return uint64_t{4} << 60 | static_cast<uint32_t>(gpu); }
// Lanes and monitors are numbered as they turn up.
constexpr uint64_t kFirstOtherTrack = uint64_t{5} << 60;

// A track and the extra ones beside it, for slices that overlap.
struct LaneTracks {
  analysis::Lanes lanes;
  std::vector<uint64_t> tracks;  // by lane
};

class PerfettoWriter {
 public:
  PerfettoWriter(const store::Trace& trace, const Options& options, Sink& sink)
      : trace_(trace),
        options_(options),
        out_(trace, sink),
        kinds_(trace),
        marker_(trace.strings.find("UserMarker")),
        call_of_op_(analysis::call_of_op(trace)),
        launch_of_call_(analysis::launch_of_call(trace)),
        counters_(trace) {}

  void run() {
    link_flows();
    describe_tracks();
    write_calls();
    progress(0.6);
    write_ops();
    progress(0.9);
    write_counters();
    write_monitors();
    out_.finish();
    progress(1.0);
  }

 private:
  void progress(double share) {
    if (options_.progress) options_.progress(share);
  }

  void describe_tracks() {
    std::set<int64_t> processes;
    for (uint32_t t = 0; t < trace_.threads.size(); ++t) {
      const store::Thread& thread = trace_.threads[t];
      if (processes.insert(thread.pid).second)
        out_.process_track(track_of_process(thread.pid), thread.pid);
      out_.thread_track(track_of_thread(t), track_of_process(thread.pid), thread);
    }
    std::set<int32_t> gpus(trace_.ops.gpu.begin(), trace_.ops.gpu.end());
    for (const int32_t gpu : gpus) {
      out_.track(track_of_gpu(gpu), 0,
                 (trace_.is_emulated() ? "virtual GPU " : "GPU ") + std::to_string(gpu));
      out_.counter_track(track_of_counter(gpu), track_of_gpu(gpu), "in flight",
                         perfetto::kUnitCount);
    }
  }

  bool wants_flow(size_t link) const {
    const uint32_t api = trace_.links.api[link], op = trace_.links.op[link];
    return api != kNoRow && op != kNoRow && options_.wants(trace_.apis.start[api]) &&
           options_.wants(trace_.ops.start[op]);
  }

  // Whether clocks disagree so far that an op began before its call: perfetto drops a flow that
  // ends first.
  bool op_first(size_t link) const {
    return trace_.ops.start[trace_.links.op[link]] < trace_.apis.start[trace_.links.api[link]];
  }

  // Links sorted by call: those of a call are links_[first_link_[call]] up to that of the next.
  void link_flows() {
    flow_of_op_.assign(trace_.ops.size(), 0);
    first_link_.assign(trace_.apis.size() + 1, 0);
    for (size_t i = 0; i < trace_.links.size(); ++i) {
      if (!wants_flow(i)) continue;
      ++first_link_[trace_.links.api[i] + 1];
      flow_of_op_[trace_.links.op[i]] = static_cast<uint32_t>(i + 1);
    }
    for (size_t api = 1; api < first_link_.size(); ++api) first_link_[api] += first_link_[api - 1];
    links_.resize(first_link_.back());
    std::vector<uint32_t> fill(first_link_);
    for (size_t i = 0; i < trace_.links.size(); ++i)
      if (wants_flow(i)) links_[fill[trace_.links.api[i]]++] = static_cast<uint32_t>(i);
  }

  // A thread's calls as far as they are written.
  struct ThreadCalls {
    size_t next = 0, end = 0;    // of the tree's order
    std::vector<uint32_t> open;  // rows whose slices have not ended, outermost first
    LaneTracks crossing;  // for calls that overlap the innermost of those without nesting in it
  };

  // Calls of a thread in nesting order; each is closed before the next that lies outside it begins.
  // Threads take turns: what they did at the same time lies side by side in memory, whatever their
  // number.
  void write_calls() {
    constexpr size_t kTurn = 16;
    const analysis::CallTree tree = analysis::build_call_tree(trace_);
    std::vector<ThreadCalls> threads(trace_.threads.size());
    for (const uint32_t thread : trace_.apis.thread) ++threads[thread].end;
    for (size_t t = 1; t < threads.size(); ++t) {
      threads[t].next = threads[t - 1].end;
      threads[t].end += threads[t].next;
    }
    size_t written = 0;
    while (written < tree.order.size()) {
      for (ThreadCalls& thread : threads)
        for (const size_t last = std::min(thread.end, thread.next + kTurn); thread.next < last;
             ++thread.next, ++written)
          write_call(tree.order[thread.next], thread);
      progress(0.6 * static_cast<double>(written) / static_cast<double>(tree.order.size()));
    }
    for (ThreadCalls& thread : threads) close_until(thread, std::numeric_limits<int64_t>::max());
  }

  void close_until(ThreadCalls& thread, int64_t time) {
    for (; !thread.open.empty() && trace_.apis.end[thread.open.back()] <= time;
         thread.open.pop_back())
      out_.end_slice(track_of_thread(trace_.apis.thread[thread.open.back()]),
                     trace_.apis.end[thread.open.back()]);
  }

  // The track for [start, end); `describe(track)` when it was not used before.
  template <class Describe>
  uint64_t place(LaneTracks& lanes, int64_t start, int64_t end, Describe&& describe) {
    const size_t lane = lanes.lanes.place(start, end);
    if (lane == lanes.tracks.size()) {
      lanes.tracks.push_back(next_track_++);
      describe(lanes.tracks.back());
    }
    return lanes.tracks[lane];
  }

  void write_call(uint32_t row, ThreadCalls& thread) {
    const store::Apis& apis = trace_.apis;
    if (!options_.wants(apis.start[row])) return;
    std::vector<uint32_t>& open = thread.open;
    close_until(thread, apis.start[row]);
    // Ends are matched with the innermost slice that is open: a call that outlasts it goes
    // elsewhere.
    const bool crossing =
        !open.empty() && (apis.end[row] > apis.end[open.back()] || open.size() >= kDeepestSlice);
    const uint64_t own = track_of_thread(apis.thread[row]);
    const uint64_t track =
        !crossing ? own : place(thread.crossing, apis.start[row], apis.end[row], [&](uint64_t t) {
          out_.track(t, own, "overlapping");
        });
    const bool instant = apis.start[row] >= apis.end[row];
    write_call_event(row, instant ? perfetto::kInstant : perfetto::kSliceBegin, track);
    if (instant) return;
    if (crossing) return out_.end_slice(track, apis.end[row]);
    open.push_back(row);
  }

  void write_call_event(uint32_t row, uint64_t type, uint64_t track) {
    const store::Apis& apis = trace_.apis;
    const bool marker = apis.name[row] == marker_;
    const std::string_view args = trace_.args(row);
    const std::string_view label = marker ? analysis::marker_label(args) : std::string_view();
    out_.begin_event(
        type, track, apis.start[row], marker ? marker_category_ : api_category_,
        marker && !args.empty() ? out_.intern_label(label) : out_.intern_name(apis.name[row]));
    // An operator's marker carries its numbers in its text; they belong beside the name, not into
    // it.
    if (!args.empty() && label.size() != args.size()) out_.annotate(args_, args);
    out_.annotate(id_, apis.id[row]);
    for (uint32_t i = first_link_[row]; i < first_link_[row + 1]; ++i) {
      const uint32_t link = links_[i];
      // An op has one flow; should several calls claim it, the last one does.
      if (flow_of_op_[trace_.links.op[link]] == link + 1)
        out_.flow(link + uint64_t{1}, op_first(link));
    }
    out_.end_event();
  }

  void write_ops() {
    const store::Ops& ops = trace_.ops;
    std::vector<uint32_t> order(ops.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return ops.start[a] < ops.start[b]; });
    std::map<std::pair<int32_t, int32_t>, LaneTracks> queues;
    for (const uint32_t op : order) {
      if (!options_.wants(ops.start[op])) continue;
      const uint64_t track =
          place(queues[{ops.gpu[op], ops.queue[op]}], ops.start[op], ops.end[op], [&](uint64_t t) {
            out_.track(t, track_of_gpu(ops.gpu[op]), "queue " + std::to_string(ops.queue[op]),
                       ops.queue[op]);
          });
      write_op_event(op, track);
      out_.end_slice(track, std::max(ops.end[op], ops.start[op]));
    }
  }

  void write_op_event(uint32_t op, uint64_t track) {
    const store::Ops& ops = trace_.ops;
    Known& category = kind_categories_[static_cast<size_t>(kinds_[op])];
    category.text = analysis::op_kind_name(kinds_[op]);
    out_.begin_event(perfetto::kSliceBegin, track, ops.start[op], category,
                     out_.intern_name(ops.name(op)));
    out_.annotate(type_, trace_.str(ops.type[op]));
    if (const uint32_t api = call_of_op_[op]; api != kNoRow) {
      out_.annotate(correlation_, trace_.apis.id[api]);
      if (const uint32_t launch = launch_of_call_[api];
          launch != kNoRow && kinds_[op] == analysis::OpKind::kKernel) {
        const store::KernelLaunch& k = trace_.launches[launch];
        out_.annotate(grid_, k.grid);
        out_.annotate(workgroup_, k.workgroup);
        out_.annotate(lds_, k.group_segment_bytes);
      }
    }
    for (const store::Counter& counter : counters_.of(op)) {
      Known& name = counter_names_[counter.name];
      name.text = trace_.str(counter.name);
      out_.annotate(name, counter.value);
    }
    if (flow_of_op_[op] != 0) out_.flow(flow_of_op_[op], !op_first(flow_of_op_[op] - 1));
    out_.end_event();
  }

  void write_counters() {
    const std::vector<DepthSample> depths = queue_depths(trace_, call_of_op_);
    std::map<int32_t, int32_t> before;  // where a window finds the counters
    for (const DepthSample& depth : depths)
      if (depth.time < options_.begin) before[depth.gpu] = depth.depth;
    for (const auto& [gpu, depth] : before)
      out_.sample(track_of_counter(gpu), options_.begin, int64_t{depth});
    for (const DepthSample& depth : depths)
      if (options_.wants(depth.time))
        out_.sample(track_of_counter(depth.gpu), depth.time, int64_t{depth.depth});
  }

  // Clocks, temperatures, …: a counter per device and kind. Spans of equal value; only their starts
  // matter.
  void write_monitors() {
    std::map<std::tuple<store::Str, int64_t, store::Str>, uint64_t> tracks;
    for (const store::Monitor& m : trace_.monitors) {
      const std::string_view text = trace_.str(m.value);
      const char* const stop = text.data() + text.size();
      const auto read = [&](auto& value) {
        const auto [end, error] = std::from_chars(text.data(), stop, value);
        return error == std::errc() && end == stop;
      };
      int64_t whole = 0;
      double real = 0;
      const bool is_whole = read(whole);
      if (!is_whole && !read(real)) continue;
      // A span that a window cuts counts from the window's beginning.
      const int64_t start = m.end > options_.begin ? std::max(m.start, options_.begin) : m.start;
      if (!options_.wants(start)) continue;
      const auto [it, is_new] =
          tracks.emplace(std::tuple(m.device_type, m.device, m.type), next_track_);
      if (is_new)
        out_.counter_track(next_track_++, 0,
                           std::string(trace_.str(m.device_type)) + " " + std::to_string(m.device) +
                               " " + std::string(trace_.str(m.type)),
                           0);
      if (is_whole) out_.sample(it->second, start, whole);
      else out_.sample(it->second, start, real);
    }
  }

  const store::Trace& trace_;
  const Options& options_;
  perfetto::Packets out_;
  const analysis::OpKinds kinds_;
  const store::Str marker_;
  Known api_category_{"api"}, marker_category_{"marker"};
  std::array<Known, static_cast<size_t>(analysis::OpKind::kOther) + 1> kind_categories_;
  Known args_{"args"}, id_{"id"}, type_{"type"}, correlation_{"correlation"}, grid_{"grid"},
      workgroup_{"workgroup"}, lds_{"lds"};
  uint64_t next_track_ = kFirstOtherTrack;
  const std::vector<uint32_t> call_of_op_, launch_of_call_;
  const analysis::OpCounters counters_;
  std::map<store::Str, Known> counter_names_;
  std::vector<uint32_t> flow_of_op_, first_link_, links_;
};

}  // namespace

Status write_perfetto(const store::Trace& trace, const Options& options, Sink& sink) {
  PerfettoWriter(trace, options, sink).run();
  return {};
}

}  // namespace wavetap::exporter
