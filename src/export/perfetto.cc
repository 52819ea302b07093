// Perfetto's protobuf trace: one track per thread and per GPU queue, flows from launches to ops, counters
// of work in flight, strings interned once. Field numbers are those of perfetto's published protos
// (trace_packet, track_event, track_descriptor, interned_data).
//
// Slices of one track must nest. Calls do, by build_call_tree(); a call that overlaps its neighbour
// without nesting and an op that overlaps the one before it on its queue go to an extra lane beside it.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analysis/analysis.h"
#include "analysis/call_args.h"
#include "analysis/callstack_tree.h"
#include "analysis/marker.h"
#include "analysis/op_kind.h"
#include "analysis/trace_index.h"
#include "export/export.h"
#include "export/formats.h"
#include "export/proto.h"

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
                   kSiblingOrder = 12;
// ProcessDescriptor, ThreadDescriptor, CounterDescriptor
constexpr uint32_t kProcessPid = 1, kProcessName = 6, kThreadPid = 1, kThreadTid = 2, kThreadName = 5,
                   kCounterUnit = 3;
// TrackEvent
constexpr uint32_t kCategory = 3, kAnnotation = 4, kType = 9, kNameIid = 10, kTrack = 11, kCounterValue = 30,
                   kFlow = 47, kTerminatingFlow = 48;
// DebugAnnotation
constexpr uint32_t kAnnotationNameIid = 1, kAnnotationInt = 4, kAnnotationString = 6;
// InternedData and its entries
constexpr uint32_t kCategories = 1, kEventNames = 2, kAnnotationNames = 3, kIid = 1, kInternedName = 2;
}  // namespace field

enum : uint64_t { kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounterSample = 4 };
constexpr uint64_t kSequence = 1;
constexpr uint64_t kUnitCount = 2;

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

class Writer {
 public:
  Writer(const store::Trace& trace, const Options& options, Sink& sink)
      : trace_(trace),
        options_(options),
        sink_(sink),
        kinds_(trace),
        marker_(trace.strings.find("UserMarker")),
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
    progress(1.0);
  }

 private:
  void progress(double share) {
    if (options_.progress) options_.progress(share);
  }

  void emit(ProtoMessage& packet) {
    packet.varint(field::kSequenceId, kSequence);
    // The first packet says that interning starts afresh, all others that they depend on it.
    packet.varint(field::kSequenceFlags, first_ ? 3 : 2);
    first_ = false;
    wrapper_.clear();
    wrapper_.message(field::kPacket, packet);
    sink_.write(wrapper_.str());
  }

  // Each text is written once, in the packet that first uses it.
  uint64_t intern(uint32_t table, std::string_view text) {
    auto& known = interned_[table];
    // Texts belong to the trace or to this program, so they outlive the table.
    const auto [found, is_new] = known.emplace(text, known.size() + 1);
    if (!is_new) return found->second;
    const uint64_t iid = found->second;
    ProtoMessage entry;
    entry.varint(field::kIid, iid);
    entry.bytes(field::kInternedName, text);
    pending_.message(table, entry);
    return iid;
  }

  void track(uint64_t uuid, uint64_t parent, std::string_view name, int rank = -1) {
    ProtoMessage descriptor;
    descriptor.varint(field::kUuid, uuid);
    if (parent != 0) descriptor.varint(field::kParent, parent);
    descriptor.bytes(field::kName, name);
    if (rank >= 0) descriptor.varint(field::kSiblingOrder, static_cast<uint64_t>(rank));
    ProtoMessage packet;
    packet.message(field::kTrackDescriptor, descriptor);
    emit(packet);
  }

  void describe_tracks() {
    std::set<int64_t> processes;
    for (uint32_t t = 0; t < trace_.threads.size(); ++t) {
      const store::Thread& thread = trace_.threads[t];
      if (processes.insert(thread.pid).second) {
        ProtoMessage process, descriptor, packet;
        process.varint(field::kProcessPid, static_cast<uint64_t>(thread.pid));
        process.bytes(field::kProcessName, "process " + std::to_string(thread.pid));
        descriptor.varint(field::kUuid, track_of_process(thread.pid));
        descriptor.message(field::kProcess, process);
        packet.message(field::kTrackDescriptor, descriptor);
        emit(packet);
      }
      ProtoMessage info, descriptor, packet;
      info.varint(field::kThreadPid, static_cast<uint64_t>(thread.pid));
      info.varint(field::kThreadTid, static_cast<uint64_t>(thread.tid));
      info.bytes(field::kThreadName,
                 thread.tid == thread.pid ? "main" : "thread " + std::to_string(thread.tid));
      descriptor.varint(field::kUuid, track_of_thread(t));
      descriptor.varint(field::kParent, track_of_process(thread.pid));
      descriptor.message(field::kThread, info);
      packet.message(field::kTrackDescriptor, descriptor);
      emit(packet);
    }
    std::set<int32_t> gpus(trace_.ops.gpu.begin(), trace_.ops.gpu.end());
    for (const int32_t gpu : gpus) {
      track(track_of_gpu(gpu), 0, (trace_.is_emulated() ? "virtual GPU " : "GPU ") + std::to_string(gpu));
      counter_track(track_of_counter(gpu), track_of_gpu(gpu), "in flight", kUnitCount);
    }
  }

  void annotate(ProtoMessage& event, std::string_view name, std::string_view value) {
    ProtoMessage annotation;
    annotation.varint(field::kAnnotationNameIid, intern(field::kAnnotationNames, name));
    annotation.bytes(field::kAnnotationString, value);
    event.message(field::kAnnotation, annotation);
  }
  void annotate(ProtoMessage& event, std::string_view name, int64_t value) {
    ProtoMessage annotation;
    annotation.varint(field::kAnnotationNameIid, intern(field::kAnnotationNames, name));
    annotation.varint(field::kAnnotationInt, static_cast<uint64_t>(value));
    event.message(field::kAnnotation, annotation);
  }

  void send(ProtoMessage& event, int64_t time) {
    ProtoMessage packet;
    packet.varint(field::kTimestamp, static_cast<uint64_t>(time));
    if (!pending_.empty()) packet.message(field::kInternedData, pending_);
    pending_.clear();
    packet.message(field::kTrackEvent, event);
    emit(packet);
  }

  ProtoMessage begin_event(uint64_t type, uint64_t track, std::string_view category, std::string_view name) {
    ProtoMessage event;
    event.varint(field::kType, type);
    event.varint(field::kTrack, track);
    event.varint(field::kCategory, intern(field::kCategories, category));
    event.varint(field::kNameIid, intern(field::kEventNames, name));
    return event;
  }

  void end_slice(uint64_t track, int64_t time) {
    ProtoMessage event;
    event.varint(field::kType, kSliceEnd);
    event.varint(field::kTrack, track);
    send(event, time);
  }

  bool wants_flow(size_t link) const {
    const uint32_t api = trace_.links.api[link], op = trace_.links.op[link];
    return api != kNoRow && op != kNoRow && options_.wants(trace_.apis.start[api]) &&
           options_.wants(trace_.ops.start[op]);
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

  // Calls in nesting order; each is closed before the next that lies outside it begins.
  void write_calls() {
    const analysis::CallTree tree = analysis::build_call_tree(trace_);
    const store::Apis& apis = trace_.apis;
    std::vector<uint32_t> open;
    const auto close_until = [&](uint32_t keep) {
      while (!open.empty() && open.back() != keep) {
        end_slice(track_of_thread(apis.thread[open.back()]), apis.end[open.back()]);
        open.pop_back();
      }
    };
    std::vector<int64_t> reached(trace_.threads.size(), std::numeric_limits<int64_t>::min());
    std::map<uint32_t, Lanes> crossing_lanes;  // by thread
    for (const uint32_t row : tree.order) {
      if (!options_.wants(apis.start[row])) continue;
      const uint32_t thread = apis.thread[row];
      uint32_t parent = tree.parent[row];
      while (parent != kNoRow && std::find(open.begin(), open.end(), parent) == open.end())
        parent = tree.parent[parent];
      close_until(parent);
      // A root that begins before the last root of its thread ended cannot be drawn on the same lane.
      const bool crossing = parent == kNoRow && apis.start[row] < reached[thread];
      uint64_t lane_track = track_of_thread(thread);
      if (crossing) {
        bool is_new = false;
        Lanes::Lane& lane = crossing_lanes[thread].place(apis.start[row], apis.end[row], is_new);
        if (is_new) track(lane.track = next_track_++, track_of_thread(thread), "overlapping");
        lane_track = lane.track;
      }
      const bool marker = apis.name[row] == marker_;
      const std::string_view args = trace_.args(row);
      const bool instant = apis.start[row] >= apis.end[row];
      ProtoMessage event =
          begin_event(instant ? kInstant : kSliceBegin, lane_track, marker ? "marker" : "api",
                      marker && !args.empty() ? analysis::marker_label(args) : trace_.str(apis.name[row]));
      // An operator's marker carries its numbers in its text; they belong beside the name, not into it.
      if (!args.empty() && (!marker || analysis::marker_label(args) != args)) annotate(event, "args", args);
      annotate(event, "id", apis.id[row]);
      for (uint32_t link = first_link_[row]; link < first_link_[row + 1]; ++link) {
        // An op has one flow; should several calls claim it, the last one does.
        if (flow_of_op_[trace_.links.op[links_[link]]] == links_[link] + 1)
          event.fixed64(field::kFlow, links_[link] + uint64_t{1});
      }
      send(event, apis.start[row]);
      if (instant) continue;
      if (crossing) {
        end_slice(lane_track, apis.end[row]);
        continue;
      }
      if (parent == kNoRow) reached[thread] = std::max(reached[thread], apis.end[row]);
      open.push_back(row);
    }
    close_until(kNoRow);
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
      Lanes::Lane& lane = lanes[{ops.gpu[op], ops.queue[op]}].place(ops.start[op], ops.end[op], is_new);
      if (is_new)
        track(lane.track = next_track_++, track_of_gpu(ops.gpu[op]), "queue " + std::to_string(ops.queue[op]),
              ops.queue[op]);
      const uint64_t uuid = lane.track;
      ProtoMessage event =
          begin_event(kSliceBegin, uuid, analysis::op_kind_name(kinds_[op]), trace_.str(ops.name(op)));
      annotate(event, "type", trace_.str(ops.type[op]));
      if (const uint32_t api = call_of_op_[op]; api != kNoRow) {
        annotate(event, "correlation", trace_.apis.id[api]);
        if (const uint32_t launch = launch_of_call_[api];
            launch != kNoRow && kinds_[op] == analysis::OpKind::kKernel) {
          const store::KernelLaunch& k = trace_.launches[launch];
          const auto dims = [](const int32_t(&v)[3]) {
            return std::to_string(v[0]) + "x" + std::to_string(v[1]) + "x" + std::to_string(v[2]);
          };
          annotate(event, "grid", dims(k.grid));
          annotate(event, "workgroup", dims(k.workgroup));
          annotate(event, "lds", k.group_segment_bytes);
        }
      }
      if (flow_of_op_[op] != 0) event.fixed64(field::kTerminatingFlow, flow_of_op_[op]);
      send(event, ops.start[op]);
      end_slice(uuid, std::max(ops.end[op], ops.start[op]));
    }
  }

  void write_counters() {
    std::map<int32_t, std::vector<std::pair<int64_t, int>>> gpus;
    for (uint32_t op = 0; op < trace_.ops.size(); ++op) {
      const uint32_t api = call_of_op_[op];
      if (api == kNoRow) continue;
      gpus[trace_.ops.gpu[op]].push_back({trace_.apis.start[api], 1});
      gpus[trace_.ops.gpu[op]].push_back({std::max(trace_.ops.end[op], trace_.apis.start[api]), -1});
    }
    for (auto& [gpu, edges] : gpus) {
      std::sort(edges.begin(), edges.end());
      int64_t depth = 0;
      for (size_t i = 0; i < edges.size(); ++i) {
        depth += edges[i].second;
        if (i + 1 < edges.size() && edges[i + 1].first == edges[i].first) continue;
        if (options_.wants(edges[i].first)) sample(track_of_counter(gpu), edges[i].first, depth);
      }
    }
  }

  void sample(uint64_t uuid, int64_t time, int64_t value) {
    ProtoMessage event;
    event.varint(field::kType, kCounterSample);
    event.varint(field::kTrack, uuid);
    event.varint(field::kCounterValue, static_cast<uint64_t>(value));
    send(event, time);
  }

  void counter_track(uint64_t uuid, uint64_t parent, std::string_view name, uint64_t unit) {
    ProtoMessage counter, descriptor, packet;
    if (unit != 0) counter.varint(field::kCounterUnit, unit);
    descriptor.varint(field::kUuid, uuid);
    if (parent != 0) descriptor.varint(field::kParent, parent);
    descriptor.bytes(field::kName, name);
    descriptor.message(field::kCounter, counter);
    packet.message(field::kTrackDescriptor, descriptor);
    emit(packet);
  }

  // Clocks, temperatures, …: a counter per device and kind. Spans of equal value; only their starts matter.
  void write_monitors() {
    std::map<std::tuple<store::Str, int64_t, store::Str>, uint64_t> tracks;
    for (const store::Monitor& m : trace_.monitors) {
      const std::optional<uint64_t> value = analysis::parse_number(trace_.str(m.value));
      if (!value || !options_.wants(m.start)) continue;
      const auto [it, is_new] = tracks.emplace(std::tuple(m.device_type, m.device, m.type), next_track_);
      if (is_new)
        counter_track(next_track_++, 0,
                      std::string(trace_.str(m.device_type)) + " " + std::to_string(m.device) + " " +
                          std::string(trace_.str(m.type)),
                      0);
      sample(it->second, m.start, static_cast<int64_t>(*value));
    }
  }

  const store::Trace& trace_;
  const Options& options_;
  Sink& sink_;
  const analysis::OpKinds kinds_;
  const store::Str marker_;
  std::array<std::unordered_map<std::string_view, uint64_t>, field::kAnnotationNames + 1> interned_;
  ProtoMessage wrapper_;
  uint64_t next_track_ = kFirstOtherTrack;
  ProtoMessage pending_;
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
