#include "vgpu/guard.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>

namespace wavetap::vgpu {
namespace {

struct Landing {
  sigjmp_buf jump;
  uint64_t address = 0;
  Landing* outer = nullptr;
};

// Initial-exec: a signal handler must not end up in the TLS allocator.
#define WT_HANDLER_TLS __attribute__((tls_model("initial-exec"))) constinit thread_local

WT_HANDLER_TLS Landing* t_landing = nullptr;
// The fault now being passed on by this thread, to notice a foreign handler that calls back into ours.
WT_HANDLER_TLS const siginfo_t* t_passed_info = nullptr;
WT_HANDLER_TLS uintptr_t t_passed_frame = 0;

// When this thread last looked at the handler.
constinit thread_local timespec t_armed_at{};

constexpr int kSignals[] = {SIGSEGV, SIGBUS};
constexpr int kSignalCount = 2;

// Who gets a fault that is not ours. `newest` is what ours last replaced, `first` what was there before
// ours was installed at all. Written under g_install_mutex; read in the handler, which may see one or the
// other of two successive handlers but always a complete one: entries are never reused.
struct Foreign {
  std::atomic<const struct sigaction*> first{nullptr};
  std::atomic<const struct sigaction*> newest{nullptr};
};
constinit Foreign g_foreign[kSignalCount];
constinit std::mutex g_install_mutex;

int index_of(int signal) { return signal == SIGSEGV ? 0 : 1; }

// Lets the kernel do what it would have done without any handler.
void take_default_action(int signal, const siginfo_t* info) {
  struct sigaction fallback {};
  fallback.sa_handler = SIG_DFL;
  sigemptyset(&fallback.sa_mask);
  sigaction(signal, &fallback, nullptr);
  // A real fault happens again on return. A signal somebody sent does not: send it on.
  if (info->si_code <= 0) raise(signal);
}

void pass_on(int signal, siginfo_t* info, void* context) {
  Foreign& foreign = g_foreign[index_of(signal)];
  const uintptr_t frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  // A handler installed after ours saved ours and calls it for what it does not know. We called it, so
  // go to the one before both. The same siginfo deeper in the same stack can only be that.
  const bool called_back = t_passed_info == info && frame < t_passed_frame;
  const struct sigaction* next =
      (called_back ? foreign.first : foreign.newest).load(std::memory_order_acquire);
  if (next == nullptr || (!(next->sa_flags & SA_SIGINFO) &&
                          (next->sa_handler == SIG_DFL || next->sa_handler == SIG_IGN))) {
    take_default_action(signal, info);
    return;
  }
  // What the kernel would have done for that handler: block its mask, and the signal itself, so that a
  // fault inside the handler is fatal instead of endless.
  sigset_t blocked = next->sa_mask;
  if (!(next->sa_flags & SA_NODEFER)) sigaddset(&blocked, signal);
  if (next->sa_flags & SA_RESETHAND) {
    (called_back ? foreign.first : foreign.newest).store(nullptr, std::memory_order_release);
  }
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  t_passed_info = info;
  t_passed_frame = frame;
  if (next->sa_flags & SA_SIGINFO) {
    next->sa_sigaction(signal, info, context);
  } else {
    next->sa_handler(signal);
  }
  t_passed_info = nullptr;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  Landing* landing = t_landing;
  // si_code <= 0: sent by kill() or raise(), not a fault of this thread.
  if (landing != nullptr && info->si_code > 0) {
    landing->address = reinterpret_cast<uintptr_t>(info->si_addr);
    // Nothing should be blocked now, but whoever wraps sigaction() (a sanitizer) may have added to it.
    pthread_sigmask(SIG_SETMASK, &static_cast<const ucontext_t*>(context)->uc_sigmask, nullptr);
    siglongjmp(landing->jump, 1);
  }
  const int saved_errno = errno;
  pass_on(signal, info, context);
  errno = saved_errno;
}

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_fault;
}

void install(int signal) {
  const std::lock_guard lock(g_install_mutex);
  struct sigaction current {};
  if (sigaction(signal, nullptr, &current) != 0 || is_ours(current)) return;
  // Leaked: a handler on another thread may be reading the previous one.
  auto* kept = new struct sigaction(current);
  Foreign& foreign = g_foreign[index_of(signal)];
  static bool first_seen[kSignalCount];
  if (!std::exchange(first_seen[index_of(signal)], true)) {
    foreign.first.store(kept, std::memory_order_release);
  }
  // Pairs with the acquire load in pass_on().
  foreign.newest.store(kept, std::memory_order_release);

  struct sigaction ours {};
  ours.sa_sigaction = on_fault;
  // Nothing is blocked (NODEFER, empty mask), so the jump out needs no signal-mask system call; ONSTACK
  // for programs whose own handler relies on an alternate stack.
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | (current.sa_flags & SA_RESTART);
  sigemptyset(&ours.sa_mask);
  sigaction(signal, &ours, nullptr);
}

}  // namespace

void arm_guard() {
  for (const int signal : kSignals) {
    struct sigaction current {};
    if (sigaction(signal, nullptr, &current) == 0 && !is_ours(current)) install(signal);
  }
}

bool run_armed(void (*body)(void*), void* arg, uint64_t* fault_address) {
  Landing landing;
  landing.outer = t_landing;
  if (sigsetjmp(landing.jump, /*savemask=*/0) != 0) {
    t_landing = landing.outer;
    *fault_address = landing.address;
    return false;
  }
  t_landing = &landing;
  body(arg);
  t_landing = landing.outer;
  return true;
}

bool run_guarded(void (*body)(void*), void* arg, uint64_t* fault_address) {
  // Once per tick of the coarse clock (a few milliseconds) and thread: callers run short slices.
  timespec tick;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &tick);
  if (tick.tv_nsec != t_armed_at.tv_nsec || tick.tv_sec != t_armed_at.tv_sec) {
    arm_guard();
    t_armed_at = tick;
  }
  return run_armed(body, arg, fault_address);
}

}  // namespace wavetap::vgpu
