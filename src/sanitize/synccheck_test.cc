// Synccheck on small kernels; tests/sanitize/sync_bugs.hip has whole programs.
#include "sanitize/synccheck.h"

#include <gtest/gtest.h>

#include "emu/testing/kernel.h"

namespace wavetap::sanitize::synccheck_test {
namespace {

using emu::TestKernel;

std::vector<Finding> run(const std::string& text, uint64_t watchdog = 0) {
  Synccheck synccheck;
  TestKernel kernel(
      {}, "s_load_dwordx2 s[6:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_lshlrev_b32 v1, 2, v0\n" +
              text + "\ns_endpgm\n");
  kernel.memory.write(TestKernel::kArguments, TestKernel::kData);
  kernel.set_size(128, 128);
  emu::Watcher* watchers[] = {&synccheck};
  kernel.dispatch.watchers = watchers;
  emu::Engine engine({.threads = 1, .watchdog_instructions = watchdog});
  engine.run(kernel.dispatch);
  uint64_t dropped = 0;
  return synccheck.findings().take(&dropped);
}

const char kHalf[] =
    "s_mov_b64 s[8:9], exec\ns_mov_b32 exec_lo, 0x55555555\ns_mov_b32 exec_hi, 0\n";
const char kStore[] = "global_store_dword v1, v0, s[6:7]\n";

TEST(Synccheck, LanesThatGoRoundABarrierAreFoundWhenTheyDoSomethingLater) {
  const std::string barrier = std::string(kHalf) + "s_barrier\ns_mov_b64 exec, s[8:9]\n";
  EXPECT_TRUE(run(barrier).empty());  // they have returned
  const std::vector<Finding> findings = run(barrier + kStore);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kDivergentBarrier);
  EXPECT_EQ(findings[0].place.lanes, 0x55555555u);
  EXPECT_EQ(findings[0].detail, "lanes 0xffffffffaaaaaaaa of the wave went round it");
  EXPECT_EQ(findings[0].times, 2u);
  EXPECT_TRUE(run(std::string(kStore) + "s_barrier\n" + kStore).empty());
}

// s8 is the wave: 0 or 1.
const char kWave[] = "v_readfirstlane_b32 s8, v0\ns_lshr_b32 s8, s8, 6\ns_cmp_eq_u32 s8, 0\n";

TEST(Synccheck, WavesMeetAtOneBarrier) {
  std::vector<Finding> findings =
      run(std::string(kWave) + "s_cbranch_scc1 other\ns_barrier\ns_endpgm\nother:\ns_barrier\n");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kDifferentBarriers);
  findings = run(std::string(kWave) + "s_cbranch_scc1 end\ns_barrier\nend:");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kBarrierAfterExit);
  EXPECT_EQ(findings[0].place.wave, 1u);
}

TEST(Synccheck, NamesWhoWaitsForWhomWhenADispatchIsStopped) {
  const std::vector<Finding> findings =
      run(std::string(kWave) + "s_cbranch_scc1 spin\ns_barrier\ns_endpgm\nspin:\ns_branch spin\n",
          100'000);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kStuckBarrier);
  EXPECT_EQ(findings[0].place.wave, 1u);
  EXPECT_NE(findings[0].detail.find("waited for wave 0"), std::string::npos);
}

TEST(Synccheck, ShufflesReadFromLanesThatAreOn) {
  const std::string shuffle = "v_xor_b32 v2, 4, v1\nds_bpermute_b32 v3, v2, v0\n";
  EXPECT_TRUE(run(shuffle).empty());
  const std::vector<Finding> findings = run(kHalf + shuffle);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kInactiveLane);
  EXPECT_EQ(findings[0].place.lanes, 0x55555555u);
}

TEST(Synccheck, OtherWaysToReadAnotherLane) {
  const std::string swizzle = "ds_swizzle_b32 v3, v0 offset:swizzle(SWAP,1)\n";
  EXPECT_TRUE(run(swizzle).empty());
  EXPECT_EQ(run(kHalf + swizzle).size(), 1u);
  // Two apart, all that are asked are on.
  EXPECT_TRUE(run(std::string(kHalf) + "ds_swizzle_b32 v3, v0 offset:swizzle(SWAP,2)\n").empty());
  const std::string dpp = "v_add_u32_dpp v3, v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf";
  EXPECT_TRUE(run(dpp + " bound_ctrl:0\n").empty());
  const std::vector<Finding> findings = run(kHalf + dpp + " bound_ctrl:0\n");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kInactiveLane);
  // The first lane of a row has nobody before it.
  EXPECT_EQ(findings[0].place.lanes, 0x55545554u);
  EXPECT_TRUE(run(kHalf + dpp + "\n").empty());  // keeps what it had
}

}  // namespace
}  // namespace wavetap::sanitize::synccheck_test
