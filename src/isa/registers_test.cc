#include "isa/registers.h"

#include <gtest/gtest.h>

#include "isa/dump.h"

namespace wavetap::isa {
namespace {

TEST(Registers, NamesOfLlvmBecomeOperands) {
  EXPECT_EQ(dump(register_operand("VGPR7")), "v7");
  EXPECT_EQ(dump(register_operand("VGPR4_VGPR5_VGPR6")), "v[4:6]");
  EXPECT_EQ(dump(register_operand("AGPR255")), "a255");
  EXPECT_EQ(dump(register_operand("SGPR10_SGPR11")), "s[10:11]");
  EXPECT_EQ(dump(register_operand("TTMP4_TTMP5_gfx9plus")), "ttmp:t[4:5]");
  EXPECT_EQ(dump(register_operand("VCC")), "vcc");
  EXPECT_EQ(dump(register_operand("FLAT_SCR_vi")), "flat_scratch");
  EXPECT_EQ(dump(register_operand("SRC_SHARED_BASE_LO")), "shared_base_lo");
  EXPECT_EQ(dump(register_operand("VGPR3_HI16")), "v3.w1");
  EXPECT_EQ(dump(register_operand("VGPR3_LO16")), "v3");
}

// gfx11 swaps the encodings of m0 and null; the slots do not change.
TEST(Registers, M0AndNullHaveOneSlotOnEveryTarget) {
  for (const char* name : {"M0", "M0_gfxpre11", "M0_gfx11plus"})
    EXPECT_EQ(register_operand(name).index, slot::kM0);
  for (const char* name : {"SGPR_NULL", "SGPR_NULL_gfxpre11", "SGPR_NULL_gfx11plus"})
    EXPECT_EQ(register_operand(name).index, slot::kNull);
}

TEST(Registers, WhatIsNotModelledIsNoOperand) {
  for (const char* name : {"", "NoRegister", "PRIVATE_RSRC_REG", "SGPR", "MODE"})
    EXPECT_TRUE(register_operand(name).is(OperandKind::kNone)) << name;
}

}  // namespace
}  // namespace wavetap::isa
