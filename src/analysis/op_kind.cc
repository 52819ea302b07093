#include "analysis/op_kind.h"

namespace wavetap::analysis {

const char* op_kind_name(OpKind kind) {
  switch (kind) {
    case OpKind::kKernel: return "kernel";
    case OpKind::kCopy: return "copy";
    case OpKind::kFill: return "fill";
    case OpKind::kBarrier: return "barrier";
    case OpKind::kOther: break;
  }
  return "other";
}

OpKind op_kind_of(std::string_view type) {
  for (const std::string_view kernel :
       {"KernelExecution", "Task", "Kernel", "ConcurrentKernel", "kernel"})
    if (type == kernel) return OpKind::kKernel;
  if (type.starts_with("Copy") || type == "Memcpy" || type.find("COPY") != std::string_view::npos)
    return OpKind::kCopy;
  if (type.starts_with("Fill") || type == "Memset") return OpKind::kFill;
  if (type.starts_with("Barrier") || type == "Marker") return OpKind::kBarrier;
  return OpKind::kOther;
}

OpKinds::OpKinds(const store::Trace& trace)
    : trace_(trace), of_type_(trace.strings.size(), OpKind::kOther) {
  for (const store::Str type : trace.ops.type) of_type_[type] = op_kind_of(trace.str(type));
}

bool is_synchronising_call(std::string_view name) {
  if (name.find("Synchronize") != std::string_view::npos) return true;
  // A plain hipMemcpy/cudaMemcpy (no Async) waits for its copy; so do frees, which wait for the
  // device.
  for (const std::string_view prefix : {"hipMemcpy", "cudaMemcpy", "hipMemset", "cudaMemset"})
    if (name.starts_with(prefix)) return name.find("Async") == std::string_view::npos;
  return name == "hipFree" || name == "cudaFree" || name == "hipStreamWaitEvent";
}

}  // namespace wavetap::analysis
