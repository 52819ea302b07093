#include "vgpu/config.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpu/vgpu_test_support.h"

namespace wavetap::vgpu {
namespace {

using ::testing::HasSubstr;

TEST(Config, SurvivesTheRunDirectory) {
  const ScratchDirectory scratch;
  Config written = config_of({"rx6800xt", "mi250x"});
  written.seed = 0xfeedfacecafebeefu;
  written.threads = 7;
  written.watchdog_instructions = 1ull << 40;
  written.counters_file = "/tmp/a file with spaces = and more";
  written.small_bar = true;
  written.strict_cpu_access = false;
  written.svm = true;
  written.low_va = true;
  written.guard_allocations = true;
  written.kfd_minor = 9;
  const std::string dir = scratch.path() + "/run";
  const Status status = write_run_dir(dir, written);
  ASSERT_TRUE(status.ok()) << status.error().message;

  const Result<Config> read = read_run_dir(dir);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->models.size(), 2u);
  EXPECT_EQ(read->models[1].name, "mi250x");
  EXPECT_EQ(read->models[1].text, written.models[1].text);
  EXPECT_EQ(read->seed, written.seed);
  EXPECT_EQ(read->threads, 7u);
  EXPECT_EQ(read->watchdog_instructions, 1ull << 40);
  EXPECT_EQ(read->counters_file, written.counters_file);
  EXPECT_TRUE(read->small_bar);
  EXPECT_FALSE(read->strict_cpu_access);
  EXPECT_TRUE(read->svm);
  EXPECT_TRUE(read->low_va);
  EXPECT_TRUE(read->guard_allocations);
  EXPECT_EQ(read->kfd_minor, 9u);

  remove_run_dir(dir);
  EXPECT_TRUE(sys::list_directory(scratch.path()).empty());
}

TEST(Config, ARunDirectoryIsHeldAsLongAsSomebodyUsesIt) {
  const ScratchDirectory scratch;
  EXPECT_FALSE(is_run_dir_held(scratch.path())) << "nobody ever did";
  const int first = hold_run_dir(scratch.path());
  const int second = hold_run_dir(scratch.path());
  ASSERT_GE(first, 0);
  ASSERT_GE(second, 0);
  sys::close(first);
  EXPECT_TRUE(is_run_dir_held(scratch.path()));
  sys::close(second);
  EXPECT_FALSE(is_run_dir_held(scratch.path()));
  EXPECT_LT(hold_run_dir(scratch.path() + "/nowhere"), 0);
}

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

TEST(Config, RefusesABrokenRunDirectory) {
  const ScratchDirectory scratch;
  EXPECT_FALSE(read_run_dir(scratch.path()).ok());
  const std::string config = scratch.path() + "/config";
  sys::write_file(config, "version = 99\ngpu = rx6800xt\n");
  EXPECT_THAT(read_run_dir(scratch.path()).error().message, HasSubstr("version 99"));
  sys::write_file(config, "version = 1\nnonsense\n");
  EXPECT_THAT(read_run_dir(scratch.path()).error().message, HasSubstr("bad line `nonsense`"));
  sys::write_file(config, "version = 1\nsvm = perhaps\n");
  EXPECT_THAT(read_run_dir(scratch.path()).error().message, HasSubstr("svm = perhaps"));
  sys::write_file(config, "version = 1\ngpu = rx6800xt\n");
  EXPECT_THAT(read_run_dir(scratch.path()).error().message, HasSubstr("models/0"));
  sys::write_file(config, "version = 1\n");
  EXPECT_THAT(read_run_dir(scratch.path()).error().message, HasSubstr("no model"));
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
