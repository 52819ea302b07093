// What the hooks (HIP, HSA, markers, loader) see of the recorder.
//
// The state is one word that every hook tests: g_state. While nothing is recorded it is 0 and a hook is a
// load, a branch and a jump to the real function. Facts (libraries, kernels, queues) are recorded as soon as
// the session is open, started or not, because they cannot be learned later.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "agent/stream.h"
#include "format/record.h"

namespace wavetap::agent {

// Bits of g_state.
inline constexpr uint32_t kRecording = 1;   // reference count of starts > 0 and the session can be written
inline constexpr uint32_t kArguments = 2;   // arguments of every call, not only of those that need them
inline constexpr uint32_t kStacks = 4;
inline constexpr uint32_t kKernargs = 8;
inline constexpr uint32_t kBarriers = 16;
extern std::atomic<uint32_t> g_state;

inline bool recording() { return (g_state.load(std::memory_order_relaxed) & kRecording) != 0; }

// Time in units of the session's clock: one instruction where the CPU has a constant-rate counter.
uint64_t ticks();

// This thread's stream, made on first use. Null while there is no session, in a thread that is exiting,
// and inside the agent's own code.
Stream* stream();

// Opens the session once, from whatever comes first: our constructor, a hooked call, OnLoad. Cheap later.
void ensure_started();

// Marks the agent's own code on this thread: hooks that it reaches pass straight through.
class Inside {
 public:
  Inside();
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Stream* stream_;
};

// Appends to stream 0 under its lock. The fixed part must have `header` first; texts follow in order.
void write_fact(const void* fixed, size_t fixed_bytes, format::Kind kind, uint8_t flags,
                std::initializer_list<std::string_view> texts = {});
template <class Fact>
void fact(const Fact& fixed, format::Kind kind, uint8_t flags, std::initializer_list<std::string_view> texts = {}) {
  write_fact(&fixed, sizeof fixed, kind, flags, texts);
}

// Counted, written as a LossFact by the helper thread, and said once on stderr.
void count_loss(format::Loss reason, uint64_t events = 1);

// Process-wide numbers.
uint64_t next_operation();  // DispatchRecord::id and friends
uint32_t next_queue();
uint32_t next_code_object();

// Path of a file in the session folder, for code objects: "<pid>-<start>.<n>.co". Empty without a session.
// `buffer` holds the path; returns the name relative to the folder.
std::string_view session_file(uint32_t number, char* buffer, size_t size);

// Work the helper thread does on its rounds (it sleeps when nobody needs it). `poll` returns true when it
// wants to be called again soon. Registered once at start-up, never removed.
void add_helper_work(bool (*poll)());
void wake_helper();

// Called by blocking HIP functions after they return (hipDeviceSynchronize ...) and at exit: collects the GPU
// times of what has finished. Costs one load when nothing is pending. Set by the HSA side.
extern void (*g_harvest)();

}  // namespace wavetap::agent
