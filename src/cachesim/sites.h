// Sites: what is known of the static instructions that a MemoryWatch was asked about.
//
// A straight run of instructions is executed as often as its first one, so only first ones are
// counted while a kernel runs; the rest is arithmetic afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "cachesim/counters.h"
#include "cachesim/instruction_kind.h"
#include "isa/program.h"

namespace wavetap::cachesim {

struct Site {
  GpuAddr pc;
  uint32_t instructions = 0;  // of the run that begins here; 0: none does
  uint32_t code_bytes = 0;    // of that run
  bool accesses = false;      // memory
  bool invalidates_l1 = false;
  bool invalidates_gl1 = false;
  bool waits = false;
  WaitLimits limits;
  InstructionCounters kinds;  // what one execution of the run adds
};

// Numbers stay the same for as long as the object lives. Thread-safe; at() while no code is lowered.
class Sites {
 public:
  // The number of an instruction worth watching; 0: none. Asked for all of a program, from the first one on.
  uint32_t number(const isa::Program& program, int32_t index);
  // Copies; for the numbers below size().
  Site at(uint32_t number) const;
  uint32_t size() const;

 private:
  using Numbers = std::vector<uint32_t>;  // by instruction
  void survey(const isa::Program& program, Numbers& numbers);

  mutable std::mutex mutex_;
  std::map<uint64_t, Numbers> programs_;  // by first address
  std::vector<Site> sites_ = std::vector<Site>(1);
};

}  // namespace wavetap::cachesim
