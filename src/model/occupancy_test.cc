#include "model/occupancy.h"

#include <gtest/gtest.h>

namespace wavetap::model {
namespace {

Model model_of(const char* name) {
  Result<Model> model = load_model(WT_SOURCE_DIR "/models", name);
  EXPECT_TRUE(model.ok());
  return *model;
}

TEST(Occupancy, RegistersDecideByTheirGranules) {
  const Model mi300x = model_of("mi300x");
  const auto waves = [&](uint32_t vgprs) {
    return occupancy(mi300x, {.vgprs = vgprs, .work_items = 256}).waves_per_simd;
  };
  EXPECT_EQ(waves(64), 8u);
  EXPECT_EQ(waves(65), 7u);  // 72 are given out
  EXPECT_EQ(waves(128), 4u);
  EXPECT_EQ(waves(256), 2u);
  EXPECT_EQ(waves(512), 1u);
  EXPECT_EQ(occupancy(mi300x, {.vgprs = 128, .work_items = 256}).limit, OccupancyLimit::kVgprs);
  const Model rx = model_of("rx6800xt");
  EXPECT_EQ(occupancy(rx, {.wave64 = false, .vgprs = 64, .work_items = 256}).waves_per_simd, 16u);
  EXPECT_EQ(occupancy(rx, {.wave64 = false, .vgprs = 65, .work_items = 256}).waves_per_simd, 12u);
}

TEST(Occupancy, LdsSlotsSizesAndTheGridDecideToo) {
  const Model mi210 = model_of("mi210");
  const Occupancy lds = occupancy(mi210, {.vgprs = 32, .lds_bytes = 32768, .work_items = 256});
  EXPECT_EQ(lds.workgroups_per_unit, 2u);
  EXPECT_EQ(lds.waves_per_simd, 2u);
  EXPECT_EQ(lds.limit, OccupancyLimit::kLds);
  EXPECT_DOUBLE_EQ(lds.share(), 0.25);
  EXPECT_EQ(occupancy(mi210, {.vgprs = 32, .work_items = 640}).limit,
            OccupancyLimit::kWorkgroupSize);
  EXPECT_EQ(occupancy(mi210, {.vgprs = 32, .work_items = 65}).limit, OccupancyLimit::kWaveSlots);
  const Occupancy grid = occupancy(mi210, {.vgprs = 32, .work_items = 256, .workgroups = 104});
  EXPECT_EQ(grid.limit, OccupancyLimit::kGrid);
  EXPECT_EQ(grid.workgroups_per_unit, 1u);
  EXPECT_EQ(occupancy(mi210, {.vgprs = 32, .sgprs = 102, .work_items = 256}).by_sgprs, 7u);
}

}  // namespace
}  // namespace wavetap::model
