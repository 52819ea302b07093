// Waitcheck on single kernels: what each counter proves, on each generation. tests/sanitize has mutants of
// compiled programs.
#include "sanitize/waitcheck.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "emu/testing/kernel.h"

namespace wavetap::sanitize::waitcheck_test {
namespace {

using emu::TestKernel;

constexpr amd::GfxTarget kGfx90a{9, 0, 10};
constexpr amd::GfxTarget kGfx1030{10, 3, 0};
constexpr amd::GfxTarget kGfx1100{11, 0, 0};

class WaitcheckTest : public ::testing::Test {
 protected:
  // v[2:3] = an address of each lane's own, s[6:7] = the data, v4 = a byte of LDS.
  std::vector<Finding> run(const std::string& text, amd::GfxTarget target = kGfx1030) {
    TestKernel::Options options;
    options.target = target;
    options.wave64 = target.major < 10;
    const bool is_gfx11 = target.major >= 11;
    const std::string carry = target.major < 10 ? "v_mov_b32 v3, s7\nv_add_co_u32 v2, vcc, s6, v4\n"
                                                  "v_addc_co_u32 v3, vcc, 0, v3, vcc\n"
                                                : "v_add_co_u32 v2, vcc_lo, s6, v4\n"
                                                  "v_add_co_ci_u32_e64 v3, vcc_lo, s7, 0, vcc_lo\n";
    const std::string begin = std::string(is_gfx11 ? "s_load_b64" : "s_load_dwordx2") +
                              " s[6:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_and_b32 v4, 63, v0\n"
                              "v_lshlrev_b32 v4, 2, v4\ns_mov_b32 m0, -1\n";
    TestKernel kernel(options, begin + carry + text + "\ns_endpgm\n");
    EXPECT_TRUE(kernel.set_code(begin + carry + text + "\ns_endpgm\n")) << text;
    kernel.memory.write(TestKernel::kArguments, TestKernel::kData);
    kernel.set_size(32, 32);
    kernel.dispatch.group_segment_bytes = 1024;
    Waitcheck waitcheck;
    emu::Watcher* watchers[] = {&waitcheck};
    kernel.dispatch.watchers = watchers;
    emu::Engine engine({.threads = 1});
    const emu::DispatchResult result = engine.run(kernel.dispatch);
    EXPECT_FALSE(result.fault) << text;
    uint64_t dropped = 0;
    return waitcheck.findings().take(&dropped);
  }
  // How many places are wrong.
  size_t count(const std::string& text, amd::GfxTarget target = kGfx1030) {
    return run(text, target).size();
  }
};

TEST_F(WaitcheckTest, NamesTheRegisterTheLoadAndTheWait) {
  const std::vector<Finding> findings =
      run("global_load_dword v5, v[2:3], off\nglobal_load_dword v6, v[2:3], off\n"
          "v_add_nc_u32 v7, v5, v5");
  ASSERT_EQ(findings.size(), 1u);
  const Finding& found = findings[0];
  EXPECT_EQ(found.kind, Kind::kUnwaitedRead);
  EXPECT_EQ(found.severity, Severity::kError);
  EXPECT_EQ(found.place.lanes, 0xffffffffu);
  EXPECT_EQ(found.place.pc.value - found.other.pc.value, 16u);
  EXPECT_EQ(found.detail,
            "v5 is read before its load has been waited for; s_waitcnt vmcnt(1) is needed");
}

TEST_F(WaitcheckTest, VectorLoadsFinishInOrder) {
  const std::string loads =
      "global_load_dword v5, v[2:3], off\nglobal_load_dword v6, v[2:3], off\n"
      "global_load_dword v7, v[2:3], off\n";
  for (const amd::GfxTarget target : {kGfx90a, kGfx1030}) {
    EXPECT_EQ(count(loads + "s_waitcnt vmcnt(2)\nv_mov_b32 v8, v5", target), 0u);
    EXPECT_EQ(count(loads + "s_waitcnt vmcnt(2)\nv_mov_b32 v8, v6", target), 1u);
    EXPECT_EQ(count(loads + "s_waitcnt vmcnt(1)\nv_mov_b32 v8, v6", target), 0u);
    EXPECT_EQ(count(loads + "s_waitcnt vmcnt(0)\nv_mov_b32 v8, v7", target), 0u);
    EXPECT_EQ(count(loads + "s_waitcnt lgkmcnt(0)\nv_mov_b32 v8, v5", target), 1u);
    EXPECT_EQ(count(loads + "global_store_dword v[2:3], v6, off", target), 1u);  // as data
  }
}

TEST_F(WaitcheckTest, StoresCountInVmcntOnGfx9Alone) {
  const std::string text =
      "global_load_dword v5, v[2:3], off\nglobal_store_dword v[2:3], v4, off\n"
      "s_waitcnt vmcnt(1)\nv_mov_b32 v8, v5";
  EXPECT_EQ(count(text, kGfx90a), 0u);
  EXPECT_EQ(count(text, kGfx1030), 1u);
  EXPECT_EQ(count("global_load_dword v5, v[2:3], off\ns_waitcnt_vscnt null, 0x0\nv_mov_b32 v8, v5"),
            1u);
  EXPECT_EQ(count("global_load_dword v5, v[2:3], off\ns_waitcnt_vmcnt null, 0x0\nv_mov_b32 v8, v5"),
            0u);
}

TEST_F(WaitcheckTest, AtomicsThatReturnAreLoads) {
  EXPECT_EQ(count("global_atomic_add v5, v[2:3], v4, off glc\nv_mov_b32 v8, v5"), 1u);
  EXPECT_EQ(
      count("global_atomic_add v5, v[2:3], v4, off glc\ns_waitcnt vmcnt(0)\nv_mov_b32 v8, v5"), 0u);
  EXPECT_EQ(count("global_atomic_add v[2:3], v4, off\nv_mov_b32 v8, v4"), 0u);
}

TEST_F(WaitcheckTest, LdsFinishesInOrderAndScalarLoadsDoNot) {
  EXPECT_EQ(count("ds_read_b32 v5, v4\nds_read_b32 v6, v4\ns_waitcnt lgkmcnt(1)\nv_mov_b32 v8, v5"),
            0u);
  EXPECT_EQ(count("ds_read_b32 v5, v4\nds_read_b32 v6, v4\ns_waitcnt lgkmcnt(1)\nv_mov_b32 v8, v6"),
            1u);
  const std::string scalars = "s_load_dword s8, s[6:7], 0x0\ns_load_dword s9, s[6:7], 0x4\n";
  EXPECT_EQ(count(scalars + "s_waitcnt lgkmcnt(1)\ns_mov_b32 s10, s8"), 1u);
  EXPECT_EQ(count(scalars + "s_waitcnt lgkmcnt(0)\ns_add_u32 s10, s8, s9"), 0u);
  // A scalar load among them may be the one that is left, but LDS operations keep their order.
  const std::string both = "ds_read_b32 v5, v4\ns_load_dword s8, s[6:7], 0x0\nds_read_b32 v6, v4\n";
  EXPECT_EQ(count(both + "s_waitcnt lgkmcnt(1)\nv_mov_b32 v8, v5"), 0u);
  EXPECT_EQ(count(both + "s_waitcnt lgkmcnt(2)\nv_mov_b32 v8, v5"), 1u);
  EXPECT_EQ(count(both + "s_waitcnt lgkmcnt(1)\ns_mov_b32 s10, s8"), 1u);
  EXPECT_EQ(count("s_load_dword s8, s[6:7], 0x0\nv_mov_b32 v8, s8", kGfx90a), 1u);
  EXPECT_EQ(count("s_memtime s[8:9]\ns_mov_b32 s10, s9", kGfx90a), 1u);
}

TEST_F(WaitcheckTest, AFullCounterWaitsByItself) {
  std::string loads;
  for (int i = 0; i < 16; ++i) loads += "ds_read_b32 v" + std::to_string(5 + i) + ", v4\n";
  EXPECT_EQ(count(loads + "v_mov_b32 v30, v5", kGfx90a), 0u);  // 15 LDS operations old
  EXPECT_EQ(count(loads + "v_mov_b32 v30, v6", kGfx90a), 1u);
  EXPECT_EQ(count(loads + "v_mov_b32 v30, v5", kGfx1030), 1u);  // counts to 63
  EXPECT_EQ(count(loads + "s_waitcnt lgkmcnt(15)\nv_mov_b32 v30, v6", kGfx90a), 1u);  // no wait
  EXPECT_EQ(count(loads + "s_waitcnt lgkmcnt(14)\nv_mov_b32 v30, v6", kGfx90a), 0u);
}

TEST_F(WaitcheckTest, OnlyTheBytesAndLanesThatAreLoadedMatter) {
  EXPECT_EQ(count("global_load_short_d16_hi v5, v[2:3], off\nv_and_b32 v8, 1, v5"), 1u);
  EXPECT_EQ(count("global_load_short_d16_hi v5, v[2:3], off\nv_mov_b32_sdwa v8, v5 dst_sel:DWORD "
                  "src0_sel:WORD_0"),
            0u);
  EXPECT_EQ(count("s_mov_b32 exec_lo, 0xff\nglobal_load_dword v5, v[2:3], off\n"
                  "s_mov_b32 exec_lo, 0xff00\nv_mov_b32 v8, v5"),
            0u);
  const std::vector<Finding> some =
      run("s_mov_b32 exec_lo, 0xff\nglobal_load_dword v5, v[2:3], off\n"
          "s_mov_b32 exec_lo, 0xfff0\nv_mov_b32 v8, v5");
  ASSERT_EQ(some.size(), 1u);
  EXPECT_EQ(some[0].place.lanes, 0xf0u);
  EXPECT_EQ(count("s_mov_b32 exec_lo, 0\nglobal_load_dword v5, v[2:3], off\n"
                  "s_mov_b32 exec_lo, -1\nv_mov_b32 v8, v5"),
            0u);
}

TEST_F(WaitcheckTest, OverwritingWhatIsStillToComeIsWrongUnlessItComesInOrder) {
  const std::vector<Finding> findings = run("global_load_dword v5, v[2:3], off\nv_mov_b32 v5, 0");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kUnwaitedWrite);
  EXPECT_EQ(count("global_load_dword v5, v[2:3], off\nglobal_load_dword v5, v[2:3], off offset:4"),
            0u);
  EXPECT_EQ(count("global_load_dword v5, v[2:3], off\nds_read_b32 v5, v4"), 1u);
  EXPECT_EQ(count("s_load_dword s8, s[6:7], 0x0\ns_load_dword s8, s[6:7], 0x4"), 1u);
}

TEST_F(WaitcheckTest, FlatNeedsTheCounterOfTheMemoryItReaches) {
  EXPECT_EQ(count("flat_load_dword v5, v[2:3]\ns_waitcnt vmcnt(0)\nv_mov_b32 v8, v5"), 0u);
  EXPECT_EQ(count("flat_load_dword v5, v[2:3]\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v8, v5"), 1u);
  const std::string lds = "v_mov_b32 v2, v4\nv_mov_b32 v3, 0x10000\n";  // the shared aperture
  EXPECT_EQ(count(lds + "flat_load_dword v5, v[2:3]\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v8, v5"), 0u);
  EXPECT_EQ(count(lds + "flat_load_dword v5, v[2:3]\ns_waitcnt vmcnt(0)\nv_mov_b32 v8, v5"), 1u);
}

TEST_F(WaitcheckTest, FlatKeepsTheOrderOfLdsFromGfx10On) {
  const std::string two =
      "v_mov_b32 v2, v4\nv_mov_b32 v3, 0x10000\n"
      "flat_load_dword v5, v[2:3]\nflat_load_dword v6, v[2:3]\n"
      "s_waitcnt lgkmcnt(1)\nv_mov_b32 v8, v5";
  EXPECT_EQ(count(two, kGfx1030), 0u);
  EXPECT_EQ(count(two, kGfx90a), 1u);
  EXPECT_EQ(count("ds_read_b32 v5, v4\nflat_load_dword v6, v[2:3]\ns_waitcnt lgkmcnt(1)\n"
                  "v_mov_b32 v8, v5"),
            0u);
}

TEST_F(WaitcheckTest, KnowsTheEncodingsOfEachGeneration) {
  EXPECT_EQ(
      count("global_load_b32 v5, v[2:3], off\ns_waitcnt vmcnt(0)\nv_mov_b32 v8, v5", kGfx1100), 0u);
  EXPECT_EQ(
      count("global_load_b32 v5, v[2:3], off\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v8, v5", kGfx1100),
      1u);
  EXPECT_EQ(count("ds_load_b32 v5, v4\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v8, v5", kGfx1100), 0u);
  EXPECT_EQ(count("ds_load_b32 v5, v4\ns_waitcnt vmcnt(0) expcnt(0)\nv_mov_b32 v8, v5", kGfx1100),
            1u);
}

TEST_F(WaitcheckTest, ToldOncePerWaveAndLoad) {
  const std::vector<Finding> findings =
      run("s_movk_i32 s8, 0x3\nloop:\nglobal_load_dword v5, v[2:3], off\nv_mov_b32 v8, v5\n"
          "v_mov_b32 v9, v5\ns_sub_u32 s8, s8, 1\ns_cmp_lg_u32 s8, 0\ns_cbranch_scc1 loop");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].times, 3u);
}

}  // namespace
}  // namespace wavetap::sanitize::waitcheck_test
