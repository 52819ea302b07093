// Exact per-dispatch counters. One list (counters.inc) makes the struct, the names and the JSON
// keys.
#pragma once

#include <cstdint>

namespace wavetap::emu {

struct Counters {
#define WT_COUNTER(name, help) uint64_t name = 0;
#include "emu/counters.inc"
#undef WT_COUNTER

  void add(const Counters& other) {
#define WT_COUNTER(name, help) name += other.name;
#include "emu/counters.inc"
#undef WT_COUNTER
  }
};

}  // namespace wavetap::emu
