// The operations of HIP's own threads, given to the calls that asked for them (queue_order.h).
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "store/import_process.h"
#include "store/queue_order.h"

namespace wavetap::store {
namespace {

using format::Kind;
using CallKind = QueuedCall::Kind;
using OpKind = QueuedOp::Kind;

// Streams by number: 1 is the null stream by another name, 2 the default stream of the calling
// thread.
constexpr uint64_t kLegacyStream = 1;
constexpr uint64_t kPerThreadStream = 2;

CallKind kind_of(std::string_view name) {
  if (name.starts_with("hipStreamCreate") || name.starts_with("hipExtStreamCreate") ||
      name.starts_with("hipGraphInstantiate"))
    return CallKind::kCreate;
  if (name.starts_with("hipStreamDestroy") || name.starts_with("hipGraphExecDestroy"))
    return CallKind::kDestroy;
  if (name.starts_with("hipStreamBeginCapture")) return CallKind::kBeginCapture;
  if (name.starts_with("hipStreamEndCapture")) return CallKind::kEndCapture;
  if (name.starts_with("hipMemset")) return CallKind::kFill;
  if (name.starts_with("hipStreamSynchronize")) return CallKind::kWait;
  return CallKind::kOther;
}

uint64_t time_of(const RawOp& op) {
  switch (op.kind()) {
    case Kind::kDispatch: return op.as<format::DispatchRecord>().time;
    case Kind::kBarrier: return op.as<format::BarrierRecord>().time;
    default: return op.as<format::CopyRecord>().time;
  }
}

}  // namespace

std::vector<QueuedCall> ProcessImport::queued_calls() {
  std::vector<QueuedCall> out;
  for (const StreamEvents& stream : events_.streams) {
    uint32_t device = 0;
    for (const format::CallRecord* call : stream.calls) {
      const Function& f = function(call->function);
      if (f.raw == nullptr || f.raw->api != format::Api::kHip) continue;
      const std::string_view name = f.raw->name;
      const RecordedCall recorded(*call);
      const CallWords& words = recorded.arguments();
      const bool failed = call->result != 0;
      if (name == "hipSetDevice" && !failed)
        device = static_cast<uint32_t>(words.at(0).value_or(0));
      // Calls inside calls are the runtime's way of doing what the outer one asked for.
      if (call->depth != 0) continue;
      QueuedCall queued;
      queued.kind = failed              ? CallKind::kOther
                    : f.is_launch       ? CallKind::kLaunch
                    : f.is_graph_launch ? CallKind::kGraph
                    : f.is_copy         ? CallKind::kCopy
                                        : kind_of(name);
      queued.synchronous = f.synchronous;
      queued.owner = {stream.number, call->call};
      queued.start = call->start;
      queued.end = call->start + recorded.duration();
      const std::optional<uint64_t> handle = words.at(f.stream);
      queued.names_stream = handle.has_value();
      const uint64_t own = handle.value_or(0);
      if (own == kPerThreadStream || (own == 0 && name.ends_with("_spt")))
        queued.stream = per_thread_stream(stream.number);
      else queued.stream = own == 0 || own == kLegacyStream ? null_stream(device) : own;
      if (queued.kind == CallKind::kGraph)
        queued.graph = words.at(f.raw->layout.word_of("graphExec")).value_or(0);
      if (name.starts_with("hipGraphInstantiate") || name.starts_with("hipGraphExecDestroy"))
        queued.stream = words.at(f.raw->layout.word_of({"pGraphExec", "graphExec"})).value_or(0);
      if (f.is_copy)
        queued.bytes = words.at(f.size).value_or(words.at(f.width).value_or(0) *
                                                 words.at(f.height).value_or(0));
      if (f.is_launch) {
        if (const std::optional<uint64_t> target = words.at(f.function))
          queued.kernel = facts_->host_function(*target, call->start);
        queued.shape = shape_asked(f, words);
      }
      out.push_back(queued);
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const QueuedCall& a, const QueuedCall& b) { return a.start < b.start; });
  return out;
}

void ProcessImport::find_owners_by_order() {
  // Threads that work for HIP make no calls of their own.
  std::unordered_map<uint32_t, uint64_t> births;
  for (const StreamEvents& stream : events_.streams)
    if (stream.calls.empty()) births[stream.number] = 0;
  for (const RawThread& thread : facts_->threads)
    if (const auto worker = births.find(thread.stream); worker != births.end())
      worker->second = thread.time;
  std::vector<size_t> indices;
  std::vector<QueuedOp> ops;
  for (size_t i = 0; i < events_.ops.size(); ++i) {
    const RawOp& op = events_.ops[i];
    if (op.record == nullptr || op.kind() == Kind::kBarrier || op.owner().call != 0 ||
        !births.contains(op.owner().stream))
      continue;
    QueuedOp queued;
    queued.worker = op.owner().stream;
    queued.time = time_of(op);
    if (op.kind() == Kind::kCopy) {
      queued.kind = OpKind::kCopy;
      queued.bytes = op.as<format::CopyRecord>().bytes;
    } else {
      const auto& dispatch = op.as<format::DispatchRecord>();
      const std::optional<size_t> index = facts_->kernel(dispatch.kernel_object, dispatch.time);
      const Kernel* const k = index ? &kernels_[*index] : nullptr;
      if (k != nullptr && k->internal)
        queued.kind = k->fixed_type == nullptr ? OpKind::kCopyKernel
                      : k->is_fill()           ? OpKind::kFillKernel
                                               : OpKind::kOtherKernel;
      if (index) queued.kernel = facts_->kernels[*index].name;
      for (size_t d = 0; d < 3; ++d)
        queued.shape.grid[d] = dispatch.grid[d], queued.shape.workgroup[d] = dispatch.workgroup[d];
    }
    indices.push_back(i);
    ops.push_back(queued);
  }
  if (ops.empty()) return;
  std::vector<QueueWorker> workers;
  workers.reserve(births.size());
  for (const auto& [stream, born] : births) workers.push_back({stream, born});
  std::sort(workers.begin(), workers.end(),
            [](const QueueWorker& a, const QueueWorker& b) { return a.stream < b.stream; });

  const std::vector<format::Owner> owners = owners_by_order(queued_calls(), ops, workers);
  std::unordered_map<uint64_t, uint32_t> ordinals;
  uint64_t found = 0;
  for (size_t i = 0; i < owners.size(); ++i) {
    if (owners[i].call == 0) continue;
    RawOp& op = events_.ops[indices[i]];
    op.by_order = owners[i];
    if (op.kind() == Kind::kDispatch)
      op.ordinal = ordinals[uint64_t{owners[i].stream} << 32 | owners[i].call]++;
    events_.add_owned(owners[i], indices[i]);
    ++found;
  }
  if (found == 0) return;
  events_.sort_owned();
  result_.notes.push_back(
      fmt::format("process {}: {} of {} operations that HIP's own threads submitted were given to "
                  "their calls by queue order",
                  pid(), found, ops.size()));
}

}  // namespace wavetap::store
