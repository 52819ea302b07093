// The events of one recorded process, gathered from its streams and brought into the order import
// needs. Nothing is copied that the mapping holds already: an event is a pointer to its record.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/reader.h"
#include "store/raw_facts.h"

namespace wavetap::store {

// A dispatch, barrier or copy. Which, says the header of its record.
struct RawOp {
  const format::RecordHeader* record = nullptr;  // null: only its completion was seen
  int64_t start_ns = 0;                          // CLOCK_BOOTTIME
  int64_t end_ns = 0;
  bool complete = false;
  // Its opType, when the call it belongs to decides that.
  const char* type = nullptr;
  // Found by queue order (queue_order.h); call 0: the record's own counts.
  format::Owner by_order{};
  uint32_t ordinal = 0;  // then: nth dispatch of that call

  format::Kind kind() const { return record->kind; }
  template <class T>
  const T& as() const {
    return *reinterpret_cast<const T*>(record);
  }
  format::Owner owner() const;
  uint32_t ordinal_of(const format::DispatchRecord& dispatch) const {
    return by_order.call != 0 ? ordinal : dispatch.ordinal;
  }
  bool untimed() const {
    return kind() == format::Kind::kDispatch && (record->flags & format::kDispatchUntimed) != 0;
  }
  // False: it had not ended when the recording did.
  bool is_done() const { return complete || untimed(); }
};

struct OwnedOp {
  uint32_t call = 0;
  uint64_t op = 0;  // index into ProcessEvents::ops
};

struct StreamEvents {
  uint32_t number = 0;
  uint32_t tid = 0;
  std::vector<const format::CallRecord*> calls;    // in the order they were entered
  std::vector<uint32_t> ids;                       // the numbers import gave them
  std::vector<OwnedOp> owned;                      // by call, then op
  std::vector<const format::StackRecord*> stacks;  // by call
  uint64_t open_call = 0;                          // as in ChunkHeader; 0: none
  uint64_t open_since = 0;
};

struct MarkerEvent {
  uint64_t start = 0;
  uint64_t end = 0;
  uint32_t tid = 0;
  bool closed = true;  // false: the program never ended it
  bool named = false;  // category is the name of the range, message its argument
  std::string_view message, domain, category;
};

// One of the two is set.
struct MemoryEvent {
  uint64_t time = 0;
  const format::AllocateRecord* allocate = nullptr;
  const format::FreeRecord* free = nullptr;
};

class ProcessEvents {
 public:
  // Reads every stream but 0 to its end; stream 0 may hold completions, which are taken with
  // take_operation().
  void read(const format::ProcessStreams& streams, const RawFacts& facts);

  // Dispatches, barriers, copies, completions; true when the record was one of them.
  bool take_operation(const format::Record& record);

  // Gives an operation to a call; sort_owned() when all are given.
  void add_owned(format::Owner owner, uint64_t op);
  void sort_owned();

  std::vector<StreamEvents> streams;
  std::vector<RawOp> ops;                             // by DispatchRecord::id - 1
  std::vector<MarkerEvent> markers;                   // by start
  std::vector<MemoryEvent> memory;                    // by time
  std::unordered_map<uint32_t, size_t> stream_index;  // of a stream's number
  uint64_t last_time = 0;
  uint64_t first_time = UINT64_MAX;
  uint64_t unknown_records = 0;
  uint64_t unmatched_pops = 0;
  uint64_t bad_operations = 0;  // numbers that cannot be
  uint64_t id_limit = 0;        // no operation can have a larger number than the trace has room for

 private:
  struct Stopped {
    uint64_t range = 0;
    uint64_t time = 0;
  };
  struct Reading;
  void end_thread(Reading& thread, uint64_t ended);
  void read_stream(format::StreamReader& stream, const std::vector<uint64_t>& stops);
  void take_marker(const format::Record& record, uint32_t tid, std::vector<MarkerEvent>& open,
                   const std::vector<uint64_t>& stops);
  void see(uint64_t time);
  RawOp* op(uint64_t id);

  std::unordered_map<uint64_t, MarkerEvent> started_;  // by the id of roctxRangeStart
  std::vector<Stopped> stopped_;
};

}  // namespace wavetap::store
