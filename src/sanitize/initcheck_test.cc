// Initcheck on small kernels; tests/sanitize/init_bugs.hip has whole programs.
#include "sanitize/initcheck.h"

#include <gtest/gtest.h>

#include "emu/testing/kernel.h"
#include "sanitize/init_map.h"

namespace wavetap::sanitize::initcheck_test {
namespace {

using emu::TestKernel;

// v1 is four times the work-item, and m0 lets all of LDS through.
class OneBlock final : public MemoryMap {
 public:
  uint64_t epoch() const noexcept override { return 1; }
  void list(std::vector<Block>& blocks) const noexcept override {
    blocks.push_back({TestKernel::kArguments, TestKernel::kArguments + 0x1000, true});
    blocks.push_back({TestKernel::kData, TestKernel::kData + TestKernel::kDataBytes, true, true});
  }
  Neighbour neighbour(GpuAddr) const noexcept override { return {}; }
  InitMap* initialised() const noexcept override { return &map; }
  bool host_has_touched(GpuAddr address) const noexcept override {
    return address.value / 4096 == touched / 4096;
  }

  mutable InitMap map;
  uint64_t touched = 0;
};

// The kernel's data is memory that nobody has written; s[0:1] is where it is.
std::vector<Finding> run(const std::string& text, OneBlock& map, bool is_quiet = false,
                         uint32_t items = 192) {
  Initcheck ordinary;
  Initcheck of_all(Initcheck::Loads::kAll);
  Initcheck& initcheck = ordinary.is_needed(map, is_quiet) ? ordinary : of_all;
  EXPECT_NE(ordinary.is_needed(map, is_quiet), of_all.is_needed(map, is_quiet));
  TestKernel kernel({},
                    "v_lshlrev_b32 v1, 2, v0\ns_mov_b32 m0, -1\n"
                    "s_load_dwordx2 s[0:1], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n" +
                        text + "\ns_endpgm\n");
  kernel.set_argument64(0, TestKernel::kData);
  kernel.set_size(items, 64);  // LDS of one workgroup is not that of the next
  initcheck.begin(map);
  initcheck.set_quiet(is_quiet);
  kernel.dispatch.group_segment_bytes = 1024;
  emu::Watcher* watchers[] = {&initcheck};
  kernel.dispatch.watchers = watchers;
  emu::Engine engine({.threads = 1});
  EXPECT_FALSE(engine.run(kernel.dispatch).fault);
  uint64_t dropped = 0;
  return initcheck.findings().take(&dropped);
}

std::vector<Finding> run(const std::string& text) {
  OneBlock map;
  return run(text, map);
}

TEST(Initcheck, LdsIsReadAfterItWasWritten) {
  EXPECT_TRUE(run("ds_write_b32 v1, v0\nds_read_b32 v2, v1").empty());
  const std::vector<Finding> findings = run("ds_write_b32 v1, v0\nds_read_b32 v2, v1 offset:64");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kUninitialisedLds);
  EXPECT_EQ(findings[0].severity, Severity::kError);
  EXPECT_EQ(findings[0].place.lanes, uint64_t{0xffff} << 48);
  EXPECT_EQ(findings[0].address, 256u);
  EXPECT_EQ(findings[0].times, 3u);
  EXPECT_EQ(findings[0].lane_count, 3u * 16);
}

TEST(Initcheck, AnElementThatIsWrittenInPartIsRight) {
  // Eight bytes, of which one was written.
  EXPECT_TRUE(
      run("v_lshlrev_b32 v4, 3, v0\nds_write_b8 v4, v0 offset:5\nds_read_b64 v[2:3], v4").empty());
  EXPECT_EQ(run("v_lshlrev_b32 v4, 3, v0\nds_write_b8 v4, v0 offset:5\nds_read_b32 v2, v4").size(),
            1u);
  EXPECT_EQ(run("ds_write_b32 v1, v0\nds_read2_b32 v[2:3], v1 offset1:64").size(), 1u);
}

TEST(Initcheck, LdsThatIsWrittenWholeIsRightAndThatOfTheNextWorkgroupIsNot) {
  // 64 lanes write 16 bytes each, 1024 in all; every workgroup reads before and after.
  const std::string write = "v_lshlrev_b32 v4, 4, v0\nds_write_b128 v4, v[4:7]\n";
  const std::vector<Finding> findings =
      run("ds_read_b32 v2, v1\n" + write + "ds_read_b32 v3, v1 offset:768\nds_read_u8 v3, v0");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].lane_count, 3u * 64);
}

TEST(Initcheck, WhatIsPastTheEndIsNotItsAffair) {
  EXPECT_TRUE(run("v_mov_b32 v2, 0x400\nds_read_b32 v3, v2").empty());
  EXPECT_EQ(run("v_mov_b32 v2, 0x3fc\nds_read_b32 v3, v2").size(), 1u);
}

TEST(Initcheck, GlobalMemoryIsReadAfterItWasWritten) {
  EXPECT_TRUE(run("global_store_dword v1, v0, s[0:1]\nglobal_load_dword v2, v1, s[0:1]").empty());
  OneBlock map;
  // Lanes 48 to 63 read what is behind the last one's store.
  const std::vector<Finding> findings =
      run("global_store_dword v1, v0, s[0:1]\nglobal_load_dword v2, v1, s[0:1] offset:64", map,
          false, 64);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kUninitialisedGlobal);
  EXPECT_EQ(findings[0].place.lanes, uint64_t{0xffff} << 48);
  EXPECT_EQ(findings[0].address, TestKernel::kData + 256);
  EXPECT_EQ(findings[0].lane_count, 16u);
  // Told once, in all dispatches.
  EXPECT_TRUE(run("global_load_dword v2, v1, s[0:1] offset:64", map, false, 64).empty());
}

TEST(Initcheck, WhatADispatchWritesIsThereForTheNext) {
  OneBlock map;
  EXPECT_TRUE(run("global_load_dword v2, v1, s[0:1]\nglobal_store_dword v1, v0, s[0:1]", map,
                  /*is_quiet=*/true)
                  .empty());
  EXPECT_TRUE(run("global_load_dword v2, v1, s[0:1]", map).empty());
}

TEST(Initcheck, GlobalMemoryThatTheHostTouchedIsRight) {
  OneBlock map;
  map.touched = TestKernel::kData + 100;
  EXPECT_TRUE(run("global_load_dword v2, v1, s[0:1]", map).empty());
  EXPECT_EQ(run("global_load_dword v2, v1, s[0:1] offset:4080", map).size(), 1u);
}

TEST(Initcheck, ScalarLoadsCount) {
  EXPECT_EQ(run("s_load_dword s2, s[0:1], 0x20").size(), 1u);
  EXPECT_TRUE(run("v_mov_b32 v1, 0\nglobal_store_dword v1, v0, s[0:1] offset:32\n"
                  "s_load_dword s2, s[0:1], 0x20")
                  .empty());
}

TEST(Initcheck, AnExchangeIsAStore) {
  EXPECT_TRUE(run("global_atomic_swap v2, v1, v0, s[0:1] glc").empty());
  EXPECT_EQ(run("global_atomic_add v2, v1, v0, s[0:1] glc").size(), 1u);
}

TEST(Initcheck, AnAtomicReadsBeforeItWrites) {
  EXPECT_EQ(run("ds_add_u32 v1, v0").size(), 1u);
  EXPECT_TRUE(run("ds_write_b32 v1, v0\nds_add_u32 v1, v0\nds_read_b32 v2, v1").empty());
}

// Each lane writes the first half of 8 bytes, of the data or of LDS, and loads them.
TEST(Initcheck, WhatIsWrittenInPartIsFollowedToWhereItMatters) {
  const std::string eight = "v_lshlrev_b32 v1, 3, v0\n";
  const std::string global = eight +
                             "global_store_dword v1, v0, s[0:1]\ns_waitcnt vmcnt(0)\n"
                             "global_load_dwordx2 v[2:3], v1, s[0:1]\ns_waitcnt vmcnt(0)\n";
  const std::string lds =
      eight + "ds_write_b32 v1, v0\nds_read_b64 v[2:3], v1\ns_waitcnt lgkmcnt(0)\n";
  const std::string branch = "s_cbranch_vccz end\nend:";
  const auto only = [](const std::string& text) {
    const std::vector<Finding> findings = run(text);
    EXPECT_EQ(findings.size(), 1u) << text;
    return findings.empty() ? Finding() : findings[0];
  };
  for (const auto& [load, kind] :
       {std::pair(global, Kind::kUninitialisedGlobal), std::pair(lds, Kind::kUninitialisedLds)}) {
    const Finding finding = only(load + "v_cmp_lt_u32 vcc, 5, v3\n" + branch);
    EXPECT_EQ(finding.kind, kind);
    EXPECT_EQ(finding.severity, Severity::kError);
    EXPECT_EQ(finding.detail,
              "bytes 4 to 7 of what was loaded were never written; this branch depends on it");
    EXPECT_TRUE(finding.has_other);
    EXPECT_STREQ(finding.other_role, "loaded");
    only(load + "v_and_b32 v4, 4, v3\nglobal_store_dword v4, v0, s[0:1] offset:1024");
    only(load + "v_add_u32 v4, v3, v0\nv_cmp_lt_u32 vcc, 9, v4\ns_and_saveexec_b64 s[6:7], vcc");
    only(load + "v_readfirstlane_b32 s6, v3\ns_cmp_eq_u32 s6, 3\ns_cbranch_scc1 end\nend:");
    // The half that was written, a copy of both, and what is overwritten.
    EXPECT_TRUE(run(load + "v_cmp_lt_u32 vcc, 5, v2\n" + branch).empty());
    EXPECT_TRUE(run(load + "global_store_dwordx2 v1, v[2:3], s[0:1] offset:2048").empty());
    EXPECT_TRUE(run(load + "v_mov_b32 v3, 7\nv_cmp_lt_u32 vcc, 5, v3\n" + branch).empty());
    // A bit that the other operand decides: `if (has_value && value > 5)`.
    const std::string both =
        "v_cmp_lt_u32 s[6:7], 5, v3\nv_cmp_gt_u32 vcc, 0, v2\n"
        "s_and_b64 s[6:7], s[6:7], vcc\ns_and_saveexec_b64 s[8:9], s[6:7]";
    EXPECT_TRUE(run(load + both).empty());
    only(load +
         "v_cmp_lt_u32 s[6:7], 5, v3\nv_cmp_le_u32 vcc, 0, v2\n"
         "s_and_b64 s[6:7], s[6:7], vcc\ns_and_saveexec_b64 s[8:9], s[6:7]");
  }
}

// 8 bytes for each lane, of which the first half was written, are copied. What the copy is used for is judged as what the
// source would be.
TEST(Initcheck, WhatIsCopiedIsAsUndefinedAsWhereItCameFrom) {
  const std::string eight = "v_lshlrev_b32 v1, 3, v0\n";
  const std::string half = eight + "global_store_dword v1, v0, s[0:1]\ns_waitcnt vmcnt(0)\n";
  const std::string copy = "global_load_dwordx2 v[2:3], v1, s[0:1]\ns_waitcnt vmcnt(0)\n";
  const std::string branch = "v_cmp_lt_u32 vcc, 5, v5\ns_cbranch_vccz end\nend:";
  const std::string to_global =
      half + copy + "global_store_dwordx2 v1, v[2:3], s[0:1] offset:2048\n";
  const std::string to_lds = half + copy + "ds_write_b64 v1, v[2:3]\n";
  const std::string from_global = "global_load_dword v5, v1, s[0:1] offset:";
  const std::string from_lds = "ds_read_b32 v5, v1 offset:";
  for (const bool is_lds : {false, true}) {
    const std::string& before = is_lds ? to_lds : to_global;
    const Kind kind = is_lds ? Kind::kUninitialisedLds : Kind::kUninitialisedGlobal;
    const std::string first = is_lds ? "0\n" : "2048\n";
    const std::string second = is_lds ? "4\n" : "2052\n";
    const std::string base = is_lds ? from_lds : from_global;
    const std::string wait = "s_waitcnt vmcnt(0) lgkmcnt(0)\n";
    OneBlock map;
    const std::vector<Finding> findings =
        run(before + base + second + wait + branch, map, false, 64);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].kind, kind);
    EXPECT_EQ(findings[0].detail,
              "bytes 0 to 3 of what was loaded were made of what nobody has written; this branch "
              "depends on it");
    EXPECT_TRUE(run(before + base + first + wait + branch).empty());
    // Loaded and not used; written before it is.
    EXPECT_TRUE(run(before + base + second).empty());
    const std::string store = is_lds ? "ds_write_b32 v1, v0 offset:4\n"
                                     : "global_store_dword v1, v0, s[0:1] offset:2052\n";
    EXPECT_TRUE(run(before + store + base + second + wait + branch).empty());
  }
  // In another dispatch, and by one that nobody asks about.
  OneBlock map;
  EXPECT_TRUE(run(half, map, false, 64).empty());
  EXPECT_TRUE(run(eight + copy + "global_store_dwordx2 v1, v[2:3], s[0:1] offset:2048", map,
                  /*is_quiet=*/true, 64)
                  .empty());
  const std::string wait = "s_waitcnt vmcnt(0)\n";
  EXPECT_TRUE(run(eight + from_global + "2048\n" + wait + branch, map, false, 64).empty());
  EXPECT_EQ(run(eight + from_global + "2052\n" + wait + branch, map, false, 64).size(), 1u);
  EXPECT_TRUE(run(eight + "global_store_dword v1, v0, s[0:1] offset:2052", map, false, 64).empty());
  EXPECT_TRUE(run(eight + from_global + "2052\n" + wait + branch, map, false, 64).empty());
}

TEST(Initcheck, ACopyOfWhatNobodyHasWrittenIsWhatTheSourceWas) {
  const std::string wait = "s_waitcnt vmcnt(0)\n";
  // The second one may read a register that nobody has written, and is watched for that.
  for (const char* before : {"", "v_mov_b32 v9, v20\n"}) {
    OneBlock map;
    EXPECT_TRUE(run(before + ("global_load_dword v2, v1, s[0:1]\n" + wait) +
                        "global_store_dword v1, v2, s[0:1] offset:2048",
                    map, /*is_quiet=*/true, 64)
                    .empty());
    const std::vector<Finding> findings =
        run("global_load_dword v5, v1, s[0:1] offset:2048\n" + wait +
                "v_cmp_lt_u32 vcc, 5, v5\ns_cbranch_vccz end\nend:",
            map, false, 64);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_TRUE(findings[0].detail.ends_with("this branch depends on it"));
  }
}

// Of each four bytes the first was written.
TEST(Initcheck, ValuesOfLessThanARegisterAreFollowed) {
  const std::string load = "ds_write_b8 v1, v0\nds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)\n";
  const std::string branch = "\nv_cmp_lt_u32 vcc, 5, v5\ns_cbranch_vccz end\nend:";
  for (
      const char* right :
      {"v_and_b32 v5, 0xff, v2", "v_bfe_u32 v5, v2, 1, 7", "v_lshlrev_b32 v5, 24, v2",
       "v_mov_b32_sdwa v5, v2 dst_sel:DWORD src0_sel:BYTE_0", "v_cvt_f32_ubyte0 v5, v2",
       "v_mov_b32 v4, v2\nv_lshlrev_b32 v4, 8, v4\nv_or_b32 v4, 0xffff00ff, v4\nv_and_b32 v5, 0xff00, v4"})
    EXPECT_TRUE(run(load + right + branch).empty()) << right;
  for (const char* wrong :
       {"v_mov_b32 v5, v2", "v_and_b32 v5, 0xff00, v2", "v_bfe_u32 v5, v2, 1, 8",
        "v_lshlrev_b32 v5, 16, v2", "v_mov_b32_sdwa v5, v2 dst_sel:DWORD src0_sel:WORD_0",
        "v_cvt_f32_ubyte1 v5, v2"}) {
    const std::vector<Finding> findings = run(load + wrong + branch);
    ASSERT_EQ(findings.size(), 1u) << wrong;
    EXPECT_EQ(findings[0].detail,
              "bytes 1 to 3 of what was loaded were never written; this branch depends on it");
  }
  // A byte of it is stored and loaded.
  const std::string store = load + "v_lshrrev_b32 v3, 8, v2\n";
  const std::string again = "\nds_read_u8 v5, v1 offset:1\ns_waitcnt lgkmcnt(0)" + branch;
  EXPECT_EQ(run(store + "ds_write_b8 v1, v3 offset:1" + again).size(), 1u);
  EXPECT_TRUE(run(store + "ds_write_b8 v1, v2 offset:1" + again).empty());
}

}  // namespace
}  // namespace wavetap::sanitize::initcheck_test
