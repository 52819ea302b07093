#include "itrace/analysis.h"

#include <gtest/gtest.h>

namespace wavetap::itrace {
namespace {

// Issues one instruction after the other, 4 cycles each; waits take as long as they are told.
class Script {
 public:
  explicit Script(Trace& trace) : trace_(trace) { wave_.begin = 0; }

  Script& at(uint32_t row, Category category, uint32_t stall = 0) {
    wave_.issues.push_back({now_, stall, stall + 4, row, category});
    now_ += stall + 4;
    return *this;
  }
  void end() {
    wave_.end = now_;
    trace_.waves.push_back(wave_);
  }

 private:
  Trace& trace_;
  Wave wave_;
  int64_t now_ = 0;
};

uint64_t cycles(const Analysis& analysis, Cause cause) {
  return analysis.by_cause[static_cast<size_t>(cause)];
}

TEST(Analysis, FindsTheLoadOfAnEarlierIteration) {
  Trace trace;
  trace.code = {{"; k"},
                {"global_load_dword v1, v[2:3], off"},  // before the loop
                {"global_load_dword v1, v[2:3], off"},  // of the next iteration
                {"s_waitcnt vmcnt(1)"},
                {"v_add_f32 v0, v0, v1"},
                {"s_cbranch_scc1 -4"},
                {"s_endpgm"}};
  Script wave(trace);
  wave.at(1, Category::kVmem);
  for (int i = 0; i < 3; ++i)
    wave.at(2, Category::kVmem)
        .at(3, Category::kImmed, 100)
        .at(4, Category::kValu)
        .at(5, i < 2 ? Category::kJump : Category::kNext);
  wave.at(6, Category::kImmed).end();
  const Analysis analysis = analyze(trace);
  ASSERT_EQ(analysis.edges.size(), 2u);
  EXPECT_EQ(analysis.edges[0].producer, 1u);
  EXPECT_EQ(analysis.edges[0].times, 1u);
  EXPECT_EQ(analysis.edges[1].producer, 2u);
  EXPECT_EQ(analysis.edges[1].times, 2u);
  // From the load's issue over the rest of its iteration to the next wait.
  EXPECT_EQ(analysis.edges[1].hidden, 2u * (4 + 104 + 4 + 4 + 4));
  EXPECT_EQ(cycles(analysis, Cause::kVectorLoad), 300u);
  EXPECT_EQ(analysis.exposed, 300u);
  ASSERT_EQ(analysis.loops.size(), 1u);
  EXPECT_EQ(analysis.loops[0].first, 2u);
  EXPECT_EQ(analysis.loops[0].last, 5u);
  EXPECT_EQ(analysis.loops[0].iterations, 3u);
  EXPECT_EQ(analysis.loops[0].measured, 1u);
  EXPECT_EQ(analysis.loops[0].cycles, 116u);
}

TEST(Analysis, TellsCausesApart) {
  Trace trace;
  trace.gfx_major = 10;
  trace.code = {{"s_load_dwordx2 s[0:1], s[4:5], 0x0"},
                {"s_waitcnt lgkmcnt(0)"},
                {"ds_read_b32 v0, v1"},
                {"s_waitcnt lgkmcnt(0)"},
                {"global_store_dword v0, v1, s[0:1]"},
                {"s_waitcnt_vscnt null, 0x0"},
                {"s_barrier"},
                {"v_mov_b32_e32 v0, v1"},
                {"s_sleep 1"},
                {"s_endpgm"}};
  Script(trace)
      .at(0, Category::kSmem)
      .at(1, Category::kImmed, 10)
      .at(2, Category::kLds)
      .at(3, Category::kImmed, 20)
      .at(4, Category::kVmem)
      .at(5, Category::kImmed, 30)
      .at(6, Category::kImmed, 40)
      .at(7, Category::kValu, 50)
      .at(8, Category::kImmed, 60)
      .at(9, Category::kImmed)
      .end();
  const Analysis analysis = analyze(trace);
  EXPECT_EQ(cycles(analysis, Cause::kScalarLoad), 10u);
  EXPECT_EQ(cycles(analysis, Cause::kLds), 20u);
  EXPECT_EQ(cycles(analysis, Cause::kStore), 30u);
  EXPECT_EQ(cycles(analysis, Cause::kBarrier), 40u);
  EXPECT_EQ(cycles(analysis, Cause::kVectorBusy), 50u);
  EXPECT_EQ(cycles(analysis, Cause::kSleep), 60u);
  EXPECT_EQ(analysis.stalled(), 210u);
  EXPECT_EQ(analysis.edges.size(), 3u);
}

TEST(Analysis, CountsNestedLoops) {
  Trace trace;
  trace.code = {
      {"; k"},     {"s_mov_b32 s0, 0"}, {"s_nop 0"}, {"s_cbranch_scc1 -2"}, {"s_cbranch_scc1 -4"},
      {"s_endpgm"}};
  Script wave(trace);
  for (int outer = 0; outer < 4; ++outer) {
    wave.at(1, Category::kSalu);
    for (int inner = 0; inner < 5; ++inner)
      wave.at(2, Category::kImmed).at(3, inner < 4 ? Category::kJump : Category::kNext);
    wave.at(4, outer < 3 ? Category::kJump : Category::kNext);
  }
  wave.at(5, Category::kImmed).end();
  const Analysis analysis = analyze(trace);
  ASSERT_EQ(analysis.loops.size(), 2u);
  EXPECT_EQ(analysis.loops[0].iterations, 4u);
  EXPECT_EQ(analysis.loops[0].entered, 1u);
  EXPECT_EQ(analysis.loops[1].entered, 4u);
  EXPECT_EQ(analysis.loops[1].iterations, 20u);
  EXPECT_EQ(analysis.loops[1].least, 5u);
  EXPECT_EQ(analysis.loops[1].most, 5u);
}

}  // namespace
}  // namespace wavetap::itrace
