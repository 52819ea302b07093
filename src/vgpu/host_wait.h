// Host threads that wait for the GPU by looking at a signal and a clock again and again.
//
// Before ROCr sleeps on an event it looks at the signal for 200 µs, and for ever where the caller wants an active wait or
// another thread waits for the same signal. Each turn of that loop asks for the time. On a real machine this costs a core
// that has nothing better to do; here the GPU that is waited for needs the core. So the question for the time (preload/clock.cc)
// sleeps until the GPU has completed something, or for kRestNs: whoever else may have changed the signal is noticed then.
// On amd64 the loops ask the processor itself, where nobody can answer: there the program's waits sleep before ROCr's begin
// (preload/hsa_waits.cc).
//
// No completion is slept through: a loop rests only when none came between its last two questions, and it has looked at its
// signal in between.
#pragma once

#include <cstdint>

namespace wavetap::vgpu {

constexpr int64_t kRestNs = 100'000;

// How often the GPU has completed something. The GPU's side announces it after the signal's value has changed.
uint32_t completions() noexcept;
void announce_completion() noexcept;
// How long somebody rests who has waited for so long: a host thread that changes the signal is noticed a sixteenth late.
int64_t rest_after(int64_t waited_ns) noexcept;
// Sleeps while completions() is `seen`, at most `rest_ns`. No errno of the program's is touched.
void rest_until_completion(uint32_t seen, int64_t rest_ns = kRestNs) noexcept;

// What one thread remembers of its questions for the time.
class ClockLoop {
 public:
  enum class Turn : uint8_t {
    kGoOn,
    kRest,
    kFirstRest,  // of this loop
  };
  // A question that was answered with `now_ns` while there had been `seen` completions.
  Turn turn(int64_t now_ns, uint32_t seen) noexcept;
  // The loop rested: the next question is a quick one although time has passed.
  void rested(int64_t now_ns) noexcept { last_ns_ = now_ns; }

 private:
  int64_t last_ns_ = 0;
  uint32_t quick_turns_ = 0;
  uint32_t seen_ = 0;
  bool has_rested_ = false;
};

}  // namespace wavetap::vgpu
