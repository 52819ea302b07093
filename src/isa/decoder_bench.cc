// Decoding happens once per code object and sits between hipModuleLoad and the first dispatch: 100
// KB, a large kernel, should take well below 100 ms.

#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "isa/program.h"

namespace {

using namespace wavetap;

// global_load_dword v1, v0, s[0:1]; s_waitcnt vmcnt(0); v_add_f32 v1, v1, v1; v_fma_f32 v0, v1,
// -1.0, s3; s_add_u32 s0, s1, s2; s_cbranch_scc0 1 (gfx90a).
constexpr uint32_t kLoop[] = {0xdc508000, 0x01000000, 0xbf8c0f70, 0x02020301,
                              0xd1cb0000, 0x000de701, 0x80000201, 0xbf840001};

void decode_code(benchmark::State& state) {
  std::vector<std::byte> code(static_cast<size_t>(state.range(0)) / sizeof kLoop * sizeof kLoop);
  for (size_t at = 0; at < code.size(); at += sizeof kLoop)
    std::memcpy(code.data() + at, kLoop, sizeof kLoop);
  isa::decode(code, GpuAddr{0x1000}, {9, 0, 10}, true);  // makes LLVM's objects
  int64_t insts = 0;
  for (auto _ : state) insts += isa::decode(code, GpuAddr{0x1000}, {9, 0, 10}, true).size();
  state.SetItemsProcessed(insts);
  state.SetBytesProcessed(static_cast<int64_t>(code.size()) * state.iterations());
}
BENCHMARK(decode_code)->Arg(100 << 10)->Unit(benchmark::kMillisecond);

}  // namespace
