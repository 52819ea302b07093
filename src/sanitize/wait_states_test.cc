// Wait states on single kernels: each rule with one wait state too few, and with just enough. tests/sanitize
// has compiled code.
#include "sanitize/wait_states.h"

#include <gtest/gtest.h>

#include "emu/testing/kernel.h"

namespace wavetap::sanitize::wait_states_test {
namespace {

using emu::TestKernel;

constexpr amd::GfxTarget kGfx908{9, 0, 8};
constexpr amd::GfxTarget kGfx90a{9, 0, 10};
constexpr amd::GfxTarget kGfx942{9, 4, 2};
constexpr amd::GfxTarget kGfx1030{10, 3, 0};

std::vector<Finding> run(const std::string& text, amd::GfxTarget target) {
  TestKernel::Options options;
  options.target = target;
  options.wave64 = target.major < 10;
  options.vgpr_granules = 16;
  TestKernel kernel(options, "s_endpgm");
  const std::string code =
      "s_load_dwordx2 s[6:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v24, s6\ns_nop 7\n" +
      text + "\ns_endpgm\n";
  EXPECT_TRUE(kernel.set_code(code)) << text;
  kernel.memory.write(TestKernel::kArguments, TestKernel::kData);
  kernel.set_size(64, 64);
  kernel.dispatch.group_segment_bytes = 1024;
  WaitStates check;
  emu::Watcher* watchers[] = {&check};
  kernel.dispatch.watchers = watchers;
  emu::Engine engine({.threads = 1});
  EXPECT_FALSE(engine.run(kernel.dispatch).fault) << text;
  uint64_t dropped = 0;
  return check.findings().take(&dropped);
}

std::string nops(uint32_t states) {
  std::string text;
  for (; states > 8; states -= 8) text += "s_nop 7\n";
  return states == 0 ? text : text + "s_nop " + std::to_string(states - 1) + "\n";
}

// `second` needs exactly this many wait states after `first`.
void expect_states(amd::GfxTarget target, const std::string& first, const std::string& second,
                   uint32_t states) {
  const std::string name = first + " -> " + second;
  EXPECT_EQ(run(first + "\n" + nops(states) + second, target).size(), 0u) << name;
  if (states == 0) return;
  const std::vector<Finding> found = run(first + "\n" + nops(states - 1) + second, target);
  ASSERT_EQ(found.size(), 1u) << name;
  EXPECT_EQ(found[0].kind, Kind::kMissingWaitState) << name;
  EXPECT_NE(found[0].detail.find(std::to_string(states - 1) + " wait state"), std::string::npos)
      << found[0].detail;
  EXPECT_NE(found[0].detail.find(std::to_string(states) + " are needed: s_nop 0 before it"),
            std::string::npos)
      << found[0].detail;
}

TEST(WaitStatesTest, NamesBothInstructionsAndTheNop) {
  const std::vector<Finding> found =
      run("v_mfma_f32_4x4x1f32 v[4:7], v0, v1, 0\nv_mov_b32 v9, v5", kGfx90a);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].detail, "v5 is read 0 wait states after; 5 are needed: s_nop 4 before it");
  EXPECT_EQ(found[0].place.pc.value - found[0].other.pc.value, 8u);
  EXPECT_STREQ(found[0].other_role, "after");
  EXPECT_EQ(found[0].place.lanes, ~uint64_t{0});
}

TEST(WaitStatesTest, ScalarsThatVectorInstructionsWrite) {
  for (const amd::GfxTarget target : {kGfx908, kGfx90a, kGfx942}) {
    expect_states(target, "v_readfirstlane_b32 s6, v24", "global_load_dword v9, v0, s[6:7]", 5);
    expect_states(target, "v_cmp_eq_u32 vcc, v0, v0", "v_div_fmas_f32 v9, v1, v1, v1", 4);
    expect_states(target, "v_readfirstlane_b32 s8, v24", "v_readlane_b32 s9, v1, s8", 4);
    expect_states(target, "v_readfirstlane_b32 s8, v24", "v_writelane_b32 v9, 0, s8", 4);
    expect_states(target, "s_mov_b32 s6, s6", "global_load_dword v9, v0, s[6:7]", 0);
  }
  expect_states(kGfx942, "v_readfirstlane_b32 s8, v24", "v_mov_b32 v9, s8", 2);
  expect_states(kGfx90a, "v_readfirstlane_b32 s8, v24", "v_mov_b32 v9, s8", 0);
  expect_states(kGfx1030, "v_readfirstlane_b32 s8, v24", "v_readlane_b32 s9, v1, s8", 0);
}

TEST(WaitStatesTest, MovesBetweenLanesAndModes) {
  for (const amd::GfxTarget target : {kGfx908, kGfx90a, kGfx942}) {
    const std::string dpp = "v_mov_b32_dpp v9, v8 row_shl:1 row_mask:0xf bank_mask:0xf";
    expect_states(target, "v_mov_b32 v8, 0", dpp, 2);
    expect_states(target, "v_cmpx_eq_u32 vcc, v0, v0", dpp, 5);
    expect_states(target, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0",
                  "s_getreg_b32 s8, hwreg(HW_REG_MODE)", 2);
    expect_states(target, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0",
                  "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 15", 2);
    expect_states(target, "global_store_dwordx4 v0, v[4:7], s[6:7]", "v_mov_b32 v5, 0",
                  target == kGfx942 ? 2 : 1);
    expect_states(target, "global_store_dwordx2 v0, v[4:5], s[6:7]", "v_mov_b32 v5, 0", 0);
  }
  expect_states(kGfx942, "v_rcp_f32 v8, v0", "v_add_f32 v9, v8, v8", 1);
  expect_states(kGfx942, "v_rcp_f32 v8, v0", "v_rcp_f32 v9, v8", 0);
  expect_states(kGfx942, "v_cmpx_eq_u32 vcc, v0, v0", "v_readfirstlane_b32 s9, v1", 4);
}

TEST(WaitStatesTest, OperandsAndResultsOfMatrixInstructionsOfGfx90a) {
  const std::string small = "v_mfma_f32_4x4x1f32 v[4:7], v0, v1, 0";
  const std::string middle = "v_mfma_f32_16x16x4f32 a[4:7], v0, v1, 0";
  const std::string large = "v_mfma_f32_32x32x2f32 a[0:15], v0, v1, 0";
  const std::string doubles = "v_mfma_f64_16x16x4f64 v[4:11], v[0:1], v[2:3], 0";
  expect_states(kGfx90a, "v_mov_b32 v0, 0", small, 2);
  expect_states(kGfx90a, "v_cmpx_eq_u32 vcc, v0, v0", small, 4);
  expect_states(kGfx90a, small, "v_mov_b32 v20, v7", 5);
  expect_states(kGfx90a, middle, "v_accvgpr_read_b32 v20, a7", 11);
  expect_states(kGfx90a, large, "v_accvgpr_read_b32 v20, a3", 19);
  expect_states(kGfx90a, large, "global_store_dword v0, a3, s[6:7]", 19);
  expect_states(kGfx90a, large, "ds_write_b32 v0, a3", 19);
  expect_states(kGfx90a, large, "v_accvgpr_write_b32 a2, v30", 19);
  expect_states(kGfx90a, doubles, "v_mov_b32 v20, v8", 11);
  expect_states(kGfx90a, doubles, "global_store_dword v0, v8, s[6:7]", 18);
  expect_states(kGfx90a, doubles, "v_fma_f64 v[20:21], v[22:23], v[24:25], v[26:27]", 2);
  // The accumulator of the next one, whole or in part, and its operands.
  expect_states(kGfx90a, small, "v_mfma_f32_4x4x1f32 v[4:7], v0, v1, v[4:7]", 0);
  expect_states(kGfx90a, middle, "v_mfma_f32_16x16x4f32 a[8:11], v0, v1, a[6:9]", 8);
  expect_states(kGfx90a, small, "v_mfma_f32_4x4x1f32 v[20:23], v5, v1, 0", 5);
  // What it reads is not free yet.
  expect_states(kGfx90a, "v_mfma_f32_32x32x2f32 a[0:15], v0, v1, a[16:31]",
                "v_accvgpr_write_b32 a17, v30", 15);
}

TEST(WaitStatesTest, OperandsAndResultsOfMatrixInstructionsOfOthers) {
  const std::string large = "v_mfma_f32_32x32x2f32 a[0:15], v0, v1, a[16:31]";
  const std::string small = "v_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[16:19]";
  expect_states(kGfx908, "v_mov_b32 v0, 0", small, 2);
  expect_states(kGfx908, large, "v_accvgpr_read_b32 v20, a3", 18);
  expect_states(kGfx908, small, "v_accvgpr_read_b32 v20, a3", 4);
  expect_states(kGfx908, small, "v_accvgpr_write_b32 a3, v20", 1);
  expect_states(kGfx908, "v_accvgpr_write_b32 a3, v20",
                "v_mfma_f32_4x4x1f32 a[4:7], v0, v1, a[0:3]", 1);
  expect_states(kGfx908, "v_accvgpr_write_b32 a3, v20", "v_accvgpr_read_b32 v21, a3", 3);
  expect_states(kGfx908, "v_accvgpr_read_b32 v20, a3", "global_store_dword v0, v20, s[6:7]", 2);
  expect_states(kGfx942, "v_mfma_f32_16x16x16_f16 v[4:7], v[0:1], v[2:3], 0", "v_mov_b32 v20, v7",
                7);
  expect_states(kGfx942, "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], 0",
                "v_accvgpr_read_b32 v20, a7", 11);
  expect_states(kGfx942, "v_mfma_f32_32x32x2_f32 a[0:15], v0, v1, 0", "v_accvgpr_read_b32 v20, a7",
                18);
}

TEST(WaitStatesTest, AnotherWriteEndsIt) {
  EXPECT_EQ(run("v_readfirstlane_b32 s6, v24\ns_mov_b32 s6, s7\ns_mov_b32 s6, 0\n"
                "v_mov_b32 v9, s6\ns_load_dword s9, s[0:1], 0x0",
                kGfx90a)
                .size(),
            0u);
  EXPECT_EQ(run("v_readfirstlane_b32 s10, v24\ns_mov_b32 s10, s6\ns_mov_b32 s11, s7\n"
                "global_load_dword v9, v0, s[10:11]",
                kGfx90a)
                .size(),
            0u);
}

TEST(WaitStatesTest, OnlyWaysThatAreTakenCount) {
  // The short way round is never taken.
  const std::string skip =
      "v_readfirstlane_b32 s8, v24\ns_cmp_eq_u32 s6, s6\ns_cbranch_scc0 there\ns_nop 7\nthere:\n"
      "v_readlane_b32 s9, v1, s8";
  EXPECT_EQ(run(skip, kGfx90a).size(), 0u);
  // Round a loop, the second time.
  const std::vector<Finding> loop =
      run("s_mov_b32 s8, 0\ns_movk_i32 s10, 0x2\nloop:\nv_readlane_b32 s9, v1, s8\n"
          "v_readfirstlane_b32 s8, v24\ns_sub_u32 s10, s10, 1\ns_cmp_lg_u32 s10, 0\n"
          "s_cbranch_scc1 loop",
          kGfx90a);
  ASSERT_EQ(loop.size(), 1u);
  EXPECT_EQ(loop[0].times, 1u);
}

}  // namespace
}  // namespace wavetap::sanitize::wait_states_test
