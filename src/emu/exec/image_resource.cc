#include "emu/exec/image_resource.h"

#include <bit>
#include <cmath>

#include "emu/exec/format_bits.h"
#include "emu/wave.h"

namespace wavetap::emu {
namespace {

using isa::ImageDim;
using isa::Inst;

uint32_t field(uint32_t word, int at, int bits) { return word >> at & ((1u << bits) - 1); }

// Formats that buffers do not have. As everywhere, a name lists components from the highest bits
// down; x is the lowest.
constexpr BufferFormat k8{1, {8}, NumberFormat::kUnorm};
constexpr BufferFormat k8_8{2, {8, 8}, NumberFormat::kUnorm};
constexpr BufferFormat k8_8_8_8{4, {8, 8, 8, 8}, NumberFormat::kUnorm};
constexpr BufferFormat k5_6_5{3, {5, 6, 5}, NumberFormat::kUnorm};
constexpr BufferFormat k1_5_5_5{4, {5, 5, 5, 1}, NumberFormat::kUnorm};
constexpr BufferFormat k5_5_5_1{4, {1, 5, 5, 5}, NumberFormat::kUnorm};
constexpr BufferFormat k4_4_4_4{4, {4, 4, 4, 4}, NumberFormat::kUnorm};

ImageFormat numbered_format(uint32_t code, amd::GfxTarget target) {
  const bool is_gfx10 = target.major == 10;
  const uint32_t srgb = is_gfx10 ? 128 : 64;
  const uint32_t packed = is_gfx10 ? 133 : 68;
  if (code < srgb && code < 78) return {buffer_format(code, target)};
  if (code == srgb) return {k8, true};
  if (code == srgb + 1) return {k8_8, true};
  if (code == srgb + 2) return {k8_8_8_8, true};
  if (code == packed) return {k5_6_5};
  if (code == packed + 1) return {k1_5_5_5};
  if (code == packed + 2) return {k5_5_5_1};
  if (code == packed + 3) return {k4_4_4_4};
  return {};
}

ImageFormat gfx9_format(uint32_t layout, uint32_t number, amd::GfxTarget target) {
  constexpr uint32_t kSrgb = 9, kLastBufferLayout = 14;
  if (number == kSrgb) {
    if (layout == 1) return {k8, true};
    if (layout == 3) return {k8_8, true};
    if (layout == 10) return {k8_8_8_8, true};
    return {};
  }
  if (layout <= kLastBufferLayout && number <= 7)
    return {buffer_format(layout | number << 4, target)};
  if (number != 0) return {};
  switch (layout) {
    case 16: return {k5_6_5};
    case 17: return {k1_5_5_5};
    case 18: return {k5_5_5_1};
    case 19: return {k4_4_4_4};
    default: return {};
  }
}

// Pitch and height in texels, whole rows and blocks.
void set_layout(ImageResource& image, amd::GfxTarget target, uint32_t mode, uint32_t pitch) {
  ImageLayout& layout = image.layout;
  layout.bytes = image.format.texel.size_bytes();
  layout.height = image.height;
  const auto round_up = [](uint32_t value, uint32_t log2) {
    return (value + (1u << log2) - 1) >> log2 << log2;
  };
  if (!std::has_single_bit(layout.bytes)) {
    image.trouble = "image: texels of 12 bytes are not implemented";
    return;
  }
  const auto log2_bytes = static_cast<uint32_t>(std::countr_zero(layout.bytes));
  if (mode == 0) {
    layout.pitch = pitch != 0 ? pitch : round_up(image.width, 8 - log2_bytes);
    return;
  }
  layout.swizzle = find_swizzle(target, mode, image.type == ImageType::k3D, log2_bytes);
  if (layout.swizzle == nullptr) {
    image.trouble = "image: swizzle mode is not one of the runtime's";
    return;
  }
  layout.pitch = round_up(image.width, layout.swizzle->log2_width);
  layout.height = round_up(image.height, layout.swizzle->log2_height);
}

float from_srgb(float value) {
  return value <= 0.04045f ? value / 12.92f : std::pow((value + 0.055f) / 1.055f, 2.4f);
}
float to_srgb(float value) {
  if (!(value > 0)) return 0;
  if (value >= 1) return 1;
  return value <= 0.0031308f ? value * 12.92f : 1.055f * std::pow(value, 1 / 2.4f) - 0.055f;
}

}  // namespace

isa::ImageDim dim_of(const Wave& wave, const Inst& inst) {
  if (inst.dim != ImageDim::kFromResource) return inst.dim;
  switch (static_cast<ImageType>(wave.s[inst.saddr.index + 3] >> 28)) {
    case ImageType::k2D: return ImageDim::k2D;
    case ImageType::k3D: return ImageDim::k3D;
    case ImageType::kCube: return ImageDim::kCube;
    case ImageType::k1DArray: return inst.is_array ? ImageDim::k1DArray : ImageDim::k1D;
    case ImageType::k2DArray: return inst.is_array ? ImageDim::k2DArray : ImageDim::k2D;
    case ImageType::k2DMsaa: return ImageDim::k2DMsaa;
    case ImageType::k2DMsaaArray: return ImageDim::k2DMsaaArray;
    default: return ImageDim::k1D;
  }
}

ImageResource read_image_resource(const Wave& wave, const Inst& inst) {
  const amd::GfxTarget target = wave.dispatch->target;
  const bool is_gfx9 = target.major == 9;
  uint32_t word[8] = {};
  for (uint32_t i = 0; i < inst.saddr.dwords; ++i) word[i] = wave.s[inst.saddr.index + i];
  ImageResource image;
  image.base = (word[0] | uint64_t{word[1] & 0xff} << 32) << 8;
  image.type = static_cast<ImageType>(word[3] >> 28);
  image.selects = field(word[3], 0, 12);
  image.height = field(word[2], 14, 14) + 1;
  image.levels = field(word[3], 16, 4) + 1;
  uint32_t pitch = 0;
  if (is_gfx9) {
    image.format = gfx9_format(field(word[1], 20, 6), field(word[1], 26, 4), target);
    image.width = field(word[2], 0, 14) + 1;
    if (!inst.r128) pitch = field(word[4], 13, 16) + 1;
    image.first_slice = field(word[5], 0, 13);
  } else {
    image.format = numbered_format(field(word[1], 20, target.major == 10 ? 9 : 8), target);
    image.width = (word[1] >> 30 | field(word[2], 0, 12) << 2) + 1;
    image.first_slice = field(word[4], 16, 13);
  }
  image.depth = field(word[4], 0, 13) + 1;
  const bool has_planes = image.type == ImageType::k3D || image.has_slices();
  // From gfx1030 on the word holds the pitch of images that have no depth.
  const bool has_pitch = target.major > 10 || (target.major == 10 && target.minor >= 3);
  if (!is_gfx9 && !has_planes) {
    if (has_pitch) pitch = field(word[4], 0, 14) + 1;
    if (pitch < image.width) pitch = 0;
  }
  if (!has_planes) image.depth = 1;
  if (!image.has_slices()) image.first_slice = 0;
  else image.depth = image.depth > image.first_slice ? image.depth - image.first_slice : 0;
  if (image.type == ImageType::k1D || image.type == ImageType::k1DArray) image.height = 1;

  if (image.type < ImageType::k1D) image.trouble = "image: the resource is not an image's";
  else if (image.type >= ImageType::k2DMsaa)
    image.trouble = "image: several samples per texel are not implemented";
  else if (image.levels != 1 || field(word[3], 12, 4) != 0)
    image.trouble = "image: mip levels are not implemented";
  else if (image.format.texel.components == 0)
    image.trouble = "image: data format is not implemented";
  else set_layout(image, target, field(word[3], 20, 5), pitch);
  return image;
}

ImageSampler read_image_sampler(const Wave& wave, const Inst& inst) {
  const uint32_t* word = wave.s + inst.soffset.index;
  ImageSampler sampler;
  for (int i = 0; i < 3; ++i) sampler.clamp[i] = static_cast<Clamp>(field(word[0], 3 * i, 3));
  sampler.compare = static_cast<uint8_t>(field(word[0], 12, 3));
  sampler.unnormalized = inst.unorm || field(word[0], 15, 1) != 0;
  sampler.truncates = field(word[0], 27, 1) != 0;
  sampler.reduction = static_cast<uint8_t>(field(word[0], 29, 2));
  // One level means magnification. Anisotropic filters fall back to what they are at ratio one.
  sampler.is_linear = (field(word[2], 20, 2) & 1) != 0;
  const uint32_t z_filter = field(word[2], 24, 2);  // none: as x and y
  sampler.is_linear_z = z_filter == 0 ? sampler.is_linear : z_filter == 2;
  sampler.border = static_cast<uint8_t>(word[3] >> 30);
  if (sampler.border == 3)
    sampler.trouble = "sampler: a palette of border colours is not implemented";
  if (sampler.reduction == 3) sampler.trouble = "sampler: filter mode is not implemented";
  return sampler;
}

Texel decode_texel(const ImageResource& image, const std::byte* element) {
  const BufferFormat& format = image.format.texel;
  const uint32_t one = format.is_integer() ? 1 : bits_of(1.0f);
  uint32_t component[4] = {0, 0, 0, one};
  for (uint32_t i = 0, at = 0; i < format.components; at += format.bits[i++]) {
    component[i] =
        widen_component(extract_bits(element, at, format.bits[i]), format.bits[i], format.number);
    if (image.format.is_srgb && i < 3) component[i] = bits_of(from_srgb(f32_of(component[i])));
  }
  Texel texel;
  for (uint32_t i = 0; i < 4; ++i)
    texel.component[i] = select_component(image.selects >> 3 * i & 7, component, one);
  return texel;
}

void encode_texel(const ImageResource& image, const Texel& texel, std::byte* element) {
  const BufferFormat& format = image.format.texel;
  for (uint32_t i = 0, at = 0; i < format.components; at += format.bits[i++]) {
    uint32_t value = texel.component[i];
    if (image.format.is_srgb && i < 3) value = bits_of(to_srgb(f32_of(value)));
    insert_bits(element, at, narrow_component(value, format.bits[i], format.number));
  }
}

Texel border_texel(const ImageResource& image, const ImageSampler& sampler) {
  const uint32_t one = image.format.texel.is_integer() ? 1 : bits_of(1.0f);
  const uint32_t colour = sampler.border == 2 ? one : 0;
  const uint32_t component[4] = {colour, colour, colour, sampler.border == 0 ? 0 : one};
  Texel texel;
  for (uint32_t i = 0; i < 4; ++i)
    texel.component[i] = select_component(image.selects >> 3 * i & 7, component, one);
  return texel;
}

}  // namespace wavetap::emu
