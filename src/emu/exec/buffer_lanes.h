// The lanes of one buffer access: where each one's element is, and moving it piece by piece.
#pragma once

#include <algorithm>
#include <cstring>

#include "emu/exec.h"
#include "emu/exec/buffer_resource.h"
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

// Calls f(skip, size) for the parts of a lane's element that are contiguous in memory and in range
// or not as a whole, until one returns false.
template <int L, class F>
bool for_each_part(const BufferLanes<L>& lanes, int lane, uint32_t size_bytes, F&& f) {
  uint32_t part;
  for (uint32_t done = 0; done < size_bytes; done += part) {
    part = std::min(size_bytes - done, 4u);
    if (lanes.buffer.swizzled) {
      const uint64_t inside = (lanes.offset[lane] + done) % lanes.buffer.element_bytes;
      part = std::min(part, lanes.buffer.element_bytes - static_cast<uint32_t>(inside));
    }
    if (!f(done, part)) return false;
  }
  return true;
}

template <int L>
bool move_element(Wave& wave, const BufferLanes<L>& lanes, int lane, std::byte* element,
                  uint32_t size_bytes, bool write) {
  return for_each_part(lanes, lane, size_bytes, [&](uint32_t skip, uint32_t part) {
    if (!lanes.excludes(lane, skip, part))
      return copy_buffer(wave, lanes.address(lane, skip), element + skip, part, write, lane);
    if (!write) std::memset(element + skip, 0, part);
    return true;
  });
}

// What is outside the buffer: the element as a whole, or each of its parts for itself.
enum class Bounds : uint8_t { kWhole, kByPart };

// Where a lane's element is, as far as it is in the buffer.
struct BufferElement {
  static constexpr uint32_t kMaxBytes = 16;
  uint64_t address[kMaxBytes];  // of each byte
  uint32_t inside = 0;          // bit i: byte i is in the buffer
  bool is_contiguous = true;
};

template <int L>
BufferElement find_element(const BufferLanes<L>& lanes, int lane, uint32_t size_bytes,
                           Bounds bounds) {
  BufferElement found;
  if (bounds == Bounds::kWhole && lanes.excludes(lane, 0, size_bytes)) {
    found.address[0] = lanes.address(lane);
    return found;
  }
  for_each_part(lanes, lane, size_bytes, [&](uint32_t skip, uint32_t part) {
    uint64_t address = lanes.address(lane, skip);
    // Scratch through a descriptor: the swizzle undone.
    if (lanes.is_scratch()) {
      const uint64_t dword = (address - kScratchVa) / 4;
      address = dword / L * 4 + address % 4;
    }
    const bool is_inside = bounds == Bounds::kWhole || !lanes.excludes(lane, skip, part);
    for (uint32_t i = skip; i < skip + part; ++i) {
      found.address[i] = address + (i - skip);
      found.inside |= (is_inside ? 1u : 0) << i;
    }
    found.is_contiguous = found.is_contiguous && address == found.address[0] + skip;
    return true;
  });
  return found;
}

// Announces a buffer access. Elements that are not in one piece are announced byte by byte.
template <int L>
[[gnu::noinline, gnu::cold]] void note_buffer(Wave& wave, const isa::Inst& inst, Access access,
                                              const BufferLanes<L>& lanes, const Element& element,
                                              Bounds bounds) {
  const uint32_t size = std::min(element.size_bytes, BufferElement::kMaxBytes);
  const Space space = lanes.is_scratch() ? Space::kScratch : Space::kGlobal;
  AccessNote note(wave, inst);
  MemoryAccess& whole = note.add(space, access, element, 0);
  uint64_t* const at = note.addresses();
  uint64_t pieces = 0;
  BufferElement found[L];
  for_each_lane(lanes.mask, [&](int lane) {
    const uint64_t bit = uint64_t{1} << lane;
    found[lane] = find_element(lanes, lane, size, bounds);
    at[lane] = found[lane].address[0];
    if (found[lane].inside == 0) whole.outside |= bit;
    else if (found[lane].inside == (1u << size) - 1 && found[lane].is_contiguous) whole.mask |= bit;
    else pieces |= bit;
  });
  for (uint32_t i = 0; pieces != 0 && i < size; ++i) {
    MemoryAccess& byte =
        note.add(space, access, {1, element.data, static_cast<uint8_t>(element.data_byte + i)}, 0);
    for_each_lane(pieces, [&](int lane) {
      note.addresses()[lane] = found[lane].address[i];
      ((found[lane].inside >> i & 1) != 0 ? byte.mask : byte.outside) |= uint64_t{1} << lane;
    });
  }
  note.tell();
}

}  // namespace wavetap::emu
