// Signals: waits of every kind, waits for any of several, asynchronous handlers, many of them.
#include <time.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "hsa_test.h"

using namespace hsa_test;

namespace {

void waits(hsa_wait_state_t state, const char* name) {
  const hsa_signal_t signal = make_signal(5);
  std::thread setter([=] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    hsa_signal_store_screlease(signal, 7);
  });
  check(hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_GTE, 7, UINT64_MAX, state) == 7,
        "%s wait", name);
  setter.join();
  uint64_t hertz = 0;
  hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &hertz);
  const auto begin = std::chrono::steady_clock::now();
  check(hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, 99, hertz / 50, state) == 7,
        "%s wait times out", name);
  const auto waited = std::chrono::steady_clock::now() - begin;
  check(waited >= std::chrono::milliseconds(15) && waited < std::chrono::seconds(5),
        "%s time-out takes its time", name);
  hsa_signal_add_screlease(signal, 3);
  check(hsa_signal_load_scacquire(signal) == 10, "arithmetic");
  HSA(hsa_signal_destroy(signal));
}

// Each condition, met when the wait begins, met later, and never.
void conditions() {
  struct Case {
    hsa_signal_condition_t condition;
    hsa_signal_value_t met, unmet;
  };
  // Of a signal compared with 10.
  const Case cases[] = {{HSA_SIGNAL_CONDITION_EQ, 10, 11},
                        {HSA_SIGNAL_CONDITION_NE, -3, 10},
                        {HSA_SIGNAL_CONDITION_LT, -3, 10},
                        {HSA_SIGNAL_CONDITION_GTE, 10, -3}};
  for (const Case& one : cases) {
    const hsa_signal_t signal = make_signal(one.met);
    const auto wait = [&](uint64_t timeout) {
      return hsa_signal_wait_relaxed(signal, one.condition, 10, timeout, HSA_WAIT_STATE_ACTIVE);
    };
    bool right = wait(UINT64_MAX) == one.met && wait(0) == one.met;
    hsa_signal_store_relaxed(signal, one.unmet);
    right =
        right && wait(0) == one.unmet && wait(1'000) == one.unmet && wait(1'000'000) == one.unmet;
    std::thread setter([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      hsa_signal_store_relaxed(signal, one.met);
    });
    right = wait(UINT64_MAX) == one.met && right;
    setter.join();
    check(right, "condition %d", one.condition);
    HSA(hsa_signal_destroy(signal));
  }
}

// The virtual GPU runs on the cores of those who wait for it.
void wait_asleep() {
  const auto processor_ns = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  const hsa_signal_t signal = make_signal(1);
  std::thread setter([=] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    hsa_signal_store_screlease(signal, 0);
  });
  const int64_t begin = processor_ns();
  hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_ACTIVE);
  const int64_t used = processor_ns() - begin;
  setter.join();
  check(used < 250'000'000, "an active wait of 500 ms takes %.1f ms of processor time",
        1e-6 * static_cast<double>(used));
  HSA(hsa_signal_destroy(signal));
}

void wait_any() {
  std::vector<hsa_signal_t> signals;
  for (int i = 0; i < 20; ++i) signals.push_back(make_signal(1));
  std::vector<hsa_signal_condition_t> conditions(20, HSA_SIGNAL_CONDITION_EQ);
  std::vector<hsa_signal_value_t> values(20, 0);
  std::thread setter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    hsa_signal_store_screlease(signals[13], 0);
  });
  hsa_signal_value_t satisfying = 55;
  const uint32_t index =
      hsa_amd_signal_wait_any(20, signals.data(), conditions.data(), values.data(), UINT64_MAX,
                              HSA_WAIT_STATE_BLOCKED, &satisfying);
  check(index == 13 && satisfying == 0, "wait for any of twenty (got %u)", index);
  setter.join();
  for (const hsa_signal_t signal : signals) HSA(hsa_signal_destroy(signal));
}

std::atomic<int> g_handler_calls{0};

void asynchronous_handlers() {
  constexpr int kSignals = 200;
  std::vector<hsa_signal_t> signals;
  for (int i = 0; i < kSignals; ++i) {
    signals.push_back(make_signal(1));
    HSA(hsa_amd_signal_async_handler(
        signals.back(), HSA_SIGNAL_CONDITION_LT, 1,
        [](hsa_signal_value_t, void*) {
          ++g_handler_calls;
          return false;
        },
        nullptr));
  }
  for (const hsa_signal_t signal : signals) hsa_signal_subtract_screlease(signal, 1);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (g_handler_calls < kSignals && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  check(g_handler_calls == kSignals, "every handler is called once (%d of %d)",
        g_handler_calls.load(), kSignals);
  for (const hsa_signal_t signal : signals) HSA(hsa_signal_destroy(signal));
}

// A GPU completes signals that eight host threads sleep on.
void gpu_wakes_sleepers(const Agent& gpu) {
  hsa_queue_t* queue = make_queue(gpu, 1024);
  std::atomic<int> woken{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const hsa_signal_t signal = make_signal(1);
        hsa_barrier_and_packet_t packet{};
        packet.header = HSA_PACKET_TYPE_BARRIER_AND;
        packet.completion_signal = signal;
        submit(queue, &packet);
        woken += wait_until(signal, 0);
        HSA(hsa_signal_destroy(signal));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  check(woken == 1600, "%s: 8 threads woken 200 times each (%d)", gpu.name.c_str(), woken.load());
  HSA(hsa_queue_destroy(queue));
}

}  // namespace

// With the argument no-wait-any: for ROCr 7.2, whose hsa_amd_signal_wait_any writes past the end of
// a vector of its own unless the first signal is the one that is met.
int main(int argc, char** argv) {
  const bool without_wait_any = argc > 1 && std::strcmp(argv[1], "no-wait-any") == 0;
  const Machine machine = start();
  waits(HSA_WAIT_STATE_BLOCKED, "blocked");
  waits(HSA_WAIT_STATE_ACTIVE, "active");
  conditions();
  wait_asleep();
  if (!without_wait_any) wait_any();
  asynchronous_handlers();
  for (const Agent& gpu : machine.gpus) gpu_wakes_sleepers(gpu);
  bool all = true;
  for (int i = 0; i < 10'000; ++i) {
    hsa_signal_t signal{};
    all = all && hsa_signal_create(1, 0, nullptr, &signal) == HSA_STATUS_SUCCESS &&
          hsa_signal_destroy(signal) == HSA_STATUS_SUCCESS;
  }
  check(all, "10000 signals come and go");
  std::vector<hsa_signal_t> alive;
  for (int i = 0; i < 10'000; ++i) alive.push_back(make_signal(i));
  bool right = true;
  for (int i = 0; i < 10'000; ++i) right = right && hsa_signal_load_relaxed(alive[i]) == i;
  check(right, "10000 signals live at once, more than there are events");
  for (const hsa_signal_t signal : alive) HSA(hsa_signal_destroy(signal));
  HSA(hsa_shut_down());
  return finish();
}
