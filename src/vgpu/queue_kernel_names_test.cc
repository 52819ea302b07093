#include "vgpu/queue_kernel_names.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/mman.h>

#include <gtest/gtest.h>

#include "base/scoped_fd.h"
#include "vgpu/guard.h"

namespace wavetap::vgpu {
namespace {

TEST(CodeObjectUri, ReadsFilesWithAndWithoutARange) {
  const auto whole = parse_code_object_uri("file:///tmp/a%20b.co");
  ASSERT_TRUE(whole);
  EXPECT_FALSE(whole->in_memory);
  EXPECT_EQ(whole->path, "/tmp/a b.co");
  EXPECT_EQ(whole->offset, 0u);
  EXPECT_EQ(whole->size_bytes, 0u);
  const auto part = parse_code_object_uri("file:///usr/bin/app#offset=0x2000&size=3000");
  ASSERT_TRUE(part);
  EXPECT_EQ(part->path, "/usr/bin/app");
  EXPECT_EQ(part->offset, 0x2000u);
  EXPECT_EQ(part->size_bytes, 3000u);
}

TEST(CodeObjectUri, ReadsMemory) {
  const auto uri = parse_code_object_uri("memory://1234#offset=0xffff0000&size=16");
  ASSERT_TRUE(uri);
  EXPECT_TRUE(uri->in_memory);
  EXPECT_EQ(uri->pid, 1234u);
  EXPECT_EQ(uri->offset, 0xffff0000u);
  EXPECT_EQ(uri->size_bytes, 16u);
}

TEST(CodeObjectUri, RefusesGarbage) {
  for (const char* text :
       {"", "http://x", "memory://x#offset=1&size=1", "memory://1", "file:///a#offset",
        "file:///a#offset=12z", "memory://1#offset=1&size=-4"}) {
    EXPECT_FALSE(parse_code_object_uri(text)) << text;
  }
}

TEST(LoadedRuntimes, AreNotFilesThatSomebodyReads) {
  const std::vector<LoadedRuntime> found = loaded_runtimes(
      "ffff70000000-ffff70200000 r--p 00000000 08:01 77   /opt/rocm/lib/libhsa-runtime64.so.1\n"
      "ffff80000000-ffff80040000 r--p 00000000 08:01 77   /opt/rocm/lib/libhsa-runtime64.so.1\n"
      "ffff80040000-ffff80100000 r-xp 00040000 08:01 77   /opt/rocm/lib/libhsa-runtime64.so.1\n"
      "ffff80100000-ffff80110000 rw-p 00100000 08:01 77   /opt/rocm/lib/libhsa-runtime64.so.1\n"
      "ffff80200000-ffff80210000 r-xp 00000000 08:01 78   /opt/rocm/lib/libamdhip64.so.5\n"
      "ffff90000000-ffff90200000 r--p 00000000 08:01 77   /opt/rocm/lib/libhsa-runtime64.so.1\n"
      "ffffa0000000-ffffa00c0000 r-xp 00000000 08:01 79   /srv/my libs/libhsa-runtime64.so.1");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].base, 0xffff80000000u);
  EXPECT_EQ(found[0].path, "/opt/rocm/lib/libhsa-runtime64.so.1");
  EXPECT_EQ(found[1].base, 0xffffa0000000u);
  EXPECT_EQ(found[1].path, "/srv/my libs/libhsa-runtime64.so.1");
}

// As when it is being unloaded: what is named in it is not there.
TEST(CodeObjects, ARuntimeThatIsMappedInPartHasNone) {
  glob_t found{};
  const bool any = glob("/usr/lib/*/libhsa-runtime64.so.1", 0, nullptr, &found) == 0;
  const std::string path = any ? found.gl_pathv[0] : "";
  globfree(&found);
  if (!any) GTEST_SKIP() << "no HSA runtime is installed";
  const ScopedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(file.valid());
  constexpr size_t kRoom = 256u << 20, kPart = 64u << 10;
  void* const room = mmap(nullptr, kRoom, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(room, MAP_FAILED);
  ASSERT_EQ(mmap(room, kPart, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file.get(), 0), room);
  arm_guard();
  int objects = 0;
  for_each_code_object([](uint64_t) { return true; }, [&](const LoadedCodeObject&) { ++objects; });
  EXPECT_EQ(objects, 0);
  munmap(room, kRoom);
}

}  // namespace
}  // namespace wavetap::vgpu
