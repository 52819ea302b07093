#include "base/allowed_cpus.h"

#include <gtest/gtest.h>

#include <thread>

namespace wavetap {
namespace {

// In a thread of its own, whose processors end with it.
TEST(AllowedCpus, AreThoseOfTheThreadAndNotOfTheMachine) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(allowed_cpus(), CPU_COUNT(&before));
  std::thread([&] {
    int first = 0;
    while (!CPU_ISSET(first, &before)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(allowed_cpus(), 1);
  }).join();
}

}  // namespace
}  // namespace wavetap
