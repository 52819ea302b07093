// What the hooks (HIP, HSA, markers, loader) see of the recorder.
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
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "agent/clock.h"
#include "agent/lock.h"
#include "agent/stream.h"
#include "format/record.h"

// Reached relative to the code, without a detour through the offset table: hooks are counted in
// nanoseconds.
#define WT_HIDDEN __attribute__((visibility("hidden")))

namespace wavetap::agent {

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

// This thread's part of the recorder.
struct Thread {
  Stream* stream;
  uint32_t inside;  // > 0: the agent's own code runs; hooks pass straight through
  uint32_t exits;   // rounds of thread-exit destructors seen
  int ranges;       // pushed and not popped
  // Of the hook that the call which is just arriving belongs to, plus one ...
  uint32_t target_index;
  void* target;  // ... and the real function it must lead to (preload/hip_copies.cc)
};
extern __thread Thread t_thread WT_HIDDEN __attribute__((tls_model("initial-exec")));

Stream* attach_thread();

// This thread's stream, made on first use. Null while there is no session and inside the agent's
// own code.
inline Stream* stream() {
  if (t_thread.inside != 0) return nullptr;
  Stream* const known = t_thread.stream;
  return known != nullptr ? known : attach_thread();
}

// Opens the session once, from whatever comes first: our constructor, a hooked call, OnLoad. Cheap
// later.
void start_process();
inline void ensure_started() {
  if (g_state.load(std::memory_order_acquire) == 0) start_process();
}

// True in a second copy of this library in one process: it must leave everything alone.
bool is_passive();

// Marks the agent's own code on this thread: hooks that it reaches pass straight through.
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

// Appends to stream 0 under its lock. The fixed part must have `header` first; texts follow in
// order.
void write_fact(const void* fixed, size_t fixed_bytes, format::Kind kind, uint8_t flags,
                std::initializer_list<std::string_view> texts = {});
template <class Fact>
void fact(const Fact& fixed, format::Kind kind, uint8_t flags,
          std::initializer_list<std::string_view> texts = {}) {
  write_fact(&fixed, sizeof fixed, kind, flags, texts);
}

// `write` is called each time a session opens: at the start, and again in a child of fork() that
// goes on recording. It writes the facts that its part of the agent knows already. Registered once,
// never removed.
void add_fact_source(void (*write)());

// Counted, written as a LossFact by the helper thread, and said once on stderr.
void count_loss(format::Loss reason, uint64_t events = 1);

// The same for a loss that needs words of its own; written at once.
void report_loss(format::Loss reason, std::string_view what);

// One line on stderr, unless the program has closed or replaced it. `wavetap: ` is put in front.
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Process-wide numbers.
uint64_t next_operation();  // DispatchRecord::id and friends
uint32_t next_queue();
uint32_t next_code_object();

// Path of a file in the session folder, for code objects: "<pid>-<start>.<n>.co". Empty without a
// session. `buffer` holds the path; returns the name relative to the folder.
std::string_view session_file(uint32_t number, char* buffer, size_t size);

// Work the helper thread does on its rounds (it sleeps when nobody needs it). `poll` returns true
// when it wants to be called again soon. Registered once at start-up, never removed.
void add_helper_work(bool (*poll)());
void wake_helper();

// Lines "key value\n" for `wavetap status`, written by the helper thread: the number of bytes put
// into `buffer`. Registered once, never removed.
void add_status(size_t (*write)(char* buffer, size_t size));

// Called by blocking HIP functions after they return (hipDeviceSynchronize ...) and at exit:
// collects the GPU times of what has finished. Costs one load when nothing is pending. Set by the
// HSA side.
extern void (*g_harvest)() WT_HIDDEN;

// One reference count for the socket, the C API and Python: recording is on while it is above 0.
// Each returns the count afterwards; stopping at 0 stays at 0. `by_pid`: who asked.
uint32_t start_recording(uint32_t by_pid);
uint32_t stop_recording(uint32_t by_pid);
void flush_recording(uint32_t by_pid);

}  // namespace wavetap::agent
