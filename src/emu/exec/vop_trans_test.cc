// Transcendental f32 operations, quick forms included, against the plain definition: the value in
// double, rounded once, denormals flushed. A sample of all operands, bit for bit; all 2^32 of them
// agree as well, which takes minutes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "emu/exec/float_ops.h"
#include "emu/testing/machine.h"

namespace wavetap::emu {
namespace {

// `function`: of double to double.
template <class F>
void check_sample(const char* text, F function) {
  TestMachine machine;
  const LoweredCode* code = machine.load(text);
  ASSERT_NE(code, nullptr);
  uint32_t operand = 0;
  // A prime: no bit of the operand stays behind. 2^20 operands.
  constexpr uint32_t kStep = 4099;
  for (int round = 0; round < (1 << 20) / 64; ++round) {
    for (int lane = 0; lane < 64; ++lane)
      machine.set_v(1, lane, operand + kStep * static_cast<uint32_t>(lane));
    ASSERT_TRUE(machine.run_loaded(code));
    for (int lane = 0; lane < 64; ++lane, operand += kStep) {
      const float x = flush_denormal(f32_of(operand));
      const float expected = flush_denormal(static_cast<float>(function(static_cast<double>(x))));
      const float got = f32_of(machine.v(0, lane));
      if (expected != expected) ASSERT_NE(got, got) << text << " of " << std::hex << operand;
      else ASSERT_EQ(bits_of(got), bits_of(expected)) << text << " of " << std::hex << operand;
    }
  }
}

TEST(Transcendentals, AreTheDoubleValueRoundedOnce) {
  check_sample("v_exp_f32 v0, v1", [](double x) { return std::exp2(x); });
  check_sample("v_log_f32 v0, v1", [](double x) { return std::log2(x); });
  check_sample("v_rcp_f32 v0, v1", [](double x) { return 1 / x; });
  check_sample("v_sqrt_f32 v0, v1", [](double x) { return std::sqrt(x); });
  check_sample("v_rsq_f32 v0, v1", [](double x) { return 1 / std::sqrt(x); });
}

// A lane that the quick form cannot answer must not spoil the others of its block.
TEST(Transcendentals, OneLaneInDoubtLeavesTheOthersRight) {
  for (const char* text : {"v_exp_f32 v0, v1", "v_log_f32 v0, v1"}) {
    TestMachine machine;
    for (int lane = 0; lane < 64; ++lane)
      machine.set_v(1, lane, bits_of(lane == 7 ? std::numeric_limits<float>::quiet_NaN() : 4.0f));
    ASSERT_TRUE(machine.run(text));
    for (int lane = 0; lane < 64; ++lane) {
      if (lane == 7) EXPECT_TRUE(is_nan_bits32(machine.v(0, lane)));
      else EXPECT_EQ(machine.v(0, lane), bits_of(text[2] == 'e' ? 16.0f : 2.0f)) << text;
    }
  }
}

TEST(Transcendentals, LimitsOfTheExponential) {
  TestMachine machine;
  const auto exp_of = [&](float x) {
    machine.fill_v(1, bits_of(x));
    EXPECT_TRUE(machine.run("v_exp_f32 v0, v1"));
    return f32_of(machine.v(0, 0));
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(exp_of(128), kInfinity);
  EXPECT_EQ(exp_of(kInfinity), kInfinity);
  EXPECT_EQ(exp_of(127), 0x1p127f);
  EXPECT_EQ(exp_of(-126), 0x1p-126f);
  EXPECT_EQ(bits_of(exp_of(std::nextafter(-126.0f, -127.0f))), 0u);
  EXPECT_EQ(bits_of(exp_of(-1e30f)), 0u);
  EXPECT_EQ(bits_of(exp_of(-kInfinity)), 0u);
  EXPECT_EQ(exp_of(-0.0f), 1.0f);
}

}  // namespace
}  // namespace wavetap::emu
