#include "vgpu/queue_kernel_names.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace wavetap::vgpu
