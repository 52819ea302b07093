// What an access to LDS costs: the one home of bank-conflict arithmetic, for counters, probes and
// models.
//
// LDS is an array of banks four bytes wide: 32 of them, 64 on gfx950. A wave's access is served in
// phases, groups of lanes that together ask for as many bytes as the banks deliver in a cycle: 32
// lanes of up to four bytes, 16 of eight, 8 of more (twice as many with 64 banks). In a phase each
// bank serves one dword per cycle, and serves it to every lane that asks for it. Lanes that want
// different dwords of one bank conflict and cost a cycle each; lanes of different phases never do.
//
// Phases are neighbouring lanes, with one exception: loads of 16 bytes with 32 banks serve lanes 0–3
// with 20–23, 4–7 with 16–19, 8–11 with 28–31, 12–15 with 24–27, and the upper half of the wave alike
// (AMD's Composable Kernel documents these). A phase without active lanes takes no cycle.
//
// An atomic on a dword that another lane of its phase works on waits for it. AMD counts these cycles
// apart, as address conflicts, and so does this.
#pragma once

#include <cstdint>

#include "amd/gfx_target.h"
#include "emu/access.h"

namespace wavetap::emu {

// Of one access: a ds_read2 makes two.
struct LdsCost {
  uint32_t phases = 0;             // with active lanes: the fewest cycles possible
  uint32_t bank_conflicts = 0;     // cycles on top, for other dwords of a bank
  uint32_t address_conflicts = 0;  // cycles on top, for atomics on the same dword
  uint32_t ways = 0;               // most dwords that one bank had to serve in one phase
  uint32_t worst_bank = 0;         // the lowest bank that had to
  uint64_t conflicting = 0;        // lanes that asked a bank for one of several dwords

  uint32_t cycles() const { return phases + bank_conflicts + address_conflicts; }
};

constexpr uint32_t lds_bank_count(amd::GfxTarget target) {
  return target.major == 9 && target.minor == 5 ? 64 : 32;
}

// Lanes that are served together with `lane`, itself among them, of an access as wide as this.
uint64_t lds_phase_of(int lane, uint32_t size_bytes, bool is_load, uint32_t banks);

// The phases of an access whose lanes, as their relation shows, meet at no bank: its cost is these cycles,
// one way, and nothing else. 0: lds_cost() has to look. Watchers who hear of every access ask this first, as a
// struct that goes through memory takes longer than the answer.
uint32_t lds_phases_if_free(const MemoryAccess& access, uint32_t banks);

// Pure: reads the access's addresses and nothing else. Elements are of 16 bytes at most.
LdsCost lds_cost(const MemoryAccess& access, uint32_t banks);

}  // namespace wavetap::emu
