#include "codeobj/msgpack.h"

#include <gtest/gtest.h>

#include <bit>

#include "codeobj/test_support.h"

namespace wavetap::codeobj {
namespace {

test::Buffer bytes(std::initializer_list<int> values) {
  test::Buffer out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

TEST(Msgpack, ReadsNumbersOfEveryWidth) {
  EXPECT_EQ(parse_msgpack(bytes({0x7f}))->as_uint(), 127u);
  EXPECT_EQ(parse_msgpack(bytes({0xff}))->as_uint(), ~uint64_t{0});
  EXPECT_EQ(parse_msgpack(bytes({0xcc, 0xff}))->as_uint(), 255u);
  EXPECT_EQ(parse_msgpack(bytes({0xcd, 1, 2}))->as_uint(), 0x102u);
  EXPECT_EQ(parse_msgpack(bytes({0xce, 1, 2, 3, 4}))->as_uint(), 0x1020304u);
  EXPECT_EQ(parse_msgpack(bytes({0xcf, 1, 2, 3, 4, 5, 6, 7, 8}))->as_uint(), 0x102030405060708u);
  EXPECT_EQ(static_cast<int64_t>(parse_msgpack(bytes({0xd1, 0xff, 0xfe}))->as_uint()), -2);
  EXPECT_EQ(parse_msgpack(bytes({0xc3}))->as_uint(), 1u);
  EXPECT_EQ(std::bit_cast<double>(parse_msgpack(bytes({0xca, 0x3f, 0x80, 0, 0}))->number), 1.0);
  EXPECT_EQ(parse_msgpack(bytes({0xc0}))->as_uint(5), 5u);
}

TEST(Msgpack, ReadsMapsAndArrays) {
  // {"a": [1, "b"], 7: nil}
  const auto buffer = bytes({0x82, 0xa1, 'a', 0x92, 1, 0xa1, 'b', 7, 0xc0});
  const std::optional<MsgpackValue> root = parse_msgpack(buffer);
  ASSERT_TRUE(root);
  const MsgpackValue* list = root->find("a");
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(list->items.size(), 2u);
  EXPECT_EQ(list->items[1].text, "b");
  EXPECT_EQ(root->find("z"), nullptr);
  EXPECT_EQ(root->members.size(), 1u);
}

TEST(Msgpack, RefusesWhatIsCutOrImpossible) {
  EXPECT_FALSE(parse_msgpack({}));
  EXPECT_FALSE(parse_msgpack(bytes({0xc1})));
  EXPECT_FALSE(parse_msgpack(bytes({0xa5, 'a'})));
  EXPECT_FALSE(parse_msgpack(bytes({0xdd, 0xff, 0xff, 0xff, 0xff})));
  EXPECT_FALSE(parse_msgpack(bytes({0xdf, 0xff, 0xff, 0xff, 0xff, 1, 1})));
  EXPECT_FALSE(parse_msgpack(test::Buffer(100, std::byte{0x91})));  // nested too deep
}

}  // namespace
}  // namespace wavetap::codeobj
