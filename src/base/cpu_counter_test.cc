#include "base/cpu_counter.h"

#include <gtest/gtest.h>

namespace wavetap {
namespace {

TEST(CpuCounter, TakesTheRateOfATscFromItsCrystal) {
  // Skylake-X: 25 MHz, ratio 216/2.
  EXPECT_EQ(tsc_hz({.eax = 2, .ebx = 216, .ecx = 25'000'000}, {}), 2'700'000'000u);
}

TEST(CpuCounter, AsksTheHypervisorWhereTheCrystalIsNotStated) {
  EXPECT_EQ(tsc_hz({.eax = 2, .ebx = 216, .ecx = 0}, {.eax = 2'699'998}), 2'699'998'000u);
  EXPECT_EQ(tsc_hz({}, {.eax = 2'699'998}), 2'699'998'000u);
}

TEST(CpuCounter, SaysThatNobodyStatesTheRate) { EXPECT_EQ(tsc_hz({}, {}), 0u); }

TEST(CpuCounter, DistrustsATscThatTheKernelHasLeft) {
  EXPECT_FALSE(is_steady_by_kernel("hpet"));
  EXPECT_FALSE(is_steady_by_kernel("acpi_pm"));
  EXPECT_TRUE(is_steady_by_kernel("tsc"));
  EXPECT_TRUE(is_steady_by_kernel("kvm-clock"));
  EXPECT_TRUE(is_steady_by_kernel(""));
}

TEST(CpuCounter, MovesForward) {
  if (!has_constant_counter()) GTEST_SKIP() << "this CPU has none";
  const uint64_t before = read_counter();
  uint64_t after = before;
  for (int i = 0; i < 1'000'000 && after == before; ++i) after = read_counter();
  EXPECT_GT(after, before);
}

}  // namespace
}  // namespace wavetap
