// What can be proved about waits without running anything, and what cannot.
#include "sanitize/wait_proof.h"

#include <gtest/gtest.h>

#include "emu/testing/assembler.h"

namespace wavetap::sanitize::wait_proof_test {
namespace {

constexpr amd::GfxTarget kGfx90a{9, 0, 10};
constexpr amd::GfxTarget kGfx1030{10, 3, 0};

bool is_proved(const std::string& text, amd::GfxTarget target = kGfx1030) {
  const bool wave64 = target.major < 10;
  const std::vector<std::byte> code = emu::assemble(text + "\ns_endpgm\n", target, wave64);
  EXPECT_FALSE(code.empty()) << text;
  return has_all_waits(isa::decode(code, GpuAddr{0x1000}, target, wave64));
}

const std::string kLoad = "global_load_dword v5, v[2:3], off\n";
const std::string kUse = "v_mov_b32 v7, v5\n";

TEST(WaitProof, AWaitBeforeTheUseIsNeeded) {
  EXPECT_TRUE(is_proved(kLoad + "s_waitcnt vmcnt(0)\n" + kUse));
  EXPECT_FALSE(is_proved(kLoad + kUse));
  EXPECT_FALSE(is_proved(kLoad + "s_waitcnt lgkmcnt(0)\n" + kUse));
  EXPECT_TRUE(is_proved(kLoad));
  EXPECT_TRUE(is_proved(kLoad + "v_mov_b32 v7, v6"));
}

TEST(WaitProof, CountsWhatIsIssuedLater) {
  const std::string other = "global_load_dword v6, v[2:3], off\n";
  EXPECT_TRUE(is_proved(kLoad + other + "s_waitcnt vmcnt(1)\n" + kUse));
  EXPECT_FALSE(is_proved(other + kLoad + "s_waitcnt vmcnt(1)\n" + kUse));
  EXPECT_FALSE(is_proved(kLoad + other + "s_waitcnt vmcnt(2)\n" + kUse));
}

TEST(WaitProof, ScalarLoadsComeInAnyOrder) {
  const std::string loads = "s_load_dword s8, s[0:1], 0\ns_load_dword s9, s[0:1], 4\n";
  EXPECT_FALSE(is_proved(loads + "s_waitcnt lgkmcnt(1)\ns_mov_b32 s10, s8"));
  EXPECT_TRUE(is_proved(loads + "s_waitcnt lgkmcnt(0)\ns_mov_b32 s10, s8"));
}

TEST(WaitProof, FollowsEveryWay) {
  // The wait is on one way only.
  EXPECT_FALSE(is_proved(kLoad + "s_cbranch_scc1 skip\ns_waitcnt vmcnt(0)\nskip:\n" + kUse));
  EXPECT_TRUE(is_proved(kLoad +
                        "s_cbranch_scc1 skip\nv_mov_b32 v8, 1\nskip:\n"
                        "s_waitcnt vmcnt(0)\n" +
                        kUse));
  // Round a loop: what the last turn loads is used in the next.
  const std::string loop = "again:\n" + kUse + kLoad;
  EXPECT_FALSE(is_proved(loop + "s_cbranch_scc1 again"));
  EXPECT_TRUE(is_proved(loop + "s_waitcnt vmcnt(0)\ns_cbranch_scc1 again"));
}

TEST(WaitProof, FollowsWhatIsBehindTheEndAsWell) {
  EXPECT_FALSE(is_proved("s_endpgm\n" + kLoad + kUse));
  EXPECT_TRUE(is_proved("s_endpgm\n" + kLoad + "s_waitcnt vmcnt(0)\n" + kUse));
}

TEST(WaitProof, ALaterLoadOfTheSameKindMayOverwrite) {
  EXPECT_TRUE(is_proved(kLoad + kLoad + "s_waitcnt vmcnt(0)\n" + kUse));
  EXPECT_FALSE(is_proved(kLoad + "ds_read_b32 v5, v4\ns_waitcnt vmcnt(0) lgkmcnt(0)\n" + kUse));
  EXPECT_FALSE(is_proved(kLoad + "v_mov_b32 v5, 0"));
}

TEST(WaitProof, AFullCounterWaitsByItself) {
  std::string many = "ds_read_b32 v5, v4\n";
  for (int i = 0; i < 15; ++i) many += "ds_read_b32 v6, v4\n";
  EXPECT_TRUE(is_proved("s_mov_b32 m0, -1\n" + many + kUse, kGfx90a));
  EXPECT_FALSE(is_proved(many + kUse, kGfx1030));
}

TEST(WaitProof, DoesNotFollowCallsAndIndexedRegisters) {
  EXPECT_FALSE(is_proved("s_swappc_b64 s[30:31], s[4:5]"));
  EXPECT_FALSE(is_proved("s_setpc_b64 s[30:31]"));
  EXPECT_FALSE(is_proved("v_movrels_b32 v1, v2"));
}

}  // namespace
}  // namespace wavetap::sanitize::wait_proof_test
