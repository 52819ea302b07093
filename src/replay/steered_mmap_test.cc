#include "replay/steered_mmap.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

namespace wavetap::replay {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMiB = 1 << 20;

class SteeredMmapTest : public ::testing::Test {
 protected:
  void SetUp() override {
    void* const library = dlopen(WT_CHOOSING_LIBRARY, RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    choose = reinterpret_cast<void* (*)(uint64_t)>(dlsym(library, "choose"));
    ASSERT_NE(choose, nullptr);
    // Free addresses, aligned to 2 MiB, with free ones around them.
    void* const room = mmap(nullptr, 16 * kMiB, PROT_NONE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    ASSERT_NE(room, MAP_FAILED);
    munmap(room, 16 * kMiB);
    base = (reinterpret_cast<uint64_t>(room) + 4 * kMiB) & ~(2 * kMiB - 1);
  }
  uint64_t chosen(uint64_t size) { return reinterpret_cast<uint64_t>(choose(size)); }

  void* (*choose)(uint64_t) = nullptr;
  uint64_t base = 0;
};

TEST_F(SteeredMmapTest, ThePiecesOfARangeLieWhereTheyShould) {
  SteeredMmap steered(reinterpret_cast<const void*>(choose));
  ASSERT_TRUE(steered.works());
  const uint64_t begin = base + 3 * kPage;
  const uint64_t end = base + 5 * kMiB + 7 * kPage;
  int pieces = 0;
  for (uint64_t at = begin; at < end; ++pieces) {
    const uint64_t size = steerable_bytes(at, end);
    ASSERT_GT(size, 0u);
    steered.aim(at, size);
    ASSERT_EQ(chosen(size), at);
    at += size;
  }
  EXPECT_LT(pieces, 24);
  // All of it is there: the library gave nothing of a neighbour back.
  void* const range = reinterpret_cast<void*>(begin);
  ASSERT_EQ(mprotect(range, end - begin, PROT_READ | PROT_WRITE), 0);
  std::memset(range, 1, end - begin);
  EXPECT_EQ(munmap(range, end - begin), 0);
}

TEST_F(SteeredMmapTest, ATakenAddressIsNotGiven) {
  void* const taken = mmap(reinterpret_cast<void*>(base), kPage, PROT_READ | PROT_WRITE,
                           MAP_ANONYMOUS | MAP_PRIVATE | MAP_FIXED, -1, 0);
  ASSERT_NE(taken, MAP_FAILED);
  std::memset(taken, 7, kPage);
  SteeredMmap steered(reinterpret_cast<const void*>(choose));
  steered.aim(base, 2 * kPage);
  EXPECT_EQ(choose(2 * kPage), nullptr);
  EXPECT_EQ(*static_cast<char*>(taken), 7);
  munmap(taken, kPage);
}

TEST_F(SteeredMmapTest, WhatLiesLowIsNotGivenBackForNothing) {
  auto* const give_nothing_back = reinterpret_cast<int (*)(uint64_t)>(
      dlsym(dlopen(WT_CHOOSING_LIBRARY, RTLD_NOW), "give_nothing_back"));
  ASSERT_NE(give_nothing_back, nullptr);
  constexpr uint64_t kLow = 0x10000;  // the lowest that programs may have
  void* const low = mmap(reinterpret_cast<void*>(kLow), kPage, PROT_READ | PROT_WRITE,
                         MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
  ASSERT_NE(low, MAP_FAILED);
  if (low != reinterpret_cast<void*>(kLow)) {
    munmap(low, kPage);
    GTEST_SKIP() << "the kernel gives no memory at 0x10000";
  }
  {
    SteeredMmap steered(reinterpret_cast<const void*>(choose));
    EXPECT_EQ(give_nothing_back(kLow + kPage), 0);
  }
  unsigned char is_resident = 0;
  EXPECT_EQ(mincore(low, kPage, &is_resident), 0) << "it is gone";
  munmap(low, kPage);
}

TEST_F(SteeredMmapTest, OnlyTheNextChoiceIsOursAndNoneAfterwards) {
  {
    SteeredMmap steered(reinterpret_cast<const void*>(choose));
    steered.aim(base, kPage);
    EXPECT_EQ(chosen(kPage), base);
    const uint64_t another = chosen(kPage);
    EXPECT_NE(another, base);
    EXPECT_NE(another, 0u);
    munmap(reinterpret_cast<void*>(another), kPage);
  }
  munmap(reinterpret_cast<void*>(base), kPage);
  const uint64_t after = chosen(64 * kPage);
  ASSERT_NE(after, 0u);
  EXPECT_EQ(munmap(reinterpret_cast<void*>(after), 64 * kPage), 0);
}

TEST_F(SteeredMmapTest, WhatIsLeftToTheKernelLiesBelowTheLimit) {
  constexpr uint64_t kLimit = uint64_t{1} << 47;
  {
    SteeredMmap low(reinterpret_cast<const void*>(choose));
    low.keep_below(kLimit);
    for (const uint64_t size : {kPage, 5 * kMiB, kPage}) {
      const uint64_t at = chosen(size);
      ASSERT_NE(at, 0u);
      EXPECT_LE(at + size, kLimit);
      EXPECT_EQ(munmap(reinterpret_cast<void*>(at), size), 0);
    }
    {
      SteeredMmap steered(reinterpret_cast<const void*>(choose));
      steered.aim(base, kPage);
      EXPECT_EQ(chosen(kPage), base);
    }
    munmap(reinterpret_cast<void*>(base), kPage);
    const uint64_t at = chosen(kPage);
    EXPECT_LE(at + kPage, kLimit);
    munmap(reinterpret_cast<void*>(at), kPage);
  }
  void* const anywhere = choose(kPage);  // as before
  ASSERT_NE(anywhere, nullptr);
  munmap(anywhere, kPage);
}

}  // namespace
}  // namespace wavetap::replay
