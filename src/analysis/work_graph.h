// WorkGraph: what had to wait for what in a trace. critical_path.cc walks it, `wavetap profile` writes
// it down.
//
// Nodes are ops and the outermost calls of each thread. Edges, from what is known:
//   launch   a call started an op                                   fact (rocpd_api_ops)
//   queue    ops of one queue run in order                          fact
//   stream   ops of one HIP stream run in order, on whatever queue  fact (rocpd_kernelapi, rocpd_copyapi)
//   thread   calls of one thread follow each other                  fact
//   sync     a synchronising call returned after an op ended        inferred: which stream it waited for is
//                                                                   not in the trace, so the op of the same
//                                                                   process that ended last before is taken
#pragma once

#include <cstdint>
#include <vector>

#include "store/trace.h"

namespace wavetap::analysis {

struct WorkNode {
  int64_t start = 0, end = 0;
  bool is_op = false;
  bool is_sync = false;
  uint32_t row = 0;                 // of Trace::ops or apis
  uint32_t before = store::kNoRow;  // node: previous of the same queue or thread
  uint32_t cause = store::kNoRow;  // node: the launching call of an op, or the op a sync waited for
  uint32_t stream = store::kNoRow;  // node: previous op of the same stream, on another queue
};

// What an op waited for: of those before it, the one that let it go last; kNoRow: nothing.
uint32_t last_release(const std::vector<WorkNode>& nodes, const WorkNode& op);

struct WorkGraph {
  std::vector<WorkNode> nodes;
  uint64_t inferred = 0;
};

WorkGraph build_work_graph(const store::Trace& trace);

// Latest end of each node that would not move the end of the program, minus its actual end.
std::vector<int64_t> slacks(const WorkGraph& graph);

}  // namespace wavetap::analysis
