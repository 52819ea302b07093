// Perfetto's protobuf trace: one track per thread and per GPU queue, flows from launches to ops,
// counters of work in flight, strings interned once. Field numbers are those of perfetto's
// published protos (trace_packet, track_event, track_descriptor, interned_data).
//
// Slices of one track must nest. Calls do, by build_call_tree(); a call that overlaps its neighbour
// without nesting and an op that overlaps the one before it on its queue go to an extra lane beside
// it.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analysis/analysis.h"
#include "analysis/callstack_tree.h"
#include "analysis/marker.h"
#include "analysis/op_kind.h"
#include "analysis/trace_index.h"
#include "export/export.h"
#include "export/formats.h"
#include "export/proto.h"
#include "export/queue_depths.h"

namespace wavetap::exporter {
namespace {

using store::kNoRow;

namespace field {
// Trace
constexpr uint32_t kPacket = 1;
// TracePacket
constexpr uint32_t kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11, kInternedData = 12,
                   kSequenceFlags = 13, kTrackDescriptor = 60;
// TrackDescriptor
constexpr uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8,
                   kChildOrdering = 11, kSiblingOrder = 12;
// ProcessDescriptor, ThreadDescriptor, CounterDescriptor
constexpr uint32_t kProcessPid = 1, kProcessName = 6, kThreadPid = 1, kThreadTid = 2,
                   kThreadName = 5, kCounterUnit = 3;
// TrackEvent
constexpr uint32_t kCategory = 3, kAnnotation = 4, kType = 9, kNameIid = 10, kTrack = 11,
                   kCounterValue = 30, kCounterDouble = 44, kFlow = 47, kTerminatingFlow = 48;
// DebugAnnotation
constexpr uint32_t kAnnotationNameIid = 1, kAnnotationInt = 4, kAnnotationString = 6;
// InternedData and its entries
constexpr uint32_t kCategories = 1, kEventNames = 2, kAnnotationNames = 3, kIid = 1,
                   kInternedName = 2;
}  // namespace field

enum : uint64_t { kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounterSample = 4 };
constexpr uint64_t kSequence = 1;
constexpr uint64_t kUnitCount = 2;
constexpr uint64_t kOrderExplicit = 3;  // children of a track by their kSiblingOrder
// Slices of one track that the importer nests; it loses what lies deeper.
constexpr size_t kDeepest = 512;

// Track ids: any distinct numbers; the kind sits in the high bits.
uint64_t track_of_process(int64_t pid) { return uint64_t{1} << 60 | static_cast<uint64_t>(pid); }
uint64_t track_of_thread(uint32_t thread) { return uint64_t{2} << 60 | thread; }
uint64_t track_of_gpu(int32_t gpu) { return uint64_t{3} << 60 | static_cast<uint32_t>(gpu); }
uint64_t track_of_counter(int32_t gpu) { return uint64_t{4} << 60 | static_cast<uint32_t>(gpu); }
// Lanes and monitors are numbered as they turn up.
constexpr uint64_t kFirstOtherTrack = uint64_t{5} << 60;

// Places intervals, given in order of their start, on as few lanes as keep those of one lane apart.
struct Lanes {
  struct Lane {
    uint64_t track = 0;
    int64_t reached = 0;
  };
  std::vector<Lane> lanes;

  // The lane for [start, end); is_new when it was not used before.
  Lane& place(int64_t start, int64_t end, bool& is_new) {
    is_new = false;
    for (Lane& lane : lanes)
      if (lane.reached <= start) {
        lane.reached = std::max(start, end);
        return lane;
      }
    is_new = true;
    return lanes.emplace_back(Lane{0, std::max(start, end)});
  }
};

// A text of this program's own that events refer to by number once it has been written.
struct Known {
  std::string_view text;
  uint64_t iid = 0;
};

class Writer {
 public:
  Writer(const store::Trace& trace, const Options& options, Sink& sink)
      : trace_(trace),
        options_(options),
        sink_(sink),
        kinds_(trace),
        marker_(trace.strings.find("UserMarker")),
        name_iids_(trace.strings.size(), 0),
        call_of_op_(analysis::call_of_op(trace)),
        launch_of_call_(analysis::launch_of_call(trace)) {}

  void run() {
    link_flows();
    describe_tracks();
    write_calls();
    progress(0.6);
    write_ops();
    progress(0.9);
    write_counters();
    write_monitors();
    sink_.write(out_.str());
    progress(1.0);
  }

 private:
  static constexpr size_t kFlushBytes = 1 << 18;

  void progress(double share) {
    if (options_.progress) options_.progress(share);
  }

  void end_packet(size_t packet) {
    out_.varint(field::kSequenceId, kSequence);
    // The first packet says that interning starts afresh, all others that they depend on it.
    out_.varint(field::kSequenceFlags, first_ ? 3 : 2);
    first_ = false;
    out_.end(packet);
    if (out_.str().size() < kFlushBytes) return;
    sink_.write(out_.str());
    out_.clear();
  }

  // Each text is written once, in the packet that first uses it.
  uint64_t add_text(uint32_t table, std::string_view text) {
    const uint64_t iid = ++texts_[table];
    const size_t entry = pending_.begin(table);
    pending_.varint(field::kIid, iid);
    pending_.bytes(field::kInternedName, text);
    pending_.end(entry);
    return iid;
  }
  uint64_t intern(uint32_t table, Known& known) {
    if (known.iid == 0) known.iid = add_text(table, known.text);
    return known.iid;
  }
  uint64_t intern_name(store::Str name) {
    if (name_iids_[name] == 0) name_iids_[name] = intern_label(trace_.str(name));
    return name_iids_[name];
  }
  uint64_t intern_label(std::string_view text) {
    // Texts belong to the trace, so they outlive the table.
    const auto [found, is_new] = labels_.try_emplace(text, 0);
    if (is_new) found->second = add_text(field::kEventNames, text);
    return found->second;
  }

  void track(uint64_t uuid, uint64_t parent, std::string_view name, int rank = -1) {
    const size_t packet = out_.begin(field::kPacket),
                 descriptor = out_.begin(field::kTrackDescriptor);
    out_.varint(field::kUuid, uuid);
    if (parent != 0) out_.varint(field::kParent, parent);
    out_.bytes(field::kName, name);
    if (parent == 0) out_.varint(field::kChildOrdering, kOrderExplicit);
    if (rank >= 0) out_.varint(field::kSiblingOrder, static_cast<uint64_t>(rank));
    out_.end(descriptor);
    end_packet(packet);
  }

  void describe_tracks() {
    std::set<int64_t> processes;
    for (uint32_t t = 0; t < trace_.threads.size(); ++t) {
      const store::Thread& thread = trace_.threads[t];
      if (processes.insert(thread.pid).second) {
        const size_t packet = out_.begin(field::kPacket),
                     descriptor = out_.begin(field::kTrackDescriptor);
        out_.varint(field::kUuid, track_of_process(thread.pid));
        const size_t process = out_.begin(field::kProcess);
        out_.varint(field::kProcessPid, static_cast<uint64_t>(thread.pid));
        out_.bytes(field::kProcessName, "process " + std::to_string(thread.pid));
        out_.end(process);
        out_.end(descriptor);
        end_packet(packet);
      }
      const size_t packet = out_.begin(field::kPacket),
                   descriptor = out_.begin(field::kTrackDescriptor);
      out_.varint(field::kUuid, track_of_thread(t));
      out_.varint(field::kParent, track_of_process(thread.pid));
      const size_t info = out_.begin(field::kThread);
      out_.varint(field::kThreadPid, static_cast<uint64_t>(thread.pid));
      out_.varint(field::kThreadTid, static_cast<uint64_t>(thread.tid));
      out_.bytes(field::kThreadName,
                 thread.tid == thread.pid ? "main" : "thread " + std::to_string(thread.tid));
      out_.end(info);
      out_.end(descriptor);
      end_packet(packet);
    }
    std::set<int32_t> gpus(trace_.ops.gpu.begin(), trace_.ops.gpu.end());
    for (const int32_t gpu : gpus) {
      track(track_of_gpu(gpu), 0,
            (trace_.is_emulated() ? "virtual GPU " : "GPU ") + std::to_string(gpu));
      counter_track(track_of_counter(gpu), track_of_gpu(gpu), "in flight", kUnitCount);
    }
  }

  void annotate(Known& name, std::string_view value) {
    const size_t annotation = out_.begin(field::kAnnotation);
    out_.varint(field::kAnnotationNameIid, intern(field::kAnnotationNames, name));
    out_.bytes(field::kAnnotationString, value);
    out_.end(annotation);
  }
  void annotate(Known& name, int64_t value) {
    const size_t annotation = out_.begin(field::kAnnotation);
    out_.varint(field::kAnnotationNameIid, intern(field::kAnnotationNames, name));
    out_.varint(field::kAnnotationInt, static_cast<uint64_t>(value));
    out_.end(annotation);
  }
  void annotate(Known& name, const int32_t (&dims)[3]) {
    char text[40];
    char* at = text;
    for (int i = 0; i < 3; ++i) {
      if (i > 0) *at++ = 'x';
      at = std::to_chars(at, text + sizeof text, dims[i]).ptr;
    }
    annotate(name, std::string_view(text, static_cast<size_t>(at - text)));
  }

  void begin_event(uint64_t type, uint64_t track, int64_t time) {
    packet_ = out_.begin(field::kPacket);
    out_.varint(field::kTimestamp, static_cast<uint64_t>(time));
    event_ = out_.begin(field::kTrackEvent);
    out_.varint(field::kType, type);
    out_.varint(field::kTrack, track);
  }
  void begin_event(uint64_t type, uint64_t track, int64_t time, Known& category,
                   uint64_t name_iid) {
    begin_event(type, track, time);
    out_.varint(field::kCategory, intern(field::kCategories, category));
    out_.varint(field::kNameIid, name_iid);
  }
  void end_event() {
    out_.end(event_);
    if (!pending_.empty()) out_.bytes(field::kInternedData, pending_.str());
    pending_.clear();
    end_packet(packet_);
  }

  void end_slice(uint64_t track, int64_t time) {
    begin_event(kSliceEnd, track, time);
    end_event();
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
    Lanes crossing;  // for calls that overlap the innermost of those without nesting in it
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
      end_slice(track_of_thread(trace_.apis.thread[thread.open.back()]),
                trace_.apis.end[thread.open.back()]);
  }

  void write_call(uint32_t row, ThreadCalls& thread) {
    const store::Apis& apis = trace_.apis;
    if (!options_.wants(apis.start[row])) return;
    std::vector<uint32_t>& open = thread.open;
    close_until(thread, apis.start[row]);
    // Ends are matched with the innermost slice that is open: a call that outlasts it goes
    // elsewhere.
    const bool crossing =
        !open.empty() && (apis.end[row] > apis.end[open.back()] || open.size() >= kDeepest);
    uint64_t lane_track = track_of_thread(apis.thread[row]);
    if (crossing) {
      bool is_new = false;
      Lanes::Lane& lane = thread.crossing.place(apis.start[row], apis.end[row], is_new);
      if (is_new) track(lane.track = next_track_++, lane_track, "overlapping");
      lane_track = lane.track;
    }
    const bool marker = apis.name[row] == marker_;
    const std::string_view args = trace_.args(row);
    const std::string_view label = marker ? analysis::marker_label(args) : std::string_view();
    const bool instant = apis.start[row] >= apis.end[row];
    begin_event(instant ? kInstant : kSliceBegin, lane_track, apis.start[row],
                marker ? marker_category_ : api_category_,
                marker && !args.empty() ? intern_label(label) : intern_name(apis.name[row]));
    // An operator's marker carries its numbers in its text; they belong beside the name, not into
    // it.
    if (!args.empty() && label.size() != args.size()) annotate(args_, args);
    annotate(id_, apis.id[row]);
    for (uint32_t link = first_link_[row]; link < first_link_[row + 1]; ++link) {
      // An op has one flow; should several calls claim it, the last one does.
      if (flow_of_op_[trace_.links.op[links_[link]]] == links_[link] + 1)
        out_.fixed64(op_first(links_[link]) ? field::kTerminatingFlow : field::kFlow,
                     links_[link] + uint64_t{1});
    }
    end_event();
    if (instant) return;
    if (crossing) return end_slice(lane_track, apis.end[row]);
    open.push_back(row);
  }

  void write_ops() {
    const store::Ops& ops = trace_.ops;
    std::vector<uint32_t> order(ops.size());
    for (uint32_t op = 0; op < order.size(); ++op) order[op] = op;
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return ops.start[a] < ops.start[b]; });
    std::map<std::pair<int32_t, int32_t>, Lanes> lanes;
    for (const uint32_t op : order) {
      if (!options_.wants(ops.start[op])) continue;
      bool is_new = false;
      Lanes::Lane& lane =
          lanes[{ops.gpu[op], ops.queue[op]}].place(ops.start[op], ops.end[op], is_new);
      if (is_new)
        track(lane.track = next_track_++, track_of_gpu(ops.gpu[op]),
              "queue " + std::to_string(ops.queue[op]), ops.queue[op]);
      const uint64_t uuid = lane.track;
      Known& category = kind_categories_[static_cast<size_t>(kinds_[op])];
      category.text = analysis::op_kind_name(kinds_[op]);
      begin_event(kSliceBegin, uuid, ops.start[op], category, intern_name(ops.name(op)));
      annotate(type_, trace_.str(ops.type[op]));
      if (const uint32_t api = call_of_op_[op]; api != kNoRow) {
        annotate(correlation_, trace_.apis.id[api]);
        if (const uint32_t launch = launch_of_call_[api];
            launch != kNoRow && kinds_[op] == analysis::OpKind::kKernel) {
          const store::KernelLaunch& k = trace_.launches[launch];
          annotate(grid_, k.grid);
          annotate(workgroup_, k.workgroup);
          annotate(lds_, k.group_segment_bytes);
        }
      }
      if (flow_of_op_[op] != 0)
        out_.fixed64(op_first(flow_of_op_[op] - 1) ? field::kFlow : field::kTerminatingFlow,
                     flow_of_op_[op]);
      end_event();
      end_slice(uuid, std::max(ops.end[op], ops.start[op]));
    }
  }

  void write_counters() {
    const std::vector<DepthSample> depths = queue_depths(trace_, call_of_op_);
    std::map<int32_t, int32_t> before;  // where a window finds the counters
    for (const DepthSample& depth : depths)
      if (depth.time < options_.begin) before[depth.gpu] = depth.depth;
    for (const auto& [gpu, depth] : before)
      sample(track_of_counter(gpu), options_.begin, int64_t{depth});
    for (const DepthSample& depth : depths)
      if (options_.wants(depth.time))
        sample(track_of_counter(depth.gpu), depth.time, int64_t{depth.depth});
  }

  void sample(uint64_t uuid, int64_t time, int64_t value) {
    begin_event(kCounterSample, uuid, time);
    out_.varint(field::kCounterValue, static_cast<uint64_t>(value));
    end_event();
  }
  void sample(uint64_t uuid, int64_t time, double value) {
    begin_event(kCounterSample, uuid, time);
    out_.fixed64(field::kCounterDouble, std::bit_cast<uint64_t>(value));
    end_event();
  }

  void counter_track(uint64_t uuid, uint64_t parent, std::string_view name, uint64_t unit) {
    const size_t packet = out_.begin(field::kPacket),
                 descriptor = out_.begin(field::kTrackDescriptor);
    out_.varint(field::kUuid, uuid);
    if (parent != 0) out_.varint(field::kParent, parent);
    out_.bytes(field::kName, name);
    const size_t counter = out_.begin(field::kCounter);
    if (unit != 0) out_.varint(field::kCounterUnit, unit);
    out_.end(counter);
    out_.end(descriptor);
    end_packet(packet);
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
        counter_track(next_track_++, 0,
                      std::string(trace_.str(m.device_type)) + " " + std::to_string(m.device) +
                          " " + std::string(trace_.str(m.type)),
                      0);
      if (is_whole) sample(it->second, start, whole);
      else sample(it->second, start, real);
    }
  }

  const store::Trace& trace_;
  const Options& options_;
  Sink& sink_;
  const analysis::OpKinds kinds_;
  const store::Str marker_;
  ProtoWriter out_;                                            // packets not yet handed to the sink
  ProtoWriter pending_;                                        // texts the next packet carries
  size_t packet_ = 0, event_ = 0;                              // under way in out_
  std::array<uint64_t, field::kAnnotationNames + 1> texts_{};  // how many each table has
  std::vector<uint64_t> name_iids_;                            // by Str
  std::unordered_map<std::string_view, uint64_t> labels_;
  Known api_category_{"api"}, marker_category_{"marker"};
  std::array<Known, static_cast<size_t>(analysis::OpKind::kOther) + 1> kind_categories_;
  Known args_{"args"}, id_{"id"}, type_{"type"}, correlation_{"correlation"}, grid_{"grid"},
      workgroup_{"workgroup"}, lds_{"lds"};
  uint64_t next_track_ = kFirstOtherTrack;
  const std::vector<uint32_t> call_of_op_, launch_of_call_;
  std::vector<uint32_t> flow_of_op_, first_link_, links_;
  bool first_ = true;
};

}  // namespace

Status write_perfetto(const store::Trace& trace, const Options& options, Sink& sink) {
  Writer(trace, options, sink).run();
  return {};
}

}  // namespace wavetap::exporter
