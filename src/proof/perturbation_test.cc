#include "proof/perturbation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace wavetap::proof {
namespace {

// (const float* in, int n), in memory of 64 bytes.
replay::CapturedKernel kernel_of(const replay::CapturedRegion& region) {
  replay::CapturedKernel kernel;
  replay::CapturedArgument in;
  in.region = &region;
  in.element = "f32";
  in.extent_bytes = 64;
  in.arg.size_bytes = 8;
  replay::CapturedArgument count;
  count.element = "i32";
  count.arg.offset = 8;
  count.arg.size_bytes = 4;
  const int32_t value = 128;
  count.value.resize(sizeof value);
  std::memcpy(count.value.data(), &value, sizeof value);
  kernel.arguments = {in, count};
  return kernel;
}

std::vector<std::string> names_of(const std::vector<Perturbation>& list) {
  std::vector<std::string> names;
  for (const Perturbation& one : list) names.push_back(one.name());
  return names;
}

TEST(Perturbation, TheSeedChoosesTheOrderAndNothingElse) {
  const replay::CapturedRegion region;
  const replay::CapturedKernel kernel = kernel_of(region);
  std::vector<std::string> sorted = names_of(perturbations_of(kernel, 1));
  std::sort(sorted.begin(), sorted.end());
  std::set<std::vector<std::string>> orders;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<std::string> names = names_of(perturbations_of(kernel, seed));
    EXPECT_EQ(names, names_of(perturbations_of(kernel, seed)));
    orders.insert(names);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, sorted) << "seed " << seed;
  }
  EXPECT_EQ(orders.size(), 20u);
}

TEST(Perturbation, OutputsScratchInputsSizesAndPlacesAreChanged) {
  const replay::CapturedRegion region;
  const std::vector<std::string> names = names_of(perturbations_of(kernel_of(region), 7));
  for (const char* name :
       {"outputs filled with NaN", "outputs filled with a number",
        "registers, LDS and scratch filled with NaN",
        "registers, LDS and scratch filled with a number", "other input values", "inputs permuted",
        "inputs scaled", "NaN, infinities and denormals among the inputs", "argument 1 is 127",
        "argument 1 is 65", "memory elsewhere", "another queue", "one workgroup more"})
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  EXPECT_EQ(names.size(), 13u);
}

// Values, too, are the seed's: a kernel cannot know them.
TEST(Perturbation, OtherSeedsGiveOtherValues) {
  const replay::CapturedRegion region;
  std::set<uint64_t> seeds;
  for (uint64_t seed = 1; seed <= 20; ++seed)
    for (const Perturbation& one : perturbations_of(kernel_of(region), seed))
      if (one.change == Change::kRandom) seeds.insert(one.seed);
  EXPECT_EQ(seeds.size(), 20u);
}

}  // namespace
}  // namespace wavetap::proof
