// _exit(), _Exit(), quick_exit() and abort() in front of libc's: ends of a program at which no
// destructor of ours runs.
//
// When an operation of the GPU has finished, only its signal knows until somebody looks. So the
// helper thread is asked to look once more. Not the calling thread: it may be in a signal handler,
// and what that interrupted may hold the locks that are needed.
#include "agent/preload/exit.h"

#include <stdlib.h>

#include <atomic>

#include "agent/helper.h"
#include "agent/real_functions.h"
#include "agent/recorder.h"
#include "agent/session.h"
#include "agent/sys.h"

namespace wavetap::agent {
namespace {

using Exit = void (*)(int);
using Abort = void (*)();

std::atomic<Exit> g_exit{nullptr};
std::atomic<Exit> g_quick_exit{nullptr};
std::atomic<Abort> g_abort{nullptr};

template <class Function>
Function known_or_next(std::atomic<Function>& known, const char* name) {
  Function function = known.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = reinterpret_cast<Function>(find_next(name));
    known.store(function, std::memory_order_relaxed);
  }
  return function;
}

// Long enough for a helper that is alive; one that waits for a lock nobody will release is not
// waited for.
constexpr int64_t kPatienceNs = 1'000'000'000;

void look_once_more() {
  // The child of a vfork() shares all memory with its parent, whose recorder is not to be
  // disturbed.
  if (g_fork_wiped.session_open.load(std::memory_order_acquire) == 0 || t_thread.inside != 0 ||
      g_harvest == nullptr || session().pid() != sys::pid())
    return;
  harvest_on_helper(kPatienceNs);
}

[[noreturn]] void leave(int status) {
  look_once_more();
  if (const Exit real = known_or_next(g_exit, "_exit")) real(status);
  for (;;) sys::call(SYS_exit_group, status);
}

}  // namespace

void find_exit_functions() {
  known_or_next(g_exit, "_exit");
  known_or_next(g_quick_exit, "quick_exit");
  known_or_next(g_abort, "abort");
}

}  // namespace wavetap::agent

using namespace wavetap::agent;

extern "C" {

__attribute__((visibility("default"), noreturn)) void _exit(int status) { leave(status); }
__attribute__((visibility("default"), noreturn)) void _Exit(int status) noexcept { leave(status); }

__attribute__((visibility("default"), noreturn)) void quick_exit(int status) noexcept {
  look_once_more();
  if (const Exit real = known_or_next(g_quick_exit, "quick_exit")) real(status);
  leave(status);
}

__attribute__((visibility("default"), noreturn)) void abort() noexcept {
  look_once_more();
  if (const Abort real = known_or_next(g_abort, "abort")) real();
  for (;;) __builtin_trap();
}

}  // extern "C"
