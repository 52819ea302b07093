// Perfetto's protobuf trace: one track per thread and per GPU queue, flows from launches to ops, counters
// of work in flight, strings interned once. Field numbers are those of perfetto's published protos
// (trace_packet, track_event, track_descriptor, interned_data).
//
// Slices of one track must nest. Calls do, by build_call_tree(); a call that overlaps its neighbour
// without nesting and an op that overlaps the one before it on its queue go to an extra lane beside it.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "analysis/analysis.h"
#include "analysis/call_args.h"
#include "analysis/callstack_tree.h"
#include "analysis/op_kind.h"
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
constexpr uint32_t kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11, kInternedData = 12, kSequenceFlags = 13,
                   kTrackDescriptor = 60;
// TrackDescriptor
constexpr uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8, kSiblingOrder = 12;
// ProcessDescriptor, ThreadDescriptor, CounterDescriptor
constexpr uint32_t kProcessPid = 1, kProcessName = 6, kThreadPid = 1, kThreadTid = 2, kThreadName = 5, kCounterUnit = 3;
// TrackEvent
constexpr uint32_t kCategory = 3, kAnnotation = 4, kType = 9, kNameIid = 10, kTrack = 11, kCounterValue = 30, kFlow = 47,
                   kTerminatingFlow = 48;
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
uint64_t track_of_thread(uint32_t thread, uint32_t lane) { return uint64_t{2} << 60 | uint64_t{lane} << 40 | thread; }
uint64_t track_of_gpu(int32_t gpu) { return uint64_t{3} << 60 | static_cast<uint32_t>(gpu); }
uint64_t track_of_queue(int32_t gpu, int32_t queue, uint32_t lane) {
  return uint64_t{4} << 60 | (uint64_t{static_cast<uint32_t>(gpu)} & 0xffff) << 40 | uint64_t{lane & 0xff} << 32 |
         static_cast<uint32_t>(queue);
}
uint64_t track_of_counter(int32_t gpu) { return uint64_t{5} << 60 | static_cast<uint32_t>(gpu); }

class Writer {
 public:
  Writer(const store::Trace& trace, const Options& options, Sink& sink)
      : trace_(trace), options_(options), sink_(sink), kinds_(trace), marker_(trace.strings.find("UserMarker")) {}

  void run() {
    link_flows();
    describe_tracks();
    write_calls();
    write_ops();
    write_counters();
  }

 private:
  void emit(ProtoMessage& packet) {
    packet.varint(field::kSequenceId, kSequence);
    // The first packet says that interning starts afresh, all others that they depend on it.
    packet.varint(field::kSequenceFlags, first_ ? 3 : 2);
    first_ = false;
    ProtoMessage wrapper;
    wrapper.message(field::kPacket, packet);
    sink_.write(wrapper.str());
  }

  // Each text is written once, in the packet that first uses it.
  uint64_t intern(uint32_t table, std::string_view text) {
    auto& known = interned_[table];
    const auto found = known.find(text);
    if (found != known.end()) return found->second;
    const uint64_t iid = known.size() + 1;
    known.emplace(std::string(text), iid);
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
      info.bytes(field::kThreadName, thread.tid == thread.pid ? "main" : "thread " + std::to_string(thread.tid));
      descriptor.varint(field::kUuid, track_of_thread(t, 0));
      descriptor.varint(field::kParent, track_of_process(thread.pid));
      descriptor.message(field::kThread, info);
      packet.message(field::kTrackDescriptor, descriptor);
      emit(packet);
    }
    std::set<int32_t> gpus(trace_.ops.gpu.begin(), trace_.ops.gpu.end());
    for (const int32_t gpu : gpus) {
      track(track_of_gpu(gpu), 0, (trace_.is_emulated() ? "virtual GPU " : "GPU ") + std::to_string(gpu));
      ProtoMessage counter, descriptor, packet;
      counter.varint(field::kCounterUnit, kUnitCount);
      descriptor.varint(field::kUuid, track_of_counter(gpu));
      descriptor.varint(field::kParent, track_of_gpu(gpu));
      descriptor.bytes(field::kName, "in flight");
      descriptor.message(field::kCounter, counter);
      packet.message(field::kTrackDescriptor, descriptor);
      emit(packet);
    }
  }

  struct Slice {
    int64_t begin = 0, end = 0;
    uint64_t track = 0;
    std::string_view category, name;
  };

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

  void link_flows() {
    flows_of_api_.resize(trace_.apis.size());
    flow_of_op_.assign(trace_.ops.size(), 0);
    api_of_op_.assign(trace_.ops.size(), kNoRow);
    for (size_t i = 0; i < trace_.links.size(); ++i) {
      const uint32_t api = trace_.links.api[i], op = trace_.links.op[i];
      if (api == kNoRow || op == kNoRow) continue;
      api_of_op_[op] = api;
      if (!options_.wants(trace_.apis.start[api]) || !options_.wants(trace_.ops.start[op])) continue;
      flows_of_api_[api].push_back(i + 1);
      flow_of_op_[op] = i + 1;
    }
    launch_of_api_.assign(trace_.apis.size(), kNoRow);
    for (uint32_t i = 0; i < trace_.launches.size(); ++i) launch_of_api_[trace_.launches[i].api] = i;
  }

  // Calls in nesting order; each is closed before the next that lies outside it begins.
  void write_calls() {
    const analysis::CallTree tree = analysis::build_call_tree(trace_);
    const store::Apis& apis = trace_.apis;
    std::vector<uint32_t> open;
    std::set<uint64_t> lanes;
    const auto close_until = [&](uint32_t keep) {
      while (!open.empty() && open.back() != keep) {
        end_slice(track_of_thread(apis.thread[open.back()], 0), apis.end[open.back()]);
        open.pop_back();
      }
    };
    std::vector<int64_t> reached(trace_.threads.size(), std::numeric_limits<int64_t>::min());
    for (const uint32_t row : tree.order) {
      if (!options_.wants(apis.start[row])) continue;
      const uint32_t thread = apis.thread[row];
      uint32_t parent = tree.parent[row];
      while (parent != kNoRow && std::find(open.begin(), open.end(), parent) == open.end()) parent = tree.parent[parent];
      close_until(parent);
      // A root that begins before the last root of its thread ended cannot be drawn on the same lane.
      const bool crossing = parent == kNoRow && apis.start[row] < reached[thread];
      const uint64_t lane_track = track_of_thread(thread, crossing ? 1 : 0);
      if (crossing && lanes.insert(lane_track).second)
        track(lane_track, track_of_thread(thread, 0), "overlapping");
      const bool marker = apis.name[row] == marker_;
      const std::string_view args = trace_.args(row);
      const bool instant = apis.start[row] >= apis.end[row];
      ProtoMessage event = begin_event(instant ? kInstant : kSliceBegin, lane_track, marker ? "marker" : "api",
                                       marker && !args.empty() ? args : trace_.str(apis.name[row]));
      if (!marker && !args.empty()) annotate(event, "args", args);
      annotate(event, "id", apis.id[row]);
      for (const uint64_t flow : flows_of_api_[row]) event.fixed64(field::kFlow, flow);
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
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return ops.start[a] < ops.start[b]; });
    std::map<std::pair<int32_t, int32_t>, std::vector<int64_t>> lanes;  // end of the last op of each lane
    for (const uint32_t op : order) {
      if (!options_.wants(ops.start[op])) continue;
      std::vector<int64_t>& ends = lanes[{ops.gpu[op], ops.queue[op]}];
      uint32_t lane = 0;
      while (lane < ends.size() && ends[lane] > ops.start[op]) ++lane;
      const uint64_t uuid = track_of_queue(ops.gpu[op], ops.queue[op], lane);
      if (lane == ends.size()) {
        ends.push_back(0);
        track(uuid, track_of_gpu(ops.gpu[op]), "queue " + std::to_string(ops.queue[op]), ops.queue[op]);
      }
      ends[lane] = ops.end[op];
      ProtoMessage event = begin_event(kSliceBegin, uuid, analysis::op_kind_name(kinds_[op]), trace_.str(ops.name(op)));
      annotate(event, "type", trace_.str(ops.type[op]));
      if (const uint32_t api = api_of_op_[op]; api != kNoRow) {
        annotate(event, "correlation", trace_.apis.id[api]);
        if (const uint32_t launch = launch_of_api_[api]; launch != kNoRow && kinds_[op] == analysis::OpKind::kKernel) {
          const store::KernelLaunch& k = trace_.launches[launch];
          const auto dims = [](const int32_t (&v)[3]) {
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
      const uint32_t api = api_of_op_[op];
      if (api == kNoRow || !options_.wants(trace_.apis.start[api])) continue;
      gpus[trace_.ops.gpu[op]].push_back({trace_.apis.start[api], 1});
      gpus[trace_.ops.gpu[op]].push_back({std::max(trace_.ops.end[op], trace_.apis.start[api]), -1});
    }
    for (auto& [gpu, edges] : gpus) {
      std::sort(edges.begin(), edges.end());
      int64_t depth = 0;
      for (size_t i = 0; i < edges.size(); ++i) {
        depth += edges[i].second;
        if (i + 1 < edges.size() && edges[i + 1].first == edges[i].first) continue;
        ProtoMessage event;
        event.varint(field::kType, kCounterSample);
        event.varint(field::kTrack, track_of_counter(gpu));
        event.varint(field::kCounterValue, static_cast<uint64_t>(depth));
        send(event, edges[i].first);
      }
    }
  }

  const store::Trace& trace_;
  const Options& options_;
  Sink& sink_;
  const analysis::OpKinds kinds_;
  const store::Str marker_;
  std::map<uint32_t, std::map<std::string, uint64_t, std::less<>>> interned_;
  ProtoMessage pending_;
  std::vector<std::vector<uint64_t>> flows_of_api_;
  std::vector<uint64_t> flow_of_op_;
  std::vector<uint32_t> api_of_op_, launch_of_api_;
  bool first_ = true;
};

}  // namespace

Status write_perfetto(const store::Trace& trace, const Options& options, Sink& sink) {
  Writer(trace, options, sink).run();
  return {};
}

}  // namespace wavetap::exporter
