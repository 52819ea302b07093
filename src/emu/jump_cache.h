// JumpCache: where a worker's waves jumped lately, so that a call to another function does not ask
// the CodeCache each time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "emu/lower.h"
#include "emu/wave.h"

namespace wavetap::emu {

// A place in decoded code.
struct CodePlace {
  const LoweredCode* code = nullptr;
  int32_t index = -1;
};

// Recent jumps between blocks of one worker; direct mapped, one dispatch at a time.
struct JumpCache {
  static constexpr size_t kEntries = 256;
  struct Entry {
    uint64_t pc = ~uint64_t{0};
    CodePlace place;
  };
  std::array<Entry, kEntries> entries{};
  uint64_t owner = 0;  // serial of the dispatch these belong to

  Entry& entry(uint64_t pc) { return entries[(pc >> 2 ^ pc >> 10) % kEntries]; }
  void reset(uint64_t new_owner) {
    entries.fill({});
    owner = new_owner;
  }
};

// The wave goes on at the absolute address `address`, in this Program or another one. Handlers only.
void jump(Wave& wave, uint64_t address);

}  // namespace wavetap::emu
