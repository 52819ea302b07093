#include "store/trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "store/schema.h"
#include "store/sqlite.h"

namespace wavetap::store {
namespace {

std::string scratch_file(const char* name) {
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("wavetap-store-" + std::to_string(getpid()) + "-" + name))
                               .string();
  std::filesystem::remove(path);
  return path;
}

// Two sessions, as two processes would leave them: equal strings under different ids.
std::string two_session_trace() {
  const std::string path = scratch_file("two.rpd");
  Result<Db> db = Db::create(path);
  EXPECT_TRUE(db.ok());
  EXPECT_TRUE(create_schema(*db).ok());
  EXPECT_TRUE(db->exec(R"sql(
    insert into rocpd_metadata (tag, value) values ('producer', 'wavetap 0.1');
    insert into rocpd_string values (1,''),(2,'hipMalloc'),(3,'hip'),(4294967297,''),(4294967298,'hipMalloc'),(4294967299,'k');
    insert into rocpd_ustring values (1,''),(2,'size=4'),(4294967298,'size=8');
    insert into rocpd_api values (1,10,10,100,200,2,1,3,2),(4294967297,20,21,150,250,4294967298,4294967297,3,4294967298);
    insert into rocpd_op values (4294967297,0,1,1,300,400,4294967299,4294967297);
    insert into rocpd_api_ops values (1,4294967297,4294967297),(2,99,4294967297);
    insert into rocpd_copyapi values (1,'0x0',4294967296,0,0,1,'0xd','0x5',2,3,1,0);
  )sql")
                  .ok());
  EXPECT_TRUE(create_indexes(*db).ok());
  return path;
}

TEST(Trace, InternsEqualStringsOfDifferentSessions) {
  const std::string path = two_session_trace();
  Result<Trace> trace = Trace::load(path, {.args = true});
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->apis.size(), 2u);
  EXPECT_EQ(trace->apis.name[0], trace->apis.name[1]);
  EXPECT_EQ(trace->str(trace->apis.name[0]), "hipMalloc");
  EXPECT_EQ(trace->args(0), "size=4");
  EXPECT_EQ(trace->args(1), "size=8");
  EXPECT_EQ(trace->threads.size(), 2u);
  EXPECT_EQ(trace->links.api[0], 1u);
  std::filesystem::remove(path);
}

TEST(Trace, KeepsCopiesLargerThan4GiBAndTheirDirection) {
  const std::string path = two_session_trace();
  Result<Trace> trace = Trace::load(path);
  ASSERT_TRUE(trace.ok());
  ASSERT_EQ(trace->copies.size(), 1u);
  EXPECT_EQ(trace->copies[0].size_bytes, int64_t{1} << 32);
  EXPECT_EQ(trace->str(trace->copies[0].dst), "0xd");
  EXPECT_EQ(trace->copies[0].dst_device, 2);
  std::filesystem::remove(path);
}

TEST(Trace, CountsLinksToNowhere) {
  const std::string path = two_session_trace();
  Result<Trace> trace = Trace::load(path);
  ASSERT_TRUE(trace.ok());
  ASSERT_EQ(trace->problems.size(), 1u);
  EXPECT_EQ(trace->problems[0].count, 1u);
  EXPECT_EQ(trace->links.api[1], kNoRow);
  std::filesystem::remove(path);
}

TEST(Trace, SaysWhatIsWrongWithAFileThatIsNone) {
  const std::string path = scratch_file("text.rpd");
  std::ofstream(path)
      << "this is not a database, it only has its name; it goes on long enough to be read";
  Result<Trace> trace = Trace::load(path);
  ASSERT_FALSE(trace.ok());
  EXPECT_NE(trace.error().message.find("not a trace"), std::string::npos) << trace.error().message;
  EXPECT_FALSE(Trace::load("/nonexistent.rpd").ok());
  std::filesystem::remove(path);
}

TEST(Trace, ReadsARangeSplitTableCompletely) {
  const std::string path = scratch_file("big.rpd");
  Result<Db> db = Db::create(path);
  ASSERT_TRUE(db.ok());
  ASSERT_TRUE(create_schema(*db).ok());
  ASSERT_TRUE(
      db->exec("insert into rocpd_string values (1,''),(2,'f'); insert into rocpd_ustring values "
               "(1,'');"
               "with recursive n(i) as (select 1 union all select i + 1 from n where i < 120000) "
               "insert into rocpd_api select case when i % 2 then i else 2147483649 + i end, 1, i "
               "% 7, i, i "
               "+ 1, 2, 1, 1, 1 from n")
          .ok());
  Result<Trace> trace = Trace::load(path);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->apis.size(), 120000u);
  EXPECT_EQ(trace->threads.size(), 7u);
  EXPECT_TRUE(std::is_sorted(trace->apis.id.begin(), trace->apis.id.end()));
  EXPECT_EQ(trace->api_row(2147483649 + 120000), 119999u);
  std::filesystem::remove(path);
}

TEST(Trace, ReadsSchemaTwoWithArgumentsAmongTheStrings) {
  const char* golden = std::getenv("WAVETAP_GOLDEN");
  const std::string folder =
      golden != nullptr ? golden : std::string(WT_SOURCE_DIR) + "/../shared/golden";
  if (!std::filesystem::exists(folder + "/matmul_result.rpd"))
    GTEST_SKIP() << "no reference traces at " << folder;
  Result<Trace> trace = Trace::load(folder + "/matmul_result.rpd", {.args = true});
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace->schema_version, 2);
  EXPECT_EQ(trace->apis.size(), 125u);
  EXPECT_EQ(trace->ops.size(), 85u);
  EXPECT_EQ(trace->launches.size(), 29u);
  EXPECT_EQ(trace->copies.size(), 55u);
}

}  // namespace
}  // namespace wavetap::store
