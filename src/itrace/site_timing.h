// SiteTiming: what one static instruction costs the wave that issues it and the compute unit it runs
// on. Modelled: rates and latencies are the model file's (timing/costs.h), where an access is answered
// is the mean of the instruction's own accesses through the modelled caches (cachesim/).
#pragma once

#include <cstdint>
#include <vector>

#include "cachesim/counters.h"
#include "isa/wait_counters.h"
#include "itrace/recorder.h"
#include "itrace/trace.h"
#include "model/model.h"

namespace wavetap::itrace {

// What takes one instruction at a time.
enum class Pipe : uint8_t {
  kNone,    // the sequencer itself
  kVector,  // of a SIMD
  kScalar,  // of a SIMD
  kBranch,  // of a SIMD
  kLds,     // of the unit
  kMemory,  // of the unit: vector memory
};
inline constexpr size_t kPipes = 6;

// Registers in one row of numbers: scalar ones, then VGPRs, then AGPRs.
inline constexpr uint16_t kFirstVgpr = 256;
inline constexpr uint16_t kFirstAgpr = 768;
inline constexpr uint16_t kRegisters = 1280;
struct RegisterRange {
  uint16_t first = 0;
  uint16_t count = 0;
};

struct SiteTiming {
  uint64_t pc = 0;
  uint64_t next_pc = 0;  // behind it
  Category category = Category::kSalu;
  Pipe pipe = Pipe::kScalar;
  uint32_t pipe_cycles = 1;    // until the next instruction can go there
  uint32_t result_cycles = 1;  // until an instruction can use what it writes
  uint32_t answer_cycles = 0;  // memory: until what it asked for is there
  uint32_t memory_cycles = 0;  // memory: its share of the way to L2 and memory
  uint32_t sleep_cycles = 0;   // s_sleep, s_nop
  isa::WaitEffect effect = {};
  bool is_barrier = false;
  bool is_end = false;
  bool is_branch = false;
  std::vector<RegisterRange> reads = {};
  std::vector<RegisterRange> writes = {};
};

std::vector<SiteTiming> time_sites(const std::vector<Site>& sites, const model::Model& model,
                                   bool wave64, const cachesim::MemoryResult& memory);

// The category of an instruction, were it a branch then one that is not taken.
Category category_of(const isa::Inst& inst);

}  // namespace wavetap::itrace
