// Initcheck on small kernels; tests/sanitize/init_bugs.hip has whole programs.
#include "sanitize/initcheck.h"

#include <gtest/gtest.h>

#include "emu/testing/kernel.h"

namespace wavetap::sanitize {
namespace {

using emu::TestKernel;

// v1 is four times the work-item, and m0 lets all of LDS through.
std::vector<Finding> run(const std::string& text) {
  Initcheck initcheck;
  TestKernel kernel({}, "v_lshlrev_b32 v1, 2, v0\ns_mov_b32 m0, -1\n" + text + "\ns_endpgm\n");
  kernel.set_size(192, 64);  // LDS of one workgroup is not that of the next
  kernel.dispatch.group_segment_bytes = 1024;
  emu::Watcher* watchers[] = {&initcheck};
  kernel.dispatch.watchers = watchers;
  emu::Engine engine({.threads = 1});
  EXPECT_FALSE(engine.run(kernel.dispatch).fault);
  uint64_t dropped = 0;
  return initcheck.findings().take(&dropped);
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

TEST(Initcheck, WhatIsPastTheEndIsNotItsAffair) {
  EXPECT_TRUE(run("v_mov_b32 v2, 0x400\nds_read_b32 v3, v2").empty());
  EXPECT_EQ(run("v_mov_b32 v2, 0x3fc\nds_read_b32 v3, v2").size(), 1u);
}

TEST(Initcheck, AnAtomicReadsBeforeItWrites) {
  EXPECT_EQ(run("ds_add_u32 v1, v0").size(), 1u);
  EXPECT_TRUE(run("ds_write_b32 v1, v0\nds_add_u32 v1, v0\nds_read_b32 v2, v1").empty());
}

}  // namespace
}  // namespace wavetap::sanitize
