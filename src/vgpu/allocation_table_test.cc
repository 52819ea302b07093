#include "vgpu/allocation_table.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpu/gpu.h"

namespace wavetap::vgpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string described(const AllocationTable& table, uint64_t address) {
  char text[256] = "";
  return table.describe({address}, text, sizeof text) ? text : "";
}

TEST(AllocationTable, FindsWhatHoldsAnAddress) {
  AllocationTable table;
  const uint64_t low = table.add({.va = 0x10000, .size_bytes = 0x1000});
  const uint64_t high = table.add({.va = 0x20000, .size_bytes = 0x3000, .mapped_gpus = 1});
  EXPECT_EQ(table.lookup({0x10000})->id, low);
  EXPECT_EQ(table.lookup({0x10fff})->id, low);
  EXPECT_FALSE(table.lookup({0x11000}));
  EXPECT_FALSE(table.lookup({0xffff}));
  EXPECT_EQ(table.lookup({0x22fff})->id, high);
  table.remove(low);
  EXPECT_FALSE(table.lookup({0x10000}));
  EXPECT_EQ(table.count(), 1u);
}

TEST(AllocationTable, TheYoungestOfSeveralWins) {
  AllocationTable table;
  table.add({.va = 0x10000, .size_bytes = 0x10000});
  const uint64_t inner = table.add({.va = 0x14000, .size_bytes = 0x1000});
  EXPECT_EQ(table.lookup({0x14080})->id, inner);
  EXPECT_EQ(table.lookup({0x18000})->size_bytes, 0x10000u);
  const uint64_t again = table.add({.va = 0x10000, .size_bytes = 0x10000});
  EXPECT_EQ(table.lookup({0x14080})->id, again);
}

TEST(AllocationTable, VisitsInTheOrderOfAddresses) {
  AllocationTable table;
  table.add({.va = 0x30000, .size_bytes = 0x1000});
  table.add({.va = 0x10000, .size_bytes = 0x1000});
  EXPECT_EQ(table.add({.va = 0, .size_bytes = 0x1000}), 0u);
  std::vector<uint64_t> seen;
  table.for_each([&](const Allocation& allocation) { seen.push_back(allocation.va); });
  EXPECT_THAT(seen, ElementsAre(0x10000, 0x30000));
}

TEST(AllocationTable, ItsEpochMovesWithEveryChange) {
  AllocationTable table;
  const uint64_t before = table.epoch();
  const uint64_t id = table.add({.va = 0x10000, .size_bytes = 0x1000});
  const uint64_t added = table.epoch();
  EXPECT_NE(before, added);
  table.set_mapped(id, 0);
  EXPECT_EQ(table.epoch(), added);
  table.set_mapped(id, 3);
  EXPECT_NE(table.epoch(), added);
  EXPECT_EQ(table.lookup({0x10000})->mapped_gpus, 3u);
  const uint64_t mapped = table.epoch();
  table.remove(id);
  table.remove(id);
  EXPECT_EQ(table.epoch(), mapped + 1);
}

TEST(AllocationTable, NamesTheNeighbourOfAWildAddress) {
  AllocationTable table;
  EXPECT_EQ(described(table, 0x10000), "");
  Gpu gpu;
  gpu.index = 1;
  table.add({.va = 0x10000, .size_bytes = 0x1000, .kind = BufferKind::kGtt, .owner = &gpu});
  table.add({.va = 0x40000, .size_bytes = 0x1000, .kind = BufferKind::kSvm});
  EXPECT_EQ(described(table, 0x10800), "inside the GTT buffer of 4096 bytes at 0x10000 (GPU 1)");
  EXPECT_EQ(described(table, 0x12000), "past the GTT buffer of 4096 bytes at 0x10000 (GPU 1)");
  EXPECT_EQ(described(table, 0x3f000), "before the SVM range of 4096 bytes at 0x40000");
}

TEST(AllocationTable, RemembersWhatWasFreedWhenAsked) {
  AllocationTable forgets;
  forgets.remove(forgets.add({.va = 0x10000, .size_bytes = 0x1000}));
  EXPECT_EQ(described(forgets, 0x10010), "");
  AllocationTable keeps(/*keep_freed=*/true);
  keeps.remove(keeps.add({.va = 0x10000, .size_bytes = 0x1000}));
  keeps.add({.va = 0x80000, .size_bytes = 0x1000});
  EXPECT_THAT(described(keeps, 0x10010), HasSubstr("at 0x10000, which was freed"));
  EXPECT_THAT(described(keeps, 0x20000), HasSubstr("before the VRAM buffer"));
}

TEST(AllocationTable, KnowsWhatWasAskedForAndWhatIsNearest) {
  AllocationTable table(/*keep_freed=*/true);
  EXPECT_FALSE(table.nearest({0x10000}));
  const uint64_t id = table.add({.va = 0x10000, .size_bytes = 0x1000});
  table.add({.va = 0x40000, .size_bytes = 0x1000});
  const uint64_t before = table.epoch();
  table.set_requested(0x10000, 100);
  EXPECT_EQ(table.epoch(), before + 1);
  table.set_requested(0x10010, 1);       // none begins there
  table.set_requested(0x40000, 0x1001);  // more than it has: another's number
  EXPECT_EQ(table.lookup({0x10000})->requested_bytes, 100u);
  EXPECT_EQ(table.lookup({0x40000})->requested_bytes, 0u);
  EXPECT_EQ(table.nearest({0x12000})->allocation.va, 0x10000u);
  table.remove(id);
  EXPECT_TRUE(table.nearest({0x10010})->freed);
  EXPECT_EQ(table.nearest({0x10010})->allocation.requested_bytes, 100u);
  EXPECT_EQ(table.nearest({0x12000})->allocation.va, 0x40000u);
  EXPECT_FALSE(table.nearest({0x12000})->freed);
}

TEST(AllocationTable, CanBeReadWhileItChanges) {
  AllocationTable table;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    while (!stop.load()) {
      const uint64_t id = table.add({.va = 0x10000, .size_bytes = 0x1000});
      table.set_mapped(id, 1);
      table.remove(id);
    }
  });
  for (int i = 0; i < 2000; ++i) {
    if (const std::optional<Allocation> found = table.lookup({0x10000})) {
      EXPECT_EQ(found->size_bytes, 0x1000u);
    }
    size_t count = 0;
    table.for_each([&](const Allocation&) { ++count; });
    EXPECT_LE(count, 1u);
  }
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace wavetap::vgpu
