// How instructions are classified, and our counters under AMD's names.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "emu/amd_counters.h"
#include "emu/count.h"
#include "emu/exec/vop_row.h"
#include "emu/testing/assembler.h"
#include "emu/testing/targets.h"
#include "isa/program.h"

namespace wavetap::emu {
namespace {

StepCount classified(const std::string& text, amd::GfxTarget target = kGfx90a) {
  const bool wave64 = target.major == 9;
  const isa::Program program =
      isa::decode(assemble(text, target, wave64), {0x1000}, target, wave64);
  EXPECT_GE(program.size(), 1) << text;
  return program.size() == 0 ? StepCount{} : classify(program.insts()[0], {target, wave64});
}

TEST(Classify, Families) {
  const std::pair<const char*, StepCount::Class> kCases[] = {
      {"s_add_u32 s0, s1, s2", StepCount::kSalu},
      {"s_load_dword s0, s[2:3], 0x0", StepCount::kSmem},
      {"v_add_u32 v0, v1, v2", StepCount::kValu},
      {"v_cmp_eq_u32 vcc, v1, v2", StepCount::kValu},
      {"v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], a[0:15]", StepCount::kMatrix},
      {"global_load_dword v0, v[2:3], off", StepCount::kVmemLoad},
      {"buffer_store_dword v0, v1, s[4:7], 0 offen", StepCount::kVmemStore},
      {"global_atomic_add v[2:3], v1, off", StepCount::kVmemAtomic},
      {"ds_read_b32 v0, v1", StepCount::kLds},
      {"s_branch 4", StepCount::kBranch},
      {"s_cbranch_execz 4", StepCount::kBranch},
      {"s_barrier", StepCount::kBarrier},
      {"s_sendmsg sendmsg(MSG_INTERRUPT)", StepCount::kMessage},
      {"s_waitcnt vmcnt(0)", StepCount::kWait},
      {"s_endpgm", StepCount::kOther},
      {"buffer_wbinvl1", StepCount::kOther},
  };
  for (const auto& [text, type] : kCases) EXPECT_EQ(classified(text).type, type) << text;
}

TEST(Classify, FloatingPointOperations) {
  struct Flops {
    const char* text;
    int f16 = 0;
    int f32 = 0;
    int f64 = 0;
    amd::GfxTarget target = kGfx90a;
  };
  for (const Flops& f : std::initializer_list<Flops>{
           {"v_add_f32 v0, v1, v2", 0, 1},
           {"v_fma_f32 v0, v1, v2, v3", 0, 2},
           {"v_fmac_f32 v0, v1, v2", 0, 2},
           {"v_mul_f64 v[0:1], v[2:3], v[4:5]", 0, 0, 1},
           {"v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]", 0, 0, 2},
           {"v_add_f16 v0, v1, v2", 1},
           {"v_pk_fma_f16 v0, v1, v2, v3", 4},
           {"v_pk_mul_f32 v[0:1], v[2:3], v[4:5]", 0, 2},
           {"v_rcp_f32 v0, v1", 0, 1},
           {"v_rsq_f64 v[0:1], v[2:3]", 0, 0, 1},
           {"v_exp_f32 v0, v1", 0, 1},
           {"v_div_fmas_f32 v0, v1, v2, v3", 0, 2},
           {"v_dot2_f32_f16 v0, v1, v2, v3", 4},
           {"v_max_f32 v0, v1, v2"},
           {"v_cvt_f32_u32 v0, v1"},
           {"v_mov_b32 v0, v1"},
           {"v_add_u32 v0, v1, v2"},
           {"v_mul_lo_u32 v0, v1, v2"},
           {"v_dot4_i32_i8 v0, v1, v2, v3"},
           {"v_fma_mix_f32 v0, v1, v2, v3", 0, 2},
           {"v_fma_mixlo_f16 v0, v1, v2, v3", 0, 2},
           {"v_dual_fmac_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v4, v5", 0, 3, 0, kGfx1100},
           {"v_dual_add_f32 v0, v1, v2 :: v_dual_dot2acc_f32_f16 v3, v4, v5", 4, 1, 0, kGfx1100},
           {"v_dual_mov_b32 v0, v1 :: v_dual_add_f32 v3, v4, v5", 0, 1, 0, kGfx1100}}) {
    const StepCount count = classified(f.text, f.target);
    EXPECT_EQ(count.flops_f16, f.f16) << f.text;
    EXPECT_EQ(count.flops_f32, f.f32) << f.text;
    EXPECT_EQ(count.flops_f64, f.f64) << f.text;
  }
}

// Arithmetic that is called so counts; a new operation has to say what it is.
TEST(Classify, EveryArithmeticOperationCounts) {
  const std::set<std::string> kVerbs = {"add",  "sub",   "subrev", "mul",   "fma",   "fmac", "mac",
                                        "mad",  "fmaak", "fmamk",  "madak", "madmk", "rcp",  "rsq",
                                        "sqrt", "exp",   "log",    "sin",   "cos"};
  int counted = 0;
  for (uint16_t i = 1; i < static_cast<uint16_t>(isa::Op::kCount); ++i) {
    isa::Inst inst;
    inst.op = static_cast<isa::Op>(i);
    inst.family = isa::Family::kVop;
    const VopFacts* facts = find_vop_facts(inst);
    if (facts == nullptr) continue;
    const std::string name = isa::op_name(inst.op);
    const size_t verb = name.starts_with("v_pk_") ? 5 : 2;
    const bool is_float =
        name.ends_with("_f16") || name.ends_with("_f32") || name.ends_with("_f64");
    const bool expected =
        (is_float && kVerbs.contains(name.substr(verb, name.find('_', verb) - verb))) ||
        name.starts_with("v_div_fmas") ||
        (name.starts_with("v_dot") && name.find("f16") != std::string::npos);
    EXPECT_EQ(facts->flops != 0, expected) << name;
    counted += expected ? 1 : 0;
  }
  EXPECT_GT(counted, 70);
}

TEST(Classify, MatrixOperationsCountAllBlocks) {
  struct Matrix {
    const char* text;
    uint32_t flops;
    amd::GfxTarget target = kGfx90a;
  };
  for (const Matrix& m : std::initializer_list<Matrix>{
           {"v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31]", 2 * 32 * 32 * 1 * 2},
           {"v_mfma_f32_32x32x2f32 a[0:15], v0, v1, a[0:15]", 2 * 32 * 32 * 2},
           {"v_mfma_f32_16x16x4f32 a[0:3], v0, v1, a[0:3]", 2 * 16 * 16 * 4},
           {"v_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[0:3]", 2 * 4 * 4 * 1 * 16},
           {"v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], a[0:15]", 2 * 32 * 32 * 8},
           {"v_mfma_f32_16x16x4f16 a[0:15], v[0:1], v[2:3], a[0:15]", 2 * 16 * 16 * 4 * 4},
           {"v_mfma_f32_32x32x4bf16 a[0:15], v0, v1, a[0:15]", 2 * 32 * 32 * 4},
           {"v_mfma_f64_16x16x4f64 a[0:7], v[0:1], v[2:3], a[0:7]", 2 * 16 * 16 * 4},
           {"v_mfma_f64_4x4x4f64 a[0:1], v[0:1], v[2:3], a[0:1]", 2 * 4 * 4 * 4 * 4},
           {"v_mfma_f32_32x32x16_fp8_fp8 a[0:15], v[0:1], v[2:3], a[0:15]", 2 * 32 * 32 * 16,
            kGfx942},
           {"v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]", 2 * 16 * 16 * 16,
            kGfx1100}})
    EXPECT_EQ(classified(m.text, m.target).flops, m.flops) << m.text;
}

TEST(AmdCounters, AreSumsOfOurs) {
  Counters c;
  c.waves = 3;
  c.valu = 10;
  c.matrix = 4;
  c.vmem_load = 1;
  c.vmem_store = 2;
  c.vmem_atomic = 5;
  std::map<std::string, uint64_t> named;
  for_each_amd_counter(c,
                       [&](const char* name, uint64_t value, const char*) { named[name] = value; });
  EXPECT_EQ(named["SQ_WAVES"], 3u);
  EXPECT_EQ(named["SQ_INSTS_VALU"], 14u);
  EXPECT_EQ(named["SQ_INSTS_MFMA"], 4u);
  EXPECT_EQ(named["SQ_INSTS_VMEM"], 8u);
}

}  // namespace
}  // namespace wavetap::emu
