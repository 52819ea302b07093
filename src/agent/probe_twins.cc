#include "agent/probe_twins.h"

#include <algorithm>
#include <cstring>

#include "agent/probe_ring.h"

namespace wavetap::agent {
namespace {

const codeobj::KernelArg* find_hidden(const codeobj::Kernel& kernel, const std::string& kind) {
  for (const codeobj::KernelArg& arg : kernel.args)
    if (arg.value_kind == kind) return &arg;
  return nullptr;
}

std::vector<const codeobj::KernelArg*> explicit_args(const codeobj::Kernel& kernel) {
  std::vector<const codeobj::KernelArg*> found;
  for (const codeobj::KernelArg& arg : kernel.args)
    if (!arg.is_hidden()) found.push_back(&arg);
  return found;
}

ArgumentMove move_of(const codeobj::KernelArg& from, const codeobj::KernelArg& to) {
  return {static_cast<uint32_t>(from.offset), static_cast<uint32_t>(to.offset),
          static_cast<uint32_t>(to.size_bytes)};
}

}  // namespace

std::string plan_twin(const codeobj::CodeObject& object, const codeobj::Kernel& original,
                      const codeobj::Kernel& twin, TwinPlan* plan) {
  const auto theirs = explicit_args(original), ours = explicit_args(twin);
  if (!original.has_metadata || !twin.has_metadata || ours.size() != theirs.size() + 1)
    return "its arguments are not those of the kernel and one more";
  const codeobj::KernelArg& last = *ours.back();
  if (last.size_bytes != sizeof(uint64_t)) return "its last argument is not an address";
  for (size_t i = 0; i < theirs.size(); ++i) {
    if (ours[i]->size_bytes != theirs[i]->size_bytes ||
        ours[i]->value_kind != theirs[i]->value_kind)
      return "its arguments are not those of the kernel";
    plan->moves.push_back(move_of(*theirs[i], *ours[i]));
  }
  for (const codeobj::KernelArg& arg : twin.args) {
    if (!arg.is_hidden() || arg.value_kind == "hidden_none") continue;
    const codeobj::KernelArg* const known = find_hidden(original, arg.value_kind);
    if (known == nullptr || known->size_bytes != arg.size_bytes)
      return "it needs the argument " + arg.value_kind + ", which the kernel has not";
    plan->moves.push_back(move_of(*known, arg));
  }
  plan->argument_bytes = static_cast<uint32_t>(original.kernarg_bytes);
  plan->twin_bytes = static_cast<uint32_t>(twin.kernarg_bytes);
  plan->launch_offset = static_cast<uint32_t>(last.offset);
  if (plan->twin_bytes > ProbeSlot::kArgumentBytes || plan->argument_bytes > plan->twin_bytes)
    return "its arguments take more than " + std::to_string(ProbeSlot::kArgumentBytes) + " bytes";
  for (const ArgumentMove& move : plan->moves)
    if (move.from + uint64_t{move.bytes} > plan->argument_bytes ||
        move.to + uint64_t{move.bytes} > plan->twin_bytes)
      return "its arguments lie outside their segment";
  if (plan->launch_offset + sizeof(uint64_t) > plan->twin_bytes)
    return "its arguments lie outside their segment";
  plan->lds_bytes = int64_t{twin.descriptor.group_segment_fixed_size} -
                    original.descriptor.group_segment_fixed_size;
  plan->scratch_bytes = int64_t{twin.descriptor.private_segment_fixed_size} -
                        original.descriptor.private_segment_fixed_size;
  plan->static_lds = original.descriptor.group_segment_fixed_size;
  plan->wave_size = twin.wave64(object.target()) ? 64 : 32;
  return "";
}

void move_arguments(const TwinPlan& plan, const std::byte* from, std::byte* to, uint64_t launch) {
  std::memset(to, 0, plan.twin_bytes);
  for (const ArgumentMove& move : plan.moves)
    std::memcpy(to + move.to, from + move.from, move.bytes);
  std::memcpy(to + plan.launch_offset, &launch, sizeof launch);
}

}  // namespace wavetap::agent
