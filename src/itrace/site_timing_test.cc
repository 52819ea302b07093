// Loads that one level of memory answers take as long as was measured on that GPU.
#include "itrace/site_timing.h"

#include <gtest/gtest.h>

namespace wavetap::itrace {
namespace {

struct Curve {
  const char* model;
  double l1, l2, vram;  // cycles, published: mt4g and gpu-benches, see models/*.gpu
  double lds;           // 0: nobody has measured it
};

class Latencies : public testing::TestWithParam<Curve> {
 protected:
  void SetUp() override {
    Result<model::Model> model = model::load_model(WT_SOURCE_DIR "/models", GetParam().model);
    ASSERT_TRUE(model.ok()) << model.error().message;
    model_ = *model;
  }

  // Of a load of one line a time, of which so many are not found.
  double load_cycles(uint64_t l1_misses, uint64_t l2_misses) const {
    Site site;
    site.pc = 0x1000;
    site.inst.op = isa::Op::global_load_dword;
    site.inst.family = isa::Family::kFlat;
    site.inst.size_bytes = 8;
    site.inst.dst = {.kind = isa::OperandKind::kVgpr, .dwords = 1, .index = 1};
    cachesim::MemoryResult memory;
    memory.memory.gl1_reads = memory.memory.gl1_read_misses = l1_misses;
    memory.memory.l3_reads = memory.memory.l3_read_misses = l2_misses;
    memory.accesses.push_back({.pc = {0x1000}, .executed = 100, .accessed = 100});
    memory.accesses.back().lines = 100;
    memory.accesses.back().l1_misses = l1_misses;
    memory.accesses.back().l2_misses = l2_misses;
    return time_sites({site}, model_, true, memory)[0].answer_cycles;
  }

  model::Model model_;
};

TEST_P(Latencies, AreWithinATenthOfThoseMeasured) {
  const Curve& curve = GetParam();
  EXPECT_NEAR(load_cycles(0, 0), curve.l1, curve.l1 / 10);
  EXPECT_NEAR(load_cycles(100, 0), curve.l2, curve.l2 / 10);
  EXPECT_NEAR(load_cycles(100, 100), curve.vram, curve.vram / 10);
  // Half of the lines: halfway.
  EXPECT_NEAR(load_cycles(50, 0), (curve.l1 + curve.l2) / 2, curve.l2 / 10);
}

TEST_P(Latencies, OfLdsGrowWithConflicts) {
  const Curve& curve = GetParam();
  if (curve.lds == 0) return;
  Site site;
  site.pc = 0x1000;
  site.inst.op = isa::Op::ds_read_b32;
  site.inst.family = isa::Family::kDs;
  cachesim::MemoryResult memory;
  memory.accesses.push_back({.pc = {0x1000}, .executed = 10, .accessed = 10});
  memory.accesses.back().lds_cycles = 10;
  const uint32_t plain = time_sites({site}, model_, true, memory)[0].answer_cycles;
  memory.accesses.back().lds_cycles = 320;
  EXPECT_NEAR(plain, curve.lds, curve.lds / 10);
  EXPECT_EQ(time_sites({site}, model_, true, memory)[0].answer_cycles, plain + 31);
}

INSTANTIATE_TEST_SUITE_P(Gpus, Latencies,
                         testing::Values(Curve{"mi100", 136, 340, 684, 49},
                                         Curve{"mi210", 125, 270, 656, 49},
                                         Curve{"mi300x", 116, 288, 888, 52},
                                         Curve{"rx6800xt", 73, 199, 426, 0}),
                         [](const auto& of) { return std::string(of.param.model); });

// What AMD's decoder takes them for: a raw trace that says otherwise cannot be followed.
TEST(Categories, AreThoseOfAmdsDecoder) {
  struct Case {
    isa::Op op;
    isa::Family family;
    Category category;
  };
  for (const Case& one : {Case{isa::Op::s_memtime, isa::Family::kSmem, Category::kSalu},
                          Case{isa::Op::s_memrealtime, isa::Family::kSmem, Category::kSmem},
                          Case{isa::Op::s_dcache_inv, isa::Family::kSmem, Category::kImmed},
                          Case{isa::Op::s_dcache_wb, isa::Family::kSmem, Category::kSmem},
                          Case{isa::Op::s_load_dword, isa::Family::kSmem, Category::kSmem},
                          Case{isa::Op::s_sendmsg, isa::Family::kSopp, Category::kImmed},
                          Case{isa::Op::s_barrier, isa::Family::kSopp, Category::kImmed},
                          Case{isa::Op::s_cbranch_scc0, isa::Family::kSopp, Category::kNext}}) {
    isa::Inst inst;
    inst.op = one.op;
    inst.family = one.family;
    EXPECT_EQ(category_of(inst), one.category) << isa::op_name(one.op);
  }
}

}  // namespace
}  // namespace wavetap::itrace
