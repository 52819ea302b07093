// The helper thread.
//
// It is started when recording first has something to do, blocks all signals, sleeps on a futex and looks
// around twenty times a second (a thousand times while somebody asks for it). It must not keep alive a
// process whose other threads have all ended, so it looks for that, too, and goes.
#include "agent/helper.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <atomic>

#include "agent/control.h"
#include "agent/recorder.h"
#include "agent/recorder_internal.h"
#include "agent/session.h"
#include "agent/sys.h"

namespace wavetap::agent {
namespace {

constexpr int64_t kIdleNs = 50'000'000;
constexpr int64_t kBusyNs = 1'000'000;
constexpr int64_t kClockPeriodNs = 1'000'000'000;
constexpr size_t kStackBytes = 256 << 10;

std::atomic<uint32_t> g_wanted{0};   // bumped by wake_helper()
std::atomic<uint32_t> g_asleep{0};
std::atomic<uint32_t> g_helper_pid{0};

constexpr int kMaxWork = 8;
std::atomic<bool (*)()> g_work[kMaxWork];

int64_t monotonic_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

// The main thread has called pthread_exit() and every other thread but this has ended.
bool is_last_thread() {
  char text[512];
  if (sys::read_file("/proc/self/stat", text, sizeof text) <= 0) return false;
  const char* const state = strrchr(text, ')');
  if (state == nullptr || state[1] == '\0' || state[2] != 'Z') return false;
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return false;
  int others = 0;
  while (const dirent* const entry = readdir(tasks))
    if (entry->d_name[0] != '.') ++others;
  closedir(tasks);
  return others <= 2;
}

void* run_helper(void*) {
  ++t_thread.inside;  // for good: nothing this thread does is the program's
  int64_t next_clock = monotonic_ns() + kClockPeriodNs;
  for (;;) {
    const uint32_t wanted = g_wanted.load(std::memory_order_acquire);
    const bool soon = run_helper_work();
    const int64_t now = monotonic_ns();
    if (now >= next_clock) {
      write_pending_facts();
      next_clock = now + kClockPeriodNs;
      if (is_last_thread()) return nullptr;
    }
    if (soon) {
      sys::futex_wait(&g_wanted, wanted, kBusyNs);
      continue;
    }
    g_asleep.store(1, std::memory_order_seq_cst);
    if (g_wanted.load(std::memory_order_seq_cst) == wanted) sys::futex_wait(&g_wanted, wanted, kIdleNs);
    g_asleep.store(0, std::memory_order_relaxed);
  }
}

}  // namespace

void add_helper_work(bool (*poll)()) {
  for (auto& slot : g_work) {
    bool (*empty)() = nullptr;
    if (slot.compare_exchange_strong(empty, poll, std::memory_order_release) || empty == poll) return;
  }
}

bool run_helper_work() {
  bool soon = session().tend();
  soon |= serve_control();
  for (auto& slot : g_work)
    if (bool (*const poll)() = slot.load(std::memory_order_acquire)) soon |= poll();
  return soon;
}

void wake_helper() {
  g_wanted.fetch_add(1, std::memory_order_seq_cst);
  // Pairs with the store of g_asleep: either the helper sees the new number or we see it asleep.
  if (g_asleep.load(std::memory_order_seq_cst) != 0) sys::futex_wake(&g_wanted, 1);
}

void write_pending_facts() {
  write_losses();
  const format::ClockSampleFact sample = sample_clocks();
  fact(sample, format::Kind::kClockSample, 0);
}

void start_helper() {
  const uint32_t pid = session().pid();
  if (g_helper_pid.exchange(pid, std::memory_order_relaxed) == pid) return;
  g_asleep.store(0, std::memory_order_relaxed);
  const Inside inside;
  // The thread inherits the mask; no signal of the program may be delivered to it.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread;
  // Without it (a limit on processes) chunks are made by the threads that need them; only the control socket
  // is missing, and `wavetap status` says that nobody answers.
  if (pthread_create(&thread, &attributes, run_helper, nullptr) == 0) pthread_setname_np(thread, "wavetap");
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace wavetap::agent
