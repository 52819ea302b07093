#include "cli/live_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/live_process.h"
#include "codeobj/code_object.h"

namespace wavetap::cli {
namespace {

using format::Kind;

int64_t gpu_of(const store::RawFacts& facts, uint32_t agent) {
  const store::RawAgent* found = facts.agent(agent);
  return found == nullptr || found->fact.is_gpu == 0 ? -1 : int64_t{found->fact.gpu_index};
}

int64_t gpu_of_queue(const store::RawFacts& facts, uint32_t queue) {
  const store::RawQueue* found = facts.queue(queue);
  return found == nullptr ? -1 : gpu_of(facts, found->fact.agent);
}

LiveOperation dispatch_of(const store::RawFacts& facts, const format::DispatchRecord& r) {
  LiveOperation op;
  op.kind = Kind::kDispatch;
  op.submitted = r.time;
  const std::optional<size_t> kernel = facts.kernel(r.kernel_object, r.time);
  op.name = kernel ? codeobj::demangle(facts.kernels[*kernel].name)
                   : fmt::format("kernel {:#x}", r.kernel_object);
  op.queue = r.queue;
  op.device = gpu_of_queue(facts, r.queue);
  std::copy(std::begin(r.grid), std::end(r.grid), op.grid);
  std::copy(std::begin(r.workgroup), std::end(r.workgroup), op.workgroup);
  return op;
}

LiveOperation copy_of(const store::RawFacts& facts, const format::CopyRecord& r) {
  LiveOperation op;
  op.kind = Kind::kCopy;
  op.submitted = r.time;
  const int64_t to = gpu_of(facts, r.destination_agent), from = gpu_of(facts, r.source_agent);
  op.name =
      static_cast<format::CopyKind>(r.header.flags) == format::CopyKind::kFill
          ? "FillBuffer"
          : fmt::format("Copy{}To{}", from < 0 ? "Host" : "Device", to < 0 ? "Host" : "Device");
  op.device = to >= 0 ? to : from;
  op.bytes = r.bytes;
  return op;
}

}  // namespace

Result<LiveSession> LiveSession::open(const std::string& folder) {
  Result<format::SessionReader> reader = format::SessionReader::open(folder);
  if (!reader.ok()) return reader.error();
  if (reader->processes().empty())
    return errorf("%s: holds no recording; give the folder of one", folder.c_str());
  LiveSession session;
  session.reader_ = std::make_unique<format::SessionReader>(std::move(*reader));
  return session;
}

bool LiveSession::ended() const {
  return std::none_of(reader_->processes().begin(), reader_->processes().end(),
                      [](const format::ProcessStreams& p) { return is_running(p.id); });
}

void LiveSession::take_facts(LiveProcess& process, const format::ProcessStreams& streams,
                             const Visitor& visitor) {
  format::StreamReader* facts = streams.facts();
  if (facts == nullptr) return;
  format::Record record;
  while (facts->next(record)) {
    process.facts.take(record);
    if (record.header.kind == Kind::kComplete) take(process, 0, record, visitor);
  }
  process.facts.clock.set_frequency(facts->clock(), process.facts.process().clock_hz);
}

namespace {

// What the process holds on its GPUs. False: the record is too short.
bool take_memory(LiveProcess& process, const format::Record& record) {
  if (record.header.kind == Kind::kAllocate) {
    const auto* r = record.as<format::AllocateRecord>();
    if (r == nullptr) return false;
    const auto kind = static_cast<format::MemoryKind>(record.header.flags);
    const bool of_host = kind == format::MemoryKind::kHost || kind == format::MemoryKind::kKernarg;
    const int64_t gpu = of_host ? -1 : gpu_of(process.facts, r->agent);
    if (gpu < 0) return true;
    process.held[r->address] = {gpu, r->bytes};
    process.memory_bytes[gpu] += r->bytes;
    return true;
  }
  const auto* r = record.as<format::FreeRecord>();
  if (r == nullptr) return false;
  if (const auto found = process.held.find(r->address); found != process.held.end()) {
    process.memory_bytes[found->second.first] -= found->second.second;
    process.held.erase(found);
  }
  return true;
}

}  // namespace

void LiveSession::take(LiveProcess& process, uint32_t tid, const format::Record& record,
                       const Visitor& visitor) {
  const store::RawFacts& facts = process.facts;
  switch (record.header.kind) {
    case Kind::kCall:
      if (const auto* r = record.as<format::CallRecord>(); r != nullptr && visitor.call)
        visitor.call(process, tid, *r);
      break;
    case Kind::kDispatch:
      if (const auto* r = record.as<format::DispatchRecord>();
          r != nullptr && (record.header.flags & format::kDispatchUntimed) == 0) {
        LiveOperation& op = process.pending[r->id] = dispatch_of(facts, *r);
        op.tid = tid;
      }
      break;
    case Kind::kCopy:
      if (const auto* r = record.as<format::CopyRecord>()) {
        LiveOperation& op = process.pending[r->id] = copy_of(facts, *r);
        op.tid = tid;
      }
      break;
    case Kind::kBarrier:
      if (const auto* r = record.as<format::BarrierRecord>()) {
        LiveOperation& op = process.pending[r->id];
        op.kind = Kind::kBarrier;
        op.submitted = r->time;
        op.name = "Barrier";
        op.queue = r->queue;
        op.device = gpu_of_queue(facts, r->queue);
        op.tid = tid;
      }
      break;
    case Kind::kComplete:
      if (const auto* r = record.as<format::CompleteRecord>()) {
        const auto found = process.pending.find(r->id);
        if (found == process.pending.end()) break;
        if (visitor.operation)
          visitor.operation(process, found->second, r->start_ns, std::max(r->start_ns, r->end_ns));
        process.pending.erase(found);
      }
      break;
    case Kind::kMarker:
      if (visitor.marker) visitor.marker(process, tid, record);
      break;
    case Kind::kAllocate:
    case Kind::kFree:
      if (take_memory(process, record) && visitor.memory) visitor.memory(process, tid, record);
      break;
    default: break;
  }
}

bool LiveSession::poll(const Visitor& visitor) {
  reader_->refresh();
  bool any = false;
  for (const format::ProcessStreams& streams : reader_->processes()) {
    std::unique_ptr<LiveProcess>& process = processes_[streams.id];
    if (process == nullptr) process = std::make_unique<LiveProcess>(streams.id);
    // Completions are put off until all streams were read once: they may be in another than the
    // submission.
    std::vector<format::Record> completions;
    for (format::StreamReader* stream : streams.streams) {
      if (stream->number() == format::kFactsStream) continue;
      format::Record record;
      bool fresh = false;
      while (stream->next(record)) {
        // A record may name what was written to stream 0 just before it.
        if (!fresh) take_facts(*process, streams, visitor);
        if (record.header.kind == Kind::kCall && record.as<format::CallRecord>() != nullptr &&
            process->facts.function(record.as<format::CallRecord>()->function) == nullptr)
          take_facts(*process, streams, visitor);
        fresh = true;
        any = true;
        if (record.header.kind == Kind::kComplete) completions.push_back(record);
        else take(*process, stream->tid(), record, visitor);
      }
    }
    take_facts(*process, streams, visitor);
    for (const format::Record& record : completions) take(*process, 0, record, visitor);
  }
  return any;
}

}  // namespace wavetap::cli
