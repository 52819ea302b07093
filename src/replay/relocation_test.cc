#include "replay/relocation.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace wavetap::replay {
namespace {

constexpr uint64_t kOld = 0x4100000000;
constexpr uint64_t kNew = 0x7f0000000000;
constexpr uint64_t kPage = format::kCapturePageBytes;

CapturedRegion region_at(uint64_t address, uint64_t pages) {
  CapturedRegion region;
  region.record.address = address;
  region.record.size_bytes = pages * kPage;
  return region;
}

std::vector<std::byte> bytes_of(const std::vector<uint64_t>& words) {
  std::vector<std::byte> bytes(words.size() * sizeof(uint64_t));
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

std::vector<uint64_t> words_of(const std::vector<std::byte>& bytes) {
  std::vector<uint64_t> words(bytes.size() / sizeof(uint64_t));
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

TEST(Relocation, AnAddressGoesWhereItsRegionWent) {
  Relocation relocation;
  EXPECT_TRUE(relocation.empty());
  EXPECT_EQ(relocation.to_new(kOld), kOld);
  relocation.move(region_at(kOld, 4), kOld, 4 * kPage, kNew);
  EXPECT_EQ(relocation.to_new(kOld), kNew);
  EXPECT_EQ(relocation.to_new(kOld + 4 * kPage - 1), kNew + 4 * kPage - 1);
  EXPECT_EQ(relocation.to_new(kOld - 1), kOld - 1);
  EXPECT_EQ(relocation.to_new(kOld + 4 * kPage + 1), kOld + 4 * kPage + 1);
  EXPECT_EQ(relocation.regions(), 1u);
}

// A loop runs up to the end of an array, which belongs to nobody or to the array behind it.
TEST(Relocation, TheEndOfAnArrayBelongsToItUnlessAnotherBeginsThere) {
  Relocation relocation;
  relocation.move(region_at(kOld, 1), kOld, kPage, kNew);
  EXPECT_EQ(relocation.to_new(kOld + kPage), kNew + kPage);
  relocation.move(region_at(kOld + kPage, 1), kOld + kPage, kPage, 0x1000);
  EXPECT_EQ(relocation.to_new(kOld + kPage), 0x1000u);
}

// Only the part that is used lies elsewhere; pointers to the rest of the region keep their distance to it.
TEST(Relocation, APartOfARegionTakesTheWholeWithIt) {
  Relocation relocation;
  relocation.move(region_at(kOld, 8), kOld + 2 * kPage, kPage, kNew);
  EXPECT_EQ(relocation.to_new(kOld + 2 * kPage), kNew);
  EXPECT_EQ(relocation.to_new(kOld), kNew - 2 * kPage);
}

TEST(Relocation, WordsThatLookLikePointersAreChangedAndCounted) {
  Relocation relocation;
  std::vector<std::byte> bytes = bytes_of({kOld + 16, 5, kOld + 3 * kPage, kOld - 8, ~uint64_t{0}});
  EXPECT_EQ(relocation.change(kOld, bytes, nullptr), 0u);  // nothing has moved
  relocation.move(region_at(kOld, 4), kOld, 4 * kPage, kNew);
  EXPECT_EQ(relocation.change(kOld, bytes, nullptr), 2u);
  EXPECT_EQ(words_of(bytes),
            (std::vector<uint64_t>{kNew + 16, 5, kNew + 3 * kPage, kOld - 8, ~uint64_t{0}}));
  relocation.change_back(kOld, bytes);
  EXPECT_EQ(words_of(bytes),
            (std::vector<uint64_t>{kOld + 16, 5, kOld + 3 * kPage, kOld - 8, ~uint64_t{0}}));
}

// Alignment is that of the captured address, not of the copy.
TEST(Relocation, OnlyAlignedWordsArePointers) {
  Relocation relocation;
  relocation.move(region_at(kOld, 4), kOld, 4 * kPage, kNew);
  std::vector<std::byte> bytes(4 + 2 * sizeof(uint64_t) + 3);
  const uint64_t pointer = kOld + 64;
  std::memcpy(bytes.data() + 4, &pointer, sizeof pointer);
  std::vector<std::byte> same = bytes;
  EXPECT_EQ(relocation.change(kOld + 8, same, nullptr), 0u);  // at +12
  EXPECT_EQ(same, bytes);
  EXPECT_EQ(relocation.change(kOld + 4, bytes, nullptr), 1u);  // at +8
  uint64_t changed = 0;
  std::memcpy(&changed, bytes.data() + 4, sizeof changed);
  EXPECT_EQ(changed, kNew + 64);
}

TEST(Relocation, WordsThatTheKernelDoesNotReadStay) {
  Relocation relocation;
  relocation.move(region_at(kOld, 4), kOld, 4 * kPage, kNew);
  std::vector<format::CaptureTouchedPage> touched(1);
  touched[0].address = kOld;
  touched[0].read[0] = 0xff00 | 0x7f;  // the second word; of the first all bytes but one
  std::vector<std::byte> bytes = bytes_of({kOld, kOld, kOld});
  EXPECT_EQ(relocation.change(kOld, bytes, &touched), 1u);
  EXPECT_EQ(words_of(bytes), (std::vector<uint64_t>{kOld, kNew, kOld}));
  std::vector<std::byte> elsewhere = bytes_of({kOld});
  EXPECT_EQ(relocation.change(kOld + kPage, elsewhere, &touched), 0u);
}

// Two regions whose unused parts overlap in the new place: what really lies there decides.
TEST(Relocation, GoingBackPrefersTheMemoryThatIsThere) {
  Relocation relocation;
  relocation.move(region_at(kOld, 8), kOld, kPage, kNew);
  relocation.move(region_at(2 * kOld, 8), 2 * kOld, kPage, kNew + kPage);
  std::vector<std::byte> bytes = bytes_of({kNew + 8, kNew + kPage + 8});
  relocation.change_back(kOld, bytes);
  EXPECT_EQ(words_of(bytes), (std::vector<uint64_t>{kOld + 8, 2 * kOld + 8}));
}

}  // namespace
}  // namespace wavetap::replay
