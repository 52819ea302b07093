#include "replay/rocm_memory.h"

#include <sys/mman.h>

#include <gtest/gtest.h>

namespace wavetap::replay {
namespace {

constexpr uint64_t kPage = format::kCapturePageBytes;
constexpr uint64_t kBase = 0x4100000000;

CapturedRegion region_of(format::CaptureMemoryKind kind, uint32_t flags = 0) {
  CapturedRegion region;
  region.record.kind = kind;
  region.record.flags = flags;
  return region;
}

// HIP cuts small buffers from one allocation; a capture through the recorder's queue sees them as regions.
TEST(RocmMemory, NeighboursArePlacedTogether) {
  const CapturedRegion vram = region_of(format::CaptureMemoryKind::kVram);
  const CapturedRegion host = region_of(format::CaptureMemoryKind::kGtt);
  const CapturedRegion fine =
      region_of(format::CaptureMemoryKind::kVram, format::kCaptureFineGrained);
  const auto at = [](uint64_t page, const CapturedRegion* region) {
    return AddressRange{kBase + page * kPage, kBase + (page + 1) * kPage, region};
  };
  // In any order: side by side, a small gap, a large one, other kinds of memory right behind.
  const std::vector<AddressRange> pieces =
      pieces_to_place({at(1000, nullptr), at(1, &vram), at(0, &vram), at(3, nullptr), at(4, &host),
                       at(5, &fine), at(6, &vram)});
  ASSERT_EQ(pieces.size(), 5u);
  EXPECT_EQ(pieces[0].begin, kBase);
  EXPECT_EQ(pieces[0].end, kBase + 4 * kPage);
  EXPECT_EQ(pieces[0].region, &vram);
  EXPECT_EQ(pieces[1].region, &host);
  EXPECT_EQ(pieces[2].region, &fine);
  EXPECT_EQ(pieces[3].region, &vram);
  EXPECT_EQ(pieces[4].begin, kBase + 1000 * kPage);
  EXPECT_TRUE(pieces_to_place({}).empty());
}

TEST(RocmMemory, HeldRangesAreNamedAndGivenBack) {
  void* const place = ::mmap(nullptr, 4 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(place, MAP_FAILED);
  ::munmap(place, 4 * kPage);
  const auto begin = reinterpret_cast<uint64_t>(place);
  const AddressRange first{begin, begin + kPage, nullptr};
  const AddressRange all{begin, begin + 4 * kPage, nullptr};
  EXPECT_EQ(holder_of(first, /*with_reserved=*/true), "");
  HeldRanges held;
  held.hold({first});
  EXPECT_NE(holder_of(first, /*with_reserved=*/true), "");
  EXPECT_EQ(holder_of(first, /*with_reserved=*/false), "");
  HeldRanges others;
  others.hold({all});  // part of it is taken: left alone
  others.release(all);
  EXPECT_NE(holder_of(first, /*with_reserved=*/true), "");
  held.release(first);
  EXPECT_EQ(holder_of(first, /*with_reserved=*/true), "");
}

}  // namespace
}  // namespace wavetap::replay
