// The operations of HIP's own threads, given to the calls that asked for them (queue_order.h).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "store/import_parts.h"
#include "store/queue_order.h"

namespace wavetap::store {
namespace {

using amd::HipDoes;
using amd::HipRole;
using format::Kind;
using CallKind = QueuedCall::Kind;
using OpKind = QueuedOp::Kind;

// Streams by number: 1 is the null stream by another name, 2 the default stream of the calling
// thread.
constexpr uint64_t kLegacyStream = 1;
constexpr uint64_t kPerThreadStream = 2;

CallKind kind_of(const ImportFunction& f) {
  switch (f.does) {
    case HipDoes::kLaunch: return CallKind::kLaunch;
    case HipDoes::kGraphLaunch: return CallKind::kGraph;
    case HipDoes::kCopy: return CallKind::kCopy;
    case HipDoes::kFill: return CallKind::kFill;
    case HipDoes::kCreateStream:
    case HipDoes::kInstantiateGraph: return CallKind::kCreate;
    case HipDoes::kDestroyStream:
    case HipDoes::kDestroyGraph: return CallKind::kDestroy;
    case HipDoes::kBeginCapture: return CallKind::kBeginCapture;
    case HipDoes::kEndCapture: return CallKind::kEndCapture;
    case HipDoes::kWait: return f.has(HipRole::kStream) ? CallKind::kWait : CallKind::kOther;
    default: return CallKind::kOther;
  }
}

uint64_t time_of(const RawOp& op) {
  switch (op.kind()) {
    case Kind::kDispatch: return op.as<format::DispatchRecord>().time;
    case Kind::kBarrier: return op.as<format::BarrierRecord>().time;
    default: return op.as<format::CopyRecord>().time;
  }
}

// A call of HIP as the search sees it; `device` is that of its thread.
QueuedCall queued_call(const ImportContext& import, const ImportFunction& f,
                       const format::CallRecord& call, uint32_t stream, uint32_t device) {
  const RecordedCall recorded(call);
  const CallWords& words = recorded.arguments();
  QueuedCall queued;
  queued.kind = call.result != 0 ? CallKind::kOther : kind_of(f);
  queued.synchronous = f.has(amd::kBlocking);
  queued.owner = {stream, call.call};
  queued.start = call.start;
  queued.end = call.start + recorded.duration();
  const std::optional<uint64_t> handle = f.value(HipRole::kStream, words);
  queued.names_stream = handle.has_value();
  const uint64_t own = handle.value_or(0);
  if (own == kPerThreadStream || (own == 0 && f.has(amd::kPerThread)))
    queued.stream = per_thread_stream(stream);
  else queued.stream = own == 0 || own == kLegacyStream ? null_stream(device) : own;
  const uint64_t graph = f.value(HipRole::kGraph, words).value_or(0);
  if (queued.kind == CallKind::kGraph) queued.graph = graph;
  // A graph has streams of its own, which come and go with it.
  if (f.does == HipDoes::kInstantiateGraph || f.does == HipDoes::kDestroyGraph)
    queued.stream = graph;
  if (f.does == HipDoes::kCopy) queued.bytes = f.bytes(words).value_or(0);
  if (f.does == HipDoes::kLaunch) {
    if (const std::optional<uint64_t> target = f.value(HipRole::kFunction, words))
      queued.kernel = import.facts.host_function(*target, call.start);
    queued.shape = f.shape(words);
  }
  return queued;
}

std::vector<QueuedCall> queued_calls(ImportContext& import) {
  std::vector<QueuedCall> out;
  for (const StreamEvents& stream : import.events.streams) {
    uint32_t device = 0;
    for (const format::CallRecord* call : stream.calls) {
      const ImportFunction& f = import.functions[call->function];
      if (f.raw == nullptr || f.raw->api != format::Api::kHip) continue;
      if (f.does == HipDoes::kSetDevice && call->result == 0) {
        const RecordedCall recorded(*call);
        device = static_cast<uint32_t>(f.value(HipRole::kDevice, recorded.arguments()).value_or(0));
      }
      // Calls inside calls are the runtime's way of doing what the outer one asked for.
      if (call->depth == 0) out.push_back(queued_call(import, f, *call, stream.number, device));
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const QueuedCall& a, const QueuedCall& b) { return a.start < b.start; });
  return out;
}

// Threads that work for HIP make no calls of their own. When each made its first record, by stream.
std::map<uint32_t, uint64_t> births_of_workers(const ImportContext& import) {
  std::map<uint32_t, uint64_t> births;
  for (const StreamEvents& stream : import.events.streams)
    if (stream.calls.empty()) births[stream.number] = 0;
  for (const RawThread& thread : import.facts.threads)
    if (const auto worker = births.find(thread.stream); worker != births.end())
      worker->second = thread.time;
  return births;
}

OpKind kind_of(const ImportKernel* kernel) {
  if (kernel == nullptr) return OpKind::kKernel;
  switch (kernel->use) {
    case KernelUseKind::kProgram: return OpKind::kKernel;
    case KernelUseKind::kCopy: return OpKind::kCopyKernel;
    case KernelUseKind::kFill: return OpKind::kFillKernel;
    case KernelUseKind::kOtherInternal: break;
  }
  return OpKind::kOtherKernel;
}

QueuedOp queued_op(const ImportContext& import, const RawOp& op) {
  QueuedOp queued;
  queued.worker = op.owner().stream;
  queued.time = time_of(op);
  if (op.kind() == Kind::kCopy) {
    queued.kind = OpKind::kCopy;
    queued.bytes = op.as<format::CopyRecord>().bytes;
    return queued;
  }
  const auto& dispatch = op.as<format::DispatchRecord>();
  queued.kind = kind_of(import.kernel(dispatch));
  if (const auto index = import.facts.kernel(dispatch.kernel_object, dispatch.time))
    queued.kernel = import.facts.kernels[*index].name;
  for (size_t d = 0; d < 3; ++d)
    queued.shape.grid[d] = dispatch.grid[d], queued.shape.workgroup[d] = dispatch.workgroup[d];
  return queued;
}

}  // namespace

void find_owners_by_order(ImportContext& import) {
  const std::map<uint32_t, uint64_t> births = births_of_workers(import);
  ProcessEvents& events = import.events;
  std::vector<size_t> indices;
  std::vector<QueuedOp> ops;
  for (size_t i = 0; i < events.ops.size(); ++i) {
    const RawOp& op = events.ops[i];
    if (op.record == nullptr || op.kind() == Kind::kBarrier || op.owner().call != 0 ||
        !births.contains(op.owner().stream))
      continue;
    indices.push_back(i);
    ops.push_back(queued_op(import, op));
  }
  if (ops.empty()) return;
  std::vector<QueueWorker> workers;
  for (const auto& [stream, born] : births) workers.push_back({stream, born});

  const std::vector<format::Owner> owners = owners_by_order(queued_calls(import), ops, workers);
  std::unordered_map<uint64_t, uint32_t> ordinals;
  uint64_t found = 0;
  for (size_t i = 0; i < owners.size(); ++i) {
    if (owners[i].call == 0) continue;
    RawOp& op = events.ops[indices[i]];
    op.by_order = owners[i];
    if (op.kind() == Kind::kDispatch)
      op.ordinal = ordinals[uint64_t{owners[i].stream} << 32 | owners[i].call]++;
    events.add_owned(owners[i], indices[i]);
    ++found;
  }
  if (found == 0) return;
  events.sort_owned();
  import.note(
      fmt::format("process {}: {} of {} operations that HIP's own threads submitted were given to "
                  "their calls by queue order",
                  import.pid(), found, ops.size()));
}

}  // namespace wavetap::store
