// The modelled caches on small kernels whose requests are known by hand; tests/profile has whole programs.
#include "cachesim/memory_watch.h"

#include <gtest/gtest.h>

#include "emu/testing/kernel.h"
#include "emu/testing/targets.h"

namespace wavetap::cachesim {
namespace {

using emu::TestKernel;

model::Model load(const char* name) {
  Result<model::Model> model = model::load_model(WT_SOURCE_DIR "/models", name);
  EXPECT_TRUE(model.ok());
  return *model;
}

struct Ran {
  MemoryResult result;
  emu::Counters counters;
};

// A kernel whose s[8:9] is the first argument, s[10:11] the second, v3 the number of the work-item.
Ran run(const char* model_name, const std::string& text, uint32_t items, int threads = 1,
        uint32_t lds_bytes = 0) {
  const model::Model model = load(model_name);
  const bool wave64 = model.target.major == 9;
  TestKernel kernel({.target = model.target, .wave64 = wave64},
                    "s_load_dwordx4 s[8:11], s[0:1], 0x0\n"
                    "s_waitcnt lgkmcnt(0)\n"
                    "s_lshl_b32 s5, s2, 8\n"
                    "v_and_b32 v0, 0x3ff, v0\n"
                    "v_or_b32 v3, s5, v0\n" +
                        text + "\ns_endpgm\n");
  kernel.set_argument64(0, TestKernel::kData);
  kernel.set_argument64(8, TestKernel::kData + TestKernel::kDataBytes / 2);
  kernel.set_size(items, 256);
  kernel.dispatch.group_segment_bytes = lds_bytes;
  kernel.dispatch.count = true;
  MemoryWatch watch(model);
  emu::Watcher* watchers[] = {&watch};
  kernel.dispatch.watchers = watchers;
  emu::Engine engine({.threads = threads});
  const emu::DispatchResult ran = engine.run(kernel.dispatch);
  EXPECT_FALSE(ran.fault) << ran.fault->detail;
  return {watch.result(), ran.counters};
}

constexpr uint32_t kItems = 16384;  // 128 KiB of doubles, read and written
const char kCopyDoubles[] =
    "v_lshlrev_b32 v3, 3, v3\n"
    "global_load_dwordx2 v[4:5], v3, s[8:9]\n"
    "s_waitcnt vmcnt(0)\n"
    "global_store_dwordx2 v3, v[4:5], s[10:11]";

// What hardware counts for a copy of 2^20 doubles, scaled: per wave of 64, 64 accesses and 16 tag
// look-ups of each instruction, 8 (MI100, MI200) or 4 (MI300) reads of the L2, 8 writes.
TEST(MemoryWatch, ACopyOfDoublesAsksForWhatHardwareCounts) {
  const uint64_t waves = kItems / 64;
  const uint64_t bytes = kItems * 8;
  for (const char* const name : {"mi100", "mi210", "mi300x"}) {
    SCOPED_TRACE(name);
    const bool is_mi100 = std::string(name) == "mi100";
    const bool is_mi300 = std::string(name) == "mi300x";
    const MemoryCounters c = run(name, kCopyDoubles, kItems).result.memory;
    EXPECT_EQ(c.l1_accesses, 2 * 64 * waves);
    EXPECT_EQ(c.l1_tag_accesses, 2 * 16 * waves);
    EXPECT_EQ(c.l1_to_l2_reads, (is_mi300 ? 4 : 8) * waves);
    EXPECT_EQ(c.l1_to_l2_writes, 8 * waves);
    // Of MI200 and MI300, a read asks for a line of 128 bytes; the second half of a line that is
    // written hits. MI100 knows sectors of 64 bytes only.
    const uint64_t vector_reads = (is_mi100 ? 8 : 4) * waves;
    EXPECT_GE(c.l2_reads, vector_reads);
    EXPECT_LE(c.l2_reads, vector_reads + vector_reads / 2);  // and scalar and instruction caches'
    EXPECT_EQ(c.l2_writes, 8 * waves);
    const uint64_t expected_misses = is_mi100 ? 16 * waves : 8 * waves;
    EXPECT_GE(c.l2_misses, expected_misses);
    EXPECT_LE(c.l2_misses, expected_misses + 40);
    EXPECT_GE(c.fabric_reads, bytes / (is_mi300 ? 128 : 64));
    EXPECT_LE(c.fabric_reads, bytes / (is_mi300 ? 128 : 64) + 60);
    EXPECT_EQ(c.fabric_writes, bytes / 64);
    EXPECT_EQ(c.fabric_writes_64b, bytes / 64);
    EXPECT_EQ(c.dram_write_bytes, bytes);
    EXPECT_GE(c.dram_read_bytes, bytes);
    EXPECT_LE(c.dram_read_bytes, bytes + 8192);
    EXPECT_EQ(c.dram_again_bytes, 0u);
    EXPECT_EQ(c.vmem_waits, waves);
    EXPECT_EQ(c.smem_waits, waves);
  }
}

TEST(MemoryWatch, FourByteLanesSideBySideAreOneLookUpPerSixteen) {
  const MemoryCounters c =
      run("mi210", "v_lshlrev_b32 v3, 2, v3\nglobal_load_dword v4, v3, s[8:9]", 256).result.memory;
  EXPECT_EQ(c.l1_accesses, 4u * 16);
  EXPECT_EQ(c.l1_tag_accesses, 4u * 4);
  EXPECT_EQ(c.l1_reads, 4u * 4);
  EXPECT_EQ(c.l1_bytes, 1024u);
}

TEST(MemoryWatch, AStrideOfALineMakesEveryLaneARequest) {
  const Ran ran = run("mi210", "v_lshlrev_b32 v3, 7, v3\nglobal_load_dword v4, v3, s[8:9]", 256);
  EXPECT_EQ(ran.result.memory.l1_tag_accesses, 256u);
  EXPECT_EQ(ran.result.memory.l1_to_l2_reads, 256u);
  ASSERT_FALSE(ran.result.accesses.empty());
  const SiteCounts& load = ran.result.accesses.back();
  EXPECT_EQ(load.executed, 4u);
  EXPECT_EQ(load.lines, 256u);
  EXPECT_EQ(load.lines_ideal, 16u);
  EXPECT_EQ(load.l1_misses, 256u);
}

TEST(MemoryWatch, WhatWasReadIsInTheL1UntilItIsInvalidated) {
  const std::string load = "v_lshlrev_b32 v4, 2, v0\nglobal_load_dword v5, v4, s[8:9]\n";
  EXPECT_EQ(run("mi210", load + load, 64).result.memory.l1_read_misses, 4u);
  EXPECT_EQ(run("mi210", load + "buffer_wbinvl1\n" + load, 64).result.memory.l1_read_misses, 8u);
}

TEST(MemoryWatch, RdnaHasACacheBetweenTheL0AndTheL2) {
  // Both workgroups of a shader array's CUs read the same 256 bytes.
  const MemoryCounters c =
      run("rx6800xt", "v_lshlrev_b32 v4, 2, v0\nglobal_load_dword v5, v4, s[8:9]", 256 * 72)
          .result.memory;
  EXPECT_EQ(c.l1_read_misses, 72u * 8);
  EXPECT_EQ(c.gl1_reads - c.scalar_read_misses, 72u * 8);
  EXPECT_EQ(c.gl1_read_misses, 8u * (8 + 1));  // arrays, their lines and the arguments'
}

TEST(MemoryWatch, LinesThatDoNotFitComeFromTheLevelBelow) {
  // 256 lanes read 512 KiB, 2 KiB apart, twice: far more than an L1.
  const std::string again =
      "s_mov_b32 s13, 2\nagain:\nv_lshlrev_b32 v4, 11, v0\ns_mov_b32 s12, 8\nwalk:\n"
      "global_load_dword v5, v4, s[8:9]\nv_add_u32 v4, 0x100, v4\ns_sub_u32 s12, s12, 1\n"
      "s_cmp_lg_u32 s12, 0\ns_cbranch_scc1 walk\ns_sub_u32 s13, s13, 1\ns_cmp_lg_u32 s13, 0\n"
      "s_cbranch_scc1 again";
  const Ran ran = run("mi210", again, 256);
  const MemoryCounters& c = ran.result.memory;
  EXPECT_EQ(c.l1_reads, 2u * 8 * 256);
  EXPECT_EQ(c.l1_read_misses, 2u * 8 * 256);
  EXPECT_EQ(c.l2_misses - 4, 8u * 256);  // arguments and code beside
  EXPECT_EQ(ran.result.block_instructions, ran.counters.instructions);
}

TEST(MemoryWatch, TheHostsThreadsChangeNothing) {
  const MemoryCounters one = run("mi300x", kCopyDoubles, kItems, 1).result.memory;
  const MemoryCounters four = run("mi300x", kCopyDoubles, kItems, 4).result.memory;
  for_each_memory_counter(one, [&](const char* name, uint64_t value, const char*) {
    for_each_memory_counter(four, [&](const char* other, uint64_t also, const char*) {
      if (std::string(name) == other) {
        EXPECT_EQ(value, also) << name;
      }
    });
  });
}

TEST(MemoryWatch, ArithmeticIsCountedByKind) {
  const InstructionCounters c =
      run("mi210",
          "v_add_f32 v4, v0, v0\nv_fma_f32 v4, v4, v4, v4\nv_mul_f64 v[4:5], v[4:5], v[4:5]\n"
          "v_rcp_f32 v6, v4\nv_add_u32 v6, v6, v6\nv_cvt_f32_i32 v6, v6\n"
          "v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], a[0:15]",
          256)
          .result.instructions;
  EXPECT_EQ(c.SQ_INSTS_VALU_ADD_F32, 4u);
  EXPECT_EQ(c.SQ_INSTS_VALU_FMA_F32, 4u);
  EXPECT_EQ(c.SQ_INSTS_VALU_MUL_F64, 4u);
  EXPECT_EQ(c.SQ_INSTS_VALU_TRANS_F32, 4u);
  EXPECT_EQ(c.SQ_INSTS_VALU_CVT, 4u);
  EXPECT_EQ(c.SQ_INSTS_VALU_MFMA_MOPS_F16, 4u * 32 * 32 * 8 * 2 / 512);
  EXPECT_EQ(c.SQ_INSTS_VALU_INT32, 4u * 3);  // the address' two before it
}

TEST(MemoryWatch, BankConflictsCostCycles) {
  const std::string text = "v_lshlrev_b32 v4, %, v0\nds_read_b32 v5, v4\ns_waitcnt lgkmcnt(0)";
  const auto cycles = [&](char shift) {
    std::string kernel = text;
    kernel[kernel.find('%')] = shift;
    return run("mi210", kernel, 64, 1, 32768).result.memory;
  };
  EXPECT_EQ(cycles('2').lds_conflict_cycles, 0u);
  EXPECT_EQ(cycles('2').lds_cycles, 2u);
  EXPECT_EQ(cycles('3').lds_conflict_cycles, 2u);
  EXPECT_EQ(cycles('7').lds_conflict_cycles, 2u * 31);
  EXPECT_EQ(cycles('2').lds_waits, 1u);
}

}  // namespace
}  // namespace wavetap::cachesim
