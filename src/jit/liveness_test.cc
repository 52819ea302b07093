#include "jit/liveness.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "emu/testing/assembler.h"
#include "emu/testing/targets.h"

namespace wavetap::jit::liveness_test {
namespace {

class Code {
 public:
  explicit Code(const std::string& text, amd::GfxTarget target = emu::kGfx90a, bool wave64 = true)
      : program_(isa::decode(emu::assemble(text, target, wave64), GpuAddr{0x1000}, target, wave64)),
        liveness_(program_) {}

  bool needs_row(int32_t before, uint32_t reg) const {
    return liveness_.from(before)[0].has_row(reg);
  }
  bool needs_slot(int32_t before, uint32_t at) const {
    return liveness_.from(before)[0].has_slot(at);
  }

  std::vector<std::pair<uint32_t, uint32_t>> read_at_start() const {
    std::vector<std::pair<uint32_t, uint32_t>> ranges;
    for (const emu::RowRange& range : liveness_.rows_read_at_start())
      ranges.emplace_back(range.begin, range.end);
    return ranges;
  }

 private:
  isa::Program program_;
  Liveness liveness_;
};

TEST(Liveness, WhatIsOverwrittenFirstIsNotNeeded) {
  const Code code(
      "v_mov_b32 v1, v2\n"
      "v_mov_b32 v1, v3\n"
      "global_store_dword v[4:5], v1, off\n"
      "s_endpgm");
  EXPECT_FALSE(code.needs_row(1, 1));
  EXPECT_TRUE(code.needs_row(2, 1));
  EXPECT_TRUE(code.needs_row(0, 2));
  EXPECT_FALSE(code.needs_row(1, 2));
  EXPECT_TRUE(code.needs_row(0, 5));
  EXPECT_FALSE(code.needs_row(3, 5));
}

TEST(Liveness, SaysWhatIsReadBeforeItIsWritten) {
  const std::vector<std::pair<uint32_t, uint32_t>> expected = {{2, 4}, {5, 6}};
  EXPECT_EQ(Code("v_mov_b32 v4, v3\n"
                 "s_and_saveexec_b64 s[0:1], vcc\n"
                 "v_mov_b32 v5, v2\n"  // not in all lanes
                 "s_or_b64 exec, exec, s[0:1]\n"
                 "ds_write_b32 v4, v5\n"
                 "s_endpgm")
                .read_at_start(),
            expected);
}

TEST(Liveness, ResultsThatAreReadOrKeptInPartAreNeeded) {
  const Code code(
      "v_fmac_f32 v1, v2, v3\n"
      "v_mov_b32_dpp v4, v1 quad_perm:[0,1,2,3] row_mask:0x1 bank_mask:0xf\n"
      "ds_read_u16_d16 v5, v4\n"
      "v_writelane_b32 v6, s0, 3\n"
      "v_mov_b32_sdwa v7, v6 dst_sel:WORD_0 dst_unused:UNUSED_PRESERVE src0_sel:DWORD\n"
      "global_store_dwordx4 v[8:9], v[4:7], off\n"
      "s_endpgm");
  for (const uint32_t reg : {1u, 4u, 5u, 6u, 7u}) EXPECT_TRUE(code.needs_row(0, reg)) << reg;
}

TEST(Liveness, LanesThatMayBeOffAreNotOverwritten) {
  const Code loses(
      "v_mov_b32 v1, v2\n"
      "s_and_saveexec_b64 s[0:1], vcc\n"
      "v_mov_b32 v1, v3\n"
      "s_or_b64 exec, exec, s[0:1]\n"
      "global_store_dword v[4:5], v1, off\n"
      "s_endpgm");
  EXPECT_TRUE(loses.needs_row(1, 1));
  EXPECT_FALSE(loses.needs_row(1, 2));  // nobody reads it at all
  const Code gains(
      "v_mov_b32 v1, v2\n"
      "s_or_b64 exec, exec, s[0:1]\n"
      "v_mov_b32 v1, v3\n"
      "global_store_dword v[4:5], v1, off\n"
      "s_endpgm");
  EXPECT_FALSE(gains.needs_row(1, 1));
  const Code compares(
      "v_mov_b32 v1, v2\n"
      "v_cmpx_lt_u32 vcc, v6, v7\n"
      "v_mov_b32 v1, v3\n"
      "global_store_dword v[4:5], v1, off\n"
      "s_endpgm");
  EXPECT_TRUE(compares.needs_row(1, 1));
}

// Whether v1 is needed before `text`, behind which all that is read is v2, stored where v[4:5] says.
bool needs_v1(const std::string& text, bool wave64 = true) {
  const Code code(text +
                      "\nv_mov_b32 v1, v2\n"
                      "global_store_dword v[4:5], v1, off\n"
                      "s_endpgm",
                  wave64 ? emu::kGfx90a : emu::kGfx1030, wave64);
  return code.needs_row(0, 1);
}

TEST(Liveness, LanesThatComeBackNeedWhatIsReadThere) {
  EXPECT_FALSE(
      needs_v1("s_and_saveexec_b64 s[0:1], vcc\n"
               "s_cbranch_execz 3\n"
               "v_mov_b32 v1, v3\n"
               "ds_write_b32 v6, v1\n"
               "s_or_b64 exec, exec, s[0:1]"));
  EXPECT_FALSE(
      needs_v1("s_mov_b32 s0, exec_lo\n"
               "s_mov_b32 s1, 0\n"
               "v_cmpx_lt_u32 v6, v7\n"
               "v_mov_b32 v1, v3\n"
               "ds_write_b32 v6, v1\n"
               "s_or_b32 exec_lo, exec_lo, s0",
               false));
  // Read on the way, or by lanes that were off.
  EXPECT_TRUE(
      needs_v1("s_and_saveexec_b64 s[0:1], vcc\n"
               "ds_write_b32 v6, v1\n"
               "s_or_b64 exec, exec, s[0:1]"));
  EXPECT_TRUE(
      needs_v1("s_and_saveexec_b64 s[0:1], vcc\n"
               "v_mov_b32 v1, v3\n"
               "s_or_b64 exec, exec, s[0:1]\n"
               "ds_write_b32 v6, v1"));
}

TEST(Liveness, LanesThatMayNotComeBackNeedWhatIsReadAtAll) {
  const std::string begin = "s_and_saveexec_b64 s[0:1], vcc\nv_mov_b32 v1, v3\n";
  const std::string end = "\nds_write_b32 v6, v1\ns_or_b64 exec, exec, s[0:1]";
  EXPECT_FALSE(needs_v1(begin + "s_mov_b64 s[2:3], 0" + end));
  for (const char* const between :
       {"s_mov_b64 s[0:1], 0",          // the saved mask changes
        "s_mov_b32 s1, 0",              // half of it
        "v_cmp_lt_u32 s[0:1], v6, v7",  // likewise
        "s_mov_b64 exec, -1",           // all lanes read
        "s_or_b64 exec, exec, s[2:3]",  // others come back
        "v_readlane_b32 s2, v1, 3",     // a lane that is off is read
        "ds_bpermute_b32 v7, v6, v1",   // it may be
        "v_mov_b32_dpp v7, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"})
    EXPECT_TRUE(needs_v1(begin + between + end)) << between;
  EXPECT_TRUE(
      needs_v1("s_and_saveexec_b64 s[0:1], vcc\n"
               "v_mov_b32 v1, v3\n"
               "ds_write_b32 v6, v1\n"
               "s_or_b64 exec, exec, s[2:3]"));
}

TEST(Liveness, NullSavesNoLanes) {
  EXPECT_TRUE(
      needs_v1("s_and_saveexec_b32 null, vcc_lo\n"
               "v_mov_b32 v1, v3\n"
               "ds_write_b32 v6, v1\n"
               "s_or_b32 exec_lo, exec_lo, null",
               false));
}

TEST(Liveness, LoopsAreFollowedToTheirEnd) {
  const Code code(
      "v_mov_b32 v1, v2\n"
      "v_add_f32 v3, v1, v4\n"  // 1: the loop; v1 is read in every round, v3 in none but the last
      "v_add_f32 v5, v3, v5\n"
      "s_sub_u32 s0, s0, 1\n"
      "s_cmp_lg_u32 s0, 0\n"
      "s_cbranch_scc1 -5\n"
      "global_store_dword v[6:7], v5, off\n"
      "s_endpgm");
  EXPECT_TRUE(code.needs_row(5, 1));
  EXPECT_FALSE(code.needs_row(5, 3));
  EXPECT_TRUE(code.needs_row(5, 5));
  EXPECT_FALSE(code.needs_row(6, 1));
  EXPECT_TRUE(code.needs_slot(5, 0));
  EXPECT_FALSE(code.needs_slot(6, 0));
}

TEST(Liveness, MasksAreFollowedAsWell) {
  const Code code(
      "v_add_co_u32 v1, vcc, v2, v3\n"
      "v_addc_co_u32 v4, vcc, v5, v6, vcc\n"
      "v_cmp_lt_u32 s[2:3], v1, v4\n"
      "v_cndmask_b32 v1, v2, v3, s[2:3]\n"
      "v_cmp_lt_u32 vcc, v1, v4\n"
      "s_cbranch_vccz 1\n"
      "s_nop 0\n"
      "s_endpgm");
  for (const uint32_t half : {106u, 107u}) {
    EXPECT_TRUE(code.needs_slot(1, half));
    EXPECT_FALSE(code.needs_slot(2, half));
    EXPECT_TRUE(code.needs_slot(5, half));
    EXPECT_FALSE(code.needs_slot(6, half));
  }
  EXPECT_TRUE(code.needs_slot(3, 2));
  EXPECT_TRUE(code.needs_slot(3, 3));
  EXPECT_FALSE(code.needs_slot(4, 2));
}

TEST(Liveness, BothHalvesOfAPairReadFirst) {
  const Code code(
      "v_dual_mov_b32 v1, v2 :: v_dual_mov_b32 v4, v1\n"
      "v_dual_add_f32 v1, v1, v1 :: v_dual_mov_b32 v6, v4\n"
      "global_store_b64 v[8:9], v[6:7], off\n"
      "s_endpgm",
      emu::kGfx1100, false);
  EXPECT_TRUE(code.needs_row(0, 1));
}

TEST(Liveness, WhatIsNotUnderstoodNeedsEverything) {
  for (const char* const text :
       {"s_setpc_b64 s[0:1]", "s_swappc_b64 s[0:1], s[2:3]\ns_endpgm", "s_trap 2\ns_endpgm",
        "s_nop 0", "s_branch 100", "buffer_load_dword v1, v2, s[4:7], 0 offen\ns_endpgm",
        "v_mov_b32 v1, v2\ns_set_gpr_idx_on s0, 1\ns_endpgm",
        "v_mov_b32 v1, v2\ns_setreg_b32 hwreg(HW_REG_MODE), s0\ns_endpgm"}) {
    const Code code(text);
    EXPECT_TRUE(code.needs_row(0, 200)) << text;
    EXPECT_TRUE(code.needs_slot(0, 90)) << text;
  }
}

}  // namespace
}  // namespace wavetap::jit::liveness_test
