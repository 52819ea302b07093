// What limits a kernel: each class by a kernel made for it, and the fixed kernel out of it, on three
// GPUs.
#include <gtest/gtest.h>

#include <map>

#include "amd/gfx_target.h"
#include "cachesim/memory_watch.h"
#include "model/model.h"
#include "profile/engine_sample.h"
#include "profile/profile.h"
#include "replay/device_file.h"
#include "replay/kernel_run.h"

namespace wavetap::profile {
namespace {

using replay::DeviceFile;

struct Case {
  const char* kernel;
  Limit expected;
  double groups_per_cu;  // workgroups of 256
  int iterations;
  uint64_t values = 1 << 20;  // floats in each buffer
};

class Limits : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    Result<model::Model> found = model::load_model(WT_SOURCE_DIR "/models", GetParam());
    ASSERT_TRUE(found.ok());
    model_ = *found;
    Result<std::unique_ptr<DeviceFile>> file = replay::open_device_file(
        std::string(WT_BUILD_DIR "/co/limits_") + amd::to_string(model_.target) + ".hsaco");
    ASSERT_TRUE(file.ok()) << file.error().message;
    file_ = std::move(*file);
  }

  KernelProfile run(const Case& test) {
    const auto found = replay::find_kernels(*file_, test.kernel, "");
    EXPECT_TRUE(found.ok() && !found->empty()) << test.kernel;
    const codeobj::Kernel& kernel = *found->front().kernel;
    auto loaded = replay::KernelRun::load(*found->front().object, kernel);
    EXPECT_TRUE(loaded.ok());
    replay::KernelRun& run = **loaded;
    const auto groups =
        std::max<uint32_t>(1, static_cast<uint32_t>(model_.compute_units * test.groups_per_cu));
    replay::DispatchShape shape;
    shape.workgroups[0] = groups;
    shape.workgroup_size[0] = 256;
    const uint64_t floats = std::max<uint64_t>(test.values, uint64_t{groups} * 256 * 4);
    std::vector<replay::KernelArgument> arguments;
    for (const std::string& text :
         {"buf:" + std::to_string(floats * 4), "buf:" + std::to_string(floats * 4),
          "i32:" + std::to_string(test.values), "i32:" + std::to_string(test.iterations)})
      arguments.push_back(*replay::parse_argument(text));
    EXPECT_TRUE(run.place(std::move(arguments), shape).ok());
    cachesim::MemoryWatch watch(model_);
    emu::Watcher* watchers[] = {&watch};
    const replay::RunResult result = run.run({.engine = {}, .watchers = watchers});
    EXPECT_FALSE(result.fault) << run.describe(*result.fault);
    EXPECT_EQ(watch.result().block_instructions, result.counters.instructions) << test.kernel;
    Sample sample;
    sample.kernel = test.kernel;
    sample.grid[0] = uint64_t{groups} * 256;
    sample.workgroup[0] = 256;
    sample.vgprs = kernel.vgpr_count;
    sample.sgprs = kernel.sgpr_count;
    sample.lds_bytes = kernel.lds_bytes;
    sample.scratch_bytes = kernel.scratch_bytes;
    sample.wave_size = kernel.wave64(model_.target) ? 64 : 32;
    add_counters(result.counters, sample);
    add_memory(watch.result(), model_.target, sample);
    Result<Profile> profile = make_profile(model_, {sample}, {}, true, "test");
    EXPECT_TRUE(profile.ok());
    return profile->kernels.front();
  }

  static std::string explain(const KernelProfile& kernel) {
    std::string text;
    for (const RankedLimit& limit : kernel.limits)
      text += std::string(name_of(limit.limit)) + " x" + std::to_string(limit.gain) + " (" +
              limit.evidence + ")\n";
    for (size_t i = 0; i < timing::kResources; ++i)
      text += std::string(timing::name_of(static_cast<timing::Resource>(i))) + " " +
              std::to_string(kernel.time.busy[i] * 1e6) + " us\n";
    return text;
  }

  // The class, and that the fixed kernel, if there is one, is out of it.
  void check(const Case& test, const char* fixed = nullptr) {
    SCOPED_TRACE(test.kernel);
    const KernelProfile kernel = run(test);
    EXPECT_EQ(name_of(kernel.limits.front().limit), name_of(test.expected)) << explain(kernel);
    if (fixed == nullptr) return;
    Case better = test;
    better.kernel = fixed;
    const KernelProfile after = run(better);
    EXPECT_NE(name_of(after.limits.front().limit), name_of(test.expected)) << explain(after);
    EXPECT_LT(after.time.seconds, kernel.time.seconds) << explain(after);
  }

  model::Model model_;
  std::unique_ptr<DeviceFile> file_;
};

TEST_P(Limits, Arithmetic) {
  check({"vector_alu", Limit::kVector, 8, 240});
  check({"scalar", Limit::kScalar, 8, 64});
  if (model_.target.major == 9)
    check({"matrix", Limit::kMatrix, 1, model_.compute_units > 200 ? 340 : 200});
}

TEST_P(Limits, Lds) {
  check({"lds", Limit::kLds, 4, 192});
  check({"bank_conflicts", Limit::kBankConflicts, 1, 128}, "fixed_bank_conflicts");
}

TEST_P(Limits, Caches) {
  check({"l1", Limit::kL1, 8, 48});
  check({"l2", Limit::kL2, 8, 80});
  if (std::string(GetParam()) == "rx6800xt")
    check({"infinity_cache", Limit::kInfinityCache, 4, 10, 288 * 5632});
}

TEST_P(Limits, Memory) {
  check({"memory", Limit::kMemory, 16, 1});
  check({"coalescing", Limit::kCoalescing, 8, 1, 1 << 22}, "fixed_coalescing");
  check({"spills", Limit::kSpills, 1, 16}, "fixed_spills");
}

TEST_P(Limits, Waiting) {
  check({"latency", Limit::kLatency, 1, 96}, "fixed_latency");
  check({"occupancy", Limit::kOccupancy, 16, 12}, "fixed_occupancy");
  check({"divergence", Limit::kDivergence, 4, 1536}, "fixed_divergence");
  check({"launch", Limit::kLaunch, 0.01, 1});
}

INSTANTIATE_TEST_SUITE_P(Models, Limits, testing::Values("rx6800xt", "mi210", "mi300x"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace wavetap::profile
