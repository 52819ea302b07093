// Branches and loops inside one piece of compiled code: what is skipped, slices that end in the
// middle, masks that change from round to round, addresses that are computed on the way, faults in
// a later round.
#include <functional>

#include "jit/testing.h"

namespace wavetap::jit::loop_test {
namespace {

using emu::Configuration;
using emu::TestMachine;

constexpr uint32_t kLdsBytes = 4096;
constexpr Configuration kTargets[] = {
    {emu::kGfx90a, true}, {emu::kGfx1030, false}, {emu::kGfx1030, true}, {emu::kGfx1100, false}};

class Loop : public testing::TestWithParam<Configuration> {
 protected:
  TwinMachines machines_{
      {.target = GetParam().target, .wave64 = GetParam().wave64, .lds_bytes = kLdsBytes}};

  // Words in capitals are spelled differently by target and size of the wave.
  static std::string spell(std::string text) {
    const bool wave64 = GetParam().wave64;
    const bool gfx9 = GetParam().target == emu::kGfx90a;
    const std::pair<const char*, const char*> words[] = {
        {"ADDC", gfx9 ? "v_addc_co_u32" : "v_add_co_ci_u32"},
        {"ADD", gfx9 ? "v_add_u32" : "v_add_nc_u32"},
        {"VCC", wave64 ? "vcc" : "vcc_lo"},
        {"EXEC", wave64 ? "exec" : "exec_lo"},
        {"MASK1", wave64 ? "s[20:21]" : "s20"},
        {"MASK2", wave64 ? "s[22:23]" : "s22"},
        {"BITS", wave64 ? "b64" : "b32"},
        {"FENCE", gfx9 ? "buffer_wbinvl1_vol" : "buffer_gl0_inv"}};
    for (const auto& [from, to] : words)
      for (size_t at; (at = text.find(from)) != std::string::npos;)
        text.replace(at, std::string(from).size(), to);
    return text;
  }

  // Lane numbers in v0, kData in s[4:5], ordinary numbers in memory.
  void prepare(uint32_t seed) {
    machines_.fill(seed, false);
    emu::Wave& wave = machines_.plain.wave;
    wave.set_s64(4, TestMachine::kData);
    for (uint32_t lane = 0; lane < wave.lanes; ++lane) {
      wave.vrow(0)[lane] = lane;
      wave.vrow(1)[lane] = lane % 16 + lane / 16 * 100;
    }
    for (TestMachine* machine : {&machines_.plain, &machines_.native}) {
      std::mt19937 random(9);
      const auto fill = [&](void* at, size_t bytes) {
        for (size_t i = 0; i < bytes / 4; ++i) {
          const auto value = static_cast<float>(random() % 1000);
          std::memcpy(static_cast<char*>(at) + 4 * i, &value, 4);
        }
      };
      fill(machine->wave.lds, kLdsBytes);
      fill(machine->memory.lookup({TestMachine::kData}).host, TestMachine::kDataBytes);
    }
    machines_.copy_state();
  }

  // Compiled at several places, so that a piece finds what the one before it knew of addresses; s9 is small.
  void expect_same_in_pieces(const std::string& text, const std::vector<int32_t>& places) {
    const emu::LoweredCode* plain = machines_.plain.load(text);
    const emu::LoweredCode* native = machines_.native.load(text);
    ASSERT_NE(plain, nullptr) << text;
    for (const int32_t place : places) ASSERT_TRUE(machines_.publish(*native, place));
    for (uint32_t seed = 1; seed <= 12; ++seed) {
      prepare(seed);
      machines_.plain.wave.s[9] = 4 * seed;
      machines_.copy_state();
      machines_.run_loaded(*plain, *native, 100000);
      for (int i = 0; i < 4 && machines_.plain.wave.state != emu::WaveState::kFinished; ++i) {
        ASSERT_EQ(machines_.difference(), "") << "seed " << seed << text;
        machines_.go_on(100000);
      }
      ASSERT_EQ(machines_.difference(), "") << "seed " << seed << text;
    }
  }

  void expect_same(const std::string& spelled, const std::vector<int64_t>& budgets = {100000},
                   const std::function<void(emu::Wave&)>& change = {}) {
    const std::string text = spell(spelled);
    const emu::LoweredCode* plain = machines_.plain.load(text);
    const emu::LoweredCode* native = machines_.native.load(text);
    ASSERT_NE(plain, nullptr) << text;
    ASSERT_TRUE(machines_.publish(*native, 0)) << text;
    for (uint32_t seed = 1; seed <= 12; ++seed) {
      prepare(seed);
      if (change) change(machines_.plain.wave);
      machines_.copy_state();
      const int64_t budget = budgets[seed % budgets.size()];
      machines_.run_loaded(*plain, *native, budget);
      ASSERT_EQ(machines_.difference(), "") << "seed " << seed << ", budget " << budget << text;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Targets, Loop, testing::ValuesIn(kTargets), emu::configuration_name);

TEST_P(Loop, WhatIsSkippedIsNotDone) {
  expect_same(R"(
    v_mov_b32 v3, 1.0
    v_cmp_lt_u32 VCC, 5, v0
    s_and_saveexec_BITS MASK1, VCC
    s_cbranch_execz over
    v_mul_f32 v3, 2.0, v3
    s_cmp_lt_u32 s6, s7
    s_cbranch_scc1 other
    v_add_f32 v3, 4.0, v3
    s_branch over
  other:
    v_sub_f32 v3, 4.0, v3
  over:
    s_or_BITS EXEC, EXEC, MASK1
    v_add_f32 v3, v3, v3
    s_endpgm)",
              {100000, 3, 4, 5, 6, 7, 8, 9, 10, 11});
}

TEST_P(Loop, SlicesEndInTheMiddleOfInnerLoops) {
  expect_same(R"(
    s_mov_b32 s6, 0
  outer:
    v_add_f32 v3, v4, v3
    s_mov_b32 s7, 0
  inner:
    v_fma_f32 v3, v3, 0.5, v4
    s_waitcnt 0
    FENCE
    s_add_u32 s7, s7, 1
    s_cmp_lt_u32 s7, 4
    s_cbranch_scc1 inner
    v_mul_f32 v4, 0.5, v4
    s_add_u32 s6, s6, 1
    s_cmp_lt_u32 s6, 5
    s_cbranch_scc1 outer
    s_endpgm)",
              {1, 2, 5, 17, 18, 19, 20, 25, 33, 60, 100, 100000});
}

TEST_P(Loop, LoadsMayTakeLongSteps) {
  // What is asked for ahead may be anywhere, behind the last round also where there is no memory.
  expect_same(R"(
    v_lshlrev_b32 v2, 2, v0
    s_mov_b32 s6, 0
  loop:
    global_load_dword v3, v2, s[4:5]
    s_waitcnt 0
    v_add_f32 v4, v3, v4
    ADD v2, 0x1800, v2
    s_add_u32 s6, s6, 1
    s_cmp_lt_u32 s6, 10
    s_cbranch_scc1 loop
    s_endpgm)",
              {100000, 5, 17, 30});
}

TEST_P(Loop, WavesWithOthersStopAtBarriers) {
  const char* const text = R"(
    v_add_f32 v3, v4, v3
    v_mul_f32 v4, 0.5, v4
    s_barrier
    v_add_f32 v3, v4, v3
    s_endpgm)";
  expect_same(text);
  EXPECT_EQ(machines_.native.wave.state, emu::WaveState::kFinished);
  expect_same(text, {100000}, [](emu::Wave& wave) { wave.has_others = true; });
  EXPECT_EQ(machines_.native.wave.state, emu::WaveState::kAtBarrier);
}

TEST_P(Loop, LanesLeaveItOneByOne) {
  expect_same(R"(
    v_mov_b32 v3, 0
    s_mov_BITS MASK1, EXEC
  loop:
    ADD v3, 3, v3
    v_cmp_gt_u32 VCC, v0, v3
    s_and_BITS EXEC, EXEC, VCC
    s_cbranch_execnz loop
    s_mov_BITS EXEC, MASK1
    ADD v4, v3, v0
    s_endpgm)",
              {100000, 9, 31, 32, 33, 40});
}

// Where a sum takes the place of its addend, one that is read again is loaded again; not once it was written.
TEST_P(Loop, AddendsThatOperationsShare) {
  const std::string text = R"(
    s_mov_b32 s6, 0
  loop:
    v_fma_f32 v3, v3, v4, v5
    v_fma_f32 v3, v3, v4, v5
    v_fma_f32 v3, v3, v4, -v5
    v_fma_f32 v3, v3, v4, |v5|
    v_fma_f32 v3, v3, v3, v3
    v_fma_f32 v3, v5, v4, v5
    v_fma_f32 v3, v3, v4, v5
    s_add_u32 s6, s6, 1
    s_cmp_lt_u32 s6, 5
    s_cbranch_scc1 loop
    v_fma_f32 v6, v3, v4, v5
    v_fma_f32 v7, v3, v6, v5
    v_fma_f32 v5, v6, v7, v5
    v_fma_f32 v8, v6, v7, v5
    v_fma_f32 v9, v8, v7, v5
    s_endpgm)";
  expect_same(text, {100000, 9, 20});
  expect_same(text, {100000, 9}, [](emu::Wave& wave) {
    wave.s[isa::slot::kExecLo] = 0x0f0f'3355;
    if (GetParam().wave64) wave.s[isa::slot::kExecLo + 1] = 0x8421'7ffe;
    wave.vrow(5)[2] = 0x7f80'0001;  // a signalling NaN
    wave.vrow(4)[9] = 0xffc1'2345;
  });
}

TEST_P(Loop, HandlersInsideSeeEveryRound) {
  expect_same(R"(
    s_mov_b32 s6, 0
  loop:
    v_mul_f32 v3, v4, v3
    v_readfirstlane_b32 s8, v3
    v_writelane_b32 v3, s6, 3
    v_add_f32 v4, s8, v3
    s_add_u32 s6, s6, 1
    s_cmp_lt_u32 s6, 7
    s_cbranch_scc1 loop
    s_endpgm)",
              {100000, 10, 11, 12, 13});
}

// The addresses of each round are computed in it, as compilers do it.
constexpr const char* kColumn = R"(
    s_mov_b32 s6, 0
    v_mov_b32 v6, 0
    v_lshlrev_b32 v2, 2, v1
    v_mov_b32 v3, s5
    v_add_co_u32 v2, VCC, s4, v2
    ADDC v3, VCC, 0, v3, VCC
    v_mov_b32 v8, v1
  loop:
    v_ashrrev_i32 v9, 31, v8
    v_lshlrev_b64 v[10:11], 2, v[8:9]
    v_mov_b32 v12, s5
    v_add_co_u32 v10, VCC, s4, v10
    ADDC v11, VCC, v12, v11, VCC
    ADD v8, s9, v8
    global_load_dword v13, v[2:3], off
    global_load_dword v14, v[10:11], off
    v_add_co_u32 v2, VCC, 4, v2
    ADDC v3, VCC, 0, v3, VCC
    s_waitcnt 0
    v_fmac_f32 v6, v13, v14
    s_add_u32 s6, s6, 1
    s_cmp_lt_u32 s6, s10
    s_cbranch_scc1 loop
    v_lshlrev_b32 v15, 2, v0
    global_store_dword v15, v6, s[4:5]
    s_endpgm)";

TEST_P(Loop, AddressesAreComputedInEachRound) {
  expect_same(kColumn, {100000, 30, 50, 77, 100}, [](emu::Wave& wave) {
    wave.s[9] = 50;
    wave.s[10] = 9;
  });
}
TEST_P(Loop, AnAddressLeavesTheMappingInALaterRound) {
  expect_same(kColumn, {100000}, [](emu::Wave& wave) {
    wave.s[9] = 4000;
    wave.s[10] = 9;
  });
  EXPECT_EQ(machines_.native.wave.state, emu::WaveState::kFaulted);
}
TEST_P(Loop, NegativeIndicesAndOddStepsReachTheSameMemory) {
  for (const uint32_t begin : {0xffffff00u, 0x7fffff80u, 0u}) {
    expect_same(kColumn, {100000}, [begin](emu::Wave& wave) {
      wave.s[9] = static_cast<uint32_t>(-3);
      wave.s[10] = 20;
      wave.set_s64(4, TestMachine::kData + 0x4000);
      for (uint32_t lane = 0; lane < wave.lanes; ++lane) wave.vrow(1)[lane] = begin + 64 + 3 * lane;
    });
  }
}

TEST_P(Loop, LdsAddressesWalk) {
  expect_same(R"(
    v_lshlrev_b32 v2, 3, v0
    v_mov_b32 v3, 0
    v_mov_b32 v5, 0
    s_mov_b32 s6, 0
  loop:
    ds_read_b32 v4, v2
    ds_read2_b32 v[8:9], v3 offset0:1 offset1:9
    ADD v3, 16, v3
    s_waitcnt 0
    v_fmac_f32 v5, v4, v8
    v_add_f32 v5, v5, v9
    ADD v2, 8, v2
    s_add_u32 s6, s6, 1
    s_cmp_lt_u32 s6, 11
    s_cbranch_scc1 loop
    ds_write_b32 v2, v5
    s_endpgm)",
              {100000, 17, 18, 19, 40, 41, 42});
}
// By one that all lanes share, and by one that they do not.
TEST_P(Loop, AddressesGrowByARegister) {
  for (const bool same : {true, false}) {
    expect_same(R"(
    v_lshlrev_b32 v2, 2, v0
    v_mov_b32 v5, 0
    s_mov_b32 s6, 0
  loop:
    ds_read_b32 v4, v2
    ADD v2, v2, v3
    v_cmp_gt_u32 VCC, 0x700, v2
    s_waitcnt 0
    v_add_f32 v5, v4, v5
    s_add_u32 s6, s6, 1
    s_and_BITS EXEC, EXEC, VCC
    s_cbranch_execz over
    s_cmp_lt_u32 s6, 9
    s_cbranch_scc1 loop
  over:
    s_endpgm)",
                {100000, 30, 31, 50}, [same](emu::Wave& wave) {
                  for (uint32_t lane = 0; lane < wave.lanes; ++lane)
                    wave.vrow(3)[lane] = same ? 64 : 4 * lane % 52;
                });
  }
}
// Outside of LDS a load gives 0 and a store is dropped: the handlers' business.
TEST_P(Loop, LdsAddressesWrap) {
  expect_same(R"(
    v_lshlrev_b32 v2, 2, v0
    v_mov_b32 v5, 0
    s_mov_b32 s6, 0
  loop:
    ds_read_b32 v4, v2
    ADD v2, s9, v2
    s_waitcnt 0
    v_add_f32 v5, v4, v5
    s_add_u32 s6, s6, 1
    s_cmp_lt_u32 s6, 7
    s_cbranch_scc1 loop
    s_endpgm)",
              {100000}, [](emu::Wave& wave) { wave.s[9] = 0x40000400; });
}

TEST_P(Loop, WhatIsKnownOfAddressesIsThatOfTheLanesThatAreOn) {
  expect_same(R"(
    v_lshlrev_b32 v2, 2, v0
    v_cmp_lt_u32 VCC, 20, v0
    ds_read_b32 v3, v2
    s_and_saveexec_BITS MASK1, VCC
    s_cbranch_execz over
    ADD v2, 0x100, v2
    ds_read_b32 v4, v2
  over:
    s_or_BITS EXEC, EXEC, MASK1
    ds_read_b32 v5, v2
    s_waitcnt 0
    v_add_f32 v6, v3, v5
    ds_write_b32 v2, v6
    v_writelane_b32 v2, s30, 5
    ds_read_b32 v7, v2
    s_endpgm)",
              {100000}, [](emu::Wave& wave) { wave.s[30] = 0x208; });
}

// As in scans: each lane reads what another one has a few places below, and the first have nobody there.
TEST_P(Loop, LanesThatAreOffReachOutsideOfLds) {
  expect_same(R"(
    v_lshlrev_b32 v2, 2, v0
    s_mov_b32 s6, 4
  loop:
    s_sub_u32 s7, 0, s6
    ds_read_b32 v4, v2
    v_cmp_le_u32 VCC, s6, v2
    s_and_saveexec_BITS MASK1, VCC
    s_cbranch_execz over
    ADD v7, s7, v2
    ds_read_b32 v8, v7
    s_waitcnt 0
    v_add_f32 v4, v8, v4
  over:
    s_or_BITS EXEC, EXEC, MASK1
    s_waitcnt 0
    ds_write_b32 v2, v4
    s_lshl_b32 s6, s6, 1
    s_cmp_lt_u32 s6, s9
    s_cbranch_scc1 loop
    s_endpgm)",
              {100000, 14, 29, 30, 31}, [](emu::Wave& wave) { wave.s[9] = 0x100; });
}

// What was known of addresses before a barrier is still known behind it, unless somebody else has
// changed them: the instruction between, which is done by its handler.
TEST_P(Loop, AddressesAreKnownBehindBarriers) {
  for (const char* between : {"s_nop 0", "ADD v2, s9, v2", "v_mov_b32 v3, v4", "ADD v3, s9, v3"}) {
    const std::string text = spell(std::string(R"(
      v_lshlrev_b32 v2, 2, v0
      ADD v3, 64, v2
      ds_read_b32 v4, v2
      ds_read_b32 v5, v3
      s_barrier
      v_add_f32 v6, v4, v5
      ds_read_b32 v7, v2
      s_barrier
      )") + between + R"(
      v_mul_f32 v6, v7, v6
      ds_read_b32 v8, v2
      ds_read_b32 v9, v3
      v_add_f32 v6, v8, v9
      s_endpgm)");
    expect_same_in_pieces(text, {0, 5, 9});
  }
}

// What a way changes that is not taken is known as before; what one has changed is not.
TEST_P(Loop, AddressesChangeOnTheWayThatIsTaken) {
  const std::string text = spell(R"(
    v_lshlrev_b32 v2, 2, v0
    ADD v3, 64, v2
    ds_read_b32 v4, v2
    ds_read_b32 v5, v3
    s_barrier
    s_cmp_lt_u32 s9, 24
    s_cbranch_scc1 over
    ADD v3, s9, v3
    v_add_f32 v5, v5, v4
  over:
    v_add_f32 v6, v4, v5
    s_barrier
    ds_read_b32 v8, v2
    ds_read_b32 v9, v3
    v_add_f32 v6, v8, v9
    s_endpgm)");
  expect_same_in_pieces(text, {0, 5, 11});
}

// Loads move down to where their registers are read: not past what changes their address, reads the register as
// it was, or writes it.
TEST_P(Loop, LoadsMoveAndLoadTheSame) {
  expect_same(R"(
    v_lshlrev_b32 v2, 2, v0
    v_mov_b32 v3, 64
    ds_read2_b32 v[6:7], v2 offset1:16
    ds_read_b32 v8, v3
    ds_read_b32 v9, v3 offset:4
    ds_read_b32 v10, v2 offset:256
    v_add_f32 v11, v6, v8
    ADD v2, 64, v2
    ds_read_b32 v12, v2
    v_fma_f32 v13, v9, v7, v11
    v_mul_f32 v9, v8, v13
    ds_read_b32 v8, v2 offset:8
    v_mov_b32 v14, v12
    v_fma_f32 v13, v9, v10, v13
    v_add_f32 v8, v8, v13
    v_mov_b32 v2, v14
    s_endpgm)");
}

// A fence is done before the strips of a segment that loads behind it only.
TEST_P(Loop, FencesBetweenOperations) {
  expect_same(R"(
    v_lshlrev_b32 v2, 2, v0
    v_add_f32 v6, v7, v8
    FENCE
    v_fma_f32 v6, v7, v8, v6
    ds_read_b32 v9, v2
    v_add_f32 v6, v9, v6
    FENCE
    ds_read_b32 v10, v2 offset:64
    v_add_f32 v6, v10, v6
    FENCE
    s_endpgm)");
}

// Compiled code lets go where handlers do, whatever place it is entered at.
TEST_P(Loop, TurnsEndBeforeLdsIsOverwritten) {
  const std::string text = spell(R"(
    v_lshlrev_b32 v2, 2, v0
    s_mov_b32 s6, 0
  loop:
    ds_read_b32 v4, v2
    s_waitcnt 0
    v_add_f32 v5, v4, v5
    ds_write_b32 v2, v5
    v_mul_f32 v5, 0.5, v5
    s_add_u32 s6, s6, 1
    s_cmp_lt_u32 s6, 5
    s_cbranch_scc1 loop
    s_endpgm)");
  const emu::LoweredCode* plain = machines_.plain.load(text);
  const emu::LoweredCode* native = machines_.native.load(text);
  ASSERT_NE(plain, nullptr);
  for (const int32_t place : {0, 2, 5}) ASSERT_TRUE(machines_.publish(*native, place));
  for (const int64_t budget : {100000, 1, 2, 3, 5, 9, 11}) {
    prepare(3);
    machines_.plain.wave.turn_ends_left = 6;
    machines_.copy_state();
    machines_.run_loaded(*plain, *native, budget);
    int ends = 0;
    for (int i = 0; i < 200; ++i) {
      ASSERT_EQ(machines_.difference(), "") << "budget " << budget << ", slice " << i;
      if (machines_.plain.wave.state == emu::WaveState::kFinished) break;
      ends += machines_.plain.wave.state == emu::WaveState::kTurnEnded;
      machines_.go_on(budget);
    }
    EXPECT_EQ(machines_.plain.wave.state, emu::WaveState::kFinished);
    EXPECT_EQ(ends, 6);  // of nine places: before every write, and every read but the first
  }
}

}  // namespace
}  // namespace wavetap::jit::loop_test
