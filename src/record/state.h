// What every part of the recorder looks at: whether to record, this thread's part, and the locks.
//
// The state is one word that every hook tests. While nothing is recorded it is kReady and a hook is
// a load, a branch and a jump to the real function. Facts (libraries, kernels, queues) are recorded
// as soon as the session is open, started or not, because they cannot be learned later.
//
//        ensure_started()            start_recording()
//   0 ────────────────────▶ kReady ◀──────────────────▶ kReady | kRecording | options
//   ▲                                stop_recording()
//   └── fork(), in the child
#pragma once

#include <atomic>
#include <cstdint>

#include "base/lock_word.h"

// Reached relative to the code, without a detour through the offset table: hooks are counted in
// nanoseconds.
#define WT_HIDDEN __attribute__((visibility("hidden")))

namespace wavetap::record {

class Stream;

// Bits of g_state.
// Reference count of starts > 0 and the session can be written.
inline constexpr uint32_t kRecording = 1;
// Arguments of every call, not only of those that need them.
inline constexpr uint32_t kArguments = 2;
inline constexpr uint32_t kStacks = 4;
inline constexpr uint32_t kKernargs = 8;
inline constexpr uint32_t kBarriers = 16;
inline constexpr uint32_t kHsaCalls = 32;
// ensure_started() has run in this process; alone: stopped.
inline constexpr uint32_t kReady = 1u << 8;
// Hooks look at calls although nothing is recorded: watch_calls().
inline constexpr uint32_t kWatched = 1u << 9;

// What a child of fork() must find empty, however it was forked (pthread_atfork handlers do not run
// after a bare clone()): the kernel wipes this page in children. State 0 sends the child's first
// hooked call to ensure_started(), which gives it files of its own. Own pages even where they are
// 64 KiB.
struct alignas(64 * 1024) ForkWiped {
  std::atomic<uint32_t> state{0};
  std::atomic<uint32_t> session_open{0};
  LockWord start_lock;    // taken first
  LockWord fact_lock;     // then this
  LockWord chunk_lock;    // then this
  LockWord resolve_lock;  // on its own
  LockWord host_lock;     // on its own
  LockWord library_lock;  // before fact_lock
};
extern ForkWiped g_fork_wiped WT_HIDDEN;
inline constinit std::atomic<uint32_t>& g_state = g_fork_wiped.state;

inline bool recording() { return (g_state.load(std::memory_order_relaxed) & kRecording) != 0; }
inline bool is_session_open() {
  return g_fork_wiped.session_open.load(std::memory_order_acquire) != 0;
}

// This thread's part of the recorder.
struct Thread {
  Stream* stream;
  uint32_t inside;    // > 0: the recorder's own code runs; hooks pass straight through
  uint32_t exits;     // rounds of thread-exit destructors seen
  int ranges;         // pushed and not popped
  int watched_range;  // depth of the outermost of those that watch_ranges() asks for; 0: none
  // For hooks that are told by their caller where a call leads to: of the hook that the call which is
  // just arriving belongs to, plus one ...
  uint32_t target_index;
  void* target;  // ... and the function
  // Of the outermost hooked call that this thread is in, while calls are watched: see enter_from().
  const void* caller;
  const void* frame;
  // Bounds of the thread's stack; 0: not asked for yet.
  uintptr_t stack_begin;
  uintptr_t stack_end;
};
extern __thread Thread t_thread WT_HIDDEN __attribute__((tls_model("initial-exec")));

// Marks the recorder's own code on this thread: hooks that it reaches pass straight through.
class Inside {
 public:
  Inside() {
    ++t_thread.inside;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Inside() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    --t_thread.inside;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

// Called by blocking GPU functions after they return, at flush and at exit: collects the times of
// what has finished. Costs one load when nothing is pending. Set by whoever knows the GPU runtime.
extern void (*g_harvest)() WT_HIDDEN;

// Opens the session once, from whatever comes first: a constructor, a hooked call, the GPU runtime.
// Cheap later. Defined in recorder.cc.
void start_process();
inline void ensure_started() {
  if (g_state.load(std::memory_order_acquire) == 0) start_process();
}

}  // namespace wavetap::record
