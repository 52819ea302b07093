// The buffer resource (V#), four SGPRs that describe a buffer, and the address arithmetic it asks
// for.
//
// word bits
//    1:0   47:0   base address
//    1     29:16  stride in bytes
//    1     31     swizzle enable (gfx11: 31:30, the swizzle element: 0 off, 1 4, 2 8, 3 16 bytes)
//    2            num_records: bytes of a raw buffer, elements of a structured one
//    3     11:0   destination selects, three bits per component
//    3     14:12  number format, 18:15 data format        (gfx9)
//    3     18:12  format, one number for both             (gfx10; gfx11: 17:12)
//    3     22:21  index stride: 8, 16, 32, 64
//    3     23     add the lane number to the index; gfx9 then keeps stride[17:14] in 18:15
//    3     29:28  what is out of range                    (gfx10 on)
//
//   index   = (idxen ? vgpr : 0) + (add_tid ? lane : 0)
//   offset  = (offen ? vgpr : 0) + instruction offset
//   linear:   base + soffset + index * stride + offset
//   swizzled: base + soffset + (index / index_stride * stride + offset / element * element) * index_stride
//                            + index % index_stride * element + offset % element
//
// Private memory through a V# is a swizzled buffer of stride 0 at kScratchVa whose index is the
// lane, so it lands on Wave::scratch_offset() by this very formula.
//
// References: MI200 ISA guide 9.1.5 "Buffer addressing", RDNA 2 ISA guide 8.1.5.
#pragma once

#include <cstdint>

#include "amd/gfx_target.h"
#include "emu/wave.h"

namespace wavetap::emu {

struct BufferResource {
  uint64_t base = 0;
  uint32_t stride = 0;
  uint32_t num_records = 0;
  bool swizzled = false;
  bool add_tid = false;
  uint32_t index_stride = 64;
  uint32_t element_bytes = 4;
  uint32_t word3 = 0;
  uint8_t out_of_range = 3;  // gfx10's OOB_SELECT; gfx9's single rule is 3, raw

  // Byte of the buffer before base and soffset are added.
  uint64_t place(uint32_t index, uint64_t offset) const {
    if (!swizzled) return uint64_t{index} * stride + offset;
    return (uint64_t{index / index_stride} * stride + offset / element_bytes * element_bytes) *
               index_stride +
           index % index_stride * element_bytes + offset % element_bytes;
  }

  // Whether an access is outside the buffer: it then reads zero, or writes nothing.
  bool excludes(uint32_t index, uint64_t offset, uint32_t soffset, uint32_t size_bytes) const {
    switch (out_of_range) {
      case 0: return index >= num_records || (stride != 0 && offset + size_bytes > stride);
      case 1: return index >= num_records;
      case 2: return num_records == 0;
      default: break;
    }
    if (swizzled && stride != 0) return index >= num_records;
    return uint64_t{index} * (swizzled ? 0 : stride) + offset + soffset + size_bytes > num_records;
  }
};

inline BufferResource read_buffer_resource(const Wave& wave, const isa::Operand& operand,
                                           amd::GfxTarget target) {
  const uint32_t* word = wave.s + operand.index;
  BufferResource buffer;
  buffer.base = word[0] | uint64_t{word[1] & 0xffff} << 32;
  buffer.stride = word[1] >> 16 & 0x3fff;
  buffer.num_records = word[2];
  buffer.word3 = word[3];
  buffer.add_tid = (word[3] >> 23 & 1) != 0;
  buffer.index_stride = 8u << (word[3] >> 21 & 3);
  if (target.major >= 11) {
    buffer.swizzled = word[1] >> 30 != 0;
    buffer.element_bytes = buffer.swizzled ? 2u << (word[1] >> 30) : 4;
  } else {
    buffer.swizzled = word[1] >> 31 != 0;
  }
  if (target.major >= 10) buffer.out_of_range = word[3] >> 28 & 3;
  else if (buffer.add_tid) buffer.stride |= (word[3] >> 15 & 0xf) << 14;
  return buffer;
}

}  // namespace wavetap::emu
