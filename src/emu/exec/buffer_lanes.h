// The lanes of one buffer access: where each one's element is, and moving it piece by piece.
#pragma once

#include "emu/exec/buffer_resource.h"
#include "emu/exec.h"
#include "emu/exec/mem_access.h"

namespace wavetap::emu {

Handler find_buffer_format(const isa::Inst& inst, Shape shape);  // exec/mubuf_format.cc

// Everything a buffer access needs from its operands, read before anything is written.
template <int L>
struct BufferLanes {
  BufferResource buffer;
  uint64_t mask = 0;
  uint32_t soffset = 0;
  uint32_t index[L];
  uint64_t offset[L];  // of the element; its parts follow

  uint64_t address(int lane, uint32_t skip = 0) const {
    return buffer.base + soffset + buffer.place(index[lane], offset[lane] + skip);
  }
  bool excludes(int lane, uint32_t skip, uint32_t size_bytes) const {
    return buffer.excludes(index[lane], offset[lane] + skip, soffset, size_bytes);
  }
  bool is_scratch() const { return buffer.base >= kScratchVa; }
};

template <int L>
BufferLanes<L> read_buffer_lanes(Wave& wave, const isa::Inst& inst) {
  BufferLanes<L> lanes;
  lanes.buffer = read_buffer_resource(wave, inst.saddr, wave.dispatch->target);
  lanes.mask = wave.exec();
  if (!inst.soffset.is(isa::OperandKind::kNone)) lanes.soffset = wave.read_s32(inst.soffset);
  // With both, the index comes first.
  const uint32_t* row = inst.idxen || inst.offen ? wave.vrow(inst.vaddr.index) : nullptr;
  const uint32_t* index = inst.idxen ? row : nullptr;
  const uint32_t* offset = inst.offen ? row + (inst.idxen ? L : 0) : nullptr;
  const auto immediate = static_cast<uint64_t>(inst.offset);
  for (int lane = 0; lane < L; ++lane) {
    lanes.index[lane] = (index != nullptr ? index[lane] : 0) +
                        (lanes.buffer.add_tid ? static_cast<uint32_t>(lane) : 0);
    // Sums have more than 32 bits, so that an offset of -1 keeps every part of an element out of
    // the buffer: Tensile's kernels switch lanes off that way. Scratch is different, a negative
    // offset in a VGPR and a positive immediate are valid there.
    const uint64_t sum = (offset != nullptr ? offset[lane] : 0) + immediate;
    lanes.offset[lane] = lanes.buffer.swizzled ? static_cast<uint32_t>(sum) : sum;
  }
  return lanes;
}

// Copies one dword, or less, that the buffer does not exclude.
inline bool copy_buffer(Wave& wave, uint64_t address, std::byte* data, uint32_t size_bytes,
                        bool write, int lane) {
  if (address >= kScratchVa) {
    std::byte* host = wave.translate(address, size_bytes, write, lane);
    if (host == nullptr) return false;
    std::memcpy(write ? host : data, write ? data : host, size_bytes);
    return true;
  }
  return copy_global(wave, address, data, size_bytes, write, lane);
}

// Moves one lane's element in parts that are contiguous in memory and in range or not as a whole.
template <int L>
bool move_element(Wave& wave, const BufferLanes<L>& lanes, int lane, std::byte* element,
                  uint32_t size_bytes, bool write) {
  uint32_t part;
  for (uint32_t done = 0; done < size_bytes; done += part) {
    part = std::min(size_bytes - done, 4u);
    if (lanes.buffer.swizzled) {
      const uint64_t inside = (lanes.offset[lane] + done) % lanes.buffer.element_bytes;
      part = std::min(part, lanes.buffer.element_bytes - static_cast<uint32_t>(inside));
    }
    if (lanes.excludes(lane, done, part)) {
      if (!write) std::memset(element + done, 0, part);
      continue;
    }
    if (!copy_buffer(wave, lanes.address(lane, done), element + done, part, write, lane))
      return false;
  }
  return true;
}

template <int L>
void count_buffer(Wave& wave, const BufferLanes<L>& lanes, uint32_t size_bytes, Access access) {
  if (wave.counters == nullptr) return;
  if (lanes.is_scratch()) {
    count_scratch(wave, lanes.mask, size_bytes);
    return;
  }
  uint64_t at[L];
  for (int lane = 0; lane < L; ++lane) at[lane] = lanes.address(lane);
  count_global(wave, at, lanes.mask, size_bytes, access);
}

}  // namespace wavetap::emu
