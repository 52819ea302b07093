// Compiler: where hot code goes.
//
// The interpreter counts how often waves arrive at a place: by a jump, or at the start of a slice.
// When that has happened often enough, the engine names the place to the compiler it was given
// (EngineOptions::compiler), which may then publish native code for it (LoweredCode::publish()):
// from then on a wave that arrives there runs that instead of the instruction's handler. A place is
// named twice: warm, when code that somebody compiled before should be used, and hot, when compiling pays.
//
// What compiled code has to do. It is called like the handler of the instruction at its place and
// performs that one and as many after it as it likes, but not more than Wave::budget - Wave::done.
// It leaves the wave as the handlers would have: registers, memory, pc, state; a fault is that of
// the same instruction. The instructions it performed, less one, it adds to Wave::extra and takes
// off Wave::budget, unless that has become 0 because the wave stopped. Dispatches that are counted
// or watched never come to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace wavetap::emu {

class LoweredCode;

// How often waves have arrived at a place that is warm, and at one that is hot. Compiling an instruction takes as long
// as interpreting it five thousand times, more or less: below that it costs a short kernel more than it gives.
inline constexpr uint32_t kWarmArrivals = 1000;
inline constexpr uint32_t kHotArrivals = 5000;
enum class Heat : uint8_t { kWarm, kHot };

// In front of a wave's vector registers compiled code has this many bytes of its own: what it knows of
// the wave from one piece to the next. A new wave's are forgotten, but for the last kGuessBytes: they
// are whatever was there, and good for guesses only.
inline constexpr size_t kCompiledStateBytes = 2432;
inline constexpr size_t kGuessBytes = 64;
inline void forget_compiled_state(std::byte* state) { std::memset(state, 0xff, sizeof(uint64_t)); }

class Compiler {
 public:
  virtual ~Compiler() = default;

  // Instruction `index` of `code` has become warm or hot. Any thread, outside slices; returns soon.
  virtual void compile(std::shared_ptr<const LoweredCode> code, int32_t index,
                       Heat heat) noexcept = 0;
};

}  // namespace wavetap::emu
