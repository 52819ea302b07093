// Nanoseconds per wave instruction of typical vector operations: EXEC full, EXEC half, and with
// modifiers.
#include <string>

#include "emu/exec.h"
#include "emu/testing/assembler.h"
#include "emu/testing/machine.h"

#include <benchmark/benchmark.h>

namespace wavetap::emu {
namespace {

void run_instruction(benchmark::State& state, const std::string& text, uint64_t exec, bool wave64) {
  const Shape shape{wave64 ? amd::GfxTarget{9, 0, 10} : amd::GfxTarget{10, 3, 0}, wave64};
  TestMachine machine({.target = shape.target, .wave64 = wave64, .vgprs = 64});
  for (uint32_t reg = 0; reg < 32; ++reg)
    for (int lane = 0; lane < machine.wave.lanes; ++lane)
      machine.set_v(reg, lane,
                    bits(1.0f + static_cast<float>(lane) / 64 + static_cast<float>(reg)));
  machine.set_exec(exec);
  const isa::Program program =
      isa::decode(assemble(text, shape.target, wave64), GpuAddr{0x1000}, shape.target, wave64);
  if (program.size() != 1) return state.SkipWithError(("does not assemble: " + text).c_str());
  const isa::Inst& inst = program.insts()[0];
  const Handler handler = find_handler(inst, shape);
  if (handler == nullptr) return state.SkipWithError(("no handler: " + text).c_str());
  for (auto _ : state) {
    handler(machine.wave, inst);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}

constexpr const char* kInstructions[] = {
    "v_mov_b32 v0, v1",
    "v_mov_b32 v0, 0x1234",
    "v_add_u32 v0, v1, v2",
    "v_add_f32 v0, v1, v2",
    "v_mul_f32 v0, s4, v2",
    "v_fma_f32 v0, v1, v2, v3",
    "v_fmac_f32 v0, v1, v2",
    "v_fma_f32 v0, -v1, v2, v3",
    "v_max_f32 v0, v1, v2",
    "v_med3_f32 v0, v1, v2, v3",
    "v_cmp_lt_f32 vcc, v1, v2",
    "v_cmp_eq_u32 vcc, v1, v2",
    "v_cmp_gt_u64 vcc, v[2:3], v[4:5]",
    "v_cndmask_b32 v0, v1, v2, vcc",
    "v_add_co_u32 v0, vcc, v1, v2",
    "v_addc_co_u32 v0, vcc, v1, v2, vcc",
    "v_mul_lo_u32 v0, v1, v2",
    "v_mad_u64_u32 v[6:7], s[0:1], v1, v2, v[4:5]",
    "v_lshlrev_b64 v[6:7], 2, v[4:5]",
    "v_lshl_add_u32 v0, v1, 2, v3",
    "v_bfe_u32 v0, v1, 4, 8",
    "v_cvt_f32_u32 v0, v1",
    "v_cvt_u32_f32 v0, v1",
    "v_rcp_f32 v0, v1",
    "v_sqrt_f32 v0, v1",
    "v_exp_f32 v0, v1",
    "v_log_f32 v0, v1",
    "v_sin_f32 v0, v1",
    "v_div_scale_f32 v0, vcc, v1, v2, v1",
    "v_div_fmas_f32 v0, v1, v2, v3",
    "v_div_fixup_f32 v0, v1, v2, v3",
    "v_fma_f64 v[6:7], v[0:1], v[2:3], v[4:5]",
    "v_add_f64 v[6:7], v[0:1], v[2:3]",
    "v_add_f16 v0, v1, v2",
    "v_cvt_f16_f32 v0, v1",
    "v_cvt_f32_f16 v0, v1",
    "v_pk_fma_f16 v0, v1, v2, v3",
    "v_pk_fma_f32 v[6:7], v[0:1], v[2:3], v[4:5]",
    "v_pk_add_f32 v[6:7], v[0:1], v[2:3] neg_lo:[0,1] neg_hi:[0,1]",
    "v_pk_mov_b32 v[6:7], v[0:1], v[2:3] op_sel:[1,0]",
    "v_fma_mix_f32 v0, v1, v2, v3 op_sel_hi:[1,1,0]",
    "v_dot2_f32_f16 v0, v1, v2, v3",
    "v_perm_b32 v0, v1, v2, v3",
    "v_lshlrev_b32_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD "
    "src1_sel:BYTE_1",
    "v_add_f32_dpp v0, v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf",
};

const int kRegistered = [] {
  for (const char* text : kInstructions) {
    benchmark::RegisterBenchmark(("vop/full/" + std::string(text)).c_str(), run_instruction, text,
                                 ~uint64_t{0}, true);
    benchmark::RegisterBenchmark(("vop/half/" + std::string(text)).c_str(), run_instruction, text,
                                 0x5555555555555555u, true);
  }
  for (const char* text :
       {"v_fma_f32 v0, v1, v2, v3", "v_cmp_lt_f32 vcc_lo, v1, v2", "v_add_nc_u32 v0, v1, v2"})
    benchmark::RegisterBenchmark(("vop/wave32/" + std::string(text)).c_str(), run_instruction, text,
                                 0xffffffffu, false);
  return 0;
}();

}  // namespace
}  // namespace wavetap::emu
