#include "base/lock_word.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace wavetap {
namespace {

TEST(LockWord, LetsOneInAtATime) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 20'000;
  LockWord word;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        const Locked lock(word);
        ++count;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kRounds);
}

TEST(LockWord, CanBeTriedForAWhile) {
  LockWord word;
  EXPECT_TRUE(word.try_lock());
  EXPECT_FALSE(word.try_lock());
  EXPECT_FALSE(word.try_lock_for(1));
  word.unlock();
  EXPECT_TRUE(word.try_lock_for(1));
  word.unlock();
}

}  // namespace
}  // namespace wavetap
