#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "export/export.h"
#include "util/json_library.h"

namespace wavetap::exporter {
namespace {

using Json = nlohmann::ordered_json;

std::string golden_folder() {
  const char* named = std::getenv("WAVETAP_GOLDEN");
  return named != nullptr ? named : std::string(WT_SOURCE_DIR) + "/../shared/golden";
}

Json exported(const std::string& path, const Options& options) {
  store::LoadOptions load;
  load.args = true;
  Result<store::Trace> trace = store::Trace::load(path, load);
  EXPECT_TRUE(trace.ok()) << trace.error().message;
  Sink sink = Sink::in_memory();
  EXPECT_TRUE(find_format("chrome")->write(*trace, options, sink).ok());
  return Json::parse(sink.memory());
}

// Equal but for the last digits of doubles that RPD got by float subtraction.
std::string canonical(const Json& event) {
  Json copy = event;
  for (const char* key : {"ts", "dur"})
    if (copy.contains(key)) {
      const double value =
          copy[key].is_string() ? std::stod(copy[key].get<std::string>()) : copy[key].get<double>();
      char text[64];
      std::snprintf(text, sizeof text, "%.6f", value);
      copy[key] = text;
    }
  return copy.dump();
}

class GoldenChrome : public testing::TestWithParam<const char*> {};

TEST_P(GoldenChrome, CompatibleOutputHoldsTheSameEvents) {
  const std::string base = golden_folder() + "/" + GetParam();
  if (!std::filesystem::exists(base + ".rpd"))
    GTEST_SKIP() << "no reference traces at " << golden_folder();
  Options options;
  options.rpd_compatible = true;
  std::map<std::string, int> difference;
  const Json ours = exported(base + ".rpd", options);
  for (const Json& event : ours.at("traceEvents")) ++difference[canonical(event)];
  std::ifstream in(base + ".rpd2tracing.json");
  const Json theirs = Json::parse(in);
  for (const Json& event : theirs.at("traceEvents")) --difference[canonical(event)];
  int shown = 0;
  for (const auto& [event, count] : difference)
    if (count != 0 && ++shown <= 5)
      ADD_FAILURE() << (count > 0 ? "only in ours: " : "only in the reference: ") << event;
  EXPECT_EQ(shown, 0);
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenChrome,
                         testing::Values("matmul_result", "matmul_result_large", "vllm_part_v3"));

store::Trace nasty_trace() {
  store::Trace trace;
  trace.threads.push_back({7, 7});
  trace.apis.id = {1};
  trace.apis.start = {1000};
  trace.apis.end = {2500};
  trace.apis.thread = {0};
  trace.apis.name = {trace.strings.intern("call \"quoted\" \\ back\nline\x01")};
  trace.apis.domain = {0};
  trace.apis.category = {0};
  trace.ops.id = {1};
  trace.ops.gpu = {0};
  trace.ops.queue = {3};
  trace.ops.sequence = {1};
  trace.ops.start = {3001};
  trace.ops.end = {4002};
  trace.ops.description = {trace.strings.intern("k<\"\xff\\>")};
  trace.ops.type = {trace.strings.intern("KernelExecution")};
  trace.links.id = {1};
  trace.links.api = {0};
  trace.links.op = {0};
  return trace;
}

TEST(Chrome, AnyNameGivesValidJson) {
  for (const bool compatible : {false, true}) {
    Options options;
    options.rpd_compatible = compatible;
    Sink sink = Sink::in_memory();
    ASSERT_TRUE(find_format("chrome")->write(nasty_trace(), options, sink).ok());
    EXPECT_FALSE(Json::parse(sink.memory(), nullptr, false).is_discarded()) << sink.memory();
  }
}

TEST(Chrome, TimesAreExactAndFlowsJoinCallAndOp) {
  Sink sink = Sink::in_memory();
  ASSERT_TRUE(find_format("chrome")->write(nasty_trace(), {}, sink).ok());
  const Json json = Json::parse(sink.memory());
  EXPECT_EQ(json["baseTimeNanoseconds"], 1000);
  bool kernel = false, flow_start = false, flow_end = false;
  for (const Json& event : json["traceEvents"]) {
    if (event.value("cat", "") == "kernel") {
      kernel = true;
      EXPECT_DOUBLE_EQ(event["ts"].get<double>(), 2.001);
      EXPECT_DOUBLE_EQ(event["dur"].get<double>(), 1.001);
      EXPECT_EQ(event["args"]["correlation"], 1);
    }
    flow_start |= event["ph"] == "s" && event["pid"] == 7;
    flow_end |= event["ph"] == "f" && event["tid"] == 3;
  }
  EXPECT_TRUE(kernel && flow_start && flow_end);
}

TEST(Chrome, AnEmptyTraceIsStillATrace) {
  Sink sink = Sink::in_memory();
  ASSERT_TRUE(find_format("chrome")->write(store::Trace(), {}, sink).ok());
  EXPECT_TRUE(Json::parse(sink.memory())["traceEvents"].empty());
}

}  // namespace
}  // namespace wavetap::exporter
