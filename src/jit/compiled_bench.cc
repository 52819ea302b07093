// Compiled against interpreted: the same loop on one engine with a compiler and one without, turn by
// turn, in processor time of this process. `ratio` is how many times faster the compiled one is;
// `compiled_ns` is per instruction of a wave64.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <string>

#include "emu/engine.h"
#include "emu/testing/kernel.h"
#include "jit/compiler.h"

namespace wavetap::jit {
namespace {

using emu::TestKernel;

constexpr int kRounds = 5;

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Loop {
  const char* name;
  const char* body;
  int instructions;  // of the body
};

constexpr Loop kLoops[] = {
    {"fma_f32",
     "v_fma_f32 v5, v5, v4, v5\nv_fma_f32 v6, v6, v4, v6\nv_fma_f32 v7, v7, v4, v7\n"
     "v_fma_f32 v8, v8, v4, v8\nv_fma_f32 v5, v6, v4, v5\nv_fma_f32 v6, v7, v4, v6\n"
     "v_fma_f32 v7, v8, v4, v7\nv_fma_f32 v8, v5, v4, v8\nv_fma_f32 v5, v5, v4, v5\n"
     "v_fma_f32 v6, v6, v4, v6\nv_fma_f32 v7, v7, v4, v7\nv_fma_f32 v8, v8, v4, v8\n"
     "v_fma_f32 v5, v6, v4, v5\nv_fma_f32 v6, v7, v4, v6\nv_fma_f32 v7, v8, v4, v7\n"
     "v_fma_f32 v8, v5, v4, v8\n",
     16},
    {"hash_u32",
     "v_alignbit_b32 v5, v3, v3, 7\nv_alignbit_b32 v6, v3, v3, 18\nv_lshrrev_b32 v7, 3, v3\n"
     "v_xor_b32 v5, v5, v6\nv_xor_b32 v5, v5, v7\nv_add_u32 v8, v5, v8\nv_and_b32 v9, v8, v5\n"
     "v_bfi_b32 v9, v8, v5, v9\nv_add3_u32 v3, v9, v8, v3\n",
     9},
    {"escape_test",
     "v_mul_f32 v5, v4, v4\nv_fma_f32 v6, v7, v7, v5\nv_cmp_lt_f32 vcc, 4.0, v6\n"
     "v_cndmask_b32 v8, v8, v6, vcc\nv_mul_f32 v9, v4, v7\nv_sub_f32 v7, v5, v7\n"
     "v_add_f32 v4, v9, v9\n",
     7},
    {"scalar",
     "s_add_u32 s8, s8, s6\ns_xor_b32 s9, s9, s8\ns_lshl_b32 s10, s9, 3\n"
     "s_addc_u32 s11, s11, s10\ns_and_b64 s[12:13], s[8:9], s[10:11]\n",
     5},
    {"load_store",
     "v_and_b32 v5, 0xfffc, v5\nglobal_load_dword v6, v3, s[4:5]\nv_add_u32 v5, v6, v5\n"
     "v_mul_lo_u32 v6, v6, v5\nglobal_store_dword v3, v6, s[4:5]\n",
     5},
    {"dpp_sum",
     "v_add_f32 v5, v5, v5 row_shr:1\ns_nop 1\nv_add_f32 v5, v5, v5 row_shr:2\ns_nop 1\n"
     "v_add_f32 v5, v5, v5 row_shr:4\ns_nop 1\nv_add_f32 v5, v5, v5 row_shr:8\ns_nop 1\n"
     "v_add_f32 v5, v5, v5 row_bcast:15 row_mask:0xa\ns_nop 1\n"
     "v_add_f32 v5, v5, v5 row_bcast:31 row_mask:0xc\n",
     11},
    {"lanes",
     "v_readlane_b32 s8, v5, 63\nv_readfirstlane_b32 s9, v6\nv_add_u32 v5, s8, v5\n"
     "v_writelane_b32 v5, s9, 17\nv_add_u32 v6, s9, v6\n",
     5},
    {"sdwa",
     "v_add_u32_sdwa v5, v3, v4 dst_sel:DWORD src0_sel:BYTE_1 src1_sel:WORD_1\n"
     "v_lshlrev_b32_sdwa v6, v5, v3 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0 "
     "src1_sel:DWORD\n",
     2},
    {"fma_f16",
     "v_pk_fma_f16 v5, v5, v4, v5\nv_pk_fma_f16 v6, v6, v4, v6\nv_pk_add_f16 v7, v5, v6\n"
     "v_fma_mix_f32 v8, v5, v6, v8 op_sel_hi:[1,1,0]\nv_cvt_f16_f32 v9, v8\n",
     5},
    {"softmax",
     "v_sub_f32 v5, v4, v8\nv_exp_f32 v6, v5\nv_log_f32 v7, v6\nv_rcp_f32 v9, v6\n"
     "v_fma_f32 v8, v7, v9, v4\n",
     5},
    {"sine", "v_sin_f32 v5, v4\nv_cos_f32 v6, v4\nv_fma_f32 v4, v5, v6, 0.5\n", 3},
    {"divide",
     "v_div_scale_f32 v6, s[8:9], v4, v4, 1.0\nv_rcp_f32 v7, v6\n"
     "v_div_scale_f32 v8, vcc, 1.0, v4, 1.0\nv_fma_f32 v9, -v6, v7, 1.0\n"
     "v_fma_f32 v7, v9, v7, v7\nv_mul_f32 v9, v8, v7\nv_fma_f32 v5, -v6, v9, v8\n"
     "v_fma_f32 v9, v5, v7, v9\nv_fma_f32 v5, -v6, v9, v8\nv_div_fmas_f32 v5, v5, v7, v9\n"
     "v_div_fixup_f32 v5, v5, v4, 1.0\n",
     11},
    {"lds",
     "ds_read_b32 v6, v3\nv_fma_f32 v7, v6, v4, v7\nds_read_b32 v8, v3 offset:256\n"
     "v_fma_f32 v7, v8, v4, v7\n",
     4},
};

void measure(benchmark::State& state, const Loop& loop) {
  const std::string text = std::string(R"(
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_lshlrev_b32 v3, 2, v0
    v_mov_b32 v4, 0.5
    v_mov_b32 v5, 0
    v_mov_b32 v6, 0
    v_mov_b32 v7, 0
    v_mov_b32 v8, 0
    v_mov_b32 v9, 0
    s_movk_i32 s6, 0
    s_mov_b32 m0, -1
    s_waitcnt lgkmcnt(0)
  loop:
  )") + loop.body + R"(
    s_add_u32 s6, s6, 1
    s_cmp_lt_u32 s6, 20000
    s_cbranch_scc1 loop
    s_endpgm)";
  TestKernel kernel({}, text);
  kernel.set_argument64(0, TestKernel::kData);
  kernel.set_size(256, 64);
  kernel.dispatch.group_segment_bytes = 4096;
  Compiler compiler({WT_JIT_LIBRARY});
  emu::Engine interpreted({.threads = 1});
  emu::Engine compiled({.threads = 1, .compiler = &compiler});
  const auto seconds = [&](emu::Engine& engine) {
    const double before = processor_seconds();
    if (engine.run(kernel.dispatch).fault.has_value()) state.SkipWithError("fault");
    return processor_seconds() - before;
  };
  seconds(compiled);
  compiler.drain();
  if (compiler.figures().compiled == 0) return state.SkipWithError("nothing was compiled");
  double slow = 1e9;
  double fast = 1e9;
  for (auto _ : state) {
    for (int i = 0; i < kRounds; ++i) {
      slow = std::min(slow, seconds(interpreted));
      fast = std::min(fast, seconds(compiled));
    }
    state.SetIterationTime(fast);
  }
  const double executed = 4.0 * 20000 * (loop.instructions + 3);
  state.counters["ratio"] = slow / fast;
  state.counters["compiled_ns"] = fast / executed * 1e9;
  state.counters["interpreted_ns"] = slow / executed * 1e9;
}

const bool g_registered = [] {
  for (const Loop& loop : kLoops)
    benchmark::RegisterBenchmark((std::string("Compiled/") + loop.name).c_str(),
                                 [&loop](benchmark::State& state) { measure(state, loop); })
        ->UseManualTime()
        ->Iterations(1);
  return true;
}();

}  // namespace
}  // namespace wavetap::jit
