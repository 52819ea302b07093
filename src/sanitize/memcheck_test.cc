// Memcheck on small kernels with memory made up for the purpose; tests/sanitize has whole programs.
#include "sanitize/memcheck.h"

#include <gtest/gtest.h>

#include "emu/testing/kernel.h"

namespace wavetap::sanitize::memcheck_test {
namespace {

using emu::TestKernel;

// One allocation at the kernel's data, of which the page table maps more.
class OneBlock final : public MemoryMap {
 public:
  explicit OneBlock(uint64_t size_bytes) : size_bytes_(size_bytes) {}

  uint64_t epoch() const noexcept override { return epoch_; }
  void list(std::vector<Block>& blocks) const noexcept override {
    blocks.push_back({TestKernel::kArguments, TestKernel::kArguments + 0x1000, true});
    blocks.push_back({TestKernel::kData, TestKernel::kData + size_bytes_, true});
  }
  Neighbour neighbour(GpuAddr address) const noexcept override {
    Neighbour beside{
        .begin = TestKernel::kData, .size_bytes = size_bytes_, .exact = true, .freed = freed};
    const uint64_t end = beside.begin + size_bytes_;
    beside.relation = address.value < beside.begin ? Relation::kBefore
                      : address.value < end        ? Relation::kInside
                                                   : Relation::kPast;
    beside.distance = beside.relation == Relation::kBefore   ? beside.begin - address.value
                      : beside.relation == Relation::kInside ? address.value - beside.begin
                                                             : address.value - end;
    return beside;
  }
  void resize(uint64_t size_bytes) {
    size_bytes_ = size_bytes;
    ++epoch_;
  }
  bool freed = false;

 private:
  uint64_t size_bytes_;
  uint64_t epoch_ = 1;
};

class MemcheckTest : public ::testing::Test {
 protected:
  std::vector<Finding> run(const std::string& text, OneBlock& map) {
    TestKernel kernel(
        {}, "s_load_dwordx2 s[6:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n" + text + "\ns_endpgm\n");
    kernel.memory.write(TestKernel::kArguments, TestKernel::kData);
    kernel.dispatch.grid_size[0] = 64;
    kernel.dispatch.workgroup_size[0] = 64;
    kernel.dispatch.group_segment_bytes = lds_bytes;
    emu::Watcher* watchers[] = {&memcheck};
    kernel.dispatch.watchers = watchers;
    if (!keep_copy) memcheck.begin(map);
    emu::Engine engine({.threads = 1});
    engine.run(kernel.dispatch);
    return memcheck.findings().take(&dropped);
  }

  Memcheck memcheck;
  uint64_t dropped = 0;
  uint32_t lds_bytes = 0;
  bool keep_copy = false;  // begin() was called before
};

const char kStore[] = "v_lshlrev_b32 v1, 2, v0\nglobal_store_dword v1, v0, s[6:7]";

TEST_F(MemcheckTest, AnElementMayEndAtTheLastByteAndNotBehindIt) {
  OneBlock map(256);
  EXPECT_TRUE(run(kStore, map).empty());
  OneBlock less(255);
  const std::vector<Finding> findings = run(kStore, less);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kOutOfBounds);
  EXPECT_EQ(findings[0].place.lanes, uint64_t{1} << 63);
  EXPECT_EQ(findings[0].place.thread[0], 63u);
  EXPECT_EQ(findings[0].address, TestKernel::kData + 252);
  EXPECT_EQ(findings[0].neighbour.relation, Relation::kInside);
}

TEST_F(MemcheckTest, InstancesOfOneInstructionAreOneFinding) {
  OneBlock map(128);
  const std::string twice = std::string("s_mov_b32 s8, 5\nagain:\n") + kStore +
                            "\ns_sub_u32 s8, s8, 1\ns_cmp_lg_u32 s8, 0\ns_cbranch_scc1 again";
  const std::vector<Finding> findings = run(twice, map);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].times, 5u);
  EXPECT_EQ(findings[0].lane_count, 5u * 32);
}

TEST_F(MemcheckTest, ScalarLoadsMayBeWiderThanTheirData) {
  OneBlock map(12);
  EXPECT_TRUE(run("s_load_dwordx4 s[8:11], s[6:7], 0x0", map).empty());
  EXPECT_EQ(run("s_load_dwordx8 s[8:15], s[6:7], 0x0", map).size(), 1u);
  EXPECT_EQ(run("s_load_dword s8, s[6:7], 0x10", map).size(), 1u);
}

TEST_F(MemcheckTest, MemoryThatCameWhileTheKernelRanIsRight) {
  OneBlock map(128);
  memcheck.begin(map);
  map.resize(256);
  keep_copy = true;
  EXPECT_TRUE(run(kStore, map).empty());
}

TEST_F(MemcheckTest, NamesFreedMemoryAndWildAddressesBeforeTheyFault) {
  OneBlock map(256);
  const std::string far = "s_add_u32 s6, s6, 0x100000\ns_addc_u32 s7, s7, 0\n";
  std::vector<Finding> findings = run(far + kStore, map);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kOutOfBounds);
  EXPECT_EQ(findings[0].neighbour.distance, 0x100000u - 256);
  findings = run("s_mov_b32 s7, 0x1234\n" + std::string(kStore), map);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kInvalidAddress);
  OneBlock gone(0x200000);
  gone.freed = true;
  memcheck.begin(gone);
  gone.resize(0x200000);
  keep_copy = true;
  findings = run(far + kStore, gone);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kUseAfterFree);
}

TEST_F(MemcheckTest, LdsEndsWhereTheDispatchSaidAndNotAtTheNextGranule) {
  OneBlock map(256);
  const std::string text = "v_lshlrev_b32 v1, 2, v0\ns_mov_b32 m0, -1\nds_write_b32 v1, v0";
  lds_bytes = 256;
  EXPECT_TRUE(run(text, map).empty());
  lds_bytes = 250;
  const std::vector<Finding> findings = run(text, map);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kLdsOutOfBounds);
  EXPECT_EQ(findings[0].place.lanes, uint64_t{3} << 62);
  EXPECT_EQ(findings[0].limit_bytes, 250u);
}

TEST(FindingTable, CountsWhatItCannotKeep) {
  FindingTable table;
  Finding finding;
  finding.place.lanes = 1;
  for (uint64_t pc = 0; pc < FindingTable::kMost + 3; ++pc) {
    finding.place.pc = {pc * 4};
    table.add(finding);
  }
  uint64_t dropped = 0;
  EXPECT_EQ(table.take(&dropped).size(), FindingTable::kMost);
  EXPECT_EQ(dropped, 3u);
  EXPECT_TRUE(table.take(&dropped).empty());
  EXPECT_EQ(dropped, 0u);
}

}  // namespace
}  // namespace wavetap::sanitize::memcheck_test
