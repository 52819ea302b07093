#include "tune/clock_state.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace wavetap::tune {
namespace {

void write(const std::filesystem::path& path, const char* text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(ClockState, SaysWhetherTheClockWasFreeToChange) {
  std::string name = std::filesystem::temp_directory_path() / "wavetap.clock.XXXXXX";
  const std::filesystem::path folder = mkdtemp(name.data());
  EXPECT_EQ(clock_note(read_gpu_clocks(folder), read_gpu_clocks(folder)),
            "no GPU here says what its clock is");
  write(folder / "card0-DP-1/device/pp_dpm_sclk", "0: 1Mhz *\n");
  write(folder / "card1/device/power_dpm_force_performance_level", "auto\n");
  write(folder / "card1/device/pp_dpm_sclk", "0: 500Mhz *\n1: 2310Mhz \n");
  write(folder / "renderD128/device/pp_dpm_sclk", "0: 1Mhz *\n");
  const std::vector<GpuClock> idle = read_gpu_clocks(folder);
  ASSERT_EQ(idle.size(), 1u);
  write(folder / "card1/device/pp_dpm_sclk", "0: 500Mhz \n1: 2310Mhz *\n");
  const std::vector<GpuClock> busy = read_gpu_clocks(folder);
  EXPECT_EQ(
      clock_note(idle, busy),
      "card1 500Mhz before and 2310Mhz after (auto); it was free to change: small differences "
      "may be the clock's");
  EXPECT_EQ(clock_note(busy, busy),
            "card1 2310Mhz (auto); it was free to change: small differences may be the clock's");
  write(folder / "card1/device/power_dpm_force_performance_level", "high\n");
  EXPECT_EQ(clock_note(read_gpu_clocks(folder), read_gpu_clocks(folder)),
            "card1 2310Mhz (high); it was fixed");
  write(folder / "card1/device/pp_dpm_sclk", "no star in it");
  EXPECT_TRUE(read_gpu_clocks(folder).empty());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace wavetap::tune
