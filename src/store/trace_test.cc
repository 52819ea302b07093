#include "store/trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "store/check.h"
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

// A trace of two calls and their ops, and what `change` makes of it.
std::string small_trace(const char* name, const std::string& change) {
  const std::string path = scratch_file(name);
  Result<Db> db = Db::create(path);
  EXPECT_TRUE(db.ok());
  EXPECT_TRUE(create_schema(*db).ok());
  const Status made = db->exec(R"sql(
    insert into rocpd_string values (1,''),(2,'hipLaunchKernel'),(3,'hip'),(4,'k'),(5,'KernelExecution');
    insert into rocpd_ustring values (1,'');
    insert into rocpd_api values (1,7,7,5000000,5000100,2,1,3,1),(2,7,7,6000000,6000100,2,1,3,1);
    insert into rocpd_op values (1,0,1,0,5000200,5000300,4,5),(2,0,1,0,6000200,6000300,4,5);
    insert into rocpd_api_ops values (1,1,1),(2,2,2);
    insert into rocpd_metadata (tag, value) values ('producer', 'test'), ('losses', '0');
  )sql" + change);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return path;
}

std::vector<std::string> findings_of(const std::string& path, bool& sound) {
  Result<CheckResult> result = check_trace(path);
  EXPECT_TRUE(result.ok()) << result.error().message;
  std::vector<std::string> out;
  for (const Finding& finding : result->findings)
    out.push_back((finding.is_error ? "error: " : "note: ") + finding.what);
  sound = result->sound();
  return out;
}

TEST(Check, WorkWellBeforeItsCallIsAnError) {
  bool sound = false;
  std::string path = small_trace("soon.rpd", "update rocpd_op set start = 4100000 where id = 1");
  EXPECT_EQ(findings_of(path, sound),
            std::vector<std::string>{"note: rocpd_op: starts before the call that launched it"});
  EXPECT_TRUE(sound);
  path = small_trace("soon.rpd", "update rocpd_op set start = 3900000 where id = 1");
  EXPECT_EQ(findings_of(path, sound),
            std::vector<std::string>{
                "error: rocpd_op: starts more than 1 ms before the call that launched it"});
  EXPECT_FALSE(sound);
  std::filesystem::remove(path);
}

TEST(Check, ReferencesOfEveryTableAreFollowed) {
  bool sound = true;
  const std::string path = small_trace(
      "lost.rpd",
      "insert into rocpd_counter values (1, 5.0, 99, 4), (2, 5.0, 1, 99);"
      "insert into rocpd_stackframe values (1, 99, 0, 2);"
      "create table wavetap_inflight (id integer primary key, api_id integer, submitted integer);"
      "insert into wavetap_inflight values (1, 99, 5), (2, null, 5)");
  EXPECT_EQ(findings_of(path, sound),
            (std::vector<std::string>{
                "error: rocpd_counter: op_id names an op that does not exist",
                "error: rocpd_counter: name_id names a string that does not exist",
                "error: rocpd_stackframe: api_ptr_id names a call that does not exist",
                "error: wavetap_inflight: api_id names a call that does not exist"}));
  EXPECT_FALSE(sound);
  std::filesystem::remove(path);
}

TEST(Trace, TimesThatCannotBeHaveNoLength) {
  const std::string path = small_trace(
      "limits.rpd",
      "update rocpd_api set end = 9223372036854775807 where id = 1;"
      "update rocpd_op set start = -9223372036854775807 where id = 2;"
      "insert into rocpd_op values (3, 0, 1, 0, 9223372036854775807, -9223372036854775807, 4, 5)");
  bool sound = true;
  const std::vector<std::string> found = findings_of(path, sound);
  EXPECT_FALSE(sound);
  EXPECT_NE(std::find(found.begin(), found.end(), "error: rocpd_api: has a time that cannot be"),
            found.end());
  EXPECT_NE(std::find(found.begin(), found.end(), "error: rocpd_op: has a time that cannot be"),
            found.end());
  Result<Trace> trace = Trace::load(path);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace->apis.end[0], 5000000);
  EXPECT_EQ(trace->ops.start[1], 6000300);
  EXPECT_EQ(trace->ops.start[2], 0);
  EXPECT_EQ(trace->ops.end[2], 0);
  EXPECT_EQ(trace->span().length(), 6000300);
  ASSERT_EQ(trace->problems.size(), 2u);
  EXPECT_EQ(trace->problems[0].what, "rocpd_api has a time that cannot be");
  EXPECT_EQ(trace->problems[1].count, 2u);
  std::filesystem::remove(path);
}

TEST(Trace, AVersionThatIsNotKnownIsSaid) {
  const std::string path =
      small_trace("v99.rpd", "update rocpd_metadata set value = '99' where tag = 'schema_version'");
  Result<Trace> trace = Trace::load(path);
  ASSERT_TRUE(trace.ok());
  ASSERT_EQ(trace->warnings.size(), 1u);
  EXPECT_NE(trace->warnings[0].find("schema version 99, this build knows 3"), std::string::npos);
  bool sound = false;
  EXPECT_EQ(findings_of(path, sound).size(), 1u);
  EXPECT_TRUE(sound) << "it is a note";
  std::filesystem::remove(path);
}

TEST(Trace, FilesOfTheFirstRevisionLackWhatCameLater) {
  const std::string path = small_trace(
      "first.rpd",
      "create table wavetap_allocation (id integer primary key, pid integer, api_id integer, gpuId "
      "integer, kind text, address text, bytes integer, start integer, end integer);"
      "insert into wavetap_allocation values (1, 7, 1, 0, 'device', '0x7f00', 64, 5, null)");
  Result<Trace> trace = Trace::load(path);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_FALSE(trace->has_asked_bytes);
  ASSERT_EQ(trace->allocations.size(), 1u);
  EXPECT_EQ(trace->allocations[0].asked, -1);
  EXPECT_EQ(trace->allocations[0].bytes, 64);
  EXPECT_EQ(trace->allocations[0].api, 0u);
  EXPECT_EQ(trace->allocations[0].end, 0);
  std::filesystem::remove(path);
}

TEST(Sqlite, OneStatementAtATime) {
  Result<Db> db = Db::open_memory();
  ASSERT_TRUE(db.ok());
  EXPECT_TRUE(db->prepare("select 1;").ok());
  EXPECT_TRUE(db->prepare("select 1; -- and that is all\n ").ok());
  const Result<Stmt> two = db->prepare("select 1; select 2");
  ASSERT_FALSE(two.ok());
  EXPECT_NE(two.error().message.find("more than one statement"), std::string::npos);
  EXPECT_FALSE(db->prepare("select 1; nonsense").ok());
  const Result<Db> missing = Db::open_read_only("/nonexistent/x.rpd");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, "/nonexistent/x.rpd: does not exist; check the path");
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
