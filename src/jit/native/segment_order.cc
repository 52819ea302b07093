// In which order strips do the operations of a segment.
//
// GPU compilers load long before they use, for latencies that strips do not have: what is loaded then takes
// registers of the host until it is used, and strips are as narrow as there are too few of those. So loads from
// LDS move down to the first operation that reads what they load. LDS belongs to the worker that runs the wave,
// and addresses have been checked: nobody can tell when it is read. What faults, and all that others may write,
// stays where it is.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "jit/native/segment_emitter.h"

namespace wavetap::jit {

namespace {

bool share(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
}

}  // namespace

bool SegmentEmitter::may_move(const Operation& operation) {
  if (!operation.is_memory) return false;
  const MemoryOp op = *compiled_memory_op(*operation.inst);
  return op.space == MemoryOp::Space::kLds && !op.is_store && op.part == MemoryOp::Part::kWhole;
}

// Where the first operation is that reads what a load makes: `load` itself, where it cannot move there.
size_t SegmentEmitter::first_use(size_t load) const {
  const std::vector<uint32_t> made = rows_written(operations_[load]);
  const std::vector<uint32_t> read = rows_read(operations_[load]);
  for (size_t i = load + 1; i < operations_.size(); ++i) {
    const Operation& next = operations_[i];
    // What is paired reads before the one before it writes.
    if (share(made, rows_read(next))) return next.is_paired ? i - 1 : i;
    const std::vector<uint32_t> written = rows_written(next);
    if (share(made, written) || share(read, written)) break;
  }
  return load;
}

// The last one first: what moves then passes only what has its place.
void SegmentEmitter::move_loads() {
  for (size_t i = operations_.size(); i-- > 0;) {
    if (!may_move(operations_[i])) continue;
    const size_t use = first_use(i);
    if (use <= i + 1) continue;
    const auto at = [&](size_t k) { return operations_.begin() + static_cast<ptrdiff_t>(k); };
    std::rotate(at(i), at(i + 1), at(use));
  }
}

}  // namespace wavetap::jit
