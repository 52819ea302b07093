#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "store/import_parts.h"

namespace wavetap::store {
namespace {

using format::Kind;

std::span<const std::byte> kernarg_of(const format::DispatchRecord& dispatch) {
  if ((dispatch.header.flags & format::kDispatchHasArguments) == 0) return {};
  const size_t room = size_t{dispatch.header.words} * 8 - sizeof dispatch;
  return {reinterpret_cast<const std::byte*>(&dispatch + 1),
          std::min<size_t>(dispatch.kernarg_bytes, room)};
}

class OperationImport {
 public:
  explicit OperationImport(ImportContext& import) : import_(import) {}

  void write(size_t index, const RawOp& op);

 private:
  // What an operation of any kind has.
  struct Common {
    int64_t gpu = 0, queue = 0, sequence = 0;
    uint64_t submitted = 0;
    int64_t description = 0;
    const char* type = "";
  };
  Common describe(const format::DispatchRecord& dispatch, const RawOp& op);
  Common describe(const format::BarrierRecord& barrier);
  Common describe(const format::CopyRecord& copy);
  Common describe(const RawOp& op);
  const char* kernel_type(const ImportKernel* kernel) const;
  const char* copy_direction(const format::CopyRecord& copy, int64_t& device);
  void write_dispatch(int64_t id, const RawOp& op, const format::DispatchRecord& dispatch);
  void write_inflight(const RawOp& op);

  ImportContext& import_;
};

const char* OperationImport::kernel_type(const ImportKernel* kernel) const {
  if (kernel == nullptr) return kKernelType;
  switch (kernel->use) {
    case KernelUseKind::kProgram: return kKernelType;
    case KernelUseKind::kFill: return kFillType;
    case KernelUseKind::kCopy: return "CopyDeviceToDevice";
    case KernelUseKind::kOtherInternal: break;
  }
  return "RuntimeKernel";
}

const char* OperationImport::copy_direction(const format::CopyRecord& copy, int64_t& device) {
  const int64_t to = import_.device_of_agent(copy.destination_agent),
                from = import_.device_of_agent(copy.source_agent);
  if (static_cast<format::CopyKind>(copy.header.flags) == format::CopyKind::kFill) {
    device = std::max<int64_t>(to, 0);
    return kFillType;
  }
  device = to >= 0 ? to : std::max<int64_t>(from, 0);
  return copy_type(/*kind=*/-1, to, from);
}

OperationImport::Common OperationImport::describe(const format::DispatchRecord& dispatch,
                                                  const RawOp& op) {
  const ImportKernel* const k = import_.kernel(dispatch);
  return {.gpu = import_.lanes.device_of_queue(dispatch.queue),
          .queue = import_.lanes.of_queue(dispatch.queue),
          .sequence = op.ordinal_of(dispatch),
          .submitted = dispatch.time,
          .description =
              k != nullptr ? k->name_id : import_.texts.string(import_.kernel_name(dispatch)),
          .type = op.type != nullptr ? op.type : kernel_type(k)};
}

OperationImport::Common OperationImport::describe(const format::BarrierRecord& barrier) {
  return {.gpu = import_.lanes.device_of_queue(barrier.queue),
          .queue = import_.lanes.of_queue(barrier.queue),
          .submitted = barrier.time,
          .description = import_.texts.no_string(),
          .type = "Barrier"};
}

OperationImport::Common OperationImport::describe(const format::CopyRecord& copy) {
  int64_t device = 0;
  const char* const direction = copy_direction(copy, device);
  return {.gpu = device,
          .queue = import_.lanes.of_copies(device, direction),
          .submitted = copy.time,
          .description = import_.texts.no_string(),
          .type = direction};
}

OperationImport::Common OperationImport::describe(const RawOp& op) {
  switch (op.kind()) {
    case Kind::kDispatch: return describe(op.as<format::DispatchRecord>(), op);
    case Kind::kBarrier: return describe(op.as<format::BarrierRecord>());
    default: return describe(op.as<format::CopyRecord>());
  }
}

void OperationImport::write(size_t index, const RawOp& op) {
  if (!op.is_done()) return write_inflight(op);
  const Common common = describe(op);
  const ClockMap& clock = import_.facts.clock;
  int64_t start = import_.ns(common.submitted), end = start;
  if (op.complete) {
    start = clock.monotonic_of_boottime(op.start_ns);
    end = std::max(start, clock.monotonic_of_boottime(op.end_ns));
  }
  import_.last_ns = std::max(import_.last_ns, end);
  const int64_t id = import_.id(static_cast<int64_t>(index) + 1);
  import_.writer.put(rows::Op{.id = id,
                              .gpu = common.gpu,
                              .queue = common.queue,
                              .sequence = common.sequence,
                              .start = start,
                              .end = end,
                              .description = common.description,
                              .type = import_.texts.string(common.type)});
  import_.result.events.add_op(op_kind_of(common.type));
  if (op.kind() == Kind::kDispatch) write_dispatch(id, op, op.as<format::DispatchRecord>());
}

void OperationImport::write_dispatch(int64_t id, const RawOp& op, const format::DispatchRecord& d) {
  const std::optional<size_t> index = import_.facts.kernel(d.kernel_object, d.time);
  const uint32_t fixed = index ? import_.facts.kernels[*index].fact.group_bytes : 0;
  const std::span<const std::byte> kernarg = kernarg_of(d);
  if (!index || !import_.kernels[*index].is_internal()) ++import_.result.program_kernels;
  import_.writer.put(
      rows::Dispatch{.op = id,
                     .kernel = index ? std::optional(import_.kernels[*index].id) : std::nullopt,
                     .submitted = import_.ns(d.time),
                     .grid_x = d.grid[0],
                     .grid_y = d.grid[1],
                     .grid_z = d.grid[2],
                     .workgroup_x = d.workgroup[0],
                     .workgroup_y = d.workgroup[1],
                     .workgroup_z = d.workgroup[2],
                     .lds_bytes = d.group_bytes,
                     .dynamic_lds_bytes = d.group_bytes > fixed ? d.group_bytes - fixed : 0,
                     .scratch_bytes = d.private_bytes,
                     .kernarg_address = d.kernarg_address,
                     .kernarg = kernarg.empty() ? std::nullopt : std::optional(kernarg),
                     .node = op.ordinal_of(d),
                     .barrier = ((d.packet_header >> 8) & 1) != 0,
                     .timed = op.complete,
                     .by_order = op.by_order.call != 0});
}

void OperationImport::write_inflight(const RawOp& op) {
  ++import_.result.unfinished;
  const Common common = describe(op);
  const int64_t api = import_.api_of(op.owner());
  rows::InflightWork row{.pid = import_.pid(),
                         .api = api == 0 ? std::nullopt : std::optional(api),
                         .kind = "barrier",
                         .gpu = common.gpu,
                         .queue = common.queue,
                         .submitted = import_.ns(common.submitted),
                         .name = "barrier",
                         .grid_x = std::nullopt,
                         .grid_y = std::nullopt,
                         .grid_z = std::nullopt,
                         .workgroup_x = std::nullopt,
                         .workgroup_y = std::nullopt,
                         .workgroup_z = std::nullopt,
                         .args = std::nullopt};
  std::string name, args;
  if (op.kind() == Kind::kDispatch) {
    const auto& d = op.as<format::DispatchRecord>();
    const std::optional<size_t> index = import_.facts.kernel(d.kernel_object, d.time);
    if (!index || !import_.kernels[*index].is_internal()) ++import_.result.program_kernels;
    name = import_.kernel_name(d);
    if (const std::span<const std::byte> kernarg = kernarg_of(d); !kernarg.empty())
      args =
          kernarg_text(index ? import_.code.find(import_.facts.kernels[*index]) : nullptr, kernarg);
    row.kind = "kernel";
    row.grid_x = d.grid[0], row.grid_y = d.grid[1], row.grid_z = d.grid[2];
    row.workgroup_x = d.workgroup[0], row.workgroup_y = d.workgroup[1],
    row.workgroup_z = d.workgroup[2];
    row.name = name, row.args = args;
  } else if (op.kind() == Kind::kCopy) {
    const auto& copy = op.as<format::CopyRecord>();
    int64_t device = 0;
    name = copy_direction(copy, device);
    args = fmt::format("dst = {:#x} | src = {:#x} | bytes = {}", copy.destination, copy.source,
                       copy.bytes);
    row.kind = "copy";
    row.name = name, row.args = args;
  }
  import_.writer.put(row);
}

}  // namespace

void import_operations(ImportContext& import) {
  OperationImport operations(import);
  for (size_t i = 0; i < import.events.ops.size(); ++i)
    if (import.events.ops[i].record != nullptr) operations.write(i, import.events.ops[i]);
}

}  // namespace wavetap::store
