#include "replay/kernel_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "amd/aql.h"
#include "codeobj/image.h"
#include "emu/wave.h"
#include "isa/program.h"
#include "replay/dispatch_runner.h"
#include "util/text.h"

namespace wavetap::replay {
namespace {

// Of a kernel that calls functions whose stack is not known.
constexpr uint32_t kDynamicStackBytes = 16384;

}  // namespace

Result<std::unique_ptr<KernelRun>> KernelRun::load(const codeobj::CodeObject& object,
                                                   const codeobj::Kernel& kernel) {
  const Result<codeobj::ImageLayout> layout = codeobj::layout_of(object);
  if (!layout.ok()) return layout.error();
  std::unique_ptr<KernelRun> run(new KernelRun(object, kernel));
  run->shape_.queue = run->memory_.allocate(kQueueBytes);
  run->image_bytes_ = layout->size_bytes;
  run->image_ = run->memory_.allocate(layout->size_bytes, {.writable = true, .executable = true});
  const Status loaded = run->load_image();
  if (!loaded.ok()) return loaded.error();
  return run;
}

Status KernelRun::load_image() {
  return codeobj::load_image(object_, memory_.bytes(image_, image_bytes_), image_);
}

Status KernelRun::place(std::vector<KernelArgument> arguments, DispatchShape shape) {
  shape.queue = shape_.queue;
  shape_ = shape;
  arguments_ = std::move(arguments);
  buffers_.clear();
  for (const KernelArgument& argument : arguments_)
    buffers_.push_back(argument.is_buffer ? memory_.allocate(argument.bytes.size()) : GpuAddr());
  const amd::KernelDescriptor& descriptor = kernel_.descriptor;
  kernarg_bytes_ = std::max<uint64_t>({kernel_.kernarg_bytes, descriptor.kernarg_size, 8});

  dispatch_ = {};
  dispatch_.kernarg = memory_.allocate(kernarg_bytes_);
  dispatch_.packet = memory_.allocate(sizeof(amd::KernelDispatchPacket));
  dispatch_.queue = shape_.queue;
  dispatch_.target = object_.target();
  dispatch_.sram_ecc = amd::expects_sram_ecc(object_.target_id());
  dispatch_.code_bytes = kernel_.code.size();
  dispatch_.kernel_object = image_ + kernel_.descriptor_address;
  dispatch_.group_segment_bytes = descriptor.group_segment_fixed_size + shape_.dynamic_lds_bytes;
  dispatch_.private_segment_bytes = std::max<uint32_t>(
      descriptor.private_segment_fixed_size, kernel_.uses_dynamic_stack ? kDynamicStackBytes : 0);
  for (int axis = 0; axis < 3; ++axis) {
    dispatch_.workgroup_size[axis] = static_cast<uint16_t>(shape_.workgroup_size[axis]);
    dispatch_.grid_size[axis] = shape_.grid_size(axis);
  }
  dispatch_.count = true;
  dispatch_.memory = &memory_;
  place_packet();
  place_queue();
  return write_arguments();
}

Status KernelRun::write_arguments() {
  std::vector<std::vector<std::byte>> values;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const KernelArgument& argument = arguments_[i];
    std::vector<std::byte>& value = values.emplace_back(argument.bytes);
    if (!argument.is_buffer) continue;
    std::memcpy(memory_.bytes(buffers_[i], argument.bytes.size()).data(), argument.bytes.data(),
                argument.bytes.size());
    value.resize(sizeof buffers_[i].value);
    std::memcpy(value.data(), &buffers_[i].value, sizeof buffers_[i].value);
  }
  return fill_kernarg(kernel_, values, shape_, memory_.bytes(dispatch_.kernarg, kernarg_bytes_));
}

void KernelRun::place_packet() {
  amd::KernelDispatchPacket packet{};
  packet.header = static_cast<uint16_t>(amd::PacketType::kKernelDispatch);
  packet.setup = 3;
  for (int axis = 0; axis < 3; ++axis) {
    packet.workgroup_size[axis] = static_cast<uint16_t>(dispatch_.workgroup_size[axis]);
    packet.grid_size[axis] = dispatch_.grid_size[axis];
  }
  packet.private_segment_size = dispatch_.private_segment_bytes;
  packet.group_segment_size = dispatch_.group_segment_bytes;
  packet.kernel_object = dispatch_.kernel_object.value;
  packet.kernarg_address = dispatch_.kernarg.value;
  std::memcpy(memory_.bytes(dispatch_.packet, sizeof packet).data(), &packet, sizeof packet);
}

void KernelRun::place_queue() {
  const std::span<std::byte> queue = memory_.bytes(shape_.queue, kQueueBytes);
  std::fill(queue.begin(), queue.end(), std::byte{0});
  const uint32_t shared_hi = emu::kSharedAperture >> 32;
  const uint32_t private_hi = emu::kPrivateAperture >> 32;
  std::memcpy(queue.data() + amd::kQueueGroupApertureHi, &shared_hi, sizeof shared_hi);
  std::memcpy(queue.data() + amd::kQueuePrivateApertureHi, &private_hi, sizeof private_hi);
}

RunResult KernelRun::run(const RunOptions& options) {
  dispatch_.watchers = options.watchers;
  dispatch_.count = options.count;
  const DispatchRunner::Run ran = DispatchRunner(options.engine).run(dispatch_);
  dispatch_.watchers = {};
  return {.fault = ran.result.fault, .counters = ran.result.counters, .seconds = ran.seconds};
}

Status KernelRun::restore() {
  const std::span<std::byte> kernarg = memory_.bytes(dispatch_.kernarg, kernarg_bytes_);
  std::fill(kernarg.begin(), kernarg.end(), std::byte{0});
  place_packet();
  place_queue();
  const Status loaded = load_image();
  return loaded.ok() ? write_arguments() : loaded;
}

std::span<const std::byte> KernelRun::argument_bytes(size_t index) {
  if (index >= arguments_.size() || !arguments_[index].is_buffer) return {};
  return memory_.bytes(buffers_[index], arguments_[index].bytes.size());
}

std::string KernelRun::name_address(GpuAddr address) const {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (!arguments_[i].is_buffer) continue;
    const uint64_t begin = buffers_[i].value;
    const uint64_t size = arguments_[i].bytes.size();
    if (address.value >= begin && address.value < begin + size + 4096) {
      const uint64_t offset = address.value - begin;
      return offset < size
                 ? fmt::format("byte {} of argument {}", offset, i)
                 : fmt::format("{} bytes into argument {}, which has {}", offset, i, size);
    }
    if (address.value < begin && begin - address.value <= 4096)
      return fmt::format("{} before argument {}", util::count_of(begin - address.value, "byte"), i);
  }
  return "no buffer near it";
}

std::string KernelRun::describe(const emu::Fault& fault) {
  std::string what = emu::fault_name(fault.kind);
  const bool has_address =
      fault.kind == emu::FaultKind::kPageFault || fault.kind == emu::FaultKind::kWriteToReadOnly ||
      fault.kind == emu::FaultKind::kApertureViolation || fault.kind == emu::FaultKind::kMisaligned;
  if (has_address) {
    what += fmt::format(" {} 0x{:x} ({})", fault.is_write ? "writing" : "reading",
                        fault.address.value, name_address(fault.address));
  }
  if (fault.detail[0] != '\0') what += fmt::format(", {}", fault.detail);
  what += fmt::format(", workgroup {},{},{} wave {}", fault.workgroup[0], fault.workgroup[1],
                      fault.workgroup[2], fault.wave);
  if (fault.lane >= 0) what += fmt::format(" lane {}", fault.lane);
  const std::span<const std::byte> code =
      memory_.bytes(fault.pc, std::min<uint64_t>(16, image_.value + image_bytes_ - fault.pc.value));
  if (!code.empty()) {
    what += fmt::format(", at 0x{:x}: {}", fault.pc.value - image_.value,
                        isa::disassemble(code, object_.target(), fault.wave64, fault.pc));
  }
  return what;
}

}  // namespace wavetap::replay
