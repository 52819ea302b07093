// What a counted or watched workgroup carries. The engine's own; tools see watch.h.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "emu/access.h"
#include "emu/access_span.h"
#include "emu/counters.h"
#include "emu/exec.h"
#include "emu/watch.h"

namespace wavetap::emu {

// One instruction of code lowered for watchers. Bit i of a set: watcher i of the dispatch.
struct WatchedStep {
  Handler run = nullptr;  // what it does; null: nobody watches it, the plain Step is this one
  const uintptr_t* tags = nullptr;  // by watcher
  GpuAddr pc;
  uint8_t before = 0;
  uint8_t uses_registers = 0;
  uint8_t accessing = 0;
  uint8_t accessed = 0;
  uint8_t after = 0;
  uint8_t screens = 0;
  uint8_t rows_suffice = 0;
  SpanPlan span;
  // Of the one who wants accessing() and screens, where nobody else wants anything.
  Watcher* screener = nullptr;
  uintptr_t tag = 0;
  uint8_t watcher = 0;
  bool leaves_out_lds = false;
};
static_assert(kMaxWatchers <= 8);

// The accesses of one instruction, kept until its data has moved.
struct KeptAccesses {
  size_t count = 0;
  MemoryAccess access[kMaxAccesses];
  uint64_t address[kMaxAccesses][64];
};

// Of a workgroup whose dispatch is counted or watched; Wave::watch points to it, and is null
// otherwise.
struct Watch {
  Counters* counters = nullptr;  // null: not counted
  std::span<Watcher* const> watchers;
  void* state[kMaxWatchers] = {};
  const WatchedStep* now = nullptr;    // the step that is running, when it is watched
  uint32_t telling = 0;                // whom of those who want its accessing()
  uint32_t hears_barriers = 0;         // who wants barrier_reached()
  uint32_t hears_waves = 0;            // who wants wave_began() and wave_ended()
  std::unique_ptr<KeptAccesses> kept;  // made with the workgroup when there are watchers

  // Calls f(watcher, its number) for the watchers of `set`.
  template <class F>
  void for_each(uint32_t set, F&& f) {
    for (; set != 0; set &= set - 1) {
      const auto i = static_cast<size_t>(std::countr_zero(set));
      f(*watchers[i], i);
    }
  }
  // Whether somebody needs the address of every lane.
  bool needs_all_addresses() const {
    return counters != nullptr || now == nullptr || now->accessed != 0 ||
           (telling & ~uint32_t{now->rows_suffice}) != 0;
  }
  uint32_t all() const { return (1u << watchers.size()) - 1; }
};

}  // namespace wavetap::emu
