#include "vgpu/user_copy.h"

#include <sys/mman.h>

#include <cstring>

#include <gtest/gtest.h>

namespace wavetap::vgpu {
namespace {

TEST(UserCopy, MovesBytesBothWays) {
  char source[] = "hello";
  char target[6] = {};
  EXPECT_TRUE(copy_from_user(target, reinterpret_cast<uint64_t>(source), sizeof source));
  EXPECT_STREQ(target, "hello");
  EXPECT_TRUE(copy_to_user(reinterpret_cast<uint64_t>(target), "world", 6));
  EXPECT_STREQ(target, "world");
}

TEST(UserCopy, FailsOnAddressesThatAreNotThere) {
  char byte = 0;
  EXPECT_FALSE(copy_from_user(&byte, 0, 1));
  EXPECT_FALSE(copy_from_user(&byte, 16, 1));
  EXPECT_FALSE(copy_from_user(&byte, ~0ull, 1));
  EXPECT_FALSE(copy_to_user(16, &byte, 1));
  EXPECT_TRUE(copy_from_user(&byte, 16, 0)) << "nothing to copy";
}

TEST(UserCopy, FailsWhenTheRangeEndsEarlyOrIsReadOnly) {
  char* pages = static_cast<char*>(
      ::mmap(nullptr, 0x2000 << 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  const size_t half = 0x1000 << 4;
  ::mprotect(pages + half, half, PROT_READ);
  char buffer[64] = {};
  const uint64_t edge = reinterpret_cast<uint64_t>(pages + half - 32);
  EXPECT_TRUE(copy_from_user(buffer, edge, 64));
  EXPECT_FALSE(copy_to_user(edge, buffer, 64));
  ::munmap(pages + half, half);
  EXPECT_FALSE(copy_from_user(buffer, edge, 64));
  ::munmap(pages, half);
}

}  // namespace
}  // namespace wavetap::vgpu
