#include "store/op_kind.h"

#include "store/trace.h"

namespace wavetap::store {

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

OpKinds::OpKinds(const Trace& trace)
    : trace_(trace), of_type_(trace.strings.size(), OpKind::kOther) {
  for (const Str type : trace.ops.type) of_type_[type] = op_kind_of(trace.str(type));
}

OpKind OpKinds::operator[](size_t op_row) const { return of_type_[trace_.ops.type[op_row]]; }

}  // namespace wavetap::store
