#include "sanitize/undefined_bits.h"

#include <gtest/gtest.h>

namespace wavetap::sanitize::undefined_bits_test {
namespace {

using isa::Op;

struct Source {
  uint64_t undefined = 0;
  uint64_t value = 0;
};

uint32_t bits_of(Op op, Source a, Source b = {}, Source c = {}) {
  const SourceBits of{{a.undefined, b.undefined, c.undefined}, {a.value, b.value, c.value}};
  uint64_t result = 0;
  EXPECT_TRUE(find_undefined_bits(op, of, &result));
  return static_cast<uint32_t>(result);
}

TEST(UndefinedBits, MasksAndShiftsTakeOutWhatIsDefined) {
  const Source upper{0xffff'ff00, 0x41};  // one byte that was written
  EXPECT_EQ(bits_of(Op::v_and_b32, {0, 0xff}, upper), 0u);
  EXPECT_EQ(bits_of(Op::v_and_b32, {0, 0x1ff}, upper), 0x100u);
  EXPECT_EQ(bits_of(Op::v_or_b32, {0, 0xffff'0000}, upper), 0xff00u);
  EXPECT_EQ(bits_of(Op::v_lshlrev_b32, {0, 24}, upper), 0u);
  EXPECT_EQ(bits_of(Op::v_lshrrev_b32, {0, 8}, upper), 0x00ff'ffffu);
  EXPECT_EQ(bits_of(Op::v_ashrrev_i32, {0, 8}, upper), 0xffff'ffffu);
  EXPECT_EQ(bits_of(Op::s_lshr_b32, upper, {0, 28}), 0xfu);
  EXPECT_EQ(bits_of(Op::v_lshrrev_b32, {1, 0}, {0, 5}), 0xffff'ffffu);  // nobody knows how far
  EXPECT_EQ(bits_of(Op::v_bfe_u32, upper, {0, 4}, {0, 8}), 0xf0u);
  EXPECT_EQ(bits_of(Op::v_bfe_i32, upper, {0, 4}, {0, 8}), 0xffff'fff0u);
  EXPECT_EQ(bits_of(Op::s_bfe_u32, upper, {0, 0x8'0000}), 0u);
  EXPECT_EQ(bits_of(Op::s_sext_i32_i8, upper), 0u);
  EXPECT_EQ(bits_of(Op::v_bfi_b32, {0, 0xff}, upper, {0, 7}), 0u);
  EXPECT_EQ(bits_of(Op::v_and_or_b32, upper, {0, 0xf0}, {0xf00, 0}), 0xf00u);
}

TEST(UndefinedBits, BytesAreTakenFromTwoRegisters) {
  const Source high{0xff00'0000, 0};
  const Source low{0x0000'00ff, 0};
  EXPECT_EQ(bits_of(Op::v_perm_b32, high, low, {0, 0x0706'0100}), 0xff00'00ffu);
  EXPECT_EQ(bits_of(Op::v_perm_b32, high, low, {0, 0x0c05'0201}), 0u);
  EXPECT_EQ(bits_of(Op::v_perm_b32, high, low, {0, 0x0000'000b}), 0xffff'ffffu);
  EXPECT_EQ(bits_of(Op::v_alignbyte_b32, high, low, {0, 1}), 0u);
  EXPECT_EQ(bits_of(Op::v_alignbit_b32, high, low, {0, 4}), 0xfu);
  EXPECT_EQ(bits_of(Op::s_pack_lh_b32_b16, low, high), 0xff00'00ffu);
}

TEST(UndefinedBits, SumsDependOnWhatIsBelow) {
  EXPECT_EQ(bits_of(Op::v_add_u32, {0xff00, 0}, {0, 5}), 0xffff'ff00u);
  EXPECT_EQ(bits_of(Op::v_mul_u32_u24, {0xff00'0000, 3}, {0, 5}), 0u);
  EXPECT_EQ(bits_of(Op::v_lshl_add_u32, {0xff00, 0}, {0, 16}, {0, 1}), 0xff00'0000u);
  EXPECT_EQ(bits_of(Op::v_cvt_f32_ubyte1, {0xff, 0}), 0u);
  EXPECT_EQ(bits_of(Op::v_cvt_f32_ubyte1, {0xff00, 0}), 0xffff'ffffu);
  uint64_t result = 0;
  EXPECT_FALSE(find_undefined_bits(Op::v_mul_f32, {}, &result));
  EXPECT_TRUE(hands_on_bits(Op::v_perm_b32));
  EXPECT_FALSE(hands_on_bits(Op::v_add_u32));
}

}  // namespace
}  // namespace wavetap::sanitize::undefined_bits_test
