// Where texels are, against figures of AMD's address library (GB_ADDR_CONFIG 0, one pipe): hashes over
// the places of 256 texels of an image of 300 by 200 texels in 20 slices, per mode and texel size.
#include "emu/exec/image_layout.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>

namespace wavetap::emu {
namespace {

constexpr uint32_t kWidth = 300, kHeight = 200, kDepth = 20;

ImageLayout layout_of(const Swizzle* swizzle, uint32_t log2_bytes) {
  const auto round_up = [](uint32_t value, uint32_t log2) {
    return (value + (1u << log2) - 1) >> log2 << log2;
  };
  return {.swizzle = swizzle,
          .bytes = 1u << log2_bytes,
          .pitch = round_up(kWidth, swizzle->log2_width),
          .height = round_up(kHeight, swizzle->log2_height)};
}

struct Case {
  int major;
  uint32_t mode;
  bool is_3d;
  uint64_t hash[5];  // texels of 1, 2, 4, 8, 16 bytes; 0: the library refuses
};

// clang-format off
constexpr Case kCases[] = {
    {9,  2,  false, {0x8941ebdbb0185e4f, 0x49ba2fc3db15e46d, 0x164d82fd360044ed, 0xadca079809afb075, 0x0cee8972ecc25665}},
    {9,  22, false, {0xc225f31560e8c24f, 0x60fa8d8f3e66446d, 0x1e59cf1a331ec6ed, 0x660a77babae92075, 0xa64551b405766c65}},
    {9,  26, false, {0x0454aca25a69124f, 0xc8c62e277d2a546d, 0x7f9f87050f9fa6ed, 0xcac14aff31e77075, 0xeca0482db27d8c65}},
    {9,  20, true,  {0xd834b7f4d547a8b9, 0x5d04d985340af631, 0x86cdee57ccb41185, 0xcbae687ccbbd54b5, 0x006943558565c1e5}},
    {9,  24, true,  {0xeaa64fe8079198b9, 0x628a59881d40f631, 0x85d9ae50bbca5185, 0x9128d9e60ab994b5, 0x6f787dd0a38391e5}},
    {9,  22, true,  {0x637809c6a0c68727, 0x60fa8d8f3e66446d, 0xd79d4c6ddc31240d, 0xe9ce90f8426c7bd5, 0xf00dc1b02382ae75}},
    {9,  26, true,  {0x8bef4adfb6909727, 0xc8c62e277d2a546d, 0x0e923a31840b440d, 0xe552505d12618bd5, 0x124c87290d5c2e75}},
    {10, 2,  false, {0x8941ebdbb0185e4f, 0x49ba2fc3db15e46d, 0xbbf730d171d5f60d, 0xadca079809afb075, 0x0cee8972ecc25665}},
    {10, 22, false, {0xc225f31560e8c24f, 0x60fa8d8f3e66446d, 0xd79d4c6ddc31240d, 0x660a77babae92075, 0xa64551b405766c65}},
    {10, 27, false, {0x0454aca25a69124f, 0xc8c62e277d2a546d, 0x0e923a31840b440d, 0xcac14aff31e77075, 0xeca0482db27d8c65}},
    {10, 21, true,  {0x6d0f876d5820d937, 0xc85ca8057db0e145, 0x75dd6360996726a5, 0x978c76e233a33aa5, 0xc5d78b07d2b071a5}},
    {10, 25, true,  {0xdaf3da6375498937, 0x59e48f3fdcf8e145, 0xb65fa9446dea26a5, 0x27a8379832013aa5, 0x7e73c281cfca81a5}},
    {10, 27, true,  {0x0454aca25a69124f, 0xc8c62e277d2a546d, 0x0e923a31840b440d, 0xcac14aff31e77075, 0xeca0482db27d8c65}},
    {11, 2,  false, {0xbd0ac6293b9b4963, 0x83e88abcff967071, 0x19f3905b87deb2a5, 0xadca079809afb075, 0x0cee8972ecc25665}},
    {11, 22, false, {0x0071c4288be52d63, 0x7a26109fd598b871, 0x1b7e02d6313f58a5, 0x660a77babae92075, 0xa64551b405766c65}},
    {11, 27, false, {0x33d5031ec49db963, 0x8c37436b19ced871, 0x2f30bd5e72a996a5, 0xcca470454eead875, 0x78de0971fa80a065}},
    {11, 31, false, {0xb13026318cc5b963, 0x59e7c32ad330d871, 0x770ceae45b8796a5, 0x7c53a1b0d430d875, 0xba4c7e73897fa065}},
    {11, 21, true,  {0xce1eb366a1c372f7, 0x42c1a948e9c7c595, 0x86cdee57ccb41185, 0xcbae687ccbbd54b5, 0x5e6dc3d35a11c745}},
    {11, 25, true,  {0xba7cf7a6bd42a2f7, 0x790cea8fb6fa0595, 0x85d9ae50bbca5185, 0x9128d9e60ab994b5, 0xb96aaef0959fb745}},
    {11, 29, true,  {0x4846a39dcdeea2f7, 0x4cc6acf363830595, 0xe7b6c6a948205185, 0xc5779260312594b5, 0xb0f8ec6044b1b745}},
    {11, 24, true,  {0x33d5031ec49db963, 0x8c37436b19ced871, 0x2f30bd5e72a996a5, 0xcca470454eead875, 0}},
    {11, 27, true,  {0x33d5031ec49db963, 0x8c37436b19ced871, 0x2f30bd5e72a996a5, 0xcca470454eead875, 0x78de0971fa80a065}},
    {11, 28, true,  {0xb13026318cc5b963, 0x59e7c32ad330d871, 0x770ceae45b8796a5, 0x7c53a1b0d430d875, 0}},
    {11, 31, true,  {0xb13026318cc5b963, 0x59e7c32ad330d871, 0x770ceae45b8796a5, 0x7c53a1b0d430d875, 0xba4c7e73897fa065}},
};
// clang-format on

TEST(ImageLayout, PlacesAreThoseOfTheAddressLibrary) {
  for (const Case& test : kCases) {
    const amd::GfxTarget target{static_cast<uint8_t>(test.major), 0, 0};
    for (uint32_t size = 0; size < 5; ++size) {
      if (test.hash[size] == 0) continue;
      const Swizzle* swizzle = find_swizzle(target, test.mode, test.is_3d, size);
      ASSERT_NE(swizzle, nullptr) << test.major << " mode " << test.mode;
      const ImageLayout layout = layout_of(swizzle, size);
      uint64_t hash = 0xcbf29ce484222325;
      uint32_t seed = 1;
      const auto next = [&](uint32_t limit) {
        seed = seed * 1664525u + 1013904223u;
        return (seed >> 8) % limit;
      };
      for (int i = 0; i < 256; ++i) {
        const uint32_t x = next(kWidth), y = next(kHeight), z = next(kDepth);
        hash = (hash ^ layout.place(x, y, z)) * 0x100000001b3;
      }
      EXPECT_EQ(hash, test.hash[size])
          << "gfx" << test.major << " mode " << test.mode << (test.is_3d ? " 3D" : "")
          << ", texels of " << (1u << size) << " bytes";
    }
  }
}

TEST(ImageLayout, ABlockHasOnePlaceForEachTexel) {
  for (const Case& test : kCases) {
    const amd::GfxTarget target{static_cast<uint8_t>(test.major), 0, 0};
    for (uint32_t size = 0; size < 5; ++size) {
      const Swizzle* swizzle = find_swizzle(target, test.mode, test.is_3d, size);
      if (swizzle->bits > 12) continue;  // the same rule goes on
      const ImageLayout layout = layout_of(swizzle, size);
      std::set<uint64_t> places;
      for (uint32_t x = 0; x < 1u << swizzle->log2_width; ++x)
        for (uint32_t y = 0; y < 1u << swizzle->log2_height; ++y)
          for (uint32_t z = 0; z < 1u << swizzle->log2_depth; ++z)
            places.insert(layout.place(x, y, z));
      EXPECT_EQ(places.size(), size_t{1} << swizzle->bits) << test.major << " mode " << test.mode;
      EXPECT_LT(*places.rbegin(), uint64_t{1} << (swizzle->bits + size));
    }
  }
}

TEST(ImageLayout, UnknownModesAreNone) {
  EXPECT_EQ(find_swizzle({10, 3, 0}, 12, false, 2), nullptr);
  EXPECT_EQ(find_swizzle({10, 3, 0}, 22, false, 5), nullptr);
}

}  // namespace
}  // namespace wavetap::emu
