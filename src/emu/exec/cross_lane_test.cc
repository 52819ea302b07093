// Lane moves and VOPD pairs.
#include <gtest/gtest.h>

#include <random>

#include "emu/testing/machine.h"
#include "emu/testing/targets.h"

namespace wavetap::emu {
namespace {

void number_lanes(TestMachine& machine, uint32_t reg, uint32_t first) {
  for (int lane = 0; lane < machine.wave.lanes; ++lane)
    machine.set_v(reg, lane, first + static_cast<uint32_t>(lane));
}

TEST(CrossLane, ReadfirstlaneTakesTheLowestActiveLane) {
  for (const bool wave64 : {false, true}) {
    TestMachine machine({.target = kGfx1030, .wave64 = wave64});
    number_lanes(machine, 1, 100);
    machine.set_exec(0xfff0);
    ASSERT_TRUE(machine.run("v_readfirstlane_b32 s4, v1"));
    EXPECT_EQ(machine.s(4), 104u);
    machine.set_exec(0);
    ASSERT_TRUE(machine.run("v_readfirstlane_b32 s4, v1"));
    EXPECT_EQ(machine.s(4), 100u) << "lane 0 when none is active";
    if (!wave64) continue;
    machine.set_exec(uint64_t{1} << 40);
    ASSERT_TRUE(machine.run("v_readfirstlane_b32 s4, v1"));
    EXPECT_EQ(machine.s(4), 140u);
  }
}

TEST(CrossLane, ReadlaneAndWritelaneIgnoreExecAndWrapTheLane) {
  for (const bool wave64 : {false, true}) {
    TestMachine machine({.target = kGfx1030, .wave64 = wave64});
    number_lanes(machine, 1, 100);
    machine.set_exec(1);
    machine.set_s(5, 31);
    machine.set_s(6, static_cast<uint32_t>(machine.wave.lanes) + 3);
    ASSERT_TRUE(machine.run(
        "v_readlane_b32 s4, v1, s5\nv_readlane_b32 s7, v1, s6\nv_readlane_b32 vcc_lo, v1, 5"));
    EXPECT_EQ(machine.s(4), 131u);
    EXPECT_EQ(machine.s(7), 103u);
    EXPECT_EQ(machine.s(isa::slot::kVccLo), 105u);
    machine.set_s(8, 0xabc);
    ASSERT_TRUE(machine.run("v_writelane_b32 v1, s8, s5\nv_writelane_b32 v1, -7, 2"));
    EXPECT_EQ(machine.v(1, 31), 0xabcu);
    EXPECT_EQ(machine.v(1, 2), static_cast<uint32_t>(-7));
    EXPECT_EQ(machine.v(1, 30), 130u);
  }
}

TEST(CrossLane, Permlane16ReadsWithinItsRowOrTheOther) {
  std::mt19937_64 random(31);
  for (const amd::GfxTarget target : {kGfx1030, kGfx1100}) {
    for (const bool wave64 : {false, true}) {
      for (const bool other_row : {false, true}) {
        for (int flags = 0; flags < 4; ++flags) {
          const bool fetch_inactive = (flags & 1) != 0, bound_ctrl = (flags & 2) != 0;
          TestMachine machine({.target = target, .wave64 = wave64});
          number_lanes(machine, 1, 100);
          number_lanes(machine, 2, 900);
          const uint64_t select = random();
          const uint64_t exec = random() & machine.wave.full_exec();
          machine.set_exec(exec);
          machine.set_s64(4, select);
          const std::string text =
              std::string(other_row ? "v_permlanex16_b32" : "v_permlane16_b32") +
              " v2, v1, s4, s5 op_sel:[" + (fetch_inactive ? "1," : "0,") +
              (bound_ctrl ? "1]" : "0]");
          ASSERT_TRUE(machine.run(text)) << text;
          for (int lane = 0; lane < machine.wave.lanes; ++lane) {
            const int row = other_row ? lane / 16 ^ 1 : lane / 16;
            const int source = row * 16 + static_cast<int>(select >> lane % 16 * 4 & 15);
            uint32_t expected = 900u + static_cast<uint32_t>(lane);
            if ((exec >> lane & 1) != 0) {
              if (fetch_inactive || (exec >> source & 1) != 0)
                expected = 100u + static_cast<uint32_t>(source);
              else if (bound_ctrl) expected = 0;
            }
            ASSERT_EQ(machine.v(2, lane), expected) << text << " lane " << lane;
          }
        }
      }
    }
  }
}

TEST(CrossLane, Permlane64SwapsTheHalves) {
  TestMachine machine({.target = kGfx1100, .wave64 = true});
  number_lanes(machine, 1, 100);
  machine.set_exec(0xffff);
  ASSERT_TRUE(machine.run("v_permlane64_b32 v1, v1"));
  EXPECT_EQ(machine.v(1, 0), 132u) << "also from disabled lanes";
  EXPECT_EQ(machine.v(1, 15), 147u);
  EXPECT_EQ(machine.v(1, 16), 116u);
}

// --- VOPD.

TEST(Vopd, BothHalvesReadBeforeEitherWrites) {
  TestMachine machine({.target = kGfx1100, .wave64 = false});
  const auto reset = [&] {
    for (int lane = 0; lane < 32; ++lane) {
      machine.set_v(0, lane, bits(1.0f + static_cast<float>(lane)));
      machine.set_v(1, lane, bits(2.0f));
      machine.set_v(2, lane, bits(3.0f));
      machine.set_v(3, lane, bits(5.0f));
    }
  };
  reset();
  ASSERT_TRUE(machine.run("v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0"));  // a swap
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(machine.v(0, lane), bits(2.0f));
    EXPECT_EQ(machine.v(1, lane), bits(1.0f + static_cast<float>(lane)));
  }
  reset();
  machine.set_exec(0xfffffffe);
  ASSERT_TRUE(machine.run("v_dual_mul_f32 v2, v2, v3 :: v_dual_fmac_f32 v3, v0, v2"));
  EXPECT_EQ(machine.v(2, 4), bits(15.0f));
  EXPECT_EQ(machine.v(3, 4), bits(5.0f + 5.0f * 3.0f)) << "the old v2";
  EXPECT_EQ(machine.v(2, 0), bits(3.0f)) << "masked lane";
  EXPECT_EQ(machine.v(3, 0), bits(5.0f));
}

TEST(Vopd, EveryOperationInEitherHalf) {
  const struct {
    const char* half;
    uint32_t (*expected)(float a, float b, float d, bool vcc);
  } operations[] = {
      {"v_dual_fmac_f32 D, A, B", [](float a, float b, float d, bool) { return bits(a * b + d); }},
      {"v_dual_fmaak_f32 D, A, B, 0x40000000",
       [](float a, float b, float, bool) { return bits(a * b + 2); }},
      {"v_dual_fmamk_f32 D, A, 0x40000000, B",
       [](float a, float b, float, bool) { return bits(a * 2 + b); }},
      {"v_dual_mul_f32 D, A, B", [](float a, float b, float, bool) { return bits(a * b); }},
      {"v_dual_mul_dx9_zero_f32 D, A, B",
       [](float a, float b, float, bool) { return bits(a * b); }},
      {"v_dual_add_f32 D, A, B", [](float a, float b, float, bool) { return bits(a + b); }},
      {"v_dual_sub_f32 D, A, B", [](float a, float b, float, bool) { return bits(a - b); }},
      {"v_dual_subrev_f32 D, A, B", [](float a, float b, float, bool) { return bits(b - a); }},
      {"v_dual_mov_b32 D, A", [](float a, float, float, bool) { return bits(a); }},
      {"v_dual_cndmask_b32 D, A, B",
       [](float a, float b, float, bool vcc) { return bits(vcc ? b : a); }},
      {"v_dual_max_f32 D, A, B", [](float a, float b, float, bool) { return bits(a > b ? a : b); }},
      {"v_dual_min_f32 D, A, B", [](float a, float b, float, bool) { return bits(a < b ? a : b); }},
      {"v_dual_add_nc_u32 D, A, B",
       [](float a, float b, float, bool) { return bits(a) + bits(b); }},
      {"v_dual_lshlrev_b32 D, A, B",
       [](float a, float b, float, bool) { return bits(b) << (bits(a) & 31); }},
      {"v_dual_and_b32 D, A, B", [](float a, float b, float, bool) { return bits(a) & bits(b); }},
  };
  const auto with = [](std::string half, const char* d, const char* a, const char* b) {
    for (const auto& [name, reg] : {std::pair{"D", d}, std::pair{"A", a}, std::pair{"B", b}})
      if (const size_t at = half.find(name); at != std::string::npos) half.replace(at, 1, reg);
    return half;
  };
  const auto only_second = [](const char* half) {
    return std::strstr(half, "u32") || std::strstr(half, "shl") || std::strstr(half, "and_b");
  };
  int checked = 0;
  for (const auto& x : operations) {
    if (only_second(x.half)) continue;
    for (const auto& y : operations) {
      // At most one literal fits.
      if (std::strstr(x.half, "0x") && std::strstr(y.half, "0x")) continue;
      TestMachine machine({.target = kGfx1100, .wave64 = false});
      machine.set_vcc(0x0f0f0f0f);
      for (int lane = 0; lane < 32; ++lane) {
        // The halves must not share a register bank: each has its own copy of the operands.
        for (const uint32_t reg : {4u, 7u})
          machine.set_v(reg, lane, bits(1.5f * static_cast<float>(lane)));
        for (const uint32_t reg : {10u, 11u})
          machine.set_v(reg, lane, bits(20.0f - static_cast<float>(lane)));
        machine.set_v(8, lane, bits(0.25f));
        machine.set_v(9, lane, bits(-4.0f));
      }
      const std::string text =
          with(x.half, "v8", "v4", "v10") + " :: " + with(y.half, "v9", "v7", "v11");
      ASSERT_TRUE(machine.run(text)) << text;
      ASSERT_FALSE(machine.faulted()) << text << ": " << machine.wave.fault.detail;
      for (int lane = 0; lane < 32; ++lane) {
        const float a = 1.5f * static_cast<float>(lane), b = 20.0f - static_cast<float>(lane);
        const bool vcc = (0x0f0f0f0fu >> lane & 1) != 0;
        ASSERT_EQ(machine.v(8, lane), x.expected(a, b, 0.25f, vcc)) << text << " lane " << lane;
        ASSERT_EQ(machine.v(9, lane), y.expected(a, b, -4.0f, vcc)) << text << " lane " << lane;
      }
      ++checked;
    }
  }
  EXPECT_EQ(checked, 12 * 15 - 4);
}

// Registers and scalars have handlers of their own; pairs of both kinds are lowered before either
// runs.
TEST(Vopd, PairsOfDifferentOperandsInOneProgram) {
  TestMachine machine({.target = kGfx1100, .wave64 = false});
  machine.fill_v(0, 6);
  machine.fill_v(1, 8);
  machine.set_s(4, 50);
  ASSERT_TRUE(
      machine.run("v_dual_mov_b32 v2, v1 :: v_dual_mov_b32 v3, v0\n"
                  "v_dual_mov_b32 v4, s4 :: v_dual_mov_b32 v5, 7\n"
                  "v_dual_mov_b32 v6, v1 :: v_dual_mov_b32 v7, v0"));
  const uint32_t kExpected[] = {8, 6, 50, 7, 8, 6};
  for (uint32_t i = 0; i < 6; ++i) EXPECT_EQ(machine.v(2 + i, 9), kExpected[i]) << i;
}

TEST(Vopd, CodeBehindAPairRuns) {
  TestMachine machine({.target = kGfx1100, .wave64 = false});
  machine.fill_v(0, 6);
  machine.fill_v(1, 8);
  ASSERT_TRUE(
      machine.run("v_dual_mov_b32 v2, v1 :: v_dual_mov_b32 v3, v0\nv_add_nc_u32 v4, v2, v3"));
  EXPECT_EQ(machine.v(4, 9), 14u);
}

}  // namespace
}  // namespace wavetap::emu
