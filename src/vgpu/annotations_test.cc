#include "vgpu/annotations.h"

#include <gtest/gtest.h>

namespace wavetap::vgpu {
namespace {

using What = Annotations::What;

std::vector<std::pair<uint64_t, uint64_t>> usable(const Annotations& of) {
  std::vector<std::pair<uint64_t, uint64_t>> parts;
  for (const UsableRange& part : of.usable({0x1000, 0x5000}))
    parts.emplace_back(part.range.begin, part.range.end);
  return parts;
}

TEST(Annotations, OnlyBlocksOfAPoolAreUsable) {
  Annotations annotations;
  using Parts = std::vector<std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(usable(annotations), (Parts{{0x1000, 0x5000}}));
  annotations.annotate(What::kPool, 0x2000, 0x1000);
  EXPECT_EQ(usable(annotations), (Parts{{0x1000, 0x2000}, {0x3000, 0x5000}}));
  annotations.annotate(What::kBlock, 0x2100, 0x40);
  annotations.annotate(What::kBlock, 0x2800, 0x10);
  annotations.annotate(What::kBlock, 0x4000, 0x10);    // in no pool
  annotations.annotate(What::kBlock, 0x2fff, 0x1000);  // past the pool
  EXPECT_EQ(usable(annotations),
            (Parts{{0x1000, 0x2000}, {0x2100, 0x2140}, {0x2800, 0x2810}, {0x3000, 0x5000}}));
  annotations.annotate(What::kBlockEnd, 0x2100, 0);
  EXPECT_EQ(usable(annotations), (Parts{{0x1000, 0x2000}, {0x2800, 0x2810}, {0x3000, 0x5000}}));
  annotations.annotate(What::kPoolEnd, 0x2000, 0);
  EXPECT_EQ(usable(annotations), (Parts{{0x1000, 0x5000}}));
}

TEST(Annotations, NamesTheBlockNextToAnAddress) {
  Annotations annotations;
  annotations.annotate(What::kPool, 0x2000, 0x1000);
  EXPECT_FALSE(annotations.nearest(0x2000));
  annotations.annotate(What::kBlock, 0x2100, 0x100);
  annotations.annotate(What::kBlock, 0x2400, 0x100);
  EXPECT_FALSE(annotations.nearest(0x4000));
  EXPECT_EQ(annotations.nearest(0x2150)->block.begin, 0x2100u);
  EXPECT_EQ(annotations.nearest(0x2210)->block.begin, 0x2100u);  // past the first
  EXPECT_EQ(annotations.nearest(0x23f0)->block.begin, 0x2400u);  // before the second
  annotations.annotate(What::kBlockEnd, 0x2100, 0);
  EXPECT_TRUE(annotations.nearest(0x2150)->freed);
  EXPECT_FALSE(annotations.nearest(0x2210)->freed);
  annotations.annotate(What::kBlock, 0x2180, 0x20);  // given out anew, in part
  EXPECT_FALSE(annotations.nearest(0x2190)->freed);
  EXPECT_EQ(annotations.nearest(0x2150)->block.begin, 0x2180u);
}

TEST(Annotations, HostMemoryIsUsableWhereItWasMadeVisibleAndAllAroundItAfterwards) {
  Annotations annotations;
  using Parts = std::vector<std::pair<uint64_t, uint64_t>>;
  annotations.add_locked(0x2080, {0x2000, 0x3000}, {0x2080, 0x2100});
  annotations.add_locked(0x2200, {0x2000, 0x3000}, {0x2200, 0x2210});
  EXPECT_EQ(usable(annotations),
            (Parts{{0x1000, 0x2000}, {0x2080, 0x2100}, {0x2200, 0x2210}, {0x3000, 0x5000}}));
  annotations.remove_locked(0x2080);
  EXPECT_EQ(usable(annotations), (Parts{{0x1000, 0x2000}, {0x2200, 0x2210}, {0x3000, 0x5000}}));
  annotations.remove_locked(0x2080);  // nobody knows it any more
  annotations.remove_locked(0x2200);
  EXPECT_EQ(usable(annotations), (Parts{{0x1000, 0x5000}}));
  // At an address of the GPU's own it is like memory that was freed.
  annotations.add_locked(0x70080, {0x2000, 0x3000}, {0x2080, 0x2100});
  annotations.remove_locked(0x70080);
  EXPECT_TRUE(annotations.nearest(0x2080)->freed);
}

TEST(Annotations, PartsThatAreOnlyToBeReadAreCutOut) {
  Annotations annotations;
  annotations.add_read_only({0x2000, 0x2800});
  const std::vector<UsableRange> parts = annotations.usable({0x1000, 0x5000});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_FALSE(parts[0].is_read_only);
  EXPECT_TRUE(parts[1].is_read_only);
  EXPECT_EQ(parts[1].range.begin, 0x2000u);
  EXPECT_EQ(parts[1].range.end, 0x2800u);
  EXPECT_EQ(parts[2].range.begin, 0x2800u);
  EXPECT_TRUE(annotations.is_read_only(0x27ff));
  EXPECT_FALSE(annotations.is_read_only(0x2800));
}

TEST(Annotations, ABlockMakesAPoolOfWhatIsAroundIt) {
  Annotations annotations;
  using Parts = std::vector<std::pair<uint64_t, uint64_t>>;
  annotations.add_block({0x2000, 0x3000}, {0x2000, 0x2010});
  annotations.add_block({0x2000, 0x3000}, {0x2100, 0x2110});
  EXPECT_EQ(usable(annotations),
            (Parts{{0x1000, 0x2000}, {0x2000, 0x2010}, {0x2100, 0x2110}, {0x3000, 0x5000}}));
  EXPECT_TRUE(annotations.has_block(0x2100));
  annotations.annotate(What::kBlockEnd, 0x2100, 0);
  EXPECT_FALSE(annotations.has_block(0x2100));
  EXPECT_TRUE(annotations.nearest(0x2104)->freed);
}

TEST(Annotations, EveryChangeMovesTheEpoch) {
  Annotations annotations;
  const uint64_t before = annotations.epoch();
  annotations.annotate(What::kPool, 0x2000, 0x1000);
  EXPECT_NE(annotations.epoch(), before);
}

}  // namespace
}  // namespace wavetap::vgpu
