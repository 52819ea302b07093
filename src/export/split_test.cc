// A split export: every file within the limit and valid on its own, every event in exactly one of
// them.
#include "export/split.h"
#include "util/json_library.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace wavetap::exporter {
namespace {

store::Trace many_calls(size_t count, int64_t step) {
  store::Trace trace;
  trace.threads.push_back({1, 1});
  for (size_t i = 0; i < count; ++i) {
    trace.apis.id.push_back(static_cast<int64_t>(i) + 1);
    trace.apis.start.push_back(1000 + static_cast<int64_t>(i) * step);
    trace.apis.end.push_back(1005 + static_cast<int64_t>(i) * step);
    trace.apis.thread.push_back(0);
    trace.apis.name.push_back(trace.strings.intern("hipLaunchKernel"));
    trace.apis.domain.push_back(0);
    trace.apis.category.push_back(0);
  }
  return trace;
}

class SplitTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("split_test." + std::to_string(getpid()));
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(SplitTest, EveryCallIsInExactlyOneFileWithinTheLimit) {
  const store::Trace trace = many_calls(5000, 10);
  Result<std::vector<SplitFile>> files =
      export_split(*find_format("chrome"), trace, {}, (folder_ / "t.json").string(), 100 << 10);
  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_GT(files->size(), 3u);
  std::set<int64_t> seen;
  for (const SplitFile& file : *files) {
    EXPECT_LE(file.bytes, 100u << 10);
    std::ifstream in(file.path);
    const nlohmann::ordered_json json = nlohmann::ordered_json::parse(in, nullptr, false);
    ASSERT_TRUE(json.is_object()) << file.path;
    for (const auto& event : json["traceEvents"]) {
      if (event["ph"] != "X") continue;
      EXPECT_TRUE(seen.insert(event["args"]["External id"].get<int64_t>()).second);
    }
  }
  EXPECT_EQ(seen.size(), 5000u);
  // Nothing but the files is left behind.
  EXPECT_EQ(static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {})),
            files->size());
}

TEST_F(SplitTest, EventsOfOneMomentStayTogether) {
  const store::Trace trace = many_calls(1000, 0);
  Result<std::vector<SplitFile>> files =
      export_split(*find_format("chrome"), trace, {}, (folder_ / "t.json").string(), 64 << 10);
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(files->size(), 1u);
  EXPECT_GT((*files)[0].bytes, 64u << 10);
}

TEST_F(SplitTest, AnEmptyTraceIsOneFile) {
  Result<std::vector<SplitFile>> files = export_split(*find_format("perfetto"), store::Trace(), {},
                                                      (folder_ / "t.pftrace").string(), 64 << 10);
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(files->size(), 1u);
}

TEST(SplitPath, CountsBeforeTheSuffix) {
  EXPECT_EQ(split_path("a/b.c/trace.json.gz", 1), "a/b.c/trace-001.json.gz");
  EXPECT_EQ(split_path("trace.pftrace", 12), "trace-012.pftrace");
  EXPECT_EQ(split_path("a.b/trace", 2), "a.b/trace-002");
}

}  // namespace
}  // namespace wavetap::exporter
