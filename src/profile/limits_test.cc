#include "profile/limits.h"

#include <gtest/gtest.h>

namespace wavetap::profile {
namespace {

TEST(Limits, ConflictsAreNamedWhereLdsDoesLittleElse) {
  const Result<model::Model> model = model::load_model(WT_SOURCE_DIR "/models", "mi210");
  ASSERT_TRUE(model.ok());
  // A transpose without padding: memory would take as long.
  Work work;
  work.kernel = {.waves = 16384, .workgroups = 16384, .lds = 262144, .lds_cycles = 17'301'504};
  work.kernel.dram_bytes = work.kernel.fabric_bytes = work.kernel.l2_bytes = 128 << 20;
  work.needs = {.workgroups = 16384};
  for (const double conflicts : {16'252'928.0, 1'000'000.0}) {
    work.kernel.lds_conflicts = conflicts;
    const timing::KernelTime time = timing::kernel_time(*model, work.kernel, work.needs);
    ASSERT_EQ(time.limit, timing::Resource::kLds);
    const std::vector<RankedLimit> limits = rank_limits(*model, work, time);
    EXPECT_LT(limits[0].gain, 1.2);
    EXPECT_EQ(limits[0].limit, conflicts > 8'000'000 ? Limit::kBankConflicts : Limit::kLds);
  }
}

TEST(Limits, BytesThatAreReadAgainAreWhatMemoryCanSave) {
  const Result<model::Model> model = model::load_model(WT_SOURCE_DIR "/models", "mi210");
  ASSERT_TRUE(model.ok());
  Work work;
  work.caches = Caches::kModelled;
  work.kernel = {.waves = 16384, .workgroups = 16384};
  work.kernel.dram_bytes = work.kernel.fabric_bytes = work.kernel.l2_bytes = 1 << 30;
  work.needs = {.workgroups = 16384};
  const auto first = [&](double again) {
    work.kernel.dram_again_bytes = again;
    const timing::KernelTime time = timing::kernel_time(*model, work.kernel, work.needs);
    EXPECT_EQ(time.limit, timing::Resource::kMemory);
    return rank_limits(*model, work, time).front();
  };
  const RankedLimit once = first(0), twice = first(1 << 29);
  EXPECT_NE(once.evidence.find("almost no byte is read twice"), std::string::npos) << once.evidence;
  EXPECT_EQ(once.advice, advice_on(Limit::kMemory));
  EXPECT_NE(twice.evidence.find("50 % of the bytes are read again"), std::string::npos);
  EXPECT_NE(twice.advice, once.advice);
  EXPECT_NEAR(twice.gain, 2, 0.05);
  EXPECT_GT(once.gain, twice.gain);
}

TEST(Limits, ALoadOfManyLinesKeepsItsWaveWaitingForEachOfThem) {
  const Result<model::Model> model = model::load_model(WT_SOURCE_DIR "/models", "mi210");
  ASSERT_TRUE(model.ok());
  timing::KernelWork work{.waves = 1, .workgroups = 1, .vmem = 300};
  work.vmem_waits = 100;  // three loads under way each time
  const auto wave_cycles = [&](double look_ups) {
    work.l1_tags = work.vmem * look_ups;
    return timing::kernel_time(*model, work, {}).wave_cycles;
  };
  EXPECT_EQ(wave_cycles(16) - wave_cycles(4), 300 * 12);
  EXPECT_EQ(wave_cycles(4) - wave_cycles(0), 200 * 4) << "the first is part of the latency";
}

}  // namespace
}  // namespace wavetap::profile
