#include "base/check.h"

#include <gtest/gtest.h>

namespace wavetap {
namespace {

TEST(CheckDeathTest, AFailedCheckEndsTheProcessAsOurBug) {
#ifdef NDEBUG
  EXPECT_EXIT(WT_CHECK(1 + 1 == 3, "sums add up"), testing::ExitedWithCode(3),
              "internal: base/check_test.cc:[0-9]+: does not hold: sums add up");
#else
  EXPECT_DEATH(WT_CHECK(1 + 1 == 3, "sums add up"), "sums add up");
#endif
}

TEST(Check, WhatHoldsCostsNothing) {
  WT_CHECK(1 + 1 == 2, "sums add up");
  EXPECT_TRUE(WT_SOFT_CHECK(1 + 1 == 2, "sums add up"));
  EXPECT_EQ(check::soft_failures(), 0u);
}

#ifdef NDEBUG
TEST(Check, AFailedSoftCheckIsCountedAndTheProgramGoesOn) {
  testing::internal::CaptureStderr();
  const uint64_t before = check::soft_failures();
  for (int i = 0; i < 3; ++i)
    if (WT_SOFT_CHECK(i < 0, "i is negative")) ADD_FAILURE();
  EXPECT_EQ(check::soft_failures(), before + 3);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("i is negative"), said.rfind("i is negative")) << "said once: " << said;
  EXPECT_NE(said.find("the program goes on"), std::string::npos);
}
#endif

}  // namespace
}  // namespace wavetap
