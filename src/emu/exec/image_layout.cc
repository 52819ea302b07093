// Swizzle modes of images, as AMD's image library chooses them.
//
// A block is filled in two steps. Its first 256 bytes hold a small tile whose order depends on the
// kind of the mode (D, S, Z), the texel size and the generation; that order is written down below.
// The rest of the block doubles the tile in y, x, y, x …, of thick blocks (3D) in y, x, z, y, x, z ….
// gfx11's R and Z modes also fold high bits of one coordinate into those of the other, to spread
// neighbours over memory channels, so that their whole block is written down.
//
// Channels are also why the X modes exist: they add bits by which the GPU's pipes are chosen. How
// many pipes there are the runtime learns from the driver (GB_ADDR_CONFIG); the virtual GPU's says
// one, and with one pipe nothing is added.
#include "emu/exec/image_layout.h"

#include <array>
#include <bit>
#include <string_view>

namespace wavetap::emu {
namespace {

// "x0 x1 y0 x4^y7": one term per bit of the place, from the lowest.
constexpr int kSizes = 5;  // texels of 1, 2, 4, 8, 16 bytes
using Tiles = std::array<std::string_view, kSizes>;

constexpr Tiles kFlatGfx9 = {"x0 x1 x2 y1 y0 y2 x3 y3", "x0 x1 x2 y0 y1 y2 x3", "x0 x1 y0 x2 y1 y2",
                             "x0 y0 x1 x2 y1", "x0 y0 x1 y1"};
constexpr Tiles kFlatGfx10 = {"x0 x1 x2 y1 y0 y2 x3 y3", "x0 x1 x2 y0 y1 y2 x3",
                              "x0 x1 y0 y1 y2 x2", "x0 y0 x1 x2 y1", "x0 y0 x1 y1"};
constexpr Tiles kFlatGfx11 = {"x0 x1 y0 x2 y1 y2 x3 y3", "x0 y0 x1 y1 x2 y2 x3",
                              "x0 y0 x1 y1 x2 y2", "x0 y0 x1 x2 y1", "x0 y0 x1 y1"};
// gfx9's flat blocks of 3D images.
constexpr Tiles kPlaneGfx9 = {"x0 x1 x2 x3 y0 y1 y2 y3", "x0 x1 x2 y0 y1 y2 x3",
                              "x0 x1 y0 y1 y2 x2", "x0 y0 y1 x1 x2", "y0 y1 x0 x1"};
constexpr Tiles kThickGfx9 = {"x0 y0 x1 y1 z0 z1 x2 z2", "x0 y0 x1 y1 z0 z1 z2",
                              "x0 y0 x1 z0 y1 z1", "x0 y0 z0 x1 z1", "x0 y0 z0 z1"};
constexpr Tiles kThickGfx10 = {"x0 x1 z0 y0 z1 y1 x2 z2", "x0 z0 y0 z1 y1 x1 z2",
                               "x0 y0 z0 y1 x1 z1", "x0 z0 y0 x1 z1", "z0 y0 x0 z1"};
constexpr Tiles kThickGfx11 = {"x0 x1 z0 y0 y1 z1 x2 z2", "x0 z0 y0 x1 z1 y1 z2",
                               "x0 y0 x1 z0 y1 z1", "x0 y0 z0 x1 z1", "x0 z0 y0 z1"};
constexpr Tiles kFoldedGfx11 = {"x0 x1 y0 x2 y1 y2 x3 y3 x4 y4 x5^y8 x8^y5 x6^y7 x7^y6 x7 y7 x8 y8",
                                "x0 y0 x1 y1 x2 y2 x3 y3 x4 x8^y4 x5^y7 x7^y5 x6^y6 y6 x7 y7 x8",
                                "x0 y0 x1 y1 x2 y2 x3 y3 x4^y7 x7^y4 x5^y6 x6^y5 x6 y6 x7 y7",
                                "x0 y0 x1 x2 y1 y2 x3 x7^y3 x4^y7 x6^y4 x5^y6 y5 x6 y6 x7",
                                "x0 y0 x1 y1 x2 y2 x3^y7 x6^y3 x4^y6 x5^y4 x5 y5 x6 y6"};

constexpr uint64_t bit_of(int axis, int bit) { return uint64_t{1} << (16 * axis + bit); }

constexpr int parse(std::string_view text, int limit, uint64_t* mask) {
  int bits = 0;
  for (size_t i = 0; i + 1 < text.size() && bits < limit; i += 3) {
    mask[bits] |= bit_of(text[i] - 'x', text[i + 1] - '0');
    const bool goes_on = i + 2 < text.size() && text[i + 2] == '^';
    if (!goes_on) ++bits;
  }
  return bits;
}

enum class Fill : uint8_t { kFlat, kThick, kFolded };

// The place bits of a whole block of 1 << log2_block bytes.
constexpr Swizzle make_swizzle(std::string_view tile, Fill fill, int log2_bytes, int log2_block) {
  Swizzle swizzle;
  swizzle.first_bit = static_cast<uint8_t>(log2_bytes);
  const int wanted = log2_block - log2_bytes;
  int bits = parse(tile, wanted, swizzle.mask);
  constexpr int kFlatOrder[] = {1, 0}, kThickOrder[] = {1, 0, 2};
  for (int turn = 0; bits < wanted; ++turn, ++bits) {
    const int axis = fill == Fill::kThick ? kThickOrder[turn % 3] : kFlatOrder[turn % 2];
    int next = 0;
    for (int i = 0; i < bits; ++i)
      for (int bit = 0; bit < 16; ++bit)
        if ((swizzle.mask[i] & bit_of(axis, bit)) != 0 && bit >= next) next = bit + 1;
    swizzle.mask[bits] = bit_of(axis, next);
  }
  swizzle.bits = static_cast<uint8_t>(bits);
  // A block is as deep and wide as its coordinates' bits; what is folded in counts once. Flat blocks
  // are square, or twice as wide as high.
  int depth = 0;
  for (int i = 0; i < bits; ++i) depth += (swizzle.mask[i] >> 32) != 0 ? 1 : 0;
  int height = (bits - depth) / 2;
  if (fill == Fill::kThick) {
    height = 0;
    for (int i = 0; i < bits; ++i) height += (swizzle.mask[i] >> 16 & 0xffff) != 0 ? 1 : 0;
  }
  swizzle.log2_depth = static_cast<uint8_t>(depth);
  swizzle.log2_height = static_cast<uint8_t>(height);
  swizzle.log2_width = static_cast<uint8_t>(bits - depth - height);
  return swizzle;
}

struct Mode {
  int major;
  uint8_t code;
  bool is_3d;
  Fill fill;
  int log2_block;
  const Tiles* tiles;
};

// clang-format off
constexpr Mode kModes[] = {
    {9,  2,  false, Fill::kFlat,   8,  &kFlatGfx9},    // 256B_D
    {9,  22, false, Fill::kFlat,   12, &kFlatGfx9},    // 4KB_D_X
    {9,  26, false, Fill::kFlat,   16, &kFlatGfx9},    // 64KB_D_X
    {9,  20, true,  Fill::kThick,  12, &kThickGfx9},   // 4KB_Z_X
    {9,  24, true,  Fill::kThick,  16, &kThickGfx9},   // 64KB_Z_X
    {9,  22, true,  Fill::kFlat,   12, &kPlaneGfx9},
    {9,  26, true,  Fill::kFlat,   16, &kPlaneGfx9},
    {10, 2,  false, Fill::kFlat,   8,  &kFlatGfx10},
    {10, 22, false, Fill::kFlat,   12, &kFlatGfx10},
    {10, 27, false, Fill::kFlat,   16, &kFlatGfx10},   // 64KB_R_X
    {10, 21, true,  Fill::kThick,  12, &kThickGfx10},  // 4KB_S_X
    {10, 25, true,  Fill::kThick,  16, &kThickGfx10},  // 64KB_S_X
    {10, 27, true,  Fill::kFlat,   16, &kFlatGfx10},
    {11, 2,  false, Fill::kFlat,   8,  &kFlatGfx11},
    {11, 22, false, Fill::kFlat,   12, &kFlatGfx11},
    {11, 27, false, Fill::kFolded, 16, &kFoldedGfx11},
    {11, 31, false, Fill::kFolded, 18, &kFoldedGfx11},  // 256KB_R_X
    {11, 21, true,  Fill::kThick,  12, &kThickGfx11},
    {11, 25, true,  Fill::kThick,  16, &kThickGfx11},
    {11, 29, true,  Fill::kThick,  18, &kThickGfx11},   // 256KB_S_X
    {11, 24, true,  Fill::kFolded, 16, &kFoldedGfx11},
    {11, 27, true,  Fill::kFolded, 16, &kFoldedGfx11},
    {11, 28, true,  Fill::kFolded, 18, &kFoldedGfx11},  // 256KB_Z_X
    {11, 31, true,  Fill::kFolded, 18, &kFoldedGfx11},
};
// clang-format on

using Swizzles = std::array<std::array<Swizzle, kSizes>, std::size(kModes)>;

consteval Swizzles make_swizzles() {
  Swizzles all;
  for (size_t i = 0; i < std::size(kModes); ++i)
    for (int size = 0; size < kSizes; ++size)
      all[i][static_cast<size_t>(size)] =
          make_swizzle((*kModes[i].tiles)[static_cast<size_t>(size)], kModes[i].fill, size,
                       kModes[i].log2_block);
  return all;
}

constexpr Swizzles kSwizzles = make_swizzles();

}  // namespace

const Swizzle* find_swizzle(amd::GfxTarget target, uint32_t code, bool is_3d, uint32_t log2_bytes) {
  if (log2_bytes >= kSizes) return nullptr;
  for (size_t i = 0; i < std::size(kModes); ++i)
    if (kModes[i].major == target.major && kModes[i].code == code && kModes[i].is_3d == is_3d)
      return &kSwizzles[i][log2_bytes];
  return nullptr;
}

uint64_t ImageLayout::place(uint32_t x, uint32_t y, uint32_t z) const {
  if (swizzle == nullptr) return ((uint64_t{z} * height + y) * pitch + x) * bytes;
  const Swizzle& s = *swizzle;
  const uint64_t key = (x & 0xffff) | uint64_t{y & 0xffff} << 16 | uint64_t{z & 0xffff} << 32;
  uint64_t inside = 0;
  for (int i = 0; i < s.bits; ++i)
    inside |= static_cast<uint64_t>(std::popcount(key & s.mask[i]) & 1) << (s.first_bit + i);
  const uint64_t blocks_across = pitch >> s.log2_width;
  const uint64_t blocks_down = height >> s.log2_height;
  const uint64_t block =
      (uint64_t{z >> s.log2_depth} * blocks_down + (y >> s.log2_height)) * blocks_across +
      (x >> s.log2_width);
  return (block << (s.first_bit + s.bits)) | inside;
}

}  // namespace wavetap::emu
