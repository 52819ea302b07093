// What instructions do to the counters that waves wait on.
//
// Memory instructions add one to a counter when they are issued and take it back when they are done;
// s_waitcnt stops the wave until a counter is at N or below. Operations of one class finish in the
// order they were issued; those of different classes that share a counter in any order, and scalar
// loads in any order at all.
//
//   gfx9    vmcnt: vector memory, loads and stores (63); lgkmcnt: LDS, scalar memory, messages (15)
//   gfx10+  vmcnt: what returns data (63); vscnt: stores, which return none (63); lgkmcnt (63)
//
// A flat instruction counts in vmcnt (or vscnt) and lgkmcnt. In lgkmcnt it is in order with LDS
// operations from gfx10 on, and in no order before. Not here: expcnt, which compute kernels do not use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "isa/inst.h"

namespace wavetap::isa {

enum class WaitCounter : uint8_t { kVmcnt, kLgkmcnt, kVscnt };
inline constexpr size_t kWaitCounters = 3;
inline constexpr WaitCounter kAllWaitCounters[] = {WaitCounter::kVmcnt, WaitCounter::kLgkmcnt,
                                                   WaitCounter::kVscnt};
const char* name_of(WaitCounter counter);  // "vmcnt"

// What finishes in order.
enum class WaitClass : uint8_t {
  kVector,   // vmcnt
  kLds,      // lgkmcnt
  kGds,      // lgkmcnt
  kScalar,   // lgkmcnt; in any order
  kMessage,  // lgkmcnt; in any order
  kFlat,     // lgkmcnt; in any order. gfx9 alone
  kStore,    // vscnt
};
inline constexpr uint8_t kWaitClasses = 7;
constexpr uint8_t bit_of(WaitClass of) { return static_cast<uint8_t>(1u << static_cast<int>(of)); }
inline constexpr uint8_t kOrderedWaitClasses = bit_of(WaitClass::kVector) |
                                               bit_of(WaitClass::kLds) | bit_of(WaitClass::kGds) |
                                               bit_of(WaitClass::kStore);
constexpr bool is_ordered(WaitClass of) { return (kOrderedWaitClasses & bit_of(of)) != 0; }
constexpr WaitCounter counter_of(WaitClass of) {
  return of == WaitClass::kVector  ? WaitCounter::kVmcnt
         : of == WaitClass::kStore ? WaitCounter::kVscnt
                                   : WaitCounter::kLgkmcnt;
}

inline constexpr uint8_t kNoWait = 0xff;

struct WaitEffect {
  uint8_t issues = 0;                                                     // bit per class
  std::array<uint8_t, kWaitCounters> most = {kNoWait, kNoWait, kNoWait};  // left when the wait ends
  bool is_flat = false;

  bool waits() const { return (most[0] & most[1] & most[2]) != kNoWait; }
  uint8_t limit(WaitCounter counter) const { return most[static_cast<size_t>(counter)]; }

  bool operator==(const WaitEffect&) const = default;
};

WaitEffect wait_effect_of(const Inst& inst, uint8_t gfx_major);
// As high as the counter goes; one more is not issued before another is done.
uint8_t full_count(WaitCounter counter, uint8_t gfx_major);

}  // namespace wavetap::isa
