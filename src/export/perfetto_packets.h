// Packets of Perfetto's protobuf trace: tracks, events on them, texts interned once. Field numbers are
// those of perfetto's published protos (trace_packet, track_event, track_descriptor, interned_data).
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "export/proto.h"
#include "export/sink.h"
#include "store/trace.h"

namespace wavetap::exporter::perfetto {

namespace field {
// Trace
inline constexpr uint32_t kPacket = 1;
// TracePacket
inline constexpr uint32_t kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11, kInternedData = 12,
                          kSequenceFlags = 13, kTrackDescriptor = 60;
// TrackDescriptor
inline constexpr uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5,
                          kCounter = 8, kChildOrdering = 11, kSiblingOrder = 12;
// ProcessDescriptor, ThreadDescriptor, CounterDescriptor
inline constexpr uint32_t kProcessPid = 1, kProcessName = 6, kThreadPid = 1, kThreadTid = 2,
                          kThreadName = 5, kCounterUnit = 3;
// TrackEvent
inline constexpr uint32_t kCategory = 3, kAnnotation = 4, kType = 9, kNameIid = 10, kTrack = 11,
                          kCounterValue = 30, kCounterDouble = 44, kFlow = 47,
                          kTerminatingFlow = 48;
// DebugAnnotation
inline constexpr uint32_t kAnnotationNameIid = 1, kAnnotationInt = 4, kAnnotationDouble = 5,
                          kAnnotationString = 6;
// InternedData and its entries
inline constexpr uint32_t kCategories = 1, kEventNames = 2, kAnnotationNames = 3, kIid = 1,
                          kInternedName = 2;
}  // namespace field

enum : uint64_t { kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounterSample = 4 };
inline constexpr uint64_t kSequence = 1;
inline constexpr uint64_t kUnitCount = 2;
inline constexpr uint64_t kOrderExplicit = 3;  // children of a track by their kSiblingOrder
// A text of this program's own that events refer to by number once it has been written.
struct Known {
  std::string_view text;
  uint64_t iid = 0;
};

// One sequence of packets. An event is begun, given names and numbers, and ended; only one at a time.
class Packets {
 public:
  Packets(const store::Trace& trace, Sink& sink)
      : trace_(trace), sink_(sink), name_iids_(trace.strings.size(), 0) {}

  void finish() { sink_.write(out_.str()); }

  // --- Tracks. `parent` 0: at the outside. Tracks of one parent are sorted by rank, where they have
  // one.
  void track(uint64_t uuid, uint64_t parent, std::string_view name, int rank = -1) {
    begin_descriptor(uuid, parent);
    out_.bytes(field::kName, name);
    if (parent == 0) out_.varint(field::kChildOrdering, kOrderExplicit);
    if (rank >= 0) out_.varint(field::kSiblingOrder, static_cast<uint64_t>(rank));
    end_descriptor();
  }
  void process_track(uint64_t uuid, int64_t pid) {
    begin_descriptor(uuid, 0);
    const size_t process = out_.begin(field::kProcess);
    out_.varint(field::kProcessPid, static_cast<uint64_t>(pid));
    out_.bytes(field::kProcessName, "process " + std::to_string(pid));
    out_.end(process);
    end_descriptor();
  }
  void thread_track(uint64_t uuid, uint64_t parent, const store::Thread& thread) {
    begin_descriptor(uuid, parent);
    const size_t info = out_.begin(field::kThread);
    out_.varint(field::kThreadPid, static_cast<uint64_t>(thread.pid));
    out_.varint(field::kThreadTid, static_cast<uint64_t>(thread.tid));
    out_.bytes(field::kThreadName,
               thread.tid == thread.pid ? "main" : "thread " + std::to_string(thread.tid));
    out_.end(info);
    end_descriptor();
  }
  void counter_track(uint64_t uuid, uint64_t parent, std::string_view name, uint64_t unit) {
    begin_descriptor(uuid, parent);
    out_.bytes(field::kName, name);
    const size_t counter = out_.begin(field::kCounter);
    if (unit != 0) out_.varint(field::kCounterUnit, unit);
    out_.end(counter);
    end_descriptor();
  }

  // --- Texts: each is written once, in the packet that first uses it. A text must outlive this.
  uint64_t intern_name(store::Str name) {
    if (name_iids_[name] == 0) name_iids_[name] = intern_label(trace_.str(name));
    return name_iids_[name];
  }
  uint64_t intern_label(std::string_view text) {
    const auto [found, is_new] = labels_.try_emplace(text, 0);
    if (is_new) found->second = add_text(field::kEventNames, text);
    return found->second;
  }

  // --- Events.
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
  void annotate(Known& name, std::string_view value) {
    const size_t annotation = begin_annotation(name);
    out_.bytes(field::kAnnotationString, value);
    out_.end(annotation);
  }
  void annotate(Known& name, int64_t value) {
    const size_t annotation = begin_annotation(name);
    out_.varint(field::kAnnotationInt, static_cast<uint64_t>(value));
    out_.end(annotation);
  }
  // Whole numbers as such: they are easier to read, and exact.
  void annotate(Known& name, double value) {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (std::abs(value) <= kExact && value == std::trunc(value))
      return annotate(name, static_cast<int64_t>(value));
    const size_t annotation = begin_annotation(name);
    out_.fixed64(field::kAnnotationDouble, std::bit_cast<uint64_t>(value));
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
  void flow(uint64_t id, bool terminates) {
    out_.fixed64(terminates ? field::kTerminatingFlow : field::kFlow, id);
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
  void sample(uint64_t track, int64_t time, int64_t value) {
    begin_event(kCounterSample, track, time);
    out_.varint(field::kCounterValue, static_cast<uint64_t>(value));
    end_event();
  }
  void sample(uint64_t track, int64_t time, double value) {
    begin_event(kCounterSample, track, time);
    out_.fixed64(field::kCounterDouble, std::bit_cast<uint64_t>(value));
    end_event();
  }

 private:
  static constexpr size_t kFlushBytes = 1 << 18;

  void begin_descriptor(uint64_t uuid, uint64_t parent) {
    packet_ = out_.begin(field::kPacket);
    event_ = out_.begin(field::kTrackDescriptor);
    out_.varint(field::kUuid, uuid);
    if (parent != 0) out_.varint(field::kParent, parent);
  }
  void end_descriptor() {
    out_.end(event_);
    end_packet(packet_);
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
  size_t begin_annotation(Known& name) {
    const size_t annotation = out_.begin(field::kAnnotation);
    out_.varint(field::kAnnotationNameIid, intern(field::kAnnotationNames, name));
    return annotation;
  }

  const store::Trace& trace_;
  Sink& sink_;
  ProtoWriter out_;                                            // packets not yet handed to the sink
  ProtoWriter pending_;                                        // texts the next packet carries
  size_t packet_ = 0, event_ = 0;                              // under way in out_
  std::array<uint64_t, field::kAnnotationNames + 1> texts_{};  // how many each table has
  std::vector<uint64_t> name_iids_;                            // by Str
  std::unordered_map<std::string_view, uint64_t> labels_;
  bool first_ = true;
};

}  // namespace wavetap::exporter::perfetto
