#include "vgpu/config.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpu/test_driver.h"

namespace wavetap::vgpu {
namespace {

using ::testing::HasSubstr;

TEST(Config, OptionsOfTheVirtualMachineAreSetByName) {
  Config config;
  EXPECT_TRUE(set_driver_option(config, "svm").ok());
  EXPECT_TRUE(config.svm);
  EXPECT_TRUE(set_driver_option(config, "strict-cpu-access=0").ok());
  EXPECT_FALSE(config.strict_cpu_access);
  EXPECT_TRUE(set_driver_option(config, "kfd-minor=9").ok());
  EXPECT_EQ(config.kfd_minor, 9u);
  for (const char* bad : {"svm=2", "svm=", "kfd-minor=x", "kfd-minor=99999999999", "bar=1", ""})
    EXPECT_FALSE(set_driver_option(config, bad).ok()) << bad;
  for (const DriverOption& option : driver_options())
    EXPECT_THAT(set_driver_option(config, "bar").error().message, HasSubstr(option.name));
}

TEST(Config, CountsTheDiesOfAPackage) {
  EXPECT_TRUE(validate(config_of({"mi250x", "mi250x", "mi250x", "mi250x"})).ok());
  EXPECT_THAT(
      validate(config_of({"mi250x", "mi250x", "mi250x", "mi250x", "mi210"})).error().message,
      HasSubstr("9 GPUs; at most 8"));
}

TEST(Config, GivesEveryGpuItsOwnNumbers) {
  const Config config = config_of({"mi250x", "mi210", "mi210", "rx6800xt"});
  const std::vector<GpuPlace> places = place_gpus(config);
  ASSERT_EQ(places.size(), 5u);
  std::set<uint32_t> ids;
  std::set<uint64_t> unique_ids;
  std::set<std::string> addresses;
  for (const GpuPlace& place : places) {
    EXPECT_NE(place.gpu_id, 0u);
    EXPECT_EQ(place.node, place.index + 1);
    ids.insert(place.gpu_id);
    unique_ids.insert(place.unique_id);
    addresses.insert(place.pci_address());
  }
  EXPECT_EQ(ids.size(), 5u);
  EXPECT_EQ(unique_ids.size(), 5u);
  EXPECT_EQ(addresses.size(), 5u);
  EXPECT_NE(places[0].hive_id, 0u);
  EXPECT_EQ(places[0].hive_id, places[1].hive_id);
  EXPECT_EQ(places[2].hive_id, 0u);
  // The same configuration gives the same numbers in every process: handles travel between them.
  EXPECT_EQ(place_gpus(config)[3].gpu_id, places[3].gpu_id);
}

}  // namespace
}  // namespace wavetap::vgpu
