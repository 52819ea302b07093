#include "sanitize/race_shadow.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace wavetap::sanitize::race_shadow_test {
namespace {

constexpr uint32_t kWords = 64;

bool is_same(const Conflicts& a, const Conflicts& b) {
  return a.may_collide == b.may_collide &&
         std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Conflicts::Pair& x, const Conflicts::Pair& y) {
                      return x.lanes == y.lanes && x.first_lane == y.first_lane &&
                             x.with.deed == y.with.deed && x.with.site == y.with.site &&
                             x.with.group == y.with.group && x.with.wave == y.with.wave &&
                             x.with.lane == y.with.lane;
                    });
}

// Random workgroups whose waves load, store and update rows, with barriers between: whatever has
// happened, a row is the same as its words.
TEST(RaceShadow, TouchesARowAsItTouchesItsWords) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
    const bool is_lds = pick(2) == 0;
    const bool groups_synchronise = !is_lds && pick(2) == 0;
    const uint32_t groups = is_lds ? 1 : 3;
    constexpr uint32_t kWaves = 3;
    uint16_t sealed[3][32] = {};
    uint16_t clock = 1;
    const KnownClocks nothing;
    ShadowWords rows(kWords), single(kWords);
    for (int step = 0; step < 300; ++step) {
      if (pick(20) == 0) {
        for (auto& of_group : sealed) std::fill(of_group, of_group + kWaves, clock);
        ++clock;
      }
      const uint32_t group = pick(groups);
      Accessor me;
      me.record = Record::make(static_cast<Deed>(1 + pick(3)), pick(4), group, pick(kWaves), clock);
      me.sealed = me.inside = sealed[group];
      me.outside = &nothing;
      me.dead_clock = is_lds ? clock - 1 : 0;
      me.groups_synchronise = groups_synchronise;
      const uint32_t words_per_lane = pick(8) == 0 ? 3 : 1u << pick(3);
      // Whole lines most of the time, else some words anywhere.
      const bool is_whole = words_per_lane != 3 && pick(3) != 0;
      const uint32_t lanes = is_whole ? 16 / words_per_lane * (1 + pick(2)) : 1 + pick(8);
      const uint32_t count = words_per_lane * lanes;
      const uint32_t first = is_whole ? pick(3) * 16 : pick(kWords - count + 1);
      const uint32_t lane = pick(2) * 16;
      Conflicts of_row, of_words;
      rows.touch_row(first, count, words_per_lane, lane, me, of_row);
      for (uint32_t i = 0; i < count; ++i)
        single.touch(first + i, Record::kAllBytes, lane + i / words_per_lane, me, of_words);
      // Single bytes now and then, so that words differ.
      if (pick(10) == 0) {
        const uint32_t word = pick(kWords);
        rows.touch(word, 3, 5, me, of_row);
        single.touch(word, 3, 5, me, of_words);
      }
      ASSERT_TRUE(is_same(of_row, of_words)) << "seed " << seed << ", step " << step;
      for (uint32_t i = 0; i < kWords; ++i)
        ASSERT_EQ(rows.at(i).bits(), single.at(i).bits())
            << "seed " << seed << ", step " << step << ", word " << i;
    }
  }
}

// 'S' while the thread sleeps, 'R' while it runs or could.
char state_of(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const size_t name_end = text.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= text.size() ? '?' : text[name_end + 2];
}

// A holder that lost its processor gets it back sooner when those who wait do not use it.
TEST(ShadowPage, WhoWaitsForItSleeps) {
  ShadowPage page;
  page.lock();
  std::atomic<pid_t> waiter{0};
  std::thread thread([&] {
    waiter = static_cast<pid_t>(syscall(SYS_gettid));
    page.lock();
    page.unlock();
  });
  while (waiter == 0) std::this_thread::yield();
  bool has_slept = false;
  for (int look = 0; look < 10'000 && !has_slept; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    has_slept = state_of(waiter) == 'S';
  }
  page.unlock();
  thread.join();
  EXPECT_TRUE(has_slept);
}

}  // namespace
}  // namespace wavetap::sanitize::race_shadow_test
