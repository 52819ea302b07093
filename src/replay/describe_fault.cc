#include "replay/describe_fault.h"

#include <fmt/format.h>

#include <algorithm>

#include "codeobj/source_map.h"
#include "isa/program.h"

namespace wavetap::replay {
namespace {

std::string name_address(const Capture& capture, const CapturedKernel& kernel, uint64_t address) {
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const CapturedArgument& argument = kernel.arguments[i];
    if (argument.region != nullptr && address - argument.pointer < argument.extent_bytes)
      return fmt::format("byte {} behind argument {}", address - argument.pointer, i);
  }
  if (const CapturedRegion* region = capture.region_at(address)) {
    return fmt::format("byte {} of the {} bytes at 0x{:x}", address - region->begin(),
                       region->record.size_bytes, region->begin());
  }
  const CapturedRegion* below = nullptr;
  for (const CapturedRegion& region : capture.regions)
    if (region.end() <= address) below = &region;
  constexpr uint64_t kNear = 1u << 20;
  if (below != nullptr && address - below->end() < kNear) {
    return fmt::format("{} bytes past the {} bytes at 0x{:x}", address - below->end(),
                       below->record.size_bytes, below->begin());
  }
  return "no memory near it";
}

}  // namespace

std::string describe_fault(const Capture& capture, const CapturedKernel& kernel,
                           const CapturedMemory& memory, const emu::Fault& fault) {
  std::string what = emu::fault_name(fault.kind);
  const bool has_address =
      fault.kind == emu::FaultKind::kPageFault || fault.kind == emu::FaultKind::kWriteToReadOnly ||
      fault.kind == emu::FaultKind::kApertureViolation || fault.kind == emu::FaultKind::kMisaligned;
  if (has_address) {
    what += fmt::format(" {} 0x{:x} ({})", fault.is_write ? "writing" : "reading",
                        fault.address.value, name_address(capture, kernel, fault.address.value));
  }
  if (has_address && capture.is_only_touched() && capture.region_at(fault.address.value) != nullptr)
    what += ", which the capture did not keep (--only-touched: the captured run did not touch it)";
  if (fault.detail[0] != '\0') what += fmt::format(", {}", fault.detail);
  what += fmt::format(", workgroup {},{},{} wave {}", fault.workgroup[0], fault.workgroup[1],
                      fault.workgroup[2], fault.wave);
  if (fault.lane >= 0) what += fmt::format(" lane {}", fault.lane);
  std::span<const std::byte> code;
  for (uint64_t size = 16; size >= 4 && code.empty(); size -= 4)
    code = memory.bytes(fault.pc, size);
  if (!code.empty()) {
    what += fmt::format(", at 0x{:x}: {}", fault.pc.value,
                        isa::disassemble(code, capture.target, fault.wave64, fault.pc));
  }
  if (kernel.object != nullptr) {
    const auto line =
        codeobj::SourceMap(kernel.object->elf()).user_line(fault.pc.value - kernel.load_delta);
    if (line) what += fmt::format(" ({})", codeobj::full_place(*line));
  }
  return what;
}

}  // namespace wavetap::replay
