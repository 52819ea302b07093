// How many events of each kind: one way to count for `run`, `import` and `report`.
#pragma once

#include <cstdint>
#include <string_view>

#include "store/op_kind.h"

namespace wavetap::store {

class Trace;

struct EventCounts {
  uint64_t calls = 0;
  uint64_t markers = 0;
  uint64_t dispatches = 0;  // of the program's kernels, and of graphs' ones
  uint64_t copies = 0;      // and fills, by copy engines or by kernels of the runtime
  uint64_t barriers = 0;
  uint64_t other = 0;  // what else a GPU did: kernels the runtime launched for itself

  void add_op(OpKind kind);
  uint64_t ops() const { return dispatches + copies + barriers + other; }
  uint64_t all() const { return calls + markers + ops(); }
};

// Needs calls and ops.
EventCounts count_events(const Trace& trace);

}  // namespace wavetap::store
