// Interposed calls that change signal handlers. The driver's threads need SIGSEGV and SIGBUS for
// themselves (vgpu/guard.h); the program keeps the handlers it believes to have.
#include <errno.h>
#include <signal.h>

#include <atomic>

#include "vgpu/guard.h"
#include "vgpu/preload/front.h"

using namespace wavetap::vgpu;         // NOLINT: the functions below are libc's
using namespace wavetap::vgpu::front;  // NOLINT

WT_EXPORT int sigaction(int signal, const struct sigaction* action,
                        struct sigaction* old) noexcept {
  if (claim_sigaction(signal, action, old)) return 0;
  // `sigaction` names a structure as well, which the macro's decltype would find.
  static std::atomic<void*> cached{nullptr};
  void* next = cached.load(std::memory_order_relaxed);
  if (next == nullptr) {
    next = next_symbol("sigaction");
    cached.store(next, std::memory_order_relaxed);
  }
  return reinterpret_cast<int (*)(int, const struct sigaction*, struct sigaction*)>(next)(
      signal, action, old);
}

WT_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  struct sigaction old {};
  if (!claim_sigaction(number, &action, &old)) return WT_NEXT(signal)(number, handler);
  return old.sa_handler;
}
