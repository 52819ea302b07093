// Which operations have semantics, and what happens to instructions that may not run.
#include "emu/lower.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "emu/testing/machine.h"

namespace wavetap::emu {
namespace {

// Scalar operations that no supported target has: gfx11.5's floating point on scalars.
bool is_scalar_float(std::string_view name) {
  return name.find("_f16") != std::string_view::npos || name.find("_f32") != std::string_view::npos;
}

TEST(Lowering, EveryScalarOperationHasSemantics) {
  for (int i = 1; i < static_cast<int>(isa::Op::kCount); ++i) {
    isa::Inst inst;
    inst.op = static_cast<isa::Op>(i);
    inst.src[0].kind = isa::OperandKind::kScalar;
    const std::string_view name = isa::op_name(inst.op);
    if (!name.starts_with("s_") || is_scalar_float(name)) continue;
    bool found = false;
    for (const isa::Family family : {isa::Family::kSop, isa::Family::kSopp, isa::Family::kSmem}) {
      inst.family = family;
      found = found || find_handler(inst, {{9, 0, 10}, true}) != nullptr;
    }
    EXPECT_TRUE(found) << name;
  }
}

TEST(Lowering, UndecodableBytesFaultOnlyWhenReached) {
  TestMachine machine;
  ASSERT_TRUE(machine.run("s_branch over\n.long 0xffffffff\nover:\ns_movk_i32 s0, 5"));
  EXPECT_FALSE(machine.faulted());
  EXPECT_EQ(machine.s(0), 5u);
  ASSERT_TRUE(machine.run("s_nop 0\n.long 0xffffffff"));
  ASSERT_TRUE(machine.faulted());
  EXPECT_EQ(machine.wave.fault.kind, FaultKind::kIllegalInstruction);
  EXPECT_EQ(machine.wave.fault.pc.value, TestMachine::kCode + 4);
}

TEST(Lowering, InstructionsWithoutSemanticsAreNamed) {
  TestMachine machine({.target = {10, 3, 0}, .wave64 = false});
  ASSERT_TRUE(machine.run("ds_ordered_count v0, v1 gds"));
  ASSERT_TRUE(machine.faulted());
  EXPECT_EQ(machine.wave.fault.kind, FaultKind::kUnimplemented);
  EXPECT_STREQ(machine.wave.fault.detail, "ds_ordered_count");
}

TEST(Lowering, ChecksEveryKindOfRegisterOperand) {
  TestMachine machine({.target = {9, 0, 10}, .vgprs = 16, .agprs = 8});
  for (const char* text :
       {"v_mov_b32 v16, v0", "v_mov_b32 v0, v16", "v_add_f64 v[0:1], v[2:3], v[16:17]",
        "global_load_dwordx4 v[14:17], v0, s[0:1]", "global_store_dword v16, v0, s[0:1]",
        "ds_write_b64 v0, v[16:17]", "buffer_load_dword v0, v16, s[0:3], 0 offen",
        "v_accvgpr_read_b32 v0, a8", "v_fma_f32 v0, v1, v2, v255"}) {
    ASSERT_TRUE(machine.run(text)) << text;
    ASSERT_TRUE(machine.faulted()) << text;
    EXPECT_EQ(machine.wave.fault.kind, FaultKind::kBadDescriptor) << text;
  }
  ASSERT_TRUE(machine.run("v_mov_b32 v15, v15\nv_accvgpr_read_b32 v15, a7"));
  EXPECT_FALSE(machine.faulted()) << machine.wave.fault.detail;
}

}  // namespace
}  // namespace wavetap::emu
