#include "vgpu/events.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace wavetap::vgpu {
namespace {

class EventTableTest : public testing::Test {
 protected:
  uint32_t make(EventType type = EventType::kSignal, bool auto_reset = true) {
    EventHandle handle;
    EXPECT_EQ(table.create(type, auto_reset, 0, &handle), 0);
    return handle.id;
  }
  WaitResult look(uint32_t id) {
    EventWait wait{.id = id};
    WaitResult result{};
    EXPECT_EQ(table.wait({&wait, 1}, true, 0, &result), 0);
    return result;
  }

  EventTable table;
};

TEST_F(EventTableTest, SignalIdsAreSlotsAndOthersStartHigh) {
  EventHandle signal, memory;
  ASSERT_EQ(table.create(EventType::kSignal, true, 0, &signal), 0);
  ASSERT_EQ(table.create(EventType::kMemory, false, 0, &memory), 0);
  EXPECT_GE(signal.id, 1u);
  EXPECT_LT(signal.id, kSignalEventLimit);
  EXPECT_EQ(signal.slot, signal.id);
  EXPECT_GE(memory.id, kFirstOtherEventId);
  EXPECT_EQ(memory.slot, 0u);
}

TEST_F(EventTableTest, RefusesMoreSignalEventsThanSlots) {
  EventHandle handle;
  for (uint32_t i = 1; i < kSignalEventLimit; ++i)
    ASSERT_EQ(table.create(EventType::kSignal, true, 0, &handle), 0);
  EXPECT_EQ(table.create(EventType::kSignal, true, 0, &handle), ENOSPC);
  EXPECT_EQ(table.destroy(77), 0);
  EXPECT_EQ(table.create(EventType::kSignal, true, 0, &handle), 0);
  EXPECT_EQ(handle.id, 77u);
}

TEST_F(EventTableTest, AnEventSetWithNobodyWaitingIsNotLost) {
  const uint32_t id = make();
  EXPECT_EQ(look(id), WaitResult::kTimeout);
  table.signal(id);
  EXPECT_EQ(look(id), WaitResult::kComplete);
  EXPECT_EQ(look(id), WaitResult::kTimeout) << "auto-reset";
}

TEST_F(EventTableTest, AManualEventStaysSetUntilReset) {
  const uint32_t id = make(EventType::kSignal, /*auto_reset=*/false);
  EXPECT_EQ(table.set(id), 0);
  EXPECT_EQ(look(id), WaitResult::kComplete);
  EXPECT_EQ(look(id), WaitResult::kComplete);
  EXPECT_EQ(table.reset(id), 0);
  EXPECT_EQ(look(id), WaitResult::kTimeout);
}

TEST_F(EventTableTest, OnlySignalEventsMayBeSetByTheUser) {
  EXPECT_EQ(table.set(make(EventType::kMemory)), EINVAL);
  EXPECT_EQ(table.set(4000), EINVAL);
  EXPECT_EQ(table.reset(0), EINVAL);
  EXPECT_EQ(table.destroy(4000), EINVAL);
}

TEST_F(EventTableTest, WaitingForAllNeedsAllAndGivesBackOnTimeout) {
  const uint32_t a = make();
  const uint32_t b = make();
  EventWait both[2] = {{.id = a}, {.id = b}};
  WaitResult result{};
  table.signal(a);
  ASSERT_EQ(table.wait(both, /*wait_for_all=*/true, 1, &result), 0);
  EXPECT_EQ(result, WaitResult::kTimeout);
  EXPECT_EQ(look(a), WaitResult::kComplete) << "the unfinished wait must not consume the event";
  table.signal(a);
  table.signal(b);
  ASSERT_EQ(table.wait(both, /*wait_for_all=*/true, 0, &result), 0);
  EXPECT_EQ(result, WaitResult::kComplete);
}

TEST_F(EventTableTest, AWaiterThatMissedAnAgePassesAtOnce) {
  const uint32_t id = make();
  EventWait wait{.id = id, .last_event_age = 1};
  WaitResult result{};
  ASSERT_EQ(table.wait({&wait, 1}, true, 0, &result), 0);
  EXPECT_EQ(result, WaitResult::kTimeout);
  table.signal(id);
  EXPECT_EQ(look(id), WaitResult::kComplete) << "another waiter takes the auto-reset event";
  ASSERT_EQ(table.wait({&wait, 1}, true, 0, &result), 0);
  EXPECT_EQ(result, WaitResult::kComplete);
  EXPECT_EQ(wait.last_event_age, 2u);
  ASSERT_EQ(table.wait({&wait, 1}, true, 0, &result), 0);
  EXPECT_EQ(result, WaitResult::kTimeout);
}

// What ROCr 5.x does when a queue is destroyed: one event shared by the thread that waits for a
// signal and the one that serves all signals. The second must not swallow the first one's wake-up.
TEST_F(EventTableTest, AWaiterThatForgetsTheAgeItWasToldDoesNotSpin) {
  const uint32_t id = make();
  table.signal(id);
  const auto ask = [&] {
    EventWait wait{.id = id, .last_event_age = 1};
    WaitResult result{};
    EXPECT_EQ(table.wait({&wait, 1}, false, 1000, &result), 0);
    EXPECT_EQ(result, WaitResult::kComplete);
    return wait.last_event_age;
  };
  EXPECT_EQ(ask(), 2u);
  constexpr int kQuestions = 20;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kQuestions; ++i) EXPECT_EQ(ask(), 2u);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(kQuestions / 2));
  table.signal(id);
  EXPECT_EQ(ask(), 3u) << "news";
}

TEST_F(EventTableTest, AThreadThatSharesAnEventDoesNotTakeItFromAnother) {
  const uint32_t id = make();
  table.signal(id);
  std::thread other([&] { EXPECT_EQ(look(id), WaitResult::kComplete); });
  other.join();
  EXPECT_EQ(look(id), WaitResult::kComplete);
  EXPECT_EQ(look(id), WaitResult::kTimeout);
}

TEST_F(EventTableTest, UnknownAndEmptyWaitsAreRefused) {
  EventWait wait{.id = 9};
  WaitResult result{};
  EXPECT_EQ(table.wait({&wait, 1}, true, 0, &result), EINVAL);
  EXPECT_EQ(table.wait({}, true, 0, &result), EINVAL);
}

TEST_F(EventTableTest, DestroyingAnEventFailsItsWaiter) {
  const uint32_t id = make();
  std::atomic<bool> waiting{false};
  int error = 0;
  WaitResult result{};
  std::thread waiter([&] {
    EventWait wait{.id = id};
    waiting = true;
    error = table.wait({&wait, 1}, true, kEventWaitForever, &result);
  });
  while (!waiting) std::this_thread::yield();
  // The thread is about to sleep or sleeps; both must end.
  while (table.destroy(id) != 0) std::this_thread::yield();
  waiter.join();
  EXPECT_TRUE(error == EIO || error == EINVAL);
  EXPECT_EQ(result, WaitResult::kFail);
}

TEST_F(EventTableTest, AnAutoResetEventWakesEveryoneWhoWaits) {
  const uint32_t id = make();
  std::vector<std::thread> waiters;
  std::atomic<int> done{0};
  for (int i = 0; i < 4; ++i) {
    waiters.emplace_back([&] {
      EventWait wait{.id = id, .last_event_age = 1};
      WaitResult result{};
      EXPECT_EQ(table.wait({&wait, 1}, true, kEventWaitForever, &result), 0);
      EXPECT_EQ(result, WaitResult::kComplete);
      ++done;
    });
  }
  table.signal(id);  // Whether they sleep already or not: ages make it the same.
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(done, 4);
}

TEST_F(EventTableTest, TheEventPageTellsWhichEventsAnInterruptMeans) {
  std::vector<uint64_t> page(4096);
  ASSERT_EQ(table.set_event_page(page.data(), page.size() * 8), 0);
  EXPECT_EQ(table.set_event_page(page.data(), page.size() * 8), 0);
  std::vector<uint64_t> other(4096);
  EXPECT_EQ(table.set_event_page(other.data(), other.size() * 8), EINVAL);
  const uint32_t a = make();
  const uint32_t b = make();
  EXPECT_EQ(page[a], ~uint64_t{0});
  page[b] = b;
  table.signal_all();
  EXPECT_EQ(look(a), WaitResult::kTimeout);
  EXPECT_EQ(look(b), WaitResult::kComplete);
  EXPECT_EQ(page[b], ~uint64_t{0});
  table.signal_all();  // No slot written: it could be any of them.
  EXPECT_EQ(look(a), WaitResult::kComplete);
  EXPECT_EQ(look(b), WaitResult::kComplete);
}

// For the thread sanitizer as much as for the check: a queue writes a slot while another one's
// interrupt clears it.
TEST_F(EventTableTest, ASlotMayBeWrittenWhileItIsLookedAt) {
  std::vector<uint64_t> page(4096);
  ASSERT_EQ(table.set_event_page(page.data(), page.size() * 8), 0);
  const uint32_t id = make();
  std::thread queue([&] {
    for (int i = 0; i < 1000; ++i) {
      std::atomic_ref(page[id]).store(id, std::memory_order_release);
      table.signal(id);
    }
  });
  for (int i = 0; i < 1000; ++i) table.signal(id);
  queue.join();
  EXPECT_EQ(look(id), WaitResult::kComplete);
  EXPECT_EQ(page[id], ~uint64_t{0});
}

TEST_F(EventTableTest, AMemoryFaultReachesMemoryEventsWithItsAddress) {
  EXPECT_FALSE(table.post_memory_fault({.not_present = true, .address = 0x1000, .gpu_id = 7}));
  const uint32_t id = make(EventType::kMemory);
  EXPECT_TRUE(table.post_memory_fault({.not_present = true, .address = 0x2000, .gpu_id = 7}));
  EventWait wait{.id = id};
  WaitResult result{};
  ASSERT_EQ(table.wait({&wait, 1}, false, 0, &result), 0);
  EXPECT_EQ(result, WaitResult::kComplete);
  ASSERT_TRUE(wait.has_memory_fault);
  EXPECT_EQ(wait.memory_fault.address, 0x2000u);
  EXPECT_EQ(wait.memory_fault.gpu_id, 7u);
  EXPECT_TRUE(wait.memory_fault.not_present);
}

TEST_F(EventTableTest, AHardwareExceptionReachesItsEvents) {
  const uint32_t id = make(EventType::kHwException);
  EXPECT_TRUE(table.post_hw_exception({.reset_type = 1, .gpu_id = 7}));
  EventWait wait{.id = id};
  WaitResult result{};
  ASSERT_EQ(table.wait({&wait, 1}, false, 0, &result), 0);
  ASSERT_TRUE(wait.has_hw_exception);
  EXPECT_EQ(wait.hw_exception.reset_type, 1u);
}

TEST_F(EventTableTest, AForkedChildStartsEmpty) {
  const uint32_t id = make();
  const pid_t child = fork();
  if (child == 0) {
    table.after_fork_in_child();
    EventHandle handle;
    const bool fine = table.live_count() == 0 && table.set(id) == EINVAL &&
                      table.create(EventType::kSignal, true, 0, &handle) == 0 &&
                      table.set(handle.id) == 0 && look(handle.id) == WaitResult::kComplete;
    _exit(fine ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(table.set(id), 0);
}

// Four pairs pass a token back and forth through auto-reset events while others create, set and
// destroy around them. A lost wake-up would leave a pair asleep for ever.
TEST_F(EventTableTest, NoWakeUpIsLostUnderLoad) {
  constexpr int kPairs = 4;
  constexpr int kRounds = 2000;
  std::vector<std::thread> threads;
  std::atomic<bool> stop{false};
  for (int pair = 0; pair < kPairs; ++pair) {
    const uint32_t ping = make();
    const uint32_t pong = make();
    const auto wait_for = [this](uint32_t id) {
      EventWait wait{.id = id};
      WaitResult result{};
      ASSERT_EQ(table.wait({&wait, 1}, false, 20'000, &result), 0);
      ASSERT_EQ(result, WaitResult::kComplete);
    };
    threads.emplace_back([=, this] {
      for (int i = 0; i < kRounds; ++i) {
        table.signal(ping);
        wait_for(pong);
      }
    });
    threads.emplace_back([=, this] {
      for (int i = 0; i < kRounds; ++i) {
        wait_for(ping);
        ASSERT_EQ(table.set(pong), 0);
      }
    });
  }
  std::thread churn([&] {
    while (!stop) {
      const uint32_t id = make();
      table.signal(id);
      EXPECT_EQ(look(id), WaitResult::kComplete);
      EXPECT_EQ(table.destroy(id), 0);
    }
  });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  churn.join();
}

}  // namespace
}  // namespace wavetap::vgpu
