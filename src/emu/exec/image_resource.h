// The image resource (T#), eight SGPRs that describe an image, and the sampler (S#), four that say how
// it is read.
//
// word bits     gfx10, gfx11                                gfx9
//    1:0        base address / 256, 40 bits
//    1          28:20 format (gfx11: 27:20)                 25:20 data format, 29:26 number format
//    1, 2       31:30 and 11:0 width - 1                    2: 13:0 width - 1
//    2          27:14 height - 1
//    3          11:0 destination selects, 15:12 base level, 19:16 last level, 24:20 swizzle mode, 31:28 type
//    4          12:0 depth - 1, or the last slice           the same, and 28:13 pitch - 1
//    4          13:0 pitch - 1 of a 1D or 2D image          5: 12:0 first slice
//    4          28:16 first slice
//
// An image without a word for its pitch has rows of 256 bytes, or whole blocks when it is swizzled. A
// resource of four dwords (r128) describes a 1D or 2D image.
//
// References: "RDNA 2 ISA" 8.2.5 and 8.2.6, "RDNA 3 ISA" 9.4.5, "MI200 ISA" 9.2.5; field order as AMD's
// image library writes it.
#pragma once

#include <cstdint>

#include "amd/gfx_target.h"
#include "emu/exec/buffer_format.h"
#include "emu/exec/image_layout.h"
#include "isa/inst.h"

namespace wavetap::emu {

struct Wave;

enum class ImageType : uint8_t {
  k1D = 8,
  k2D = 9,
  k3D = 10,
  kCube = 11,
  k1DArray = 12,
  k2DArray = 13,
  k2DMsaa = 14,
  k2DMsaaArray = 15,
};

struct ImageFormat {
  BufferFormat texel;
  bool is_srgb = false;  // x, y and z; w is linear
};

struct ImageResource {
  uint64_t base = 0;
  ImageType type = ImageType::k1D;
  ImageFormat format;
  uint32_t selects = 0;  // three bits per component
  uint32_t width = 0, height = 0;
  uint32_t depth = 0;  // planes of a 3D image, slices of an array; else 1
  uint32_t first_slice = 0;
  uint32_t levels = 1;
  ImageLayout layout;
  // Why the image cannot be accessed; null when it can.
  const char* trouble = nullptr;

  bool has_slices() const {
    return type == ImageType::kCube || type == ImageType::k1DArray || type == ImageType::k2DArray;
  }
  bool contains(int64_t x, int64_t y, int64_t z) const {
    return x >= 0 && y >= 0 && z >= 0 && x < width && y < height && z < depth;
  }
  uint64_t address(uint32_t x, uint32_t y, uint32_t z) const {
    return base + layout.place(x, y, z + first_slice);
  }
};

// The type that a resource has for gfx9's instructions, which do not say it.
isa::ImageDim dim_of(const Wave& wave, const isa::Inst& inst);

ImageResource read_image_resource(const Wave& wave, const isa::Inst& inst);

// Address modes of a sampler.
enum class Clamp : uint8_t {
  kWrap,
  kMirror,
  kLastTexel,
  kMirrorOnceLastTexel,
  kHalfBorder,
  kMirrorOnceHalfBorder,
  kBorder,
  kMirrorOnceBorder,
};

struct ImageSampler {
  Clamp clamp[3] = {};
  uint8_t compare = 0;  // depth comparison: never, <, ==, <=, >, !=, >=, always
  bool unnormalized = false;
  bool truncates = false;  // nearest: coordinates are cut, not rounded, to 8 fraction bits
  bool is_linear = false;
  bool is_linear_z = false;
  uint8_t reduction = 0;  // of a footprint: weighted sum, minimum, maximum
  uint8_t border = 0;     // 0 transparent black, 1 opaque black, 2 white
  const char* trouble = nullptr;
};

ImageSampler read_image_sampler(const Wave& wave, const isa::Inst& inst);

// --- Texels as the four components of a register tuple: floats, or integers.

struct Texel {
  uint32_t component[4];
};

// From memory, with the resource's selects applied.
Texel decode_texel(const ImageResource& image, const std::byte* element);
// The reverse, of all four components; selects do not apply. Writes format.size_bytes().
void encode_texel(const ImageResource& image, const Texel& texel, std::byte* element);
// What a sampler returns beside the image.
Texel border_texel(const ImageResource& image, const ImageSampler& sampler);

}  // namespace wavetap::emu
