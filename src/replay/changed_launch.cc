#include "replay/changed_launch.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "amd/aql.h"
#include "amd/gfx_target.h"
#include "codeobj/container.h"
#include "emu/memory.h"
#include "swap/legality.h"
#include "util/file.h"
#include "util/text.h"

namespace wavetap::replay {
namespace {

constexpr uint16_t kDimensionsMask = 3;  // of the packet's setup

// At least 1, without overflow.
uint64_t workgroup_count(const Workgroups& workgroups) {
  return std::min<uint64_t>(uint64_t{workgroups[0]} * workgroups[1], UINT32_MAX) * workgroups[2];
}

// In a way a program can act on.
Refusal refusal_of(swap::Reason reason) {
  switch (reason) {
    case swap::Reason::kTarget:
    case swap::Reason::kFeatures:
    case swap::Reason::kWaveSize: return Refusal::kIsa;
    case swap::Reason::kStack: return Refusal::kArgument;
    default: return Refusal::kLayout;
  }
}

SwappedKernel not_swapped(Refusal refusal, Error why) {
  SwappedKernel result;
  result.refusal = refusal;
  result.why = std::move(why.message);
  return result;
}

// What the launch becomes with `kernel` of the object, or why it cannot.
SwappedKernel fit(const Capture& capture, const CapturedKernel& captured,
                  const codeobj::CodeObject& object, const codeobj::Kernel& kernel,
                  const char* file) {
  const swap::KernelInfo original = swap::describe(*captured.object, *captured.kernel);
  const swap::KernelInfo replacement = swap::describe(object, kernel);
  if (const swap::Verdict verdict = swap::check(original, replacement, swap::kAllowOwnVariables);
      !verdict.is_legal()) {
    return not_swapped(
        refusal_of(verdict.reason),
        errorf("%s: %s cannot run in the place of the captured kernel: %s; build one that "
               "takes the same arguments",
               file, util::escape_control(codeobj::short_name(kernel.name)).c_str(),
               verdict.why.c_str()));
  }
  const Result<codeobj::ImageLayout> layout = codeobj::layout_of(object);
  if (!layout.ok()) return not_swapped(Refusal::kNoKernel, layout.error());
  const swap::LaunchRules rules = swap::launch_rules(original, replacement, /*lds_limit=*/0);
  const uint32_t lds = capture.dispatch.group_segment_bytes;
  if (swap::check_launch(rules, capture.dispatch.workgroup_size, lds) != swap::Reason::kNone)
    return not_swapped(
        Refusal::kLayout,
        errorf("%s: %s", file,
               swap::describe_launch(rules, capture.dispatch.workgroup_size, lds).c_str()));
  SwappedKernel fits;
  fits.layout = *layout;
  fits.descriptor_offset = kernel.descriptor_address;
  fits.group_segment_bytes = swap::lds_for(rules, lds);
  fits.private_segment_bytes = swap::scratch_for(rules, capture.dispatch.private_segment_bytes);
  return fits;
}

Result<WaveSyncCounters> changed_wave_sync(const Capture& capture, const Workgroups& workgroups) {
  WaveSyncCounters counters = captured_wave_sync(capture);
  if ((capture.dispatch.flags & format::kCaptureCooperative) == 0) return counters;
  const uint64_t before = workgroup_count(captured_workgroups(capture));
  const uint64_t now = workgroup_count(workgroups);
  if (counters.empty()) counters[0] = 0;  // a zero is not written down
  for (auto& [number, value] : counters) {
    constexpr uint64_t kCounter = UINT32_MAX;  // beside it: how often it was met
    const uint64_t waiting = (value & kCounter) + 1;
    if (waiting % before != 0 || now > kCounter / (waiting / before))
      return errorf(
          "%s: its waves wait for each other, and for how many of them is not known with another "
          "number of workgroups; leave out --grid",
          util::escape_control(capture.kernel).c_str());
    value = (value & ~kCounter) | (waiting / before * now - 1);
  }
  return counters;
}

}  // namespace

Workgroups captured_workgroups(const Capture& capture) {
  Workgroups workgroups{};
  for (size_t axis = 0; axis < 3; ++axis) {
    const uint32_t size = std::max<uint32_t>(capture.dispatch.workgroup_size[axis], 1);
    const uint32_t items = std::max(capture.dispatch.grid_size[axis], 1u);
    workgroups[axis] = items / size + (items % size != 0 ? 1 : 0);
  }
  return workgroups;
}

Result<ChangedGrid> change_grid(const Capture& capture, const CapturedKernel& kernel,
                                const Workgroups& workgroups) {
  ChangedGrid changed;
  Result<WaveSyncCounters> counters = changed_wave_sync(capture, workgroups);
  if (!counters.ok()) return counters.error();
  changed.wave_sync = std::move(*counters);
  amd::KernelDispatchPacket packet{};
  std::memcpy(&packet, capture.dispatch.packet, sizeof packet);
  uint16_t dimensions = std::max<uint16_t>(packet.setup & kDimensionsMask, 1);
  for (size_t axis = 0; axis < 3; ++axis) {
    changed.workgroup_size[axis] = std::max<uint16_t>(capture.dispatch.workgroup_size[axis], 1);
    changed.grid_size[axis] = workgroups[axis] * changed.workgroup_size[axis];
    if (workgroups[axis] > 1) dimensions = std::max(dimensions, static_cast<uint16_t>(axis + 1));
  }
  changed.setup = static_cast<uint16_t>((packet.setup & ~kDimensionsMask) | dimensions);
  for (const CapturedArgument& argument : kernel.arguments) {
    const std::string& kind = argument.arg.value_kind;
    uint32_t value = 0;
    bool known = kind.starts_with("hidden_remainder_");  // workgroups are whole
    if (kind == "hidden_grid_dims") {
      known = true;
      value = dimensions;
    }
    for (size_t axis = 0; axis < 3; ++axis) {
      if (kind != std::string("hidden_block_count_") + "xyz"[axis]) continue;
      known = true;
      value = workgroups[axis];
    }
    if (known && argument.arg.size_bytes <= sizeof value)
      changed.arguments.push_back(
          {argument.arg.offset, static_cast<uint32_t>(argument.arg.size_bytes), value});
  }
  return changed;
}

WaveSyncCounters captured_wave_sync(const Capture& capture) {
  WaveSyncCounters counters;
  const std::string prefix = "wave_sync.";
  for (auto fact = capture.facts.lower_bound(prefix);
       fact != capture.facts.end() && fact->first.starts_with(prefix); ++fact) {
    const std::optional<uint64_t> number = util::parse_unsigned(fact->first.substr(prefix.size()));
    if (number && *number < emu::WaveSync::kResources)
      counters[static_cast<uint32_t>(*number)] = std::strtoull(fact->second.c_str(), nullptr, 10);
  }
  // Nobody can read it on a real GPU. HIP has the first one count the workgroups.
  const bool is_cooperative = (capture.dispatch.flags & format::kCaptureCooperative) != 0;
  const uint64_t count = workgroup_count(captured_workgroups(capture));
  if (counters.empty() && is_cooperative && count > 1 && count <= UINT32_MAX)
    counters[0] = count - 1;
  return counters;
}

SwappedKernel open_swapped(const Capture& capture, const CapturedKernel& captured,
                           const std::string& path) {
  const char* file = path.c_str();
  if (captured.kernel == nullptr)
    return not_swapped(
        Refusal::kNoKernel,
        errorf("%s: the captured kernel has no name to look for; it belongs to the runtime", file));
  Result<std::vector<std::byte>> bytes = util::read_file(path);
  if (!bytes.ok()) return not_swapped(Refusal::kFile, bytes.error());
  const auto kept = std::make_shared<const std::vector<std::byte>>(std::move(*bytes));
  const codeobj::ContainerContents contents = codeobj::find_code_objects(*kept);
  bool other_isa = false;
  for (const codeobj::ContainedCodeObject& found : contents.code_objects) {
    Result<codeobj::CodeObject> object = codeobj::CodeObject::open(found.bytes);
    if (!object.ok()) continue;
    const codeobj::Kernel* kernel = object->find_kernel(captured.kernel->name);
    if (kernel == nullptr) continue;
    other_isa |= object->target() != capture.target;
    if (object->target() != capture.target) continue;
    SwappedKernel swapped = fit(capture, captured, *object, *kernel, file);
    swapped.object = std::move(*object);
    swapped.storage = found.storage;
    swapped.file = kept;
    return swapped;
  }
  const std::string name = util::escape_control(codeobj::short_name(captured.kernel->name));
  const std::string target = amd::to_string(capture.target);
  if (other_isa) {
    return not_swapped(
        Refusal::kIsa,
        errorf("%s: has %s for other GPUs, not for %s; compile it with --offload-arch=%s", file,
               name.c_str(), target.c_str(), target.c_str()));
  }
  return not_swapped(Refusal::kNoKernel,
                     errorf("%s: no kernel %s in it; see wavetap gpu coverage %s", file,
                            util::escape_control(captured.kernel->name).c_str(), file));
}

}  // namespace wavetap::replay
