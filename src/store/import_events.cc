#include "store/import_events.h"

#include <algorithm>

namespace wavetap::store {

using format::Kind;
using format::MarkerKind;

format::Owner RawOp::owner() const {
  if (by_order.call != 0) return by_order;
  switch (kind()) {
    case Kind::kDispatch: return as<format::DispatchRecord>().owner;
    case Kind::kBarrier: return as<format::BarrierRecord>().owner;
    default: return as<format::CopyRecord>().owner;
  }
}

void ProcessEvents::see(uint64_t time) {
  if (time == 0) return;
  first_time = std::min(first_time, time);
  last_time = std::max(last_time, time);
}

RawOp* ProcessEvents::op(uint64_t id) {
  if (id == 0 || id > id_limit) {
    ++bad_operations;
    return nullptr;
  }
  if (ops.size() < id) ops.resize(std::max<size_t>(id, std::min<size_t>(ops.size() * 2, id_limit)));
  return &ops[id - 1];
}

bool ProcessEvents::take_operation(const format::Record& record) {
  uint64_t id = 0;
  switch (record.header.kind) {
    case Kind::kDispatch:
      if (const auto* r = record.as<format::DispatchRecord>()) id = r->id, see(r->time);
      break;
    case Kind::kBarrier:
      if (const auto* r = record.as<format::BarrierRecord>()) id = r->id, see(r->time);
      break;
    case Kind::kCopy:
      if (const auto* r = record.as<format::CopyRecord>()) id = r->id, see(r->time);
      break;
    case Kind::kComplete:
      if (const auto* r = record.as<format::CompleteRecord>()) {
        if (RawOp* done = op(r->id)) {
          done->complete = true;
          done->start_ns = r->start_ns;
          done->end_ns = std::max(r->start_ns, r->end_ns);
        }
      }
      return true;
    default: return false;
  }
  if (RawOp* added = op(id))
    added->record = reinterpret_cast<const format::RecordHeader*>(record.bytes.data());
  return true;
}

void ProcessEvents::take_marker(const format::Record& record, uint32_t tid,
                                std::vector<MarkerEvent>& open,
                                const std::vector<uint64_t>& stops) {
  const auto* r = record.as<format::MarkerRecord>();
  if (r == nullptr) return;
  see(r->time);
  // Recording was stopped since these began: what happened to them afterwards is not known.
  const auto stop = std::lower_bound(stops.begin(), stops.end(), r->time);
  if (stop != stops.begin()) {
    const uint64_t stopped = *std::prev(stop);
    while (!open.empty() && open.back().start <= stopped) {
      open.back().end = stopped;
      markers.push_back(open.back());
      open.pop_back();
    }
  }
  MarkerEvent event;
  event.start = event.end = r->time;
  event.tid = tid;
  event.named = (record.header.flags & format::kMarkerNamed) != 0;
  const auto kind = static_cast<MarkerKind>(record.header.flags & ~format::kMarkerNamed);
  if (kind == MarkerKind::kPush || kind == MarkerKind::kInstant || kind == MarkerKind::kStart) {
    format::TextCursor texts(record.after<format::MarkerRecord>());
    event.message = texts.next();
    event.domain = texts.next();
    event.category = texts.next();
  }
  switch (kind) {
    case MarkerKind::kPush: open.push_back(event); break;
    case MarkerKind::kInstant: markers.push_back(event); break;
    case MarkerKind::kStart: started_[r->range] = event; break;
    case MarkerKind::kPop:
      if (open.empty()) {
        ++unmatched_pops;
        break;
      }
      open.back().end = r->time;
      markers.push_back(open.back());
      open.pop_back();
      break;
    case MarkerKind::kStop:
      stopped_.push_back({r->range, r->time});  // the start may lie in a stream that is read later
      break;
  }
}

// The events of one thread while its stream is read.
struct ProcessEvents::Reading {
  StreamEvents events;
  std::vector<const format::CallRecord*> nested;  // returned before the call around them
  std::vector<MarkerEvent> open;

  // Records are written when calls return; numbers were given when they were entered.
  void take_call(const format::CallRecord& call) {
    if (call.depth == 0 && nested.empty()) {
      events.calls.push_back(&call);
      return;
    }
    nested.push_back(&call);
    if (call.depth == 0) flush_nested();
  }
  void flush_nested() {
    std::sort(nested.begin(), nested.end(),
              [](const auto* a, const auto* b) { return a->call < b->call; });
    events.calls.insert(events.calls.end(), nested.begin(), nested.end());
    nested.clear();
  }
};

// The thread's last record was read. `ended`: when another thread went on in its files; 0: none did.
void ProcessEvents::end_thread(Reading& thread, uint64_t ended) {
  thread.flush_nested();
  for (MarkerEvent& event : thread.open) {
    event.closed = ended != 0;
    event.end = std::max(event.start, ended);
    markers.push_back(event);
  }
  streams.push_back(std::move(thread.events));
}

void ProcessEvents::read_stream(format::StreamReader& stream, const std::vector<uint64_t>& stops) {
  Reading thread;
  const auto begin_thread = [&] {
    thread = {};
    thread.events.number = stream.stream();
    thread.events.tid = stream.tid();
  };
  begin_thread();
  format::Record record;
  while (stream.next(record)) {
    switch (record.header.kind) {
      case Kind::kCall:
        if (const auto* r = record.as<format::CallRecord>()) {
          see(r->start);
          see(r->start + r->duration);
          thread.take_call(*r);
        }
        break;
      case Kind::kStack:
        if (const auto* r = record.as<format::StackRecord>()) thread.events.stacks.push_back(r);
        break;
      case Kind::kAllocate:
        if (const auto* r = record.as<format::AllocateRecord>()) {
          see(r->time);
          memory.push_back({r->time, r, nullptr});
        }
        break;
      case Kind::kFree:
        if (const auto* r = record.as<format::FreeRecord>()) {
          see(r->time);
          memory.push_back({r->time, nullptr, r});
        }
        break;
      case Kind::kMarker: take_marker(record, stream.tid(), thread.open, stops); break;
      case Kind::kThread:
        // Said again at the head of a chunk by a thread that was there already.
        if (const auto* r = record.as<format::ThreadFact>();
            r != nullptr && r->stream != thread.events.number) {
          end_thread(thread, r->time);
          begin_thread();
        }
        break;
      default:
        if (!take_operation(record)) ++unknown_records;
        break;
    }
  }
  if (const format::Chunk* last = stream.last_chunk()) {
    thread.events.open_call = last->open_call();
    thread.events.open_since = last->open_since();
  }
  end_thread(thread, 0);
}

void ProcessEvents::read(const format::ProcessStreams& process, const RawFacts& facts) {
  std::vector<uint64_t> stops;
  for (const format::ControlFact& control : facts.controls)
    if (static_cast<format::Control>(control.header.flags) == format::Control::kStopped &&
        control.count == 0)
      stops.push_back(control.time);
  std::sort(stops.begin(), stops.end());

  for (format::StreamReader* stream : process.streams) {
    if (stream->number() == format::kFactsStream) continue;
    read_stream(*stream, stops);
  }
  while (!ops.empty() && ops.back().record == nullptr) ops.pop_back();

  for (const auto& [range, time] : stopped_) {
    const auto found = started_.find(range);
    if (found == started_.end()) {
      ++unmatched_pops;
      continue;
    }
    found->second.end = std::max(found->second.start, time);
    markers.push_back(found->second);
    started_.erase(found);
  }
  for (auto& [range, event] : started_) {
    event.closed = false;
    markers.push_back(event);
  }
  for (MarkerEvent& event : markers) {
    if (event.closed) continue;
    const auto stop = std::lower_bound(stops.begin(), stops.end(), event.start);
    event.end = std::max(event.start, stop == stops.end() ? last_time : *stop);
  }
  std::stable_sort(markers.begin(), markers.end(), [](const MarkerEvent& a, const MarkerEvent& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  std::stable_sort(memory.begin(), memory.end(),
                   [](const MemoryEvent& a, const MemoryEvent& b) { return a.time < b.time; });

  for (size_t i = 0; i < streams.size(); ++i) stream_index[streams[i].number] = i;
  for (uint64_t i = 0; i < ops.size(); ++i) {
    if (ops[i].record == nullptr) continue;
    add_owned(ops[i].owner(), i);
  }
  sort_owned();
  for (StreamEvents& stream : streams)
    std::stable_sort(stream.stacks.begin(), stream.stacks.end(),
                     [](const auto* a, const auto* b) { return a->call < b->call; });
}

void ProcessEvents::add_owned(format::Owner owner, uint64_t op) {
  const auto found = stream_index.find(owner.stream);
  if (owner.call != 0 && found != stream_index.end())
    streams[found->second].owned.push_back({owner.call, op});
}

void ProcessEvents::sort_owned() {
  for (StreamEvents& stream : streams)
    std::stable_sort(stream.owned.begin(), stream.owned.end(),
                     [](const OwnedOp& a, const OwnedOp& b) { return a.call < b.call; });
}

}  // namespace wavetap::store
