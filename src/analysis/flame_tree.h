// Time by call stack: calls with the same names around them are one node, the kernels they launched
// are nodes below. Built in time linear in the trace however deeply calls nest.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/callstack_tree.h"
#include "analysis/time_spec.h"
#include "store/trace.h"

namespace wavetap::analysis {

// One element per node in every vector; parents come before their children, node 0 is the root.
struct FlameTree {
  std::vector<uint32_t> parent;  // kNoRow for the root
  std::vector<store::Str> name;  // of `names`
  std::vector<bool> is_kernel;
  // ns without the nodes below, and with them. CPU time of calls, GPU time of kernels.
  std::vector<int64_t> cpu_self, gpu_self, cpu_total, gpu_total;
  store::Strings names;
  size_t size() const { return parent.size(); }
};

// Of calls that start within `window`. With by_thread the nodes below the root are "thread N".
FlameTree build_flame_tree(const store::Trace& trace, const CallTree& tree, const Window& window,
                           bool by_thread);

}  // namespace wavetap::analysis
