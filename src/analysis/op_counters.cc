#include "analysis/op_counters.h"

namespace wavetap::analysis {

OpCounters::OpCounters(const store::Trace& trace) : all_(&trace.counters) {
  if (trace.counters.empty()) return;
  // Counters lie in the order of their ops; those of no op, with the number kNoRow, come last.
  first_.assign(trace.ops.size() + 1, 0);
  for (const store::Counter& counter : trace.counters)
    if (counter.op < trace.ops.size()) ++first_[counter.op + 1];
  for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
}

}  // namespace wavetap::analysis
