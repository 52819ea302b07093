#include "vgpu/capture_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace wavetap::vgpu {
namespace {

constexpr size_t kBytes = 64 << 10;

const std::byte* map(int flags, int fd = -1) {
  void* const at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  return at == MAP_FAILED ? nullptr : static_cast<const std::byte*>(at);
}

void unmap(const std::byte* at) { ::munmap(const_cast<std::byte*>(at), kBytes); }

TEST(CaptureMemory, OnlyPrivateMemoryWithoutAFileBeginsAsZeros) {
  const int fd = ::memfd_create("file", 0);
  ASSERT_EQ(::ftruncate(fd, kBytes), 0);
  const std::byte* const own = map(MAP_PRIVATE | MAP_ANONYMOUS);
  const std::byte* const shared = map(MAP_SHARED | MAP_ANONYMOUS);
  const std::byte* const copied = map(MAP_PRIVATE, fd);
  PrivateMemory memory;
  EXPECT_FALSE(memory.holds(own, kBytes));  // nothing was read
  memory.read();
  EXPECT_TRUE(memory.holds(own, kBytes));
  EXPECT_TRUE(memory.holds(own + 4096, 1));
  EXPECT_FALSE(memory.holds(shared, kBytes));
  EXPECT_FALSE(memory.holds(copied, kBytes));
  EXPECT_FALSE(memory.holds(nullptr, kBytes));
  unmap(own);
  unmap(shared);
  unmap(copied);
  ::close(fd);
}

TEST(CaptureMemory, PrivateMemoryMayHaveSeveralRightsButNoHole) {
  const std::byte* const at = map(MAP_PRIVATE | MAP_ANONYMOUS);
  auto* const begin = const_cast<std::byte*>(at);
  ASSERT_EQ(::mprotect(begin + kBytes / 2, 4096, PROT_READ), 0);
  PrivateMemory memory;
  memory.read();
  EXPECT_TRUE(memory.holds(at, kBytes));
  ASSERT_EQ(::munmap(begin + kBytes / 2, 4096), 0);
  memory.read();
  EXPECT_FALSE(memory.holds(at, kBytes));
  EXPECT_TRUE(memory.holds(at, kBytes / 2));
  unmap(at);
}

}  // namespace
}  // namespace wavetap::vgpu
