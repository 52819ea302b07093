// Registers that nobody has written: what is reported, and where. tests/sanitize has compiled programs.
#include "sanitize/register_flow.h"

#include <gtest/gtest.h>

#include "emu/testing/kernel.h"
#include "sanitize/initcheck.h"

namespace wavetap::sanitize::register_flow_test {
namespace {

using emu::TestKernel;

// s[6:7] = the data, v1 = 4 * lane.
std::vector<Finding> run(const std::string& text, amd::GfxTarget target = {10, 3, 0}) {
  TestKernel::Options options;
  options.target = target;
  options.wave64 = target.major < 10;
  options.vgpr_granules = 8;
  const std::string code =
      "s_load_dwordx2 s[6:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_lshlrev_b32 v1, 2, v0\n" + text +
      "\ns_endpgm\n";
  TestKernel kernel(options, "s_endpgm");
  EXPECT_TRUE(kernel.set_code(code)) << text;
  kernel.memory.write(TestKernel::kArguments, TestKernel::kData);
  kernel.set_size(32, 32);
  kernel.dispatch.group_segment_bytes = 1024;
  Initcheck check;
  emu::Watcher* watchers[] = {&check};
  kernel.dispatch.watchers = watchers;
  emu::Engine engine({.threads = 1});
  engine.run(kernel.dispatch);
  uint64_t dropped = 0;
  return check.findings().take(&dropped);
}

// The end of the detail of the only finding; "" when there is none.
std::string use_in(const std::string& text, amd::GfxTarget target = {10, 3, 0}) {
  const std::vector<Finding> found = run(text, target);
  EXPECT_LE(found.size(), 1u) << text;
  if (found.empty()) return "";
  EXPECT_EQ(found[0].kind, Kind::kUninitialisedRegister);
  const size_t at = found[0].detail.find("; ");
  return found[0].detail.substr(at + 2);
}

const char kAddress[] = "this address is made of it";
const char kStored[] = "what is stored is made of it";
const char kBranch[] = "this branch depends on it";
const char kLanes[] = "which lanes go on depends on it";

TEST(RegisterFlow, ReportsWhereItMatters) {
  EXPECT_EQ(use_in("v_and_b32 v5, 28, v9\nglobal_store_dword v5, v0, s[6:7]"), kAddress);
  EXPECT_EQ(use_in("global_store_dword v1, v9, s[6:7]"), kStored);
  EXPECT_EQ(use_in("v_add_nc_u32 v5, v9, v0\nglobal_store_dword v1, v5, s[6:7]"), kStored);
  EXPECT_EQ(use_in("ds_write_b32 v1, v9"), kStored);
  EXPECT_EQ(use_in("s_cmp_eq_u32 s70, 0\ns_cbranch_scc1 end\ns_nop 0\nend:"), kBranch);
  EXPECT_EQ(use_in("v_cmp_eq_u32 vcc_lo, 0, v9\ns_cbranch_vccz end\ns_nop 0\nend:"), kBranch);
  EXPECT_EQ(use_in("v_cmp_eq_u32 vcc_lo, 0, v9\ns_and_saveexec_b32 s8, vcc_lo"), kLanes);
}

TEST(RegisterFlow, NamesTheRegisterAndWhereItWasRead) {
  const std::vector<Finding> found =
      run("v_mov_b32 v5, v9\nv_mov_b32 v6, v5\nglobal_store_dword v1, v6, s[6:7]");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].detail,
            "v9 was read without having been written; what is stored is made of it");
  ASSERT_TRUE(found[0].has_other);
  EXPECT_EQ(found[0].place.pc.value - found[0].other.pc.value, 8u);
  EXPECT_EQ(found[0].place.lanes, 0xffffffffu);
}

TEST(RegisterFlow, FollowsTheHalvesOfPackedOperations) {
  const amd::GfxTarget gfx90a{9, 0, 10};
  const auto stored = [&](const std::string& operation, const std::string& result) {
    return use_in("v_mov_b32 v2, 1\nv_mov_b32 v3, 1\nv_mov_b32 v8, 1\n" + operation +
                      "\nglobal_store_dword v1, " + result + ", s[6:7]",
                  gfx90a);
  };
  // v9 is not written.
  EXPECT_EQ(stored("v_pk_add_f32 v[4:5], v[2:3], v[8:9]", "v4"), "");
  EXPECT_EQ(stored("v_pk_add_f32 v[4:5], v[2:3], v[8:9]", "v5"), kStored);
  EXPECT_EQ(stored("v_pk_add_f32 v[4:5], v[2:3], v[8:9] op_sel_hi:[1,0]", "v5"), "");
  EXPECT_EQ(stored("v_pk_mul_f32 v[4:5], v[2:3], v[8:9] op_sel:[0,1]", "v4"), kStored);
  EXPECT_EQ(stored("v_pk_mov_b32 v[4:5], v[2:3], v[8:9] op_sel:[0,0]", "v5"), "");
  EXPECT_EQ(stored("v_pk_mov_b32 v[4:5], v[8:9], v[2:3] op_sel:[1,0]", "v4"), kStored);
  EXPECT_EQ(stored("v_pk_mov_b32 v[4:5], v[8:9], v[2:3] op_sel:[1,0]", "v5"), "");
}

TEST(RegisterFlow, WhatIsWrittenMovedOrOverwrittenIsRight) {
  EXPECT_EQ(use_in("v_mov_b32 v9, 1\nglobal_store_dword v1, v9, s[6:7]"), "");
  EXPECT_EQ(use_in("v_mov_b32 v5, v9\nv_mov_b32 v5, 1\nglobal_store_dword v1, v5, s[6:7]"), "");
  EXPECT_EQ(use_in("v_mov_b32 v5, v9"), "");
  EXPECT_EQ(use_in("v_xor_b32 v9, v9, v9\nglobal_store_dword v1, v9, s[6:7]"), "");
  EXPECT_EQ(use_in("global_load_dword v9, v1, s[6:7]\ns_waitcnt vmcnt(0)\n"
                   "global_store_dword v1, v9, s[6:7]"),
            "");
  // Half of what is stored at once: the padding of a struct.
  EXPECT_EQ(use_in("v_mov_b32 v8, 1\nv_lshlrev_b32 v1, 1, v1\n"
                   "global_store_dwordx2 v1, v[8:9], s[6:7]"),
            "");
}

TEST(RegisterFlow, ASelectionTakesOneOfTwo) {
  const std::string store = "global_store_dword v1, v5, s[6:7]";
  EXPECT_EQ(use_in("v_cmp_gt_u32 vcc_lo, 16, v0\nv_cndmask_b32 v5, v0, v9, vcc_lo\n" + store), "");
  EXPECT_EQ(use_in("v_cmp_gt_u32 vcc_lo, 16, v0\nv_cndmask_b32 v5, v8, v9, vcc_lo\n" + store),
            kStored);
}

TEST(RegisterFlow, TheLowHalfOfAProductDoesNotDependOnHighHalves) {
  const std::string product = "v_mov_b32 v4, 1\nv_mad_u64_u32 v[6:7], null, s0, s1, v[4:5]\n";
  EXPECT_EQ(use_in(product + "global_store_dword v1, v6, s[6:7]"), "");
  EXPECT_EQ(use_in(product + "global_store_dword v1, v7, s[6:7]"), kStored);
}

TEST(RegisterFlow, OnlySomeWaysMayLeadToIt) {
  // v9 is written on the way that is taken.
  EXPECT_EQ(use_in("s_cmp_eq_u32 s0, s0\ns_cbranch_scc0 skip\nv_mov_b32 v9, 1\nskip:\n"
                   "global_store_dword v1, v9, s[6:7]"),
            "");
  EXPECT_EQ(use_in("s_cmp_eq_u32 s0, s0\ns_cbranch_scc1 skip\nv_mov_b32 v9, 1\nskip:\n"
                   "global_store_dword v1, v9, s[6:7]"),
            kStored);
}

TEST(RegisterFlow, ARegisterWrittenInSomeLanesCountsAsWritten) {
  EXPECT_EQ(use_in("s_mov_b32 exec_lo, 0xffff\nv_mov_b32 v9, 1\ns_mov_b32 exec_lo, -1\n"
                   "global_store_dword v1, v9, s[6:7]"),
            "");
}

TEST(RegisterFlow, AccumulationRegistersAreRegistersToo) {
  const amd::GfxTarget gfx90a{9, 0, 10};
  EXPECT_EQ(use_in("v_accvgpr_read_b32 v5, a3\ns_nop 7\nglobal_store_dword v1, v5, s[6:7]", gfx90a),
            kStored);
  EXPECT_EQ(use_in("v_accvgpr_write_b32 a3, 1\ns_nop 7\nv_accvgpr_read_b32 v5, a3\ns_nop 7\n"
                   "global_store_dword v1, v5, s[6:7]",
                   gfx90a),
            "");
}

}  // namespace
}  // namespace wavetap::sanitize::register_flow_test
