// Images for generated kernels: loads, samples, gathers, stores and atomics on linear memory that a
// descriptor made by hand describes as 64 x N texels of four bytes, rows of 256 bytes. As in
// special.h each is one thing with two bodies; gfx942 has no images, gfx90a only plain sampling.
#pragma once

#include "special.h"

#if defined(__HIP_DEVICE_COMPILE__)
#if defined(__gfx908__) || defined(__gfx1030__) || defined(__gfx1100__)
#define WT_HAS_IMAGES 1
#define WT_HAS_GATHERS 1
#elif defined(__gfx90a__)
#define WT_HAS_IMAGES 1
#endif
#endif

// Formats of texels: components of 8, 16 or 32 bits.
enum class Texels { kUnorm8, kSnorm8, kUint8, kSint8, kUnorm16, kHalf16, kUint32, kFloat32 };

constexpr uint32_t kImageWidth = 64;

// What the four components are, as a lane's registers hold them.
struct Components {
  uint32_t bits[4];
};
WT_BOTH inline uint32_t float_bits(float value) {
  return value != value ? 0x7fc00000u : bit_copy<uint32_t>(value);
}
WT_BOTH inline uint32_t fold(const Components& c) {
  return c.bits[0] + 3 * c.bits[1] + 5 * c.bits[2] + 7 * c.bits[3];
}

// --- By hand.

WT_BOTH inline float unorm_of(uint32_t value, uint32_t most) {
  return static_cast<float>(value) / static_cast<float>(most);
}
WT_BOTH inline Components widen(Texels texels, uint32_t word) {
  const bool is_integer =
      texels == Texels::kUint8 || texels == Texels::kSint8 || texels == Texels::kUint32;
  Components c = {{0, 0, 0, is_integer ? 1u : float_bits(1.0f)}};
  if (texels == Texels::kUint32 || texels == Texels::kFloat32) {
    c.bits[0] = word;
  } else if (texels == Texels::kUnorm16) {
    for (int i = 0; i < 2; ++i) c.bits[i] = float_bits(unorm_of(word >> 16 * i & 0xffff, 65535));
  } else if (texels == Texels::kHalf16) {
    for (int i = 0; i < 2; ++i)
      c.bits[i] = float_bits(
          static_cast<float>(bit_copy<_Float16>(static_cast<uint16_t>(word >> 16 * i & 0xffff))));
  } else {
    for (int i = 0; i < 4; ++i) {
      const uint32_t byte = word >> 8 * i & 0xff;
      const auto number = static_cast<int8_t>(byte);
      const float snorm = static_cast<float>(number) / 127.0f;
      if (texels == Texels::kUint8) c.bits[i] = byte;
      else if (texels == Texels::kSint8) c.bits[i] = static_cast<uint32_t>(int32_t{number});
      else if (texels == Texels::kUnorm8) c.bits[i] = float_bits(unorm_of(byte, 255));
      else c.bits[i] = float_bits(snorm < -1.0f ? -1.0f : snorm);
    }
  }
  return c;
}
WT_BOTH inline Components texel_at(Texels texels, const void* base, uint32_t height, uint32_t x,
                                   uint32_t y) {
  if (x >= kImageWidth || y >= height) return {};
  uint32_t word;
  __builtin_memcpy(&word, static_cast<const char*>(base) + (y * kImageWidth + x) * 4, 4);
  return widen(texels, word);
}

// Address modes of a sampler, by AMD's numbers.
enum class Edge { kWrap = 0, kMirror = 1, kLastTexel = 2, kBorder = 6 };

// The texel that stands for place `i` of an axis; -1: the border.
WT_BOTH inline int edge_place(Edge edge, int i, int size) {
  if (edge == Edge::kLastTexel) return i < 0 ? 0 : i >= size ? size - 1 : i;
  if (edge == Edge::kBorder) return i < 0 || i >= size ? -1 : i;
  const int period = edge == Edge::kMirror ? 2 * size : size;
  const int within = (i % period + period) % period;
  return within < size ? within : period - 1 - within;
}
WT_BOTH inline Components sampled_texel(const void* base, int height, Edge edge, int x, int y) {
  const int column = edge_place(edge, x, kImageWidth), row = edge_place(edge, y, height);
  if (column < 0 || row < 0) return {};  // the border is transparent black
  return texel_at(Texels::kUnorm8, base, static_cast<uint32_t>(height),
                  static_cast<uint32_t>(column), static_cast<uint32_t>(row));
}

enum class Filter { kNearest, kLinear, kGather };

// A position in sixteenths of a texel along each axis; `component`: of a gather.
WT_BOTH inline Components sample_by_hand(const void* base, int height, Edge edge, Filter filter,
                                         int x16, int y16, int component) {
  if (filter == Filter::kNearest) return sampled_texel(base, height, edge, x16 >> 4, y16 >> 4);
  const int x = (x16 - 8) >> 4, y = (y16 - 8) >> 4;
  const int fx = (x16 - 8) & 15, fy = (y16 - 8) & 15;
  Components tap[4], c;
  for (int i = 0; i < 4; ++i) tap[i] = sampled_texel(base, height, edge, x + i % 2, y + i / 2);
  if (filter == Filter::kGather) {
    const int order[4] = {2, 3, 1, 0};
    for (int i = 0; i < 4; ++i) c.bits[i] = tap[order[i]].bits[component];
    return c;
  }
  const int weight[4] = {(16 - fx) * (16 - fy), fx * (16 - fy), (16 - fx) * fy, fx * fy};
  for (int i = 0; i < 4; ++i) {
    double sum = 0;  // exact: numbers of 24 bits, small weights
    for (int k = 0; k < 4; ++k)
      sum += weight[k] * static_cast<double>(bit_copy<float>(tap[k].bits[i]));
    c.bits[i] = float_bits(static_cast<float>(sum / 256));
  }
  return c;
}

// A word as a number of 0 … 255 per component that some of them leave the range of the format.
WT_BOTH inline float stored_value(uint32_t value, int i) {
  return static_cast<float>(value >> 8 * i & 0xff) * 0.0048828125f - 0.125f;
}

// --- By instruction.

#if defined(WT_HAS_IMAGES)
typedef int32_t ImageWords __attribute__((ext_vector_type(8)));
typedef float Float4 __attribute__((ext_vector_type(4)));

__device__ Float4 wt_image_load(int, int, int, ImageWords, int,
                                int) __asm("llvm.amdgcn.image.load.2d.v4f32.i32");
__device__ void wt_image_store_4(Float4, int, int, int, ImageWords, int,
                                 int) __asm("llvm.amdgcn.image.store.2d.v4f32.i32");
__device__ int wt_image_atomic_add(int, int, int, ImageWords, int,
                                   int) __asm("llvm.amdgcn.image.atomic.add.2d.i32.i32");
#if defined(WT_HAS_GATHERS)
__device__ Float4 wt_image_sample(int, float, float, ImageWords, Resource, bool, int,
                                  int) __asm("llvm.amdgcn.image.sample.lz.2d.v4f32.f32");
__device__ Float4 wt_image_gather(int, float, float, ImageWords, Resource, bool, int,
                                  int) __asm("llvm.amdgcn.image.gather4.lz.2d.v4f32.f32");
#else
__device__ Float4 wt_image_sample(int, float, float, ImageWords, Resource, bool, int,
                                  int) __asm("llvm.amdgcn.image.sample.2d.v4f32.f32");
#endif

// The format's bits of a descriptor's second word.
__device__ constexpr uint32_t format_bits(Texels texels) {
#if defined(__gfx1030__)
  constexpr uint32_t kCodes[] = {56, 57, 60, 61, 23, 29, 20, 22};
  return kCodes[static_cast<int>(texels)] << 20;
#elif defined(__gfx1100__)
  constexpr uint32_t kCodes[] = {42, 43, 46, 47, 23, 29, 20, 22};
  return kCodes[static_cast<int>(texels)] << 20;
#else
  constexpr uint32_t kLayouts[] = {10, 10, 10, 10, 5, 5, 4, 4};
  constexpr uint32_t kNumbers[] = {0, 1, 4, 5, 0, 7, 4, 7};
  return kLayouts[static_cast<int>(texels)] << 20 | kNumbers[static_cast<int>(texels)] << 26;
#endif
}

__device__ inline ImageWords image_words(const void* base, uint32_t height, uint32_t format) {
  const uint64_t address = reinterpret_cast<uint64_t>(base);
  const uint32_t width = kImageWidth - 1, rows = height - 1;
  const uint32_t word3 = 9u << 28 | 07654;  // two dimensions; x, y, z, w as they are
#if defined(__gfx1030__) || defined(__gfx1100__)
  const uint32_t word1 = format | width << 30, word2 = width >> 2 | rows << 14, word4 = width;
#else
  const uint32_t word1 = format, word2 = width | rows << 14, word4 = width << 13;
#endif
  return ImageWords{static_cast<int32_t>(address >> 8),
                    static_cast<int32_t>(word1 | (address >> 40 & 0xff)),
                    static_cast<int32_t>(word2),
                    static_cast<int32_t>(word3),
                    static_cast<int32_t>(word4),
                    0,
                    0,
                    0};
}
__device__ inline Resource sampler_words(Edge edge, Filter filter) {
  const auto clamp = static_cast<uint32_t>(edge);
  const uint32_t linear = filter == Filter::kNearest ? 0 : 1;
  return Resource{static_cast<int32_t>(clamp | clamp << 3 | clamp << 6), 0,
                  static_cast<int32_t>(linear << 20 | linear << 22), 0};
}
__device__ inline Components components_of(Float4 v, bool is_number) {
  Components c;
  for (int i = 0; i < 4; ++i) c.bits[i] = is_number ? float_bits(v[i]) : bit_copy<uint32_t>(v[i]);
  return c;
}
#endif

// --- What generated kernels call.

template <Texels kTexels>
WT_BOTH inline uint32_t image_load(const void* base, uint32_t height, uint32_t x, uint32_t y) {
#if defined(WT_HAS_IMAGES)
  const ImageWords image = image_words(base, height, format_bits(kTexels));
  const Float4 v = wt_image_load(15, static_cast<int>(x), static_cast<int>(y), image, 0, 0);
  return fold(components_of(v, kTexels == Texels::kHalf16));
#else
  return fold(texel_at(kTexels, base, height, x, y));
#endif
}

// The place is in sixteenths of a texel, the height a power of two: coordinates of 0 to 1 across the
// image are exact then.
template <Edge kEdge, Filter kFilter, int kComponent>
WT_BOTH inline uint32_t image_sample(const void* base, uint32_t height, uint32_t x, uint32_t y) {
  const int x16 = static_cast<int>(x % 4096u) - 1024, y16 = static_cast<int>(y % 256u) - 96;
#if defined(WT_HAS_IMAGES)
  const float s = static_cast<float>(x16) / 1024.0f;
  const float t = static_cast<float>(y16) / static_cast<float>(16 * height);
  const ImageWords image = image_words(base, height, format_bits(Texels::kUnorm8));
  const Resource sampler = sampler_words(kEdge, kFilter);
  if constexpr (kFilter != Filter::kGather)
    return fold(components_of(wt_image_sample(15, s, t, image, sampler, false, 0, 0), true));
#if defined(WT_HAS_GATHERS)
  const Float4 v = wt_image_gather(1 << kComponent, s, t, image, sampler, false, 0, 0);
  return fold(components_of(v, true));
#endif
#endif
  return fold(sample_by_hand(base, static_cast<int>(height), kEdge, kFilter, x16, y16, kComponent));
}

// Texel `x` of row `y` gets four components made from `value`.
WT_BOTH inline void image_store(void* base, uint32_t height, uint32_t x, uint32_t y,
                                uint32_t value) {
#if defined(WT_HAS_IMAGES)
  const ImageWords image = image_words(base, height, format_bits(Texels::kUnorm8));
  const Float4 v = {stored_value(value, 0), stored_value(value, 1), stored_value(value, 2),
                    stored_value(value, 3)};
  wt_image_store_4(v, 15, static_cast<int>(x), static_cast<int>(y), image, 0, 0);
#else
  if (x >= kImageWidth || y >= height) return;
  uint32_t word = 0;
  for (int i = 0; i < 4; ++i) {
    const float v = stored_value(value, i);
    const double clamped = v < 0 ? 0.0 : v > 1 ? 1.0 : static_cast<double>(v);
    word |= static_cast<uint32_t>(__builtin_rint(clamped * 255)) << 8 * i;
  }
  __builtin_memcpy(static_cast<char*>(base) + (y * kImageWidth + x) * 4, &word, 4);
#endif
}

// What texel `x` of row `y` was before `value` was added.
WT_BOTH inline uint32_t image_add(void* base, uint32_t height, uint32_t x, uint32_t y,
                                  uint32_t value) {
#if defined(WT_HAS_IMAGES)
  const ImageWords image = image_words(base, height, format_bits(Texels::kUint32));
  return static_cast<uint32_t>(wt_image_atomic_add(static_cast<int>(value), static_cast<int>(x),
                                                   static_cast<int>(y), image, 0, 0));
#else
  if (x >= kImageWidth || y >= height) return 0;
  char* at = static_cast<char*>(base) + (y * kImageWidth + x) * 4;
  uint32_t old;
  __builtin_memcpy(&old, at, 4);
  const uint32_t sum = old + value;
  __builtin_memcpy(at, &sum, 4);
  return old;
#endif
}
