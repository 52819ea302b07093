#include "profile/compare.h"
#include "util/json_library.h"

#include <gtest/gtest.h>

#include <set>

namespace wavetap::profile {
namespace {

using json = nlohmann::ordered_json;

json kernel(const char* name, int grid, double ms, json bounds, json counters,
            const char* limit = "memory") {
  return {{"kernel", {{"name", name}, {"grid", {grid, 1, 1}}, {"block", {64, 1, 1}}}},
          {"calls", 2},
          {"runtime_ms", ms},
          {"total_ms", 2 * ms},
          {"bottleneck", {{"primary", limit}}},
          {"modelled", {{"bounds_seconds", std::move(bounds)}}},
          {"counters", std::move(counters)}};
}

json profile(std::vector<json> kernels) {
  return {{"document", "profile"},
          {"version", 1},
          {"source", "x"},
          {"gpu", {{"name", "G"}}},
          {"kernels", std::move(kernels)}};
}

TEST(Compare, TheReasonIsTheCountBehindTheResourceThatDecides) {
  const json a = profile({kernel("k(int*)", 64, 1, {{"memory", 0.001}, {"vector-alu", 0.0005}},
                                 {{"modelled.dram_read_bytes", 1048576}, {"SQ_INSTS", 100}})});
  const json b = profile({kernel("k(int*)", 64, 2, {{"memory", 0.002}, {"vector-alu", 0.0006}},
                                 {{"modelled.dram_read_bytes", 2097152}, {"SQ_INSTS", 101}})});
  const Result<Comparison> found = compare_profiles(a, b, 0.01);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->kernels.size(), 1u);
  const KernelChange& k = found->kernels[0];
  EXPECT_EQ(k.verdict, KernelChange::Verdict::kSlower);
  EXPECT_EQ(k.reason,
            "device memory busy 2.00 ms instead of 1.00 ms: modelled.dram_read_bytes 2.0 MiB "
            "instead of 1.0 MiB (+100.0 %)");
  ASSERT_FALSE(k.figures.empty());
  EXPECT_EQ(k.figures[0].name, "modelled.dram_read_bytes");
}

TEST(Compare, AKernelThatChangedItsLimitSaysSo) {
  const json a = profile({kernel("k", 64, 2, {{"lds", 0.002}, {"l2", 0.001}},
                                 {{"modelled.lds_conflict_cycles", 5000}}, "bank-conflicts")});
  const json b =
      profile({kernel("k", 64, 1, {{"lds", 0.0001}, {"l2", 0.001}}, json::object(), "l2")});
  const Result<Comparison> found = compare_profiles(a, b, 0.01);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->kernels[0].verdict, KernelChange::Verdict::kFaster);
  EXPECT_EQ(
      found->kernels[0].reason,
      "LDS busy 100.00 us instead of 2.00 ms: modelled.lds_conflict_cycles 0 instead of 5 000 "
      "(-100.0 %); now it is limited by L2");
  const Result<std::vector<std::string>> shut = check_gate({"limit", 0}, *found, a, b);
  ASSERT_TRUE(shut.ok());
  EXPECT_EQ(shut->size(), 1u);
  EXPECT_TRUE(check_gate({"time", 0.05}, *found, a, b)->empty());
}

TEST(Compare, KernelsAreMatchedByShapeFirst) {
  const json a = profile({kernel("k", 64, 1, {{"l2", 1}}, {}), kernel("k", 128, 3, {{"l2", 1}}, {}),
                          kernel("old", 64, 1, {{"l2", 1}}, {})});
  const json b =
      profile({kernel("k", 128, 3, {{"l2", 1}}, {}), kernel("k", 256, 9, {{"l2", 1}}, {}),
               kernel("new", 64, 1, {{"l2", 1}}, {})});
  const Result<Comparison> found = compare_profiles(a, b, 0.01);
  ASSERT_TRUE(found.ok());
  std::multiset<std::string> verdicts;
  for (const KernelChange& k : found->kernels)
    verdicts.insert(k.kernel + " " + name_of(k.verdict) + (k.has_other_shape ? " shape" : ""));
  EXPECT_EQ(verdicts,
            (std::multiset<std::string>{"k same", "k slower shape", "old gone", "new new"}));
}

TEST(Compare, GatesAreWordsWithAShare) {
  EXPECT_EQ(parse_gate("time=5%")->above, 0.05);
  EXPECT_EQ(parse_gate("SQ_INSTS=0")->what, "SQ_INSTS");
  for (const char* const wrong :
       {"", "time", "time=", "time=x", "time=5%x", "=5%", "limit=5%", "time=-1"})
    EXPECT_FALSE(parse_gate(wrong).ok()) << wrong;
}

TEST(Compare, ForeignDocumentsAreRefused) {
  EXPECT_FALSE(compare_profiles(json::array(), profile({}), 0).ok());
  EXPECT_FALSE(compare_profiles(profile({}), {{"document", "profile"}, {"version", 99}}, 0).ok());
}

}  // namespace
}  // namespace wavetap::profile
