// Footprints of small kernels, compared. tests/sanitize/stream_races.hip has whole programs.
#include "sanitize/footprint.h"

#include <gtest/gtest.h>

#include "emu/testing/kernel.h"

namespace wavetap::sanitize::footprint_test {
namespace {

using emu::TestKernel;

// v1 = 4 * lane, s[6:7] = the data.
FootprintMarks run(const std::string& text) {
  Footprint footprint;
  TestKernel kernel(
      {}, "s_load_dwordx2 s[6:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_lshlrev_b32 v1, 2, v0\n" +
              text + "\ns_endpgm\n");
  kernel.memory.write(TestKernel::kArguments, TestKernel::kData);
  kernel.set_size(64, 64);
  emu::Watcher* watchers[] = {&footprint};
  kernel.dispatch.watchers = watchers;
  emu::Engine engine({.threads = 1});
  EXPECT_FALSE(engine.run(kernel.dispatch).fault);
  return footprint.take();
}

const char kStore[] = "global_store_dword v1, v0, s[6:7]\n";
const char kLoad[] = "global_load_dword v2, v1, s[6:7]\n";
const char kLoadPastCache[] = "global_load_dword v2, v1, s[6:7] glc\n";
const char kAtomic[] = "global_atomic_add v1, v0, s[6:7]\n";
const char kStoreBehind[] = "global_store_dword v1, v0, s[6:7] offset:256\n";
const char kStoreLastBytes[] = "global_store_byte v1, v0, s[6:7] offset:255\n";

std::optional<Kind> kind_of(const std::string& earlier, const std::string& later) {
  const std::optional<FootprintConflict> found = find_conflict(run(earlier), run(later));
  return found ? std::optional(found->kind) : std::nullopt;
}

TEST(Footprint, WhatBothTouchAndOneOfThemWrites) {
  EXPECT_EQ(kind_of(kStore, kStore), Kind::kWriteAfterWrite);
  EXPECT_EQ(kind_of(kStore, kLoad), Kind::kReadAfterWrite);
  EXPECT_EQ(kind_of(kLoad, kStore), Kind::kWriteAfterRead);
  EXPECT_EQ(kind_of(kAtomic, kStore), Kind::kAtomicAndPlain);
  EXPECT_EQ(kind_of(kLoad, kLoad), std::nullopt);
  EXPECT_EQ(kind_of(kStore, kStoreBehind), std::nullopt);
}

TEST(Footprint, CountsBytesAndNamesTheInstruction) {
  const FootprintMarks earlier = run(std::string(kStoreBehind) + kStore);
  const FootprintMarks later = run(kStoreLastBytes);
  const std::optional<FootprintConflict> found = find_conflict(earlier, later);
  ASSERT_TRUE(found);
  // One byte at 255, and one in each dword of those behind but the last.
  EXPECT_EQ(found->address, TestKernel::kData + 255);
  EXPECT_EQ(found->bytes, 64u);
  const Place& first = earlier.site_at(found->address, found->earlier);
  const Place& behind = earlier.site_at(found->address + 4, found->earlier);
  EXPECT_EQ(first.pc.value - behind.pc.value, 8u);
  EXPECT_EQ(later.site_at(found->address, found->later).size_bytes, 1u);
}

TEST(Footprint, WhoMayLearnFromTheOtherIsLeftAlone) {
  EXPECT_EQ(kind_of(kAtomic, kAtomic), std::nullopt);
  EXPECT_EQ(kind_of(std::string(kAtomic) + kStoreBehind, std::string(kAtomic) + kStoreBehind),
            std::nullopt);
  EXPECT_EQ(kind_of(kStore, kLoadPastCache), std::nullopt);
  EXPECT_EQ(kind_of(kStoreBehind, std::string(kLoadPastCache) + kStoreBehind),
            Kind::kWriteAfterWrite);
}

// 256 bytes, as kStore and kLoad touch them, and what lies behind.
constexpr MovedRange kRead{TestKernel::kData, 4096, false};
constexpr MovedRange kWrite{TestKernel::kData, 4096, true};
constexpr MovedRange kWriteBehind{TestKernel::kData + 256, 4096, true};

TEST(Footprint, KernelsAndCopies) {
  const auto kind = [](const std::optional<FootprintConflict>& found) {
    return found ? std::optional(found->kind) : std::nullopt;
  };
  const std::span read(&kRead, 1), write(&kWrite, 1), behind(&kWriteBehind, 1);
  EXPECT_EQ(kind(find_conflict(run(kStore), write)), Kind::kWriteAfterWrite);
  EXPECT_EQ(kind(find_conflict(run(kStore), read)), Kind::kReadAfterWrite);
  EXPECT_EQ(kind(find_conflict(read, run(kStore))), Kind::kWriteAfterRead);
  EXPECT_EQ(kind(find_conflict(write, run(kLoad))), Kind::kReadAfterWrite);
  EXPECT_EQ(kind(find_conflict(run(kAtomic), read)), Kind::kAtomicAndPlain);
  EXPECT_EQ(kind(find_conflict(run(kLoad), read)), std::nullopt);
  EXPECT_EQ(kind(find_conflict(run(kLoad), behind)), std::nullopt);
  // A flag that a copy sets.
  EXPECT_EQ(kind(find_conflict(write, run(kLoadPastCache))), std::nullopt);
  EXPECT_EQ(find_conflict(run(kStore), write)->bytes, 256u);
}

TEST(Footprint, CopiesAndCopies) {
  const MovedRange first[] = {kRead, {0x1000, 64, true}};
  const MovedRange then[] = {{0x1020, 64, true}, {0x2000, 64, false}};
  const std::optional<FootprintConflict> found = find_conflict(first, then);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, Kind::kWriteAfterWrite);
  EXPECT_EQ(found->address, 0x1020u);
  EXPECT_EQ(found->bytes, 32u);
  EXPECT_FALSE(find_conflict(first, std::span(then).subspan(1)));
}

TEST(Footprint, PiecesOfACopyAreOneRange) {
  std::vector<MovedRange> ranges;
  for (uint64_t piece = 0; piece < 3; ++piece) {
    add_range(ranges, {0x1000 + piece * 64, 64, false});
    add_range(ranges, {0x9000 + piece * 64, 64, true});
  }
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].size_bytes, 192u);
  EXPECT_EQ(ranges[1].end(), 0x9000u + 192);
}

}  // namespace
}  // namespace wavetap::sanitize::footprint_test
