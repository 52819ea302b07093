#pragma once

#include <cstddef>
#include <cstdint>

#include "emu/memory.h"

namespace wavetap::emu {

class Compiler;  // compiler.h

struct EngineOptions {
  int threads = 0;                     // worker threads; 0 = one per allowed core
  uint64_t seed = 0;                   // non-zero: permutes workgroup and wave order
  uint64_t watchdog_instructions = 0;  // per wave, 0 = no limit
  // Waves that all sleep are given time, because somebody else may change what they wait for. Where
  // nobody can, that only delays the watchdog.
  bool naps = true;
  // What vector registers, LDS and scratch hold when a wave starts, repeated; hardware leaves them
  // as the previous wave did, so a program that depends on it is wrong.
  uint32_t initial_fill = 0;
  // Memory for decoded code, some 350 bytes an instruction; beyond it, what was not used for
  // longest is decoded again when needed. Enough for 1.5 million instructions, several hundred
  // large matrix kernels, and a sixteenth of a small machine's memory; most programs need a few MiB.
  size_t code_cache_bytes = size_t{512} << 20;
  // Around everything that touches guest memory, so that memory which the user unmapped behind our
  // back becomes a page fault of the wave. Null: no guard.
  RunGuarded run_guarded = nullptr;
  // Is told of code that is hot, and may put compiled code in its place. Outlives the engine. Null:
  // everything is interpreted.
  Compiler* compiler = nullptr;
};

}  // namespace wavetap::emu
