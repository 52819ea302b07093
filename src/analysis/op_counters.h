// OpCounters: what each op of a trace was counted to do. The trace must outlive it.
#pragma once

#include <span>

#include "store/trace.h"

namespace wavetap::analysis {

class OpCounters {
 public:
  explicit OpCounters(const store::Trace& trace);

  bool any() const { return !first_.empty(); }
  // Those of an op, by row; none when it was not counted.
  std::span<const store::Counter> of(size_t op) const {
    if (op + 1 >= first_.size()) return {};
    return std::span(*all_).subspan(first_[op], first_[op + 1] - first_[op]);
  }

 private:
  const std::vector<store::Counter>* all_;
  std::vector<uint32_t> first_;  // of each op; empty when nothing was counted
};

}  // namespace wavetap::analysis
