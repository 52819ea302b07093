#include "vgpu/guard.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

namespace wavetap::vgpu {
namespace {

struct Landing {
  sigjmp_buf jump;
  uint64_t address = 0;
  Landing* outer = nullptr;
};

// Initial-exec: a signal handler must not end up in the TLS allocator.
#define WT_HANDLER_TLS __attribute__((tls_model("initial-exec"))) constinit thread_local

WT_HANDLER_TLS Landing* volatile t_landing = nullptr;
// The fault now being passed on by this thread, to notice a foreign handler that calls back into
// ours.
WT_HANDLER_TLS const siginfo_t* t_passed_info = nullptr;
WT_HANDLER_TLS uintptr_t t_passed_frame = 0;

// When this thread last looked at the handler.
constinit thread_local timespec t_armed_at{};
// Slices until it looks at the clock.
constexpr int kSlicesPerLook = 15;
constinit thread_local int t_until_look = 0;

constexpr int kSignals[] = {SIGSEGV, SIGBUS};
constexpr int kSignalCount = 2;

// Who gets a fault that is not ours. `current` is the program's disposition as it believes it to
// be, `first` what was there before ours was installed at all. Null: the default action. Both are
// read in the handler and may be replaced by claim_sigaction() inside one, so there is neither a
// lock nor an allocation: entries come from a ring, and a reader would have to sleep through
// kEntries changes to see one being rewritten.
constexpr uint32_t kEntries = 64;
struct Foreign {
  std::atomic<const struct sigaction*> first{nullptr};
  std::atomic<const struct sigaction*> current{nullptr};
  std::atomic<bool> installed{false};
  std::atomic<uint32_t> next_entry{0};
  struct sigaction entries[kEntries] {};

  const struct sigaction* keep(const struct sigaction& action) {
    struct sigaction& entry =
        entries[next_entry.fetch_add(1, std::memory_order_relaxed) % kEntries];
    entry = action;
    return &entry;
  }
};
constinit Foreign g_foreign[kSignalCount];
constinit std::mutex g_install_mutex;

// Set while this file calls sigaction() itself: in the preloaded library that name is the
// interposed one, which asks claim_sigaction() first.
WT_HANDLER_TLS bool t_own_call = false;

int real_sigaction(int signal, const struct sigaction* action, struct sigaction* old) {
  t_own_call = true;
  const int result = sigaction(signal, action, old);
  t_own_call = false;
  return result;
}

int index_of(int signal) { return signal == SIGSEGV ? 0 : 1; }

// Lets the kernel do what it would have done without any handler.
void take_default_action(int signal, const siginfo_t* info) {
  struct sigaction fallback {};
  fallback.sa_handler = SIG_DFL;
  sigemptyset(&fallback.sa_mask);
  real_sigaction(signal, &fallback, nullptr);
  // A real fault happens again on return. A signal somebody sent does not: send it on.
  if (info->si_code <= 0) raise(signal);
}

void pass_on(int signal, siginfo_t* info, void* context) {
  Foreign& foreign = g_foreign[index_of(signal)];
  const uintptr_t frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  // A handler installed after ours saved ours and calls it for what it does not know. We called it,
  // so go to the one before both. The same siginfo deeper in the same stack can only be that.
  const bool called_back = t_passed_info == info && frame < t_passed_frame;
  const struct sigaction* next =
      (called_back ? foreign.first : foreign.current).load(std::memory_order_acquire);
  if (next == nullptr || (!(next->sa_flags & SA_SIGINFO) &&
                          (next->sa_handler == SIG_DFL || next->sa_handler == SIG_IGN))) {
    take_default_action(signal, info);
    return;
  }
  // What the kernel would have done for that handler: block its mask, and the signal itself, so
  // that a fault inside the handler is fatal instead of endless.
  sigset_t blocked = next->sa_mask;
  if (!(next->sa_flags & SA_NODEFER)) sigaddset(&blocked, signal);
  if (next->sa_flags & SA_RESETHAND) {
    (called_back ? foreign.first : foreign.current).store(nullptr, std::memory_order_release);
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
    // Nothing should be blocked now, but whoever wraps sigaction() (a sanitizer) may have added to
    // it.
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
  if (real_sigaction(signal, nullptr, &current) != 0 || is_ours(current)) return;
  Foreign& foreign = g_foreign[index_of(signal)];
  const struct sigaction* kept = foreign.keep(current);
  if (!foreign.installed.load(std::memory_order_relaxed))
    foreign.first.store(kept, std::memory_order_release);
  // Pairs with the acquire load in pass_on().
  foreign.current.store(kept, std::memory_order_release);

  struct sigaction ours {};
  ours.sa_sigaction = on_fault;
  // Nothing is blocked (NODEFER, empty mask), so the jump out needs no signal-mask system call;
  // ONSTACK for programs whose own handler relies on an alternate stack.
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | (current.sa_flags & SA_RESTART);
  sigemptyset(&ours.sa_mask);
  real_sigaction(signal, &ours, nullptr);
  foreign.installed.store(true, std::memory_order_release);
}

}  // namespace

void arm_guard() {
  for (const int signal : kSignals) {
    struct sigaction current {};
    if (real_sigaction(signal, nullptr, &current) == 0 && !is_ours(current)) install(signal);
  }
}

bool claim_sigaction(int signal, const struct sigaction* action, struct sigaction* old) {
  if ((signal != SIGSEGV && signal != SIGBUS) || t_own_call) return false;
  Foreign& foreign = g_foreign[index_of(signal)];
  if (!foreign.installed.load(std::memory_order_acquire)) return false;
  const struct sigaction* before =
      action != nullptr ? foreign.current.exchange(foreign.keep(*action), std::memory_order_acq_rel)
                        : foreign.current.load(std::memory_order_acquire);
  if (old != nullptr) {
    constexpr struct sigaction kDefault {};
    *old = before != nullptr ? *before : kDefault;
  }
  return true;
}

bool run_armed(void (*body)(void*), void* arg, uint64_t* fault_address) {
  Landing landing;
  landing.outer = t_landing;
  if (sigsetjmp(landing.jump, /*savemask=*/0) != 0) {
    t_landing = landing.outer;
    *fault_address = landing.address;
    return false;
  }
  // The handler reads it in the middle of the body, which the compiler cannot know: where it saw what
  // the body does, it left the first store out, and a fault ended the program.
  t_landing = &landing;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  body(arg);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_landing = landing.outer;
  return true;
}

bool run_guarded(void (*body)(void*), void* arg, uint64_t* fault_address) {
  // Once per tick of the coarse clock (a few milliseconds) and thread: callers run short slices, so
  // short that even the clock is looked at only now and then.
  if (t_until_look-- > 0) return run_armed(body, arg, fault_address);
  t_until_look = kSlicesPerLook;
  timespec tick;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &tick);
  if (tick.tv_nsec != t_armed_at.tv_nsec || tick.tv_sec != t_armed_at.tv_sec) {
    arm_guard();
    t_armed_at = tick;
  }
  return run_armed(body, arg, fault_address);
}

}  // namespace wavetap::vgpu
