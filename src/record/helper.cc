// The threads of the recorder: started when recording first has something to do, all signals
// blocked, asleep most of the time.
//
// The helper runs what the hooks registered, which may call into the GPU runtime, samples the
// clocks and carries out requests of the control socket. Samples come after a millisecond, two, four
// and so on up to a second, then every second: clock.h says why.
//
// The file thread makes spare chunks and listens on the control socket. It has a descriptor table
// of its own, empty at first: descriptors that come and go on another thread would otherwise take
// numbers the program counts on, use up its limit, and be closed by programs that close everything
// they do not know, perhaps between two system calls of ours. The helper cannot do the same,
// because the runtime needs its descriptors. Where the kernel has no such tables (before 5.9) the
// two share the program's.
//
// Neither may keep alive a process whose other threads have all ended, so the file thread looks for
// that.
#include "record/helper.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "record/bell.h"
#include "record/control.h"
#include "record/facts.h"
#include "record/session.h"
#include "record/state.h"
#include "record/sys.h"
#include "record/threads.h"

namespace wavetap::record {
namespace {

constexpr int64_t kIdleNs = 50'000'000;
constexpr int64_t kBusyNs = 1'000'000;
constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kFirstFactsNs = 1'000'000;
constexpr size_t kStackBytes = 256 << 10;
constexpr unsigned kUnshareTable = 2;  // CLOSE_RANGE_UNSHARE
#ifndef SYS_close_range
constexpr long SYS_close_range = 436;
#endif

Bell g_helper_bell;
std::atomic<uint32_t> g_helper_pid{0};
std::atomic<uint32_t> g_running{0};  // of our threads, those that have not left
std::atomic<bool> g_leave{false};    // the program's threads are gone

constexpr int kMaxWork = 8;
std::atomic<bool (*)()> g_work[kMaxWork];

// The one request that is on its way from the file thread to the helper.
enum : uint32_t { kNone, kPosted, kTaken, kDone };
struct Posted {
  std::atomic<uint32_t> state{kNone};
  Request request = Request::kUnknown;
  uint32_t pid = 0;
  char* out = nullptr;
  size_t size = 0;
  size_t length = 0;
};
constinit Posted g_posted;

// settle_on_helper(): rounds that were asked for, and the last that is over.
std::atomic<uint32_t> g_rounds_asked{0};
std::atomic<uint32_t> g_rounds_done{0};

int64_t monotonic_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * kSecondNs + t.tv_nsec;
}

// The main thread has called pthread_exit() and only our two threads are left.
bool program_has_left() {
  char text[512];
  if (sys::read_file("/proc/self/stat", text, sizeof text) <= 0) return false;
  const char* const state = strrchr(text, ')');
  if (state == nullptr || state[1] == '\0' || state[2] != 'Z') return false;
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return false;
  int threads = 0;
  while (const dirent* const entry = readdir(tasks))
    if (entry->d_name[0] != '.') ++threads;
  closedir(tasks);
  return threads <= 3;
}

void take_posted() {
  uint32_t posted = kPosted;
  // Pairs with the release store in answer_on_helper(): the request is there to be read.
  if (!g_posted.state.compare_exchange_strong(posted, kTaken, std::memory_order_acq_rel)) return;
  g_posted.length = answer_request(g_posted.request, g_posted.pid, g_posted.out, g_posted.size);
  g_posted.state.store(kDone, std::memory_order_release);
  sys::futex_wake(&g_posted.state, 1);
}

void settle_if_asked() {
  // Pairs with the add in settle_on_helper(): what had finished when it was called is seen.
  const uint32_t asked = g_rounds_asked.load(std::memory_order_acquire);
  if (asked == g_rounds_done.load(std::memory_order_relaxed)) return;
  if (void (*const harvest)() = g_harvest) harvest();
  write_pending_facts();
  g_rounds_done.store(asked, std::memory_order_release);
  sys::futex_wake(&g_rounds_done, 1 << 16);
}

// By the thread itself: naming another goes through /proc, whose entries make a process slow to
// disappear.
void name_thread(const char* name) { sys::call(SYS_prctl, PR_SET_NAME, name, 0, 0, 0); }

// The last thing a thread of ours does.
void leave() {
  detach_thread();
  g_running.fetch_sub(1, std::memory_order_release);  // pairs with the load in stop_helper()
  sys::futex_wake(&g_running, 1);
}

void* run_helper(void*) {
  ++t_thread.inside;  // for good: nothing this thread does is the program's
  name_thread("wavetap");
  int64_t interval = kFirstFactsNs;
  int64_t next_facts = monotonic_ns() + interval;
  while (!g_leave.load(std::memory_order_relaxed)) {
    const uint32_t rings = g_helper_bell.rings();
    take_posted();
    settle_if_asked();
    bool soon = false;
    for (auto& slot : g_work)
      if (bool (*const poll)() = slot.load(std::memory_order_acquire)) soon |= poll();
    int64_t left = next_facts - monotonic_ns();
    if (left <= 0) {
      write_pending_facts();
      interval = std::min(interval * 2, kSecondNs);
      next_facts = monotonic_ns() + interval;
      left = interval;
    }
    g_helper_bell.wait(rings, std::min(left, soon ? kBusyNs : kIdleNs));
  }
  leave();
  return nullptr;
}

// answer_request(), carried out by the helper thread, for the file thread.
size_t answer_on_helper(Request request, uint32_t pid, char* out, size_t size) {
  g_posted.request = request;
  g_posted.pid = pid;
  g_posted.out = out;
  g_posted.size = size;
  g_posted.state.store(kPosted, std::memory_order_release);
  g_helper_bell.ring();
  // The helper may be held up by the runtime; what it has begun it ends.
  const int64_t patience = monotonic_ns() + 2 * kSecondNs;
  for (;;) {
    uint32_t state = g_posted.state.load(std::memory_order_acquire);
    if (state == kDone) return g_posted.length;
    if (state == kPosted && monotonic_ns() > patience &&
        g_posted.state.compare_exchange_strong(state, kNone, std::memory_order_relaxed)) {
      const int length = snprintf(out, size, "error the recorder is busy; try again\n");
      return static_cast<size_t>(length);
    }
    sys::futex_wait(&g_posted.state, state, kIdleNs);
  }
}

void* run_file_thread(void*) {
  ++t_thread.inside;
  name_thread("wavetap-files");
  sys::call(SYS_close_range, 0u, ~0u, kUnshareTable);
  int64_t next_look = monotonic_ns() + kSecondNs;
  while (!g_leave.load(std::memory_order_relaxed)) {
    const uint32_t rings = session().bell().rings();
    bool soon = session().tend();
    soon |= serve_control(answer_on_helper);
    if (const int64_t now = monotonic_ns(); now >= next_look) {
      next_look = now + kSecondNs;
      if (program_has_left()) {
        g_leave.store(true, std::memory_order_relaxed);
        g_helper_bell.ring();
      }
    }
    if (!g_leave.load(std::memory_order_relaxed))
      session().bell().wait(rings, soon ? kBusyNs : kIdleNs);
  }
  leave();
  return nullptr;
}

bool start_thread(void* (*run)(void*)) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread;
  g_running.fetch_add(1, std::memory_order_relaxed);
  const bool started = pthread_create(&thread, &attributes, run, nullptr) == 0;
  if (!started) g_running.fetch_sub(1, std::memory_order_relaxed);
  pthread_attr_destroy(&attributes);
  return started;
}

}  // namespace

void add_helper_work(bool (*poll)()) {
  for (auto& slot : g_work) {
    bool (*empty)() = nullptr;
    if (slot.compare_exchange_strong(empty, poll, std::memory_order_release) || empty == poll)
      return;
  }
}

void wake_helper() { g_helper_bell.ring(); }

void settle_on_helper(int64_t patience_ns) {
  if (g_running.load(std::memory_order_relaxed) == 0) return;
  const uint32_t mine = g_rounds_asked.fetch_add(1, std::memory_order_acq_rel) + 1;
  g_helper_bell.ring();
  const int64_t until = monotonic_ns() + patience_ns;
  for (;;) {
    const uint32_t done = g_rounds_done.load(std::memory_order_acquire);
    const int64_t left = until - monotonic_ns();
    if (static_cast<int32_t>(done - mine) >= 0 || left <= 0) return;
    sys::futex_wait(&g_rounds_done, done, left);
  }
}

void start_helper() {
  const uint32_t pid = session().pid();
  if (g_helper_pid.exchange(pid, std::memory_order_relaxed) == pid) return;
  // A child of fork() may have been left with these in any state.
  new (&g_helper_bell) Bell;
  g_leave.store(false, std::memory_order_relaxed);
  g_running.store(0, std::memory_order_relaxed);
  g_rounds_asked.store(0, std::memory_order_relaxed);
  g_rounds_done.store(0, std::memory_order_relaxed);
  const Inside inside;
  // The threads inherit the mask; no signal of the program may be delivered to them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // Without them (a limit on processes) chunks are made by the threads that need them; only the
  // control socket is missing, and `wavetap status` says that nobody answers.
  if (start_thread(run_helper)) start_thread(run_file_thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void stop_helper() {
  g_leave.store(true, std::memory_order_relaxed);
  g_helper_bell.ring();
  session().bell().ring();
  while (const uint32_t running = g_running.load(std::memory_order_acquire))
    sys::futex_wait(&g_running, running, kBusyNs);
  g_helper_pid.store(0, std::memory_order_relaxed);
}

}  // namespace wavetap::record
