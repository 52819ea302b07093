// Synccheck on kernels that wait; tests/sanitize/check_livelock.py has a whole program.
#include "sanitize/spins.h"

#include <gtest/gtest.h>

#include "emu/testing/kernel.h"
#include "sanitize/synccheck.h"

namespace wavetap::sanitize::spins_test {
namespace {

using emu::TestKernel;

class NoMap final : public MemoryMap {
 public:
  uint64_t epoch() const noexcept override { return 1; }
  void list(std::vector<Block>&) const noexcept override {}
  Neighbour neighbour(GpuAddr) const noexcept override { return {}; }
};

std::vector<Finding> run(const std::string& text) {
  Synccheck spins(100);
  NoMap map;
  std::vector<Finding> told;
  spins.set_tell([&told](const Finding& finding) { told.push_back(finding); });
  spins.begin(map);
  TestKernel kernel(
      {}, "s_load_dwordx2 s[6:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v1, 0\n" + text +
              "\ns_endpgm\n");
  kernel.memory.write(TestKernel::kArguments, TestKernel::kData);
  kernel.set_size(128, 128);
  emu::Watcher* watchers[] = {&spins};
  kernel.dispatch.watchers = watchers;
  emu::Engine engine({.threads = 1, .watchdog_instructions = 100'000});
  engine.run(kernel.dispatch);
  return told;
}

// s8 is the wave: 0 or 1.
const char kWave[] = "v_readfirstlane_b32 s8, v0\ns_lshr_b32 s8, s8, 6\ns_cmp_eq_u32 s8, 0\n";
// Until the word at `data` is not 0.
const char kSpin[] =
    "spin:\ns_sleep 1\nglobal_load_dword v2, v1, s[6:7] glc\ns_waitcnt vmcnt(0)\n"
    "v_readfirstlane_b32 s9, v2\ns_cmp_eq_u32 s9, 0\ns_cbranch_scc1 spin\n";

TEST(Spins, AWaveThatReadsTheSameForEverIsToldOfWhileItDoes) {
  const std::vector<Finding> told =
      run(std::string(kWave) + "s_cbranch_scc1 wait\n" + kSpin + "s_endpgm\nwait:\ns_barrier\n");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].kind, Kind::kLivelock);
  EXPECT_EQ(told[0].place.wave, 1u);
  EXPECT_EQ(told[0].address, TestKernel::kData);
  EXPECT_EQ(told[0].detail,
            "has read 0x0 there 100 times in a row; 1 wave of its workgroup waits for it at a "
            "barrier; of 1 workgroup 1 have begun and 0 ended");
}

TEST(Spins, AWaitThatEndsSoonIsNothing) {
  EXPECT_TRUE(run(std::string(kWave) + "s_cbranch_scc0 store\n" + kSpin +
                  "s_endpgm\nstore:\nv_mov_b32 v3, 1\nglobal_store_dword v1, v3, s[6:7]\n")
                  .empty());
}

TEST(Spins, ACounterThatMovesIsNoWait) {
  EXPECT_TRUE(run("s_mov_b32 s8, 300\nv_mov_b32 v3, 1\nagain:\n"
                  "global_atomic_add v2, v1, v3, s[6:7] glc\ns_waitcnt vmcnt(0)\n"
                  "s_sub_u32 s8, s8, 1\ns_cmp_lg_u32 s8, 0\ns_cbranch_scc1 again\n")
                  .empty());
}

}  // namespace
}  // namespace wavetap::sanitize::spins_test
