#include "replay/private_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace wavetap::replay {
namespace {

// Newer kernels are asked at once, older ones page by page: both ways say the same.
class PrivatePagesFrom : public ::testing::TestWithParam<PrivatePages::Source> {};
INSTANTIATE_TEST_SUITE_P(AllSources, PrivatePagesFrom,
                         ::testing::Values(PrivatePages::Source::kEntries,
                                           PrivatePages::Source::kScan));

TEST_P(PrivatePagesFrom, AreThoseThatWereWritten) {
  const uint64_t page = PrivatePages::page_bytes();
  constexpr uint64_t kPages = 3000;  // more than one question's worth of entries
  const ScopedFd file(static_cast<int>(::memfd_create("test", MFD_CLOEXEC)));
  ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(kPages * page)), 0);
  const PrivatePages written(file.get(), GetParam());
  if (written.source() != GetParam()) GTEST_SKIP() << "this host does not tell so";
  void* memory = ::mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.get(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* bytes = static_cast<std::byte*>(memory);
  std::vector<PrivatePages::Range> found;
  for (uint64_t i = 0; i < kPages; i += 3)
    static_cast<void>(*const_cast<volatile std::byte*>(bytes + i * page));
  ASSERT_TRUE(written.find(bytes, kPages * page, found));
  EXPECT_TRUE(found.empty());
  // Alone, side by side, and many that are far apart; the last one.
  std::vector<uint64_t> wanted = {1, 5, 6, 7};
  for (uint64_t i = 100; i < 2900; i += 20) wanted.push_back(i);
  wanted.push_back(kPages - 1);
  for (const uint64_t i : wanted) bytes[i * page + 7] = std::byte{1};
  ASSERT_TRUE(written.find(bytes, kPages * page, found));
  std::vector<uint64_t> got;
  for (const PrivatePages::Range& range : found)
    for (uint64_t at = range.offset; at < range.offset + range.size_bytes; at += page)
      got.push_back(at / page);
  EXPECT_EQ(got, wanted);
  // A part, counted from its own beginning.
  ASSERT_TRUE(written.find(bytes + 5 * page, 2 * page, found));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].offset, 0u);
  EXPECT_EQ(found[0].size_bytes, 2 * page);
  ::munmap(memory, kPages * page);
}

TEST(PrivatePages, NothingIsKnownWithoutAFile) {
  const PrivatePages none;
  std::vector<PrivatePages::Range> found;
  EXPECT_FALSE(none.works());
  EXPECT_FALSE(none.find(nullptr, 4096, found));
  EXPECT_FALSE(PrivatePages(-1).works());
  const ScopedFd file(static_cast<int>(::memfd_create("test", MFD_CLOEXEC)));
  ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(2 * PrivatePages::page_bytes())), 0);
  EXPECT_FALSE(PrivatePages(file.get(), PrivatePages::Source::kNone).works());
}

}  // namespace
}  // namespace wavetap::replay
