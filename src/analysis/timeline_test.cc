#include "analysis/timeline.h"

#include <gtest/gtest.h>

#include "analysis/flame_tree.h"
#include "analysis/lanes.h"

namespace wavetap::analysis {
namespace {

// Calls of one thread, "a" to "z", and ops that the first call launched.
struct TestTrace {
  store::Trace trace;

  TestTrace() { trace.threads.push_back({7, 8}); }
  void call(int64_t start, int64_t end, const char* name) {
    trace.apis.id.push_back(static_cast<int64_t>(trace.apis.id.size()) + 1);
    trace.apis.start.push_back(start);
    trace.apis.end.push_back(end);
    trace.apis.thread.push_back(0);
    trace.apis.name.push_back(trace.strings.intern(name));
    trace.apis.domain.push_back(0);
    trace.apis.category.push_back(0);
  }
  void op(int64_t start, int64_t end, const char* name, uint32_t by = 0) {
    trace.links.id.push_back(1);
    trace.links.api.push_back(by);
    trace.links.op.push_back(static_cast<uint32_t>(trace.ops.size()));
    trace.ops.id.push_back(static_cast<int64_t>(trace.ops.id.size()) + 1);
    trace.ops.gpu.push_back(0);
    trace.ops.queue.push_back(2);
    trace.ops.sequence.push_back(0);
    trace.ops.start.push_back(start);
    trace.ops.end.push_back(end);
    trace.ops.description.push_back(trace.strings.intern(name));
    trace.ops.type.push_back(trace.strings.intern("KernelExecution"));
  }
};

TEST(Lanes, AreTheFewestAndTheFirstThatIsFree) {
  Lanes lanes;
  EXPECT_EQ(lanes.place(0, 10), 0u);
  EXPECT_EQ(lanes.place(5, 8), 1u);
  EXPECT_EQ(lanes.place(6, 20), 2u);
  EXPECT_EQ(lanes.place(8, 9), 1u) << "what ends when another begins does not overlap it";
  EXPECT_EQ(lanes.place(15, 16), 0u);
  EXPECT_EQ(lanes.place(15, 5), 1u) << "of negative length: as if of none";
  EXPECT_EQ(lanes.size(), 3u);
}

TEST(Timeline, HasARowForEachDepthAndLane) {
  TestTrace t;
  t.call(0, 100, "a");
  t.call(10, 50, "b");
  t.call(20, 30, "c");
  t.call(60, 70, "b");
  t.call(90, 120, "crossing");
  t.op(5, 40, "k");
  t.op(30, 60, "l");
  t.op(41, 45, "k");
  const auto tracks = build_timeline(t.trace, build_call_tree(t.trace), {});
  ASSERT_EQ(tracks.size(), 2u);
  EXPECT_EQ(tracks[0].name, "GPU 0 queue 2");
  EXPECT_EQ(tracks[0].rows, (std::vector<std::vector<uint32_t>>{{0, 2}, {1}}));
  EXPECT_EQ(tracks[1].name, "thread 8");
  EXPECT_EQ(tracks[1].rows, (std::vector<std::vector<uint32_t>>{{0, 4}, {1, 3}, {2}}));
  for (const TimelineTrack& track : tracks)
    for (const auto& row : track.rows)
      for (size_t i = 1; i < row.size(); ++i) {
        const auto& ends = track.is_queue ? t.trace.ops.end : t.trace.apis.end;
        EXPECT_LE(ends[row[i - 1]], ends[row[i]]) << "a viewer searches by ends";
      }
  const auto part = build_timeline(t.trace, build_call_tree(t.trace), {10, 60});
  EXPECT_EQ(part[1].rows, (std::vector<std::vector<uint32_t>>{{}, {1, 3}, {2}}));
}

TEST(FlameTree, AddsUpEqualStacks) {
  TestTrace t;
  t.call(0, 100, "a");
  t.call(10, 20, "b");
  t.call(30, 50, "b");
  t.op(200, 205, "b");
  t.op(210, 217, "b");
  const FlameTree tree = build_flame_tree(t.trace, build_call_tree(t.trace), {}, true);
  std::vector<std::string> names;
  for (const store::Str name : tree.name) names.emplace_back(tree.names[name]);
  EXPECT_EQ(names, (std::vector<std::string>{"all", "thread 8", "a", "b", "b"}));
  EXPECT_EQ(tree.parent, (std::vector<uint32_t>{store::kNoRow, 0, 1, 2, 2}));
  EXPECT_EQ(tree.is_kernel, (std::vector<bool>{false, false, false, false, true}))
      << "a kernel is not the call of the same name";
  EXPECT_EQ(tree.cpu_self, (std::vector<int64_t>{0, 0, 70, 30, 0}));
  EXPECT_EQ(tree.cpu_total, (std::vector<int64_t>{100, 100, 100, 30, 0}));
  EXPECT_EQ(tree.gpu_total, (std::vector<int64_t>{12, 12, 12, 0, 12}));
}

}  // namespace
}  // namespace wavetap::analysis
