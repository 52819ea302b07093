// How instructions are classified, and our counters under AMD's names.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "emu/amd_counters.h"
#include "emu/lower.h"
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
    StepCount::Precision precision;
    int per_lane;
    amd::GfxTarget target = kGfx90a;
  };
  for (const Flops& f : std::initializer_list<Flops>{
           {"v_add_f32 v0, v1, v2", StepCount::kF32, 1},
           {"v_fma_f32 v0, v1, v2, v3", StepCount::kF32, 2},
           {"v_fmac_f32 v0, v1, v2", StepCount::kF32, 2},
           {"v_mul_f64 v[0:1], v[2:3], v[4:5]", StepCount::kF64, 1},
           {"v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]", StepCount::kF64, 2},
           {"v_add_f16 v0, v1, v2", StepCount::kF16, 1},
           {"v_pk_fma_f16 v0, v1, v2, v3", StepCount::kF16, 4},
           {"v_pk_mul_f32 v[0:1], v[2:3], v[4:5]", StepCount::kF32, 2},
           {"v_rcp_f32 v0, v1", StepCount::kF32, 1},
           {"v_exp_f32 v0, v1", StepCount::kF32, 1},
           {"v_dot2_f32_f16 v0, v1, v2, v3", StepCount::kF16, 4},
           {"v_max_f32 v0, v1, v2", StepCount::kNone, 0},
           {"v_cvt_f32_u32 v0, v1", StepCount::kNone, 0},
           {"v_mov_b32 v0, v1", StepCount::kNone, 0},
           {"v_add_u32 v0, v1, v2", StepCount::kNone, 0},
           {"v_mul_lo_u32 v0, v1, v2", StepCount::kNone, 0},
           {"v_dot4_i32_i8 v0, v1, v2, v3", StepCount::kNone, 0},
           {"v_fma_mix_f32 v0, v1, v2, v3", StepCount::kF32, 2}}) {
    const StepCount count = classified(f.text, f.target);
    EXPECT_EQ(count.precision, f.precision) << f.text;
    EXPECT_EQ(count.flops_per_lane, f.per_lane) << f.text;
  }
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
