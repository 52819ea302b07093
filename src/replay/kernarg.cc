// Hidden arguments: https://llvm.org/docs/AMDGPUUsage.html, "Code Object V3/V4/V5 Metadata",
// .value_kind.
#include "replay/kernarg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "emu/wave.h"
#include "util/text.h"

namespace wavetap::replay {
namespace {

// The axis of a value kind that ends in _x, _y or _z.
int axis_of(std::string_view kind) { return kind.back() - 'x'; }

std::optional<uint64_t> hidden_value(std::string_view kind, const DispatchShape& shape) {
  if (kind.starts_with("hidden_global_offset_")) return 0;
  if (kind.starts_with("hidden_block_count_")) return shape.workgroups[axis_of(kind)];
  if (kind.starts_with("hidden_group_size_")) return shape.workgroup_size[axis_of(kind)];
  if (kind.starts_with("hidden_remainder_")) return 0;  // grids here are whole workgroups
  if (kind == "hidden_grid_dims")
    return shape.workgroups[2] > 1 || shape.workgroup_size[2] > 1   ? 3
           : shape.workgroups[1] > 1 || shape.workgroup_size[1] > 1 ? 2
                                                                    : 1;
  if (kind == "hidden_dynamic_lds_size") return shape.dynamic_lds_bytes;
  if (kind == "hidden_private_base") return emu::kPrivateAperture >> 32;
  if (kind == "hidden_shared_base") return emu::kSharedAperture >> 32;
  if (kind == "hidden_queue_ptr") return shape.queue.value;
  for (const std::string_view null :
       {"hidden_none", "hidden_printf_buffer", "hidden_hostcall_buffer", "hidden_default_queue",
        "hidden_completion_action", "hidden_multigrid_sync_arg", "hidden_heap_v1"}) {
    if (kind == null) return 0;
  }
  return std::nullopt;
}

}  // namespace

Status fill_kernarg(const codeobj::Kernel& kernel, std::span<const std::vector<std::byte>> values,
                    const DispatchShape& shape, std::span<std::byte> kernarg) {
  const size_t expected = visible_argument_count(kernel);
  if (values.size() != expected) {
    return errorf("%s: takes %s, %zu given; give one each for: %s",
                  codeobj::short_name(kernel.name).c_str(),
                  util::count_of(expected, "argument").c_str(), values.size(),
                  describe_arguments(kernel).c_str());
  }
  size_t next = 0;
  for (const codeobj::KernelArg& arg : kernel.args) {
    if (arg.offset > kernarg.size() || arg.size_bytes > kernarg.size() - arg.offset) {
      return errorf(
          "%s: argument at offset %lu lies outside its %zu bytes of arguments; the code object is "
          "damaged",
          util::escape_control(kernel.name).c_str(), static_cast<unsigned long>(arg.offset),
          kernarg.size());
    }
    std::byte* place = kernarg.data() + arg.offset;
    if (arg.is_hidden()) {
      const std::optional<uint64_t> value = hidden_value(arg.value_kind, shape);
      if (!value)
        return errorf("%s: unknown hidden argument %s; use a newer wavetap",
                      util::escape_control(kernel.name).c_str(), arg.value_kind.c_str());
      std::memcpy(place, &*value, std::min<uint64_t>(arg.size_bytes, sizeof *value));
      continue;
    }
    const std::vector<std::byte>& value = values[next++];
    if (value.size() != arg.size_bytes) {
      return errorf("argument %zu: %zu bytes given, but %s takes %lu there (%s); its arguments: %s",
                    next - 1, value.size(), codeobj::short_name(kernel.name).c_str(),
                    static_cast<unsigned long>(arg.size_bytes), arg.value_kind.c_str(),
                    describe_arguments(kernel).c_str());
    }
    std::copy(value.begin(), value.end(), place);
  }
  return {};
}

std::string describe_arguments(const codeobj::Kernel& kernel) {
  std::vector<std::string> parts;
  for (const codeobj::KernelArg& arg : kernel.args) {
    if (arg.is_hidden()) continue;
    parts.push_back(fmt::format("{}{}{} ({} bytes)", arg.value_kind, arg.name.empty() ? "" : " ",
                                util::escape_control(arg.name), arg.size_bytes));
  }
  return parts.empty() ? "none" : util::join(parts, ", ");
}

size_t visible_argument_count(const codeobj::Kernel& kernel) {
  size_t count = 0;
  for (const codeobj::KernelArg& arg : kernel.args) count += arg.is_hidden() ? 0 : 1;
  return count;
}

}  // namespace wavetap::replay
