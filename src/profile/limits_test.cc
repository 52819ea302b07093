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

}  // namespace
}  // namespace wavetap::profile
