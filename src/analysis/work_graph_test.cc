#include "analysis/work_graph.h"

#include <gtest/gtest.h>

namespace wavetap::analysis {
namespace {

// One thread launches a kernel on queue 1 and then copies its result with a blocking call; the copy runs
// on a lane of its own, as ROCm's copy engines do.
store::Trace kernel_then_copy(const char* copy_stream) {
  store::Trace trace;
  trace.threads.push_back({10, 11});
  const auto call = [&](const char* name, int64_t start, int64_t end) {
    trace.apis.id.push_back(static_cast<int64_t>(trace.apis.id.size()) + 1);
    trace.apis.start.push_back(start);
    trace.apis.end.push_back(end);
    trace.apis.thread.push_back(0);
    trace.apis.name.push_back(trace.strings.intern(name));
    trace.apis.domain.push_back(0);
    trace.apis.category.push_back(0);
  };
  const auto op = [&](const char* type, int32_t queue, int64_t start, int64_t end) {
    const auto row = static_cast<uint32_t>(trace.ops.id.size());
    trace.ops.id.push_back(row + 1);
    trace.ops.gpu.push_back(0);
    trace.ops.queue.push_back(queue);
    trace.ops.sequence.push_back(0);
    trace.ops.start.push_back(start);
    trace.ops.end.push_back(end);
    trace.ops.description.push_back(0);
    trace.ops.type.push_back(trace.strings.intern(type));
    trace.links.id.push_back(row + 1);
    trace.links.api.push_back(row);
    trace.links.op.push_back(row);
  };
  call("hipLaunchKernel", 0, 10);
  call("hipMemcpy", 20, 200);
  op("KernelExecution", 1, 12, 150);
  op("CopyDeviceToHost", 2, 160, 190);
  trace.launches.push_back({.api = 0, .stream = trace.strings.intern("0x0")});
  trace.copies.push_back({.api = 1, .stream = trace.strings.intern(copy_stream)});
  return trace;
}

TEST(WorkGraph, ACopyWaitsForTheKernelBeforeItInItsStream) {
  const WorkGraph graph = build_work_graph(kernel_then_copy("0x0"));
  ASSERT_EQ(graph.nodes.size(), 4u);  // two calls, then two ops
  EXPECT_EQ(graph.nodes[3].stream, 2u);
  EXPECT_EQ(last_release(graph.nodes, graph.nodes[3]), 2u);
  EXPECT_EQ(slacks(graph)[2], 0);  // the program's only kernel is critical
}

TEST(WorkGraph, StreamsDoNotWaitForEachOther) {
  const WorkGraph graph = build_work_graph(kernel_then_copy("0x77"));
  ASSERT_EQ(graph.nodes.size(), 4u);
  EXPECT_EQ(graph.nodes[3].stream, store::kNoRow);
  EXPECT_GT(slacks(graph)[2], 0);
}

}  // namespace
}  // namespace wavetap::analysis
