// Racecheck on small kernels; tests/sanitize/races.hip has whole programs.
#include "sanitize/racecheck.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "emu/testing/kernel.h"

namespace wavetap::sanitize::racecheck_test {
namespace {

using emu::TestKernel;

class RacecheckTest : public ::testing::Test {
 protected:
  // s[6:7] is the data, s2 the workgroup, v0 the work-item, v1 four times that.
  std::vector<Finding> run(const std::string& text) {
    TestKernel kernel({.target = target, .wave64 = target.major == 9},
                      "s_load_dwordx2 s[6:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n"
                      "v_and_b32 v0, 0x3ff, v0\nv_lshlrev_b32 v1, 2, v0\ns_mov_b32 m0, -1\n" +
                          text + "\ns_endpgm\n");
    kernel.memory.write(TestKernel::kArguments, TestKernel::kData);
    kernel.dispatch.grid_size[0] = groups * threads;
    kernel.dispatch.workgroup_size[0] = threads;
    kernel.dispatch.group_segment_bytes = 4096;
    kernel.memory.write(TestKernel::kData, first_word);
    emu::Watcher* watchers[] = {&racecheck, pacer};
    kernel.dispatch.watchers = {watchers, pacer == nullptr ? size_t{1} : size_t{2}};
    emu::Engine engine({.threads = pacer == nullptr ? 1 : 2, .seed = seed});
    EXPECT_FALSE(engine.run(kernel.dispatch).fault);
    uint64_t dropped = 0;
    return racecheck.findings().take(&dropped);
  }

  Racecheck racecheck;
  amd::GfxTarget target{9, 0, 10};
  uint32_t groups = 1;
  uint16_t threads = 128;
  uint64_t seed = 0;
  uint32_t first_word = 0;        // of the data
  emu::Watcher* pacer = nullptr;  // decides which of two threads runs
};

// Each lane stores its number and reads that of the other wave's lane.
const char kStore[] = "ds_write_b32 v1, v0\ns_waitcnt lgkmcnt(0)\n";
const char kLoad[] = "v_xor_b32 v2, 0x100, v1\nds_read_b32 v3, v2\ns_waitcnt lgkmcnt(0)\n";

TEST_F(RacecheckTest, ABarrierOrdersTheWavesOfAWorkgroup) {
  EXPECT_TRUE(run(std::string(kStore) + "s_barrier\n" + kLoad).empty());
  const std::vector<Finding> findings = run(std::string(kStore) + kLoad);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kReadAfterWrite);
  EXPECT_EQ(findings[0].severity, Severity::kError);
  EXPECT_EQ(findings[0].space, emu::Space::kLds);
  // Wave 0 reads before wave 1 stores, and the other way round: one finding all the same.
  EXPECT_EQ(findings[0].times, 2u);
  EXPECT_EQ(findings[0].lane_count, 128u);
  EXPECT_EQ(findings[0].place.access, emu::Access::kLoad);
  ASSERT_TRUE(findings[0].has_other);
  EXPECT_EQ(findings[0].other.access, emu::Access::kStore);
  EXPECT_NE(findings[0].place.wave, findings[0].other.wave);
}

// On gfx10 a barrier orders what was waited for before it.
TEST_F(RacecheckTest, ABarrierDoesNotOrderWhatWasNotWaitedFor) {
  const std::string store = "ds_write_b32 v1, v0\n";
  const std::string barrier = "s_barrier\ns_waitcnt lgkmcnt(0)\n";
  EXPECT_TRUE(run(store + barrier + kLoad).empty()) << "gfx9 keeps the order";
  target = {10, 3, 0};
  threads = 64;
  const std::string load = "v_xor_b32 v2, 0x80, v1\nds_read_b32 v3, v2\ns_waitcnt lgkmcnt(0)\n";
  EXPECT_TRUE(run(kStore + barrier + load).empty());
  const std::vector<Finding> findings = run(store + barrier + load);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kReadAfterWrite);
  EXPECT_NE(findings[0].detail.find("lgkmcnt(0)"), std::string::npos) << findings[0].detail;
  // The next barrier comes after the wait.
  EXPECT_TRUE(run(store + barrier + "s_barrier\n" + load).empty());
  // One more may be under way, and it is the younger one.
  const std::string younger = store + "ds_write_b32 v1, v0 offset:1024\ns_waitcnt lgkmcnt(1)\n";
  EXPECT_TRUE(run(younger + barrier + load).empty());
  EXPECT_EQ(run(younger + barrier + "v_add_nc_u32 v1, 0x400, v1\n" + load).size(), 1u);
}

TEST_F(RacecheckTest, AnAtomicThatIsUnderWayAtABarrierIsNotThereBehindIt) {
  target = {10, 3, 0};
  threads = 64;
  const std::string add = "v_mov_b32 v2, 0\nds_add_u32 v2, v0\n";
  const std::string read = "ds_read_b32 v3, v2\ns_waitcnt lgkmcnt(0)\n";
  EXPECT_TRUE(run(add + "s_waitcnt lgkmcnt(0)\ns_barrier\n" + read).empty());
  const std::vector<Finding> findings = run(add + "s_barrier\n" + read);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kAtomicAndPlain);
  EXPECT_EQ(findings[0].severity, Severity::kError);
}

TEST_F(RacecheckTest, ALoadThatIsUnderWayAtABarrierMayReadWhatIsStoredBehindIt) {
  target = {10, 3, 0};
  threads = 64;
  const std::string load = "v_xor_b32 v2, 0x80, v1\nds_read_b32 v3, v2\n";
  const std::string store = "ds_write_b32 v1, v0\n";
  EXPECT_TRUE(run(load + "s_waitcnt lgkmcnt(0)\ns_barrier\n" + store).empty());
  const std::vector<Finding> findings = run(load + "s_barrier\n" + store);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kWriteAfterRead);
}

TEST_F(RacecheckTest, TheSameIsFoundInWhicheverOrderWavesRun) {
  for (uint64_t i = 0; i < 20; ++i) {
    seed = i;
    const std::vector<Finding> findings = run(std::string(kStore) + kLoad);
    ASSERT_EQ(findings.size(), 1u) << "seed " << i;
    EXPECT_EQ(findings[0].kind, Kind::kReadAfterWrite);
  }
}

TEST_F(RacecheckTest, LanesOfOneWaveAreInOrder) {
  const std::string neighbour = "v_xor_b32 v2, 4, v1\nds_read_b32 v3, v2\n";
  EXPECT_TRUE(run(kStore + neighbour).empty());
}

TEST_F(RacecheckTest, TwoLanesOfOneStoreCollideUnlessTheyStoreTheSame) {
  threads = 64;
  const std::string pairs = "v_and_b32 v2, 0xf8, v1\n";
  const std::vector<Finding> findings = run(pairs + "ds_write_b32 v2, v0");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kWriteAfterWrite);
  EXPECT_EQ(findings[0].place.lanes, ~uint64_t{0});
  EXPECT_EQ(findings[0].place.lane, 1);
  EXPECT_EQ(findings[0].other.lane, 0);
  EXPECT_TRUE(run(pairs + "v_mov_b32 v3, 7\nds_write_b32 v2, v3").empty());
  EXPECT_TRUE(run("ds_write_b8 v0, v0").empty());
}

TEST_F(RacecheckTest, StoresOfTheSameValueAreNoRace) {
  const std::string one = "v_mov_b32 v2, 0\nv_mov_b32 v3, 1\n";
  EXPECT_TRUE(run(one + "ds_write_b32 v2, v3").empty());
  const std::vector<Finding> findings = run(one + "v_lshrrev_b32 v3, 6, v0\nds_write_b32 v2, v3");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kWriteAfterWrite);
}

TEST_F(RacecheckTest, BytesOfOneWordAreDifferentBytes) {
  // Lane 63 of wave 0 has byte 64, lane 0 of wave 1 byte 65 of the same word.
  const std::string apart = "v_add_u32 v2, 1, v0\nds_write_b8 v2, v0\ns_waitcnt lgkmcnt(0)\n";
  EXPECT_TRUE(run(apart).empty());
  EXPECT_TRUE(run(apart + "ds_read_u8 v3, v2").empty());
  // Two bytes each: lane 63's second is lane 0's first.
  const std::vector<Finding> findings =
      run("v_add_u32 v2, 1, v0\nv_cmp_eq_u32 vcc, 63, v0\nv_cmp_eq_u32 s[8:9], 64, v0\n"
          "s_or_b64 exec, vcc, s[8:9]\nds_write_b16 v2, v0");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kWriteAfterWrite);
}

TEST_F(RacecheckTest, NothingOrdersWorkgroups) {
  groups = 3;
  threads = 64;
  const std::string own =
      "s_lshl_b32 s8, s2, 8\nv_add_u32 v1, s8, v1\nglobal_store_dword v1, v0, s[6:7]\n";
  EXPECT_TRUE(run(own).empty());
  const std::vector<Finding> findings =
      run(own + "s_waitcnt vmcnt(0)\ns_barrier\nglobal_load_dword v3, v1, s[6:7] offset:256");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kReadAfterWrite);
  EXPECT_EQ(findings[0].space, emu::Space::kGlobal);
  EXPECT_NE(findings[0].place.workgroup[0], findings[0].other.workgroup[0]);
  EXPECT_EQ(findings[0].lane_count, 2u * 64);
}

TEST_F(RacecheckTest, ManyReadersAreNoRaceAndOneWriterAmongThemIs) {
  groups = 5;
  threads = 64;
  const std::string loads[] = {"global_load_dword v3, v1, s[6:7]\n",
                               "s_load_dword s10, s[6:7], 0x10\n"};
  for (int i = 0; i < 6; ++i) {
    const std::string& read = loads[i % 2];
    EXPECT_TRUE(run(read).empty());
    const char* writer = i < 2 ? "0" : i < 4 ? "2" : "4";
    const std::vector<Finding> findings =
        run(read + "s_waitcnt vmcnt(0) lgkmcnt(0)\ns_cmp_lg_u32 s2, " + writer +
            "\ns_cbranch_scc1 end\nv_cmp_gt_u32 vcc, 8, v0\ns_and_b64 exec, exec, vcc\n"
            "global_store_dword v1, v0, s[6:7]\nend:");
    ASSERT_EQ(findings.size(), 1u) << i;
    EXPECT_EQ(findings[0].kind, Kind::kWriteAfterRead);
    EXPECT_EQ(findings[0].place.workgroup[0], static_cast<uint32_t>(writer[0] - '0'));
    EXPECT_NE(findings[0].other.workgroup[0], findings[0].place.workgroup[0]);
  }
}

TEST_F(RacecheckTest, AtomicsGoWithAtomicsOnly) {
  groups = 2;
  EXPECT_TRUE(run("v_mov_b32 v2, 0\nglobal_atomic_add v2, v0, s[6:7]").empty());
  std::vector<Finding> findings =
      run("v_mov_b32 v2, 0\nglobal_load_dword v3, v2, s[6:7]\nglobal_atomic_add v2, v0, s[6:7]");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kAtomicAndPlain);
  EXPECT_EQ(findings[0].severity, Severity::kWarning) << "nothing is done with what was read";
  // The seed of a compare-and-swap loop.
  EXPECT_TRUE(run("v_mov_b32 v2, 0\nglobal_load_dword v3, v2, s[6:7]\n"
                  "global_atomic_cmpswap v4, v2, v[2:3], s[6:7] glc")
                  .empty());
  findings =
      run("v_mov_b32 v2, 0\nv_cmp_eq_u32 vcc, 0, v0\ns_and_saveexec_b64 s[8:9], vcc\n"
          "ds_write_b32 v2, v0\ns_mov_b64 exec, s[8:9]\nds_add_u32 v2, v0");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::kAtomicAndPlain);
  EXPECT_EQ(findings[0].severity, Severity::kError);
}

TEST_F(RacecheckTest, ALoadBesideAtomicsIsAnErrorWhenItsValueMatters) {
  groups = 2;
  const std::string load =
      "v_mov_b32 v2, 0\nglobal_load_dword v3, v2, s[6:7]\ns_waitcnt vmcnt(0)\n";
  const std::string add = "global_atomic_add v2, v0, s[6:7]\n";
  const auto severity = [&](const std::string& use) {
    const std::vector<Finding> findings = run(load + add + use);
    EXPECT_EQ(findings.size(), 1u) << use;
    return findings.empty() ? Severity::kWarning : findings[0].severity;
  };
  const std::string own = "v_lshlrev_b32 v9, 2, v0\ns_lshl_b32 s8, s2, 9\nv_add_u32 v9, s8, v9\n";
  const std::string far = " offset:1024\n";
  EXPECT_EQ(severity(own + "v_add_u32 v4, v3, v0\nglobal_store_dword v9, v4, s[6:7]" + far),
            Severity::kError);
  EXPECT_EQ(severity("v_and_b32 v5, 4, v3\nglobal_load_dword v6, v5, s[6:7]" + far),
            Severity::kError);
  EXPECT_EQ(severity("v_cmp_lt_u32 vcc, v3, v0\ns_cbranch_vccz end\nend:"), Severity::kError);
  EXPECT_EQ(severity("v_readfirstlane_b32 s8, v3\ns_cmp_eq_u32 s8, 3\ns_cbranch_scc0 end\nend:"),
            Severity::kError);
  EXPECT_EQ(severity("v_cmp_lt_u32 vcc, v3, v0\ns_and_saveexec_b64 s[8:9], vcc"), Severity::kError);
  EXPECT_EQ(severity("v_mov_b32_dpp v4, v3 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n" + own +
                     "global_store_dword v9, v4, s[6:7]" + far),
            Severity::kError);
  // It is overwritten, or goes nowhere.
  EXPECT_EQ(severity("v_add_u32 v4, v3, v0"), Severity::kWarning);
  EXPECT_EQ(severity("v_mov_b32 v3, v0\n" + own + "global_store_dword v9, v3, s[6:7]" + far),
            Severity::kWarning);
}

// Thread 0 reads what all of them add to, before or after it has added its own.
TEST_F(RacecheckTest, AnAtomicOfTheSameWaveDoesNotHideARead) {
  const std::string zero = "v_mov_b32 v2, 0\nv_cmp_eq_u32 vcc, 0, v0\n";
  const std::string add = "ds_add_u32 v2, v0\n";
  const std::string read =
      "s_and_saveexec_b64 s[8:9], vcc\nds_read_b32 v3, v2\ns_mov_b64 exec, s[8:9]\n";
  for (const std::string& text : {zero + add + read, zero + read + add}) {
    for (uint64_t i = 0; i < 4; ++i) {
      seed = i;
      const std::vector<Finding> findings = run(text);
      ASSERT_EQ(findings.size(), 1u) << text;
      EXPECT_EQ(findings[0].kind, Kind::kAtomicAndPlain);
    }
  }
  EXPECT_TRUE(run(zero + add + "s_barrier\n" + read).empty());
}

// Workgroup 0 stores data, then a flag; workgroup 1 spins on the flag and reads the data.
std::string hand_over(const std::string& between) {
  return "v_mov_b32 v2, 0\nv_mov_b32 v3, 1\ns_mov_b64 exec, 1\ns_cmp_lg_u32 s2, 0\n"
         "s_cbranch_scc1 consumer\nglobal_store_dword v2, v3, s[6:7] offset:64\n" +
         between +
         "global_store_dword v2, v3, s[6:7]\ns_endpgm\nconsumer:\n"
         "global_load_dword v4, v2, s[6:7] glc\ns_waitcnt vmcnt(0)\nv_cmp_eq_u32 vcc, 0, v4\n"
         "s_cbranch_vccnz consumer\nbuffer_wbinvl1_vol\n"
         "global_load_dword v5, v2, s[6:7] offset:64";
}

// Wave 0 sets a flag in LDS and wave 1 waits until it is 2, with loads as of a volatile variable.
std::string flag_in_lds(const std::string& between) {
  return "s_getreg_b32 s8, hwreg(HW_REG_SH_MEM_BASES, 16, 16)\ns_lshl_b32 s9, s8, 16\n"
         "v_mov_b32 v4, 0\nv_mov_b32 v5, s9\nv_mov_b32 v6, 1\nv_mov_b32 v7, 2\n"
         "v_readfirstlane_b32 s10, v0\ns_cmp_lg_u32 s10, 0\ns_cbranch_scc1 behind\n"
         "ds_write_b32 v4, v6\ns_waitcnt lgkmcnt(0)\nbehind:\n" +
         between +
         "s_cmp_lg_u32 s10, 0\ns_cbranch_scc1 reader\n"
         "ds_write_b32 v4, v7\ns_waitcnt lgkmcnt(0)\ns_endpgm\nreader:\n"
         "flat_load_dword v8, v[4:5] glc\ns_waitcnt vmcnt(0) lgkmcnt(0)\n"
         "v_cmp_ne_u32 vcc, 2, v8\ns_cbranch_vccnz reader";
}

TEST_F(RacecheckTest, AFlagInLdsIsSetBeforeItIsRead) {
  for (uint64_t i = 0; i < 10; ++i) {
    seed = i;
    EXPECT_TRUE(run(flag_in_lds("s_barrier\n")).empty()) << "seed " << i;
    const std::vector<Finding> findings = run(flag_in_lds(""));
    ASSERT_EQ(findings.size(), 1u) << "seed " << i;
    EXPECT_EQ(findings[0].kind, Kind::kReadAfterWrite);
    EXPECT_EQ(findings[0].severity, Severity::kError);
    EXPECT_EQ(findings[0].place.wave, 1u);
    EXPECT_EQ(findings[0].other.wave, 0u);
  }
}

TEST_F(RacecheckTest, AFlagOrdersWhatWasWaitedForBeforeIt) {
  groups = 2;
  threads = 64;
  for (uint64_t i = 0; i < 10; ++i) {
    seed = i;
    EXPECT_TRUE(run(hand_over("s_waitcnt vmcnt(0)\n")).empty()) << "seed " << i;
    const std::vector<Finding> findings = run(hand_over(""));
    ASSERT_EQ(findings.size(), 1u) << "seed " << i;
    EXPECT_EQ(findings[0].kind, Kind::kReadAfterWrite);
  }
}

// Workgroup 1 has announced its first atomic when workgroup 0 begins, and does it when 0 is at its end.
class LateAtomic : public emu::Watcher {
 public:
  emu::Wants wants(const isa::Program&, int32_t) noexcept override { return {.accessing = true}; }
  void accessing(const emu::WatchPoint& at,
                 std::span<const emu::MemoryAccess> accesses) noexcept override {
    if (at.wave.workgroup->linear_id == 0) {
      await(is_announced_);
    } else if (accesses[0].access == emu::Access::kAtomicReturn && !is_announced_.exchange(true)) {
      await(is_over_);
    }
  }
  void workgroup_ended(const emu::Workgroup& group, void*&) noexcept override {
    if (group.linear_id == 0) is_over_ = true;
  }

 private:
  static void await(const std::atomic<bool>& event) {
    for (int i = 0; i < 5000 && !event; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(event);
  }
  std::atomic<bool> is_announced_{false};
  std::atomic<bool> is_over_{false};
};

TEST_F(RacecheckTest, ALockIsHandedOverByAStoreThatCameAfterTheAtomicWasAnnounced) {
  groups = 2;
  threads = 64;
  first_word = 1;  // workgroup 0 has the lock
  LateAtomic late;
  pacer = &late;
  EXPECT_TRUE(run("v_mov_b32 v2, 0\nv_mov_b32 v4, 1\nv_mov_b32 v5, 0\ns_mov_b64 exec, 1\n"
                  "s_cmp_eq_u32 s2, 0\ns_cbranch_scc1 open\nlocked:\n"
                  "global_atomic_cmpswap v3, v2, v[4:5], s[6:7] glc\ns_waitcnt vmcnt(0)\n"
                  "v_cmp_ne_u32 vcc, 0, v3\ns_cbranch_vccnz locked\n"
                  "global_store_dword v2, v2, s[6:7]\ns_endpgm\n"
                  "open:\nglobal_store_dword v2, v2, s[6:7]")
                  .empty());
}

TEST_F(RacecheckTest, ShadowMemoryIsAtMostTwiceWhatWasTouched) {
  groups = 64;
  threads = 256;
  target = {10, 3, 0};
  const std::string load_and_store =
      "global_load_dword v2, v1, s[6:7]\ns_waitcnt vmcnt(0)\nglobal_store_dword v1, v2, s[6:7]";
  const uint64_t touched = uint64_t{64} * 256 * 4;
  // With the page of the arguments, of which a few words are touched.
  const uint64_t pages = touched / ShadowPage::kBytes + 1;
  const uint64_t arguments = ShadowPage::kBytes * 2;
  // Rows: an eighth of it.
  EXPECT_TRUE(run("s_lshl_b32 s8, s2, 10\nv_add_nc_u32 v1, s8, v1\n" + load_and_store).empty());
  EXPECT_LE(racecheck.most_shadow_bytes(), touched / 8 + pages * 96 + arguments);
  // Neighbours exchanged: each word has a history of its own.
  EXPECT_TRUE(
      run("s_lshl_b32 s8, s2, 10\nv_xor_b32 v1, 4, v1\nv_add_nc_u32 v1, s8, v1\n" + load_and_store)
          .empty());
  EXPECT_GE(racecheck.most_shadow_bytes(), touched * 2);
  EXPECT_LE(racecheck.most_shadow_bytes(), touched * 2 + pages * 96 + arguments);
}

}  // namespace
}  // namespace wavetap::sanitize::racecheck_test
