// The 64 bytes a kernel_object points at (AMDHSA kernel descriptor). ROCr's built-in blit shaders
// still use the older 256-byte amd_kernel_code_t; every field the command processor reads sits at
// the same offset in both, so one layout serves.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wavetap::amd {

// offset size
//      0    4  group_segment_fixed_size    bytes of LDS (the dispatch packet's value is what counts)
//      4    4  private_segment_fixed_size  bytes of scratch per lane (likewise)
//      8    4  kernarg_size
//     16    8  entry_offset                from this descriptor to the first instruction, signed
//     44    4  rsrc3                       gfx90a: accum_offset; gfx10+: shared VGPRs
//     48    4  rsrc1
//     52    4  rsrc2
//     56    2  properties                  which SGPRs are set up; wave32
//     58    2  kernarg_preload             length:7, offset:9, in dwords
struct KernelDescriptor {
  uint32_t group_segment_fixed_size;
  uint32_t private_segment_fixed_size;
  uint32_t kernarg_size;
  uint32_t reserved0;
  int64_t entry_offset;
  uint8_t reserved1[20];
  uint32_t rsrc3;
  uint32_t rsrc1;
  uint32_t rsrc2;
  uint16_t properties;
  uint16_t kernarg_preload;
  uint32_t reserved2;

  bool has(uint16_t property) const { return (properties & property) != 0; }
  uint32_t user_sgpr_count() const { return (rsrc2 >> 1) & 0x1f; }
  bool private_segment() const { return (rsrc2 & 1) != 0; }
  bool workgroup_id(int axis) const { return ((rsrc2 >> (7 + axis)) & 1) != 0; }
  bool workgroup_info() const { return ((rsrc2 >> 10) & 1) != 0; }
  uint32_t work_item_id_mode() const { return (rsrc2 >> 11) & 3; }  // 0: x; 1: x, y; 2: x, y, z
  // round32:2 round16_64:2 denorm32:2 denorm16_64:2.
  uint32_t float_mode() const { return (rsrc1 >> 12) & 0xff; }
  bool dx10_clamp() const { return ((rsrc1 >> 21) & 1) != 0; }
  bool ieee_mode() const { return ((rsrc1 >> 23) & 1) != 0; }
  bool fp16_overflow() const { return ((rsrc1 >> 26) & 1) != 0; }
  bool wgp_mode() const { return ((rsrc1 >> 29) & 1) != 0; }
  // First VGPR number that is an accumulation register, gfx90a family.
  uint32_t accum_offset() const { return ((rsrc3 & 0x3f) + 1) * 4; }
};
static_assert(sizeof(KernelDescriptor) == 64 && offsetof(KernelDescriptor, entry_offset) == 16 &&
              offsetof(KernelDescriptor, rsrc3) == 44 &&
              offsetof(KernelDescriptor, properties) == 56);

// Bits of KernelDescriptor::properties.
inline constexpr uint16_t kPrivateSegmentBuffer = 1 << 0;
inline constexpr uint16_t kDispatchPtr = 1 << 1;
inline constexpr uint16_t kQueuePtr = 1 << 2;
inline constexpr uint16_t kKernargSegmentPtr = 1 << 3;
inline constexpr uint16_t kDispatchId = 1 << 4;
inline constexpr uint16_t kFlatScratchInit = 1 << 5;
inline constexpr uint16_t kPrivateSegmentSize = 1 << 6;
inline constexpr uint16_t kWavefrontSize32 = 1 << 10;
inline constexpr uint16_t kUsesDynamicStack = 1 << 11;

}  // namespace wavetap::amd
