// What handlers may do to a wave, apart from what is inline in wave.h: faults and translation
// misses.
#include "emu/wave.h"

#include <cstdio>

namespace wavetap::emu {

uint32_t Wave::read_computed_slot(uint32_t at) const {
  switch (at) {
    case isa::slot::kScc: return scc ? 1 : 0;
    case isa::slot::kVccz: return vcc() == 0 ? 1 : 0;
    case isa::slot::kExecz: return exec() == 0 ? 1 : 0;
    default: return 0;
  }
}

GpuAddr Wave::current_pc() const {
  return program == nullptr ? GpuAddr{} : program->pc_of(pc > 0 ? pc - 1 : 0);
}

void Wave::raise(FaultKind kind, GpuAddr address, bool is_write, int lane, const char* detail) {
  if (state == WaveState::kFaulted) return;
  stop(WaveState::kFaulted);
  fault = Fault{};
  fault.kind = kind;
  fault.pc = current_pc();
  fault.address = address;
  fault.is_write = is_write;
  fault.wave = wave_in_group;
  fault.lane = lane;
  fault.wave64 = lanes == 64;
  if (dispatch != nullptr) fault.kernel_object = dispatch->kernel_object;
  std::snprintf(fault.detail, sizeof fault.detail, "%s", detail);
}

std::byte* Wave::translate_slow(uint64_t address, uint32_t size_bytes, bool write, int lane) {
  const uint64_t scratch_size = uint64_t{scratch_bytes_per_lane} * lanes;
  if (address >= kScratchVa && address - kScratchVa < scratch_size) {
    if (scratch_size - (address - kScratchVa) >= size_bytes)
      return scratch + (address - kScratchVa);
    raise(FaultKind::kApertureViolation, {address}, write, lane, "past the end of scratch");
    return nullptr;
  }
  // Above the scratch window lies memory again: host addresses of arm64 fill 48 bits (SVM).
  const bool past_scratch = address - kScratchVa < uint64_t{1} << 32;
  if (address >> 48 != 0 || past_scratch) {
    raise(FaultKind::kApertureViolation, {address}, write, lane,
          past_scratch ? "past the end of scratch" : "");
    return nullptr;
  }

  Memory& memory = *dispatch->memory;
  // The epoch is read before the lookup: a change in between makes the entry stale, never fresh.
  if (const uint64_t epoch = memory.epoch(); epoch != tlb->epoch) {
    for (MappedRange& range : tlb->entry) range = {};
    tlb->epoch = epoch;
  }
  MappedRange range = memory.lookup({address});
  if (!range.contains(address, 1)) {
    raise(FaultKind::kPageFault, {address}, write, lane);
    return nullptr;
  }
  // An access may straddle two mappings; it is one access when they are neighbours on the host too.
  while (!range.contains(address, size_bytes)) {
    const MappedRange next = memory.lookup({range.end});
    if (!next.contains(range.end, 1)) {
      raise(FaultKind::kPageFault, {range.end}, write, lane);
      return nullptr;
    }
    const uint64_t skipped = range.end - next.begin;
    if (next.host + skipped != range.host + (range.end - range.begin)) {
      raise(FaultKind::kPageFault, {address}, write, lane,
            "access straddles two unrelated mappings");
      return nullptr;
    }
    range.end = next.end;
    range.readable &= next.readable;
    range.writable &= next.writable;
  }
  if (write ? !range.writable : !range.readable) {
    raise(write ? FaultKind::kWriteToReadOnly : FaultKind::kPageFault, {address}, write, lane,
          write ? "" : "mapping is not readable");
    return nullptr;
  }
  tlb->entry[tlb->next] = range;
  tlb->next = (tlb->next + 1) % Tlb::kEntries;
  return range.host + (address - range.begin);
}

}  // namespace wavetap::emu
