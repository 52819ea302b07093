#include "probe/code.h"

#include <gtest/gtest.h>

#include "emu/testing/assembler.h"

namespace wavetap::probe {
namespace {

constexpr amd::GfxTarget kTarget{9, 0, 10};

std::vector<wavetap_site> sites_of(const std::string& text) {
  const std::vector<std::byte> code = emu::assemble(text, kTarget, true);
  return find_sites(isa::decode(code, {0x1000}, kTarget, true));
}

std::vector<uint32_t> blocks_of(const std::vector<wavetap_site>& sites) {
  std::vector<uint32_t> blocks;
  for (uint32_t i = 0; i < sites.size(); ++i)
    if (sites[i].block == i) blocks.push_back(i);
  return blocks;
}

TEST(Sites, OfStraightCodeAreOneBlock) {
  const auto sites = sites_of("v_mov_b32 v0, 1\ns_nop 0\ns_endpgm");
  ASSERT_EQ(sites.size(), 3u);
  EXPECT_EQ(blocks_of(sites), std::vector<uint32_t>{0});
  EXPECT_EQ(sites[0].block_end, 3u);
  EXPECT_EQ(sites[1].offset, 4u);
  EXPECT_EQ(sites[0].category, WAVETAP_VALU);
  EXPECT_EQ(sites[2].flags & WAVETAP_SITE_ENDS, WAVETAP_SITE_ENDS);
  EXPECT_STREQ(sites[0].mnemonic, "v_mov_b32");
}

TEST(Sites, BreakAtBranchesAndTheirTargets) {
  const auto sites = sites_of(
      "s_mov_b32 s0, 4\n"
      "loop:\n"
      "s_sub_u32 s0, s0, 1\n"
      "s_cmp_lg_u32 s0, 0\n"
      "s_cbranch_scc1 loop\n"
      "s_endpgm");
  EXPECT_EQ(blocks_of(sites), (std::vector<uint32_t>{0, 1, 4}));
  EXPECT_EQ(sites[3].target, 1u);
  EXPECT_EQ(sites[3].flags, WAVETAP_SITE_JUMPS | WAVETAP_SITE_CONDITIONAL);
  EXPECT_EQ(sites[2].block, 1u);
  EXPECT_EQ(sites[2].block_end, 4u);
}

TEST(Sites, BreakWhereTheActiveLanesChange) {
  const auto sites = sites_of(
      "v_cmp_gt_u32 vcc, 5, v0\n"
      "s_and_saveexec_b64 s[0:1], vcc\n"
      "v_mov_b32 v1, 2\n"
      "s_mov_b64 exec, s[0:1]\n"
      "s_endpgm");
  EXPECT_EQ(blocks_of(sites), (std::vector<uint32_t>{0, 2, 4}));
  EXPECT_EQ(sites[1].flags, WAVETAP_SITE_WRITES_EXEC);
  EXPECT_EQ(sites[3].flags, WAVETAP_SITE_WRITES_EXEC);
  EXPECT_EQ(sites[0].flags, 0);
}

TEST(Sites, AreTheSameForTheSameCodeOnly) {
  const auto print = [](const std::string& text) {
    const std::vector<std::byte> code = emu::assemble(text, kTarget, true);
    return fingerprint_of(isa::decode(code, {0x1000}, kTarget, true));
  };
  EXPECT_EQ(print("v_add_u32 v0, v1, v2\ns_endpgm"), print("v_add_u32 v0, v1, v2\ns_endpgm"));
  EXPECT_NE(print("v_add_u32 v0, v1, v2\ns_endpgm"), print("v_add_u32 v0, v1, v3\ns_endpgm"));
}

}  // namespace
}  // namespace wavetap::probe
