#include "replay/kernel_argument.h"

#include <gtest/gtest.h>

#include <cstring>

namespace wavetap::replay {
namespace {

template <class T>
T value_of(const std::string& text) {
  const Result<KernelArgument> argument = parse_argument(text);
  EXPECT_TRUE(argument.ok()) << text;
  T value{};
  EXPECT_EQ(argument->bytes.size(), sizeof(T)) << text;
  if (argument->bytes.size() == sizeof(T)) std::memcpy(&value, argument->bytes.data(), sizeof(T));
  return value;
}

TEST(KernelArgument, ReadsScalarsOfEveryType) {
  EXPECT_EQ(value_of<int32_t>("i32:-7"), -7);
  EXPECT_EQ(value_of<int32_t>("i32:0xffffffff"), -1);
  EXPECT_EQ(value_of<uint8_t>("u8:255"), 255);
  EXPECT_EQ(value_of<uint64_t>("u64:0x123456789abcdef0"), 0x123456789abcdef0u);
  EXPECT_EQ(value_of<float>("f32:1.5"), 1.5f);
  EXPECT_EQ(value_of<double>("f64:-1e300"), -1e300);
}

TEST(KernelArgument, RefusesWhatDoesNotFit) {
  for (const char* text :
       {"u8:256", "i32:", "i32:1x", "f32:abc", "q:1", "i32", "buf:0", "buf:x", "buf:4:what",
        "buf:4:fill.f32=", "buf:4:iota.q", "raw:1", "raw:zz", "raw:"}) {
    EXPECT_FALSE(parse_argument(text).ok()) << text;
  }
}

TEST(KernelArgument, FillsBuffers) {
  const auto dump = [](const std::string& text, const std::string& type) {
    const Result<KernelArgument> argument = parse_argument(text);
    EXPECT_TRUE(argument.ok() && argument->is_buffer) << text;
    return *format_elements(argument->bytes, type, 4);
  };
  using Strings = std::vector<std::string>;
  EXPECT_EQ(dump("buf:1k", "i32"), (Strings{"0", "0", "0", "0"}));
  EXPECT_EQ(dump("buf:16:iota", "i32"), (Strings{"0", "1", "2", "3"}));
  EXPECT_EQ(dump("buf:16:iota.f32", "f32"), (Strings{"0", "1", "2", "3"}));
  EXPECT_EQ(dump("buf:8:fill.f32=2.5", "f32"), (Strings{"2.5", "2.5"})) << "no more than there is";
  EXPECT_EQ(dump("buf:16:random=3", "u32"), dump("buf:16:random=3", "u32"));
  EXPECT_NE(dump("buf:16:random=3", "u32"), dump("buf:16:random=4", "u32"));
}

TEST(KernelArgument, TakesRawBytes) {
  const Result<KernelArgument> argument = parse_argument("raw:01ff");
  ASSERT_TRUE(argument.ok());
  EXPECT_EQ(argument->bytes, (std::vector<std::byte>{std::byte{1}, std::byte{0xff}}));
}

}  // namespace
}  // namespace wavetap::replay
