#include "vgpu/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpu/test_driver.h"

namespace wavetap::vgpu {
namespace {

using ::testing::HasSubstr;

TEST(RunDirectory, CarriesTheConfiguration) {
  const ScratchDirectory scratch;
  Config written = config_of({"rx6800xt", "mi250x"});
  written.seed = 0xfeedfacecafebeefu;
  written.threads = 7;
  written.watchdog_instructions = 1ull << 40;
  written.counters_file = "/tmp/a file with spaces = and more";
  written.findings_file = "/tmp/findings";
  written.sanitize_tools = "memcheck";
  written.sanitize_launches = "1,3";
  written.sanitize_kernels = "^a (b|c) = [d]$";
  written.compile_cache = "/tmp/a cache/comgr";
  written.keep_compiled = false;
  written.small_bar = true;
  written.strict_cpu_access = false;
  written.svm = true;
  written.low_va = true;
  written.wave_sync = "0:15";
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
  EXPECT_EQ(read->findings_file, written.findings_file);
  EXPECT_EQ(read->sanitize_tools, written.sanitize_tools);
  EXPECT_EQ(read->sanitize_launches, written.sanitize_launches);
  EXPECT_EQ(read->sanitize_kernels, written.sanitize_kernels);
  EXPECT_EQ(read->compile_cache, written.compile_cache);
  EXPECT_FALSE(read->keep_compiled);
  EXPECT_TRUE(read->small_bar);
  EXPECT_FALSE(read->strict_cpu_access);
  EXPECT_TRUE(read->svm);
  EXPECT_TRUE(read->low_va);
  EXPECT_EQ(read->wave_sync, "0:15");
  EXPECT_TRUE(read->guard_allocations);
  EXPECT_EQ(read->kfd_minor, 9u);

  remove_run_dir(dir);
  EXPECT_TRUE(sys::list_directory(scratch.path()).empty());
}

TEST(RunDirectory, IsHeldAsLongAsSomebodyUsesIt) {
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

TEST(RunDirectory, IsRefusedWhenBroken) {
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

}  // namespace
}  // namespace wavetap::vgpu
