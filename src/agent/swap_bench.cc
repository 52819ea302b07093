// What a launch pays for `run --swap`: finding the kernel among a thousand that are replaced, asking the
// rules of a launch, changing the packet. Goal: less than 100 ns.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "agent/swap_map.h"
#include "amd/aql.h"
#include "swap/legality.h"

namespace wavetap::agent {
namespace {

struct Replacement {
  uint64_t kernel_object;
  swap::LaunchRules rules;
};

void swap_launch(benchmark::State& state) {
  constexpr uint64_t kKernels = 1000;
  std::vector<Replacement> replacements(kKernels);
  SwapMap<Replacement> map;
  for (uint64_t i = 0; i < kKernels; ++i) {
    replacements[i] = {0x7000'0000'0000 + i * 64,
                       {.lds = 4096, .max_workgroup = 1024, .lds_limit = 65536}};
    map.set(0x6000'0000'0000 + i * 320, &replacements[i]);
  }
  amd::KernelDispatchPacket packet{};
  packet.workgroup_size[0] = 256, packet.workgroup_size[1] = packet.workgroup_size[2] = 1;
  uint64_t at = 0;
  for (auto _ : state) {
    packet.group_segment_size = 128;
    at = (at + 37) % kKernels;
    const Replacement* const to = map.find(0x6000'0000'0000 + at * 320);
    const uint16_t workgroup[3] = {packet.workgroup_size[0], packet.workgroup_size[1],
                                   packet.workgroup_size[2]};
    if (swap::check_launch(to->rules, workgroup, packet.group_segment_size) ==
        swap::Reason::kNone) {
      packet.kernel_object = to->kernel_object;
      packet.group_segment_size = swap::lds_for(to->rules, packet.group_segment_size);
      packet.private_segment_size = swap::scratch_for(to->rules, packet.private_segment_size);
    }
    benchmark::DoNotOptimize(packet);
  }
}
BENCHMARK(swap_launch);

}  // namespace
}  // namespace wavetap::agent
