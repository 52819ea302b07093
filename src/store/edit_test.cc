// check, trim and merge on small traces made here.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "store/check.h"
#include "store/merge.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "store/trace.h"
#include "store/trim.h"

namespace wavetap::store {
namespace {

class Edit : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("wavetap-edit-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const char* name) { return (folder_ / name).string(); }

  // Ten calls, a second apart, each with one op; a marker around calls 3 to 5.
  std::string make(const char* name, const std::string& extra = "") {
    const std::string path = file(name);
    Result<Db> db = Db::create(path);
    EXPECT_TRUE(db.ok());
    EXPECT_TRUE(create_schema(*db).ok());
    const Status status = db->exec(
        "insert into rocpd_metadata (tag, value) values ('producer', 'wavetap test'), ('losses', '0');"
        "insert into rocpd_string values "
        "(1,''),(2,'hipLaunchKernel'),(3,'hip'),(4,'KernelExecution'),(5,'even'),(6,'odd'),(7,'UserMarker');"
        "insert into rocpd_ustring values (1,''),(2,'middle');"
        "with recursive n(i) as (select 0 union all select i + 1 from n where i < 9) "
        "insert into rocpd_api select i + 1, 100, 100, 1000 + i * 1000, 1400 + i * 1000, 2, 1, 3, 1 from n;"
        "insert into rocpd_api values (2147483649, 100, 100, 3900, 6500, 7, 1, 7, 2);"
        "insert into rocpd_op select id, 0, 0, id, start + 200, end + 300, 5 + id % 2, 4 from rocpd_api "
        "where id < 100;"
        "insert into rocpd_api_ops (api_id, op_id) select id, id from rocpd_op;"
        "insert into rocpd_kernelapi select id, '0x0', 1, 1, 1, 64, 1, 1, 0, 0, 5 + id % 2 from rocpd_api "
        "where id < 100;" +
        extra);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return path;
  }

  std::filesystem::path folder_;
};

TEST_F(Edit, CheckAcceptsASoundTraceAndNamesWhatIsWrong) {
  Result<CheckResult> good = check_trace(make("good.rpd"));
  ASSERT_TRUE(good.ok()) << good.error().message;
  EXPECT_TRUE(good->sound());
  EXPECT_EQ(good->calls, 11u);
  Result<CheckResult> bad = check_trace(make(
      "bad.rpd", "update rocpd_api set end = start - 1 where id = 4; delete from rocpd_op where id = 7;"));
  ASSERT_TRUE(bad.ok());
  EXPECT_FALSE(bad->sound());
  ASSERT_EQ(bad->findings.size(), 2u);
  EXPECT_EQ(bad->findings[0].what, "rocpd_api: ends before it starts");
  EXPECT_EQ(bad->findings[0].example, "id 4");
}

TEST_F(Edit, LossesMakeATraceUnsound) {
  Result<CheckResult> lossy =
      check_trace(make("lossy.rpd", "update rocpd_metadata set value = '3' where tag = 'losses';"));
  ASSERT_TRUE(lossy.ok());
  EXPECT_FALSE(lossy->sound());
}

TEST_F(Edit, TrimLeavesNoOrphans) {
  const std::string in = make("in.rpd");
  TrimOptions options;
  options.begin = 3000;
  options.end = 5000;
  Result<TrimResult> result = trim_trace(in, file("out.rpd"), options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->calls_after, 4u);  // three calls and the marker
  EXPECT_EQ(result->ops_after, 3u);
  Result<CheckResult> checked = check_trace(file("out.rpd"));
  ASSERT_TRUE(checked.ok());
  EXPECT_TRUE(checked->findings.empty());
  Result<Trace> trace = Trace::load(file("out.rpd"));
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->launches.size(), 3u);
  EXPECT_TRUE(trace->problems.empty());
  EXPECT_TRUE(check_trace(in)->sound()) << "the input must not change";
}

TEST_F(Edit, TrimByMarkerAndByKernel) {
  const std::string in = make("in.rpd");
  TrimOptions by_marker;
  by_marker.marker = "mid";
  Result<TrimResult> result = trim_trace(in, file("marker.rpd"), by_marker);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->calls_after, 4u);
  TrimOptions by_kernel;
  by_kernel.kernel = "^even$";
  result = trim_trace(in, file("kernel.rpd"), by_kernel);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->ops_after, 5u);
  EXPECT_EQ(result->calls_after, 5u);
  by_kernel.kernel = "(";
  EXPECT_FALSE(trim_trace(in, file("bad.rpd"), by_kernel).ok());
  EXPECT_FALSE(std::filesystem::exists(file("bad.rpd")));
}

TEST_F(Edit, MergeKeepsRanksApartAndAlignsByWallClock) {
  const std::string a =
      make("a.rpd", "insert into rocpd_metadata (tag, value) values ('epoch_offset_ns', '1000000');");
  const std::string b =
      make("b.rpd", "insert into rocpd_metadata (tag, value) values ('epoch_offset_ns', '1000250');");
  Result<std::vector<MergedFile>> merged = merge_traces({a, b}, file("m.rpd"), {});
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  EXPECT_EQ((*merged)[1].shift_ns, 250);
  EXPECT_EQ((*merged)[1].method, "wall clock");
  Result<CheckResult> checked = check_trace(file("m.rpd"));
  ASSERT_TRUE(checked.ok()) << checked.error().message;
  EXPECT_TRUE(checked->sound()) << (checked->findings.empty() ? "" : checked->findings[0].what);
  EXPECT_EQ(checked->calls, 22u);
  Result<Trace> trace = Trace::load(file("m.rpd"));
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->threads.size(), 2u);
  EXPECT_EQ(trace->threads[1].pid, 10'000'100);
  EXPECT_EQ(trace->ops.gpu.back(), 1000);
  Result<Db> db = Db::open_read_only(file("m.rpd"));
  EXPECT_EQ(*db->query_int("select count(distinct node) from napi"), 2);
}

TEST_F(Edit, MergeWithoutClocksSaysThatItGuessed) {
  Result<std::vector<MergedFile>> merged =
      merge_traces({make("a.rpd"), make("b.rpd", "update rocpd_api set start = start + 77, end = end + 77;")},
                   file("m.rpd"), {});
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ((*merged)[1].shift_ns, -77);
  EXPECT_NE((*merged)[1].method.find("inferred"), std::string::npos);
}

}  // namespace
}  // namespace wavetap::store
