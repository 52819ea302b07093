// Wave instructions per second through the whole engine, for loops dominated by one kind of
// instruction. items_per_second is wave instructions; the argument is the number of threads; ns_cpu
// is the processor time of one wave instruction, which other load on the machine does not change.
#include <benchmark/benchmark.h>

#include <ctime>
#include <string>
#include <thread>

#include "emu/engine.h"
#include "emu/testing/kernel.h"

namespace wavetap::emu {
namespace {

constexpr uint32_t kIterations = 2000;
constexpr uint32_t kUnroll = 32;

// `body` repeated, in a loop; the registers it uses hold small numbers. s[8:9] is a place of the
// workgroup's own, 256 bytes: cores that store to the same lines would measure their cache.
std::string loop_of(const std::string& body) {
  std::string text = R"(
      s_lshl_b32 s8, s2, 8
      s_add_u32 s8, s8, 0x400000
      s_mov_b32 s9, 0
      s_mov_b32 s10, 2000
      v_lshlrev_b32 v10, 2, v0
      v_mov_b32 v1, 1.0
      v_mov_b32 v2, 0.5
      v_mov_b32 v3, 0
      v_mov_b32 v4, 0
      v_mov_b32 v5, 0
    loop:
)";
  for (uint32_t i = 0; i < kUnroll; ++i) text += body + "\n";
  return text + "s_sub_u32 s10, s10, 1\ns_cmp_lg_u32 s10, 0\ns_cbranch_scc1 loop\ns_endpgm\n";
}

void run(benchmark::State& state, amd::GfxTarget target, bool wave64, const std::string& body) {
  TestKernel kernel({.target = target, .wave64 = wave64}, loop_of(body));
  const int threads = static_cast<int>(state.range(0));
  const uint32_t waves = 4 * static_cast<uint32_t>(threads);
  const uint32_t lanes = wave64 ? 64 : 32;
  kernel.set_size(waves * lanes, static_cast<uint16_t>(lanes));
  kernel.dispatch.group_segment_bytes = 16384;
  Engine engine({.threads = threads});
  const std::clock_t begin = std::clock();
  for (auto _ : state) {
    const DispatchResult result = engine.run(kernel.dispatch);
    if (result.fault) {
      state.SkipWithError(result.fault->detail);
      return;
    }
  }
  const int64_t instructions = state.iterations() * int64_t{waves} * kIterations * (kUnroll + 3);
  state.SetItemsProcessed(instructions);
  state.counters["ns_cpu"] = 1e9 / CLOCKS_PER_SEC * static_cast<double>(std::clock() - begin) /
                             static_cast<double>(instructions);
}

void all_threads(benchmark::internal::Benchmark* b) {
  b->Arg(1);
  if (const auto cores = std::thread::hardware_concurrency(); cores > 1)
    b->Arg(static_cast<int>(cores));
  b->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);
}

constexpr amd::GfxTarget kGfx90a{9, 0, 10};
constexpr amd::GfxTarget kGfx1030{10, 3, 0};

#define WT_LOOP(name, target, wave64, body)                                \
  void name(benchmark::State& state) { run(state, target, wave64, body); } \
  BENCHMARK(name)->Apply(all_threads)

WT_LOOP(s_nop, kGfx90a, true, "s_nop 0");
WT_LOOP(s_add_u32, kGfx90a, true, "s_add_u32 s12, s12, s13");
WT_LOOP(s_and_b64, kGfx90a, true, "s_and_b64 s[12:13], s[14:15], s[16:17]");
WT_LOOP(v_mov_b32, kGfx90a, true, "v_mov_b32 v3, v4");
WT_LOOP(v_add_f32, kGfx90a, true, "v_add_f32 v3, v1, v2");
WT_LOOP(v_fma_f32, kGfx90a, true, "v_fma_f32 v3, v1, v2, v3");
WT_LOOP(v_fma_f32_wave32, kGfx1030, false, "v_fma_f32 v3, v1, v2, v3");
WT_LOOP(v_cmp_gt_u32, kGfx90a, true, "v_cmp_gt_u32 vcc, v1, v2");
WT_LOOP(v_exp_f32, kGfx90a, true, "v_exp_f32 v3, v1");
WT_LOOP(global_load, kGfx90a, true, "global_load_dword v3, v10, s[8:9]");
WT_LOOP(global_store, kGfx90a, true, "global_store_dword v10, v3, s[8:9]");
WT_LOOP(ds_read, kGfx90a, true, "ds_read_b32 v3, v10");
WT_LOOP(ds_write, kGfx90a, true, "ds_write_b32 v10, v3");
WT_LOOP(mfma_32x32x8f16, kGfx90a, true, "v_mfma_f32_32x32x8f16 a[0:15], v[4:5], v[6:7], a[0:15]");

// The cost of a dispatch, and of a workgroup that does nothing.
void empty_workgroups(benchmark::State& state) {
  TestKernel kernel({}, "s_endpgm");
  kernel.set_size(static_cast<uint32_t>(state.range(0)) * 64, 64);
  Engine engine({.threads = 1});
  for (auto _ : state) engine.run(kernel.dispatch);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(empty_workgroups)->Arg(1)->Arg(10000)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace wavetap::emu
