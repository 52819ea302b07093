// Whole blocks: branches, budgets, handlers in between, faults. What single operations do is in
// vector_ops_test.cc.
#include <initializer_list>

#include "jit/testing.h"

namespace wavetap::jit::block_test {
namespace {

using emu::Configuration;

class Block : public testing::TestWithParam<Configuration> {
 protected:
  TwinMachines machines_{{.target = GetParam().target, .wave64 = GetParam().wave64}};

  void expect_same(const std::string& text, const std::vector<int64_t>& budgets = {100000}) {
    const emu::LoweredCode* plain = machines_.plain.load(text);
    const emu::LoweredCode* native = machines_.native.load(text);
    ASSERT_NE(plain, nullptr) << text;
    ASSERT_TRUE(machines_.publish(*native, 0)) << text;
    for (uint32_t seed = 1; seed <= 12; ++seed) {
      machines_.fill(seed, seed % 2 == 0);
      const int64_t budget = budgets[seed % budgets.size()];
      machines_.run_loaded(*plain, *native, budget);
      EXPECT_EQ(machines_.difference(), "") << "seed " << seed << ", budget " << budget << text;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Targets, Block, testing::ValuesIn(emu::kConfigurations),
                         emu::configuration_name);

TEST_P(Block, ArithmeticThatMakesNansIsThatOfTheHandlers) {
  expect_same(R"(
    v_mul_f32 v3, v1, v2
    v_fma_f32 v4, v3, v2, v1
    v_max_f32 v5, v4, v3
    v_sub_f32 v6, v5, v4
    v_add_f32 v3, v6, v7
    v_xor_b32 v8, v3, v6
    s_endpgm)");
}

// Numbers are asked whether they are NaN only where no later result says it as well.
TEST_P(Block, ANanIsNoticedWhateverItGoesInto) {
  struct Case {
    const char* text;
    uint32_t planted[2];  // registers
    bool is_packed = false;
  };
  for (const Case& of : std::initializer_list<Case>{
           {"v_mul_f32 v3, v1, v2\nv_add_f32 v4, v3, v6\nv_fma_f32 v5, v4, v3, v6\n", {1, 2}},
           {"v_mul_f32 v3, v1, v2\nv_add_f32 v4, v3, v6\nv_mov_b32 v4, 0\n", {1, 2}},
           {"v_mul_f32 v3, v1, v2\nv_max_f32 v4, v3, v6\nv_add_f32 v5, v6, v6\n", {1, 2}},
           {"v_mul_f32 v3, v1, v2\nv_and_b32 v4, 3, v3\nv_cvt_f32_u32 v5, v4\n", {1, 2}},
           {"v_pk_mul_f32 v[4:5], v[2:3], v[6:7]\nv_add_f32 v8, v4, v9\n", {3, 7}, true},
           {"v_pk_mul_f32 v[4:5], v[2:3], v[6:7]\nv_add_f32 v8, v5, v9\n", {2, 6}, true},
           {"v_pk_mul_f32 v[4:5], v[2:3], v[6:7]\n"
            "v_pk_add_f32 v[8:9], v[4:5], v[10:11] op_sel:[0,0] op_sel_hi:[0,1]\n",
            {3, 7},
            true}}) {
    if (of.is_packed && !GetParam().target.is_gfx90a_family()) continue;
    const std::string text = std::string(of.text) + "s_endpgm";
    const emu::LoweredCode* plain = machines_.plain.load(text);
    const emu::LoweredCode* native = machines_.native.load(text);
    ASSERT_NE(plain, nullptr) << text;
    ASSERT_TRUE(machines_.publish(*native, 0)) << text;
    for (uint32_t lane = 0; lane < machines_.plain.wave.lanes; lane += 5) {
      machines_.fill(lane + 1, Bits::kTame);
      machines_.plain.set_exec(machines_.plain.wave.full_exec());
      machines_.plain.wave.vrow(of.planted[0])[lane] = 0x7fc00011;
      machines_.plain.wave.vrow(of.planted[1])[lane] = 0x7f800022;  // hosts prefer this one
      machines_.copy_state();
      machines_.run_loaded(*plain, *native);
      EXPECT_EQ(machines_.difference(), "") << "lane " << lane << ": " << text;
    }
  }
}

// Singles of all sizes, from 1 to 4 closely, and what is none.
TEST_P(Block, ReciprocalRootsAreThoseOfTheHandlers) {
  const char* text = "v_rsq_f32 v3, v1\nv_rsq_f32 v4, v2\nv_mov_b32 v5, v4\ns_endpgm";
  const emu::LoweredCode* plain = machines_.plain.load(text);
  const emu::LoweredCode* native = machines_.native.load(text);
  ASSERT_NE(plain, nullptr);
  ASSERT_TRUE(machines_.publish(*native, 0));
  emu::Wave& wave = machines_.plain.wave;
  for (uint32_t round = 0; round < 400; ++round) {
    machines_.fill(round, round % 8 == 0 ? Bits::kNans : Bits::kTame);
    wave.set_s64(isa::slot::kExecLo, wave.full_exec());
    for (uint32_t lane = 0; lane < wave.lanes; ++lane) {
      const uint32_t number = round * wave.lanes + lane;
      wave.vrow(1)[lane] = 0x3f800000 + number * 655 % 0x01000000;
      if (round % 8 != 0) wave.vrow(2)[lane] = number * 2654435761u & 0x7fffffff;
    }
    machines_.copy_state();
    machines_.run_loaded(*plain, *native);
    ASSERT_EQ(machines_.difference(), "") << "round " << round;
  }
}

TEST_P(Block, ScalarsBetweenVectorOperationsHaveTheirValueAtThatPlace) {
  expect_same(R"(
    v_add_f32 v1, s4, v2
    s_add_u32 s4, s4, s5
    v_mul_f32 v2, s4, v1
    s_lshl_b32 s4, s4, 3
    s_addc_u32 s6, s5, s4
    v_add_f32 v3, s4, v2
    v_add_f32 v3, v3, v2
    s_endpgm)");
}

TEST_P(Block, MasksAreMadeAndUsedInOneSegment) {
  const bool wave64 = GetParam().wave64;
  expect_same(std::string("v_mul_f32 v3, v1, v2\n") +
              (wave64 ? "v_cmp_lt_f32 vcc, v3, v2\n" : "v_cmp_lt_f32 vcc_lo, v3, v2\n") +
              (wave64 ? "v_cndmask_b32 v4, v1, v3, vcc\n" : "v_cndmask_b32 v4, v1, v3, vcc_lo\n") +
              (wave64 ? "s_and_b64 s[4:5], vcc, exec\n" : "s_and_b32 s4, vcc_lo, exec_lo\n") +
              "v_add_f32 v5, v4, v4\ns_endpgm");
}

TEST_P(Block, LoopsStayInCompiledCodeAndCount) {
  expect_same(R"(
    v_fma_f32 v3, v1, v2, v3
    v_add_f32 v4, v3, v4
    s_add_u32 s4, s4, 1
    s_and_b32 s5, s4, 63
    s_cmp_lg_u32 s5, 0
    s_cbranch_scc1 -6
    s_endpgm)");
}

TEST_P(Block, TheSliceEndsAtTheSameInstruction) {
  const std::string text = R"(
    v_fma_f32 v3, v1, v2, v3
    s_add_u32 s4, s4, 1
    v_add_f32 v4, v3, v4
    s_branch -4)";
  expect_same(text, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 16});
}

TEST_P(Block, HandlersInBetweenSeeEverything) {
  expect_same(R"(
    v_mul_f32 v3, v1, v2
    v_readfirstlane_b32 s6, v3
    s_add_u32 s6, s6, 7
    v_mov_b32 v4, s6
    v_mul_f32 v5, v4, v1
    v_readlane_b32 s7, v5, s6
    s_mov_b32 m0, s7
    v_add_f32 v5, s7, v5
    s_endpgm)");
}

TEST_P(Block, AFaultIsThatOfItsInstruction) {
  machines_.fill(3, false);
  const std::string text = R"(
    v_mul_f32 v3, v1, v2
    s_mov_b32 s8, 0x1000
    s_mov_b32 s9, 0
    v_add_f32 v4, v3, v2
    s_load_dword s4, s[8:9], 0x0
    v_add_f32 v4, v4, v2
    s_endpgm)";
  ASSERT_TRUE(machines_.run(text));
  EXPECT_EQ(machines_.native.wave.state, emu::WaveState::kFaulted);
  EXPECT_EQ(machines_.difference(), "");
}

TEST_P(Block, OtherModesAreLeftToTheHandlers) {
  for (const bool round : {false, true}) {
    machines_.fill(5, true);
    if (round) machines_.plain.wave.mode.round_f32 = 3;
    else machines_.plain.wave.mode.denorm_f32 = 0;
    machines_.copy_state();
    ASSERT_TRUE(machines_.run("v_mul_f32 v3, v1, v2\nv_fma_f32 v4, v3, v2, v1\ns_endpgm"));
    EXPECT_EQ(machines_.difference(), "");
  }
}

TEST(BlockPair, BothHalvesReadBeforeEitherWrites) {
  TwinMachines machines({.target = emu::kGfx1100, .wave64 = false});
  for (uint32_t seed = 1; seed < 8; ++seed) {
    machines.fill(seed, seed % 2 == 0);
    ASSERT_TRUE(
        machines.run("v_dual_mul_f32 v4, v1, v2 :: v_dual_add_f32 v5, v4, v3\n"
                     "v_dual_fmac_f32 v4, v5, v2 :: v_dual_mov_b32 v5, v4\n"
                     "s_endpgm"));
    EXPECT_EQ(machines.difference(), "");
  }
}

}  // namespace
}  // namespace wavetap::jit::block_test
