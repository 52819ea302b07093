#include "replay/changed_launch.h"

#include <cstring>

#include <gtest/gtest.h>

#include "amd/aql.h"

namespace wavetap::replay {
namespace {

Capture capture_of(uint32_t items, uint16_t workgroup_size, uint16_t dimensions) {
  Capture capture;
  capture.kernel = "work(int*)";
  capture.dispatch.grid_size[0] = items;
  capture.dispatch.workgroup_size[0] = workgroup_size;
  amd::KernelDispatchPacket packet{};
  packet.setup = dimensions;
  std::memcpy(capture.dispatch.packet, &packet, sizeof packet);
  return capture;
}

CapturedKernel kernel_with(const std::vector<std::pair<const char*, uint64_t>>& hidden) {
  CapturedKernel kernel;
  uint64_t offset = 8;
  for (const auto& [kind, size] : hidden) {
    CapturedArgument argument;
    argument.arg.value_kind = kind;
    argument.arg.offset = offset;
    argument.arg.size_bytes = size;
    kernel.arguments.push_back(argument);
    offset += size;
  }
  return kernel;
}

TEST(ChangedGrid, EverythingThatTellsTheNumberOfWorkgroupsFollows) {
  const Capture capture = capture_of(1000, 256, 1);
  EXPECT_EQ(captured_workgroups(capture), (Workgroups{4, 1, 1}));
  const CapturedKernel kernel = kernel_with({{"hidden_block_count_x", 4},
                                             {"hidden_block_count_y", 4},
                                             {"hidden_block_count_z", 4},
                                             {"hidden_group_size_x", 2},
                                             {"hidden_remainder_x", 2},
                                             {"hidden_grid_dims", 2},
                                             {"hidden_hostcall_buffer", 8}});
  const Result<ChangedGrid> changed = change_grid(capture, kernel, {7, 3, 1});
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->grid_size[0], 7u * 256);
  EXPECT_EQ(changed->grid_size[1], 3u);
  EXPECT_EQ(changed->grid_size[2], 1u);
  EXPECT_EQ(changed->workgroup_size[1], 1);
  EXPECT_EQ(changed->setup, 2);
  // Sizes and the buffer for calls stay; 1000 items left a rest of 232, whole workgroups leave none.
  const std::vector<std::pair<uint64_t, uint32_t>> wanted = {
      {8, 7}, {12, 3}, {16, 1}, {22, 0}, {24, 2}};
  std::vector<std::pair<uint64_t, uint32_t>> got;
  for (const GridArgument& argument : changed->arguments)
    got.emplace_back(argument.offset, argument.value);
  EXPECT_EQ(got, wanted);
}

// A launch that had three axes keeps them, however many workgroups there are.
TEST(ChangedGrid, AxesAreNeverTakenAway) {
  const Result<ChangedGrid> changed = change_grid(capture_of(64, 64, 3), {}, {1, 1, 1});
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->setup, 3);
}

TEST(ChangedGrid, ACooperativeGridWaitsForAllOfItsWorkgroups) {
  Capture capture = capture_of(8 * 64, 64, 1);
  capture.dispatch.flags = format::kCaptureCooperative;
  // Beside the counter stands how often it was met, which stays. The second counts two waves of each.
  capture.facts["wave_sync.0"] = std::to_string(uint64_t{5} << 32 | 7);
  capture.facts["wave_sync.3"] = "15";
  Result<ChangedGrid> changed = change_grid(capture, {}, {2, 3, 1});
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->wave_sync, (WaveSyncCounters{{0, uint64_t{5} << 32 | 5}, {3, 11}}));
  // A single workgroup waits for none, which the capture does not write down.
  Capture alone = capture_of(64, 64, 1);
  alone.dispatch.flags = format::kCaptureCooperative;
  changed = change_grid(alone, {}, {4, 1, 1});
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->wave_sync, (WaveSyncCounters{{0, 3}}));
  // A real GPU tells nobody: as HIP sets it up.
  capture.facts.clear();
  EXPECT_EQ(captured_wave_sync(capture), (WaveSyncCounters{{0, 7}}));
  capture.facts["wave_sync.0"] = "7";
  // What counts something else cannot be told.
  capture.facts["wave_sync.3"] = "4";
  changed = change_grid(capture, {}, {2, 1, 1});
  ASSERT_FALSE(changed.ok());
  EXPECT_NE(changed.error().message.find("leave out --grid"), std::string::npos);
  // A kernel that does not wait keeps what an earlier one left.
  capture.dispatch.flags = 0;
  changed = change_grid(capture, {}, {2, 1, 1});
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->wave_sync.at(3), 4u);
}

TEST(ChangedGrid, NumbersOfHostileFilesDoNotOverflow) {
  Capture capture = capture_of(UINT32_MAX, 1, 3);
  capture.dispatch.grid_size[1] = capture.dispatch.grid_size[2] = UINT32_MAX;
  capture.dispatch.flags = format::kCaptureCooperative;
  capture.facts["wave_sync.0"] = "18446744073709551615";
  capture.facts["wave_sync.99"] = "1";
  capture.facts["wave_sync.x"] = "1";
  EXPECT_EQ(captured_wave_sync(capture).size(), 1u);
  EXPECT_FALSE(change_grid(capture, {}, {1, 1, 1}).ok());
  capture = capture_of(64, 64, 1);
  capture.dispatch.flags = format::kCaptureCooperative;
  EXPECT_FALSE(change_grid(capture, {}, {4'194'303, 4'194'303, 4'194'303}).ok());
}

}  // namespace
}  // namespace wavetap::replay
