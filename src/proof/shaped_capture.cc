#include "proof/shaped_capture.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "amd/aql.h"

namespace wavetap::proof {

using replay::Capture;

Result<Capture> with_shape(const Capture& capture, const LaunchShape& shape) {
  Capture made = capture;
  format::CaptureDispatch& dispatch = made.dispatch;
  uint64_t items = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    const uint32_t old_size = std::max<uint32_t>(dispatch.workgroup_size[axis], 1);
    const uint32_t old_groups = (std::max(dispatch.grid_size[axis], 1u) + old_size - 1) / old_size;
    const uint32_t size = shape.workgroup ? (*shape.workgroup)[axis] : old_size;
    const uint32_t groups = shape.workgroups ? (*shape.workgroups)[axis] : old_groups;
    if (size == 0 || size > 1024 || groups == 0 || uint64_t{groups} * size > UINT32_MAX)
      return errorf("%u workgroups of %u work-items along axis %c: no GPU launches that", groups,
                    size, "xyz"[axis]);
    items *= size;
    const bool is_same = size == old_size && groups == old_groups;
    dispatch.workgroup_size[axis] = static_cast<uint16_t>(size);
    if (!is_same) dispatch.grid_size[axis] = groups * size;
  }
  if (items > 1024)
    return errorf("workgroups of %llu work-items: a GPU has at most 1024",
                  static_cast<unsigned long long>(items));
  return made;
}

void ShapePatches::write(GpuAddr address, const void* bytes, uint64_t size) {
  const std::span<std::byte> place = memory_.bytes(address, size);
  if (place.empty() || std::memcmp(place.data(), bytes, size) == 0) return;
  patches_.push_back({place, {place.begin(), place.end()}});
  std::memcpy(place.data(), bytes, size);
}

void ShapePatches::write(const emu::Dispatch& dispatch) {
  write(dispatch.packet + offsetof(amd::KernelDispatchPacket, workgroup_size),
        dispatch.workgroup_size, sizeof dispatch.workgroup_size);
  write(dispatch.packet + offsetof(amd::KernelDispatchPacket, grid_size), dispatch.grid_size,
        sizeof dispatch.grid_size);
  for (const replay::CapturedArgument& argument : kernel_.arguments) {
    const std::string& kind = argument.arg.value_kind;
    for (size_t axis = 0; axis < 3; ++axis) {
      const uint32_t size = dispatch.workgroup_size[axis];
      const char letter = "xyz"[axis];
      uint32_t value = 0;
      if (kind == std::string("hidden_block_count_") + letter)
        value = dispatch.grid_size[axis] / size;
      else if (kind == std::string("hidden_group_size_") + letter) value = size;
      else if (kind == std::string("hidden_remainder_") + letter)
        value = dispatch.grid_size[axis] % size;
      else continue;
      if (argument.arg.size_bytes <= sizeof value)
        write(dispatch.kernarg + argument.arg.offset, &value, argument.arg.size_bytes);
    }
  }
}

void ShapePatches::take_back() {
  for (const Patch& patch : patches_)
    std::memcpy(patch.place.data(), patch.old.data(), patch.old.size());
  patches_.clear();
}

}  // namespace wavetap::proof
