#include "store/trace_writer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "format/test_writer.h"
#include "store/sqlite.h"
#include "store/trace.h"

namespace wavetap::store {
namespace {

using format::test::TestFolder;

class Writer : public testing::Test {
 protected:
  Writer() : folder_("writer"), path_(folder_.file("new.rpd")) {}

  std::string row(const std::string& sql) {
    Result<Db> db = Db::open_read_only(path_);
    if (!db.ok()) return db.error().message;
    Result<Stmt> stmt = db->prepare(sql);
    if (!stmt.ok()) return stmt.error().message;
    if (!stmt->step()) return "no row";
    std::string out;
    for (int i = 0; i < stmt->columns(); ++i)
      out += (i == 0 ? "" : "|") + (stmt->is_null(i) ? "null" : std::string(stmt->text(i)));
    return out;
  }

  TestFolder folder_;
  std::string path_;
};

rows::Call call_with_id(int64_t id) {
  return {.id = id,
          .pid = 7,
          .tid = 8,
          .start = 10,
          .end = 20,
          .name = 1,
          .category = 1,
          .domain = 1,
          .args = 1};
}

TEST_F(Writer, RowsArriveAsTheyWerePut) {
  Result<TraceWriter> writer = TraceWriter::create(path_);
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  SessionTexts texts(*writer, /*session=*/2);
  writer->put(rows::Call{.id = texts.offset() + 1,
                         .pid = 7,
                         .tid = 8,
                         .start = 10,
                         .end = 20,
                         .name = texts.string("hipMalloc"),
                         .category = texts.no_string(),
                         .domain = texts.string("hip"),
                         .args = texts.text("size = 4")});
  writer->put(rows::AllocationEvent{.pid = 7,
                                    .api = texts.offset() + 1,
                                    .gpu = -1,
                                    .kind = "host",
                                    .address = 0xffff'0000'0000'0000,
                                    .bytes = 4,
                                    .start = 20,
                                    .end = std::nullopt,
                                    .asked = 3});
  writer->put(rows::Counter{.value = 0.5, .op = 1, .name = texts.string("waves")});
  writer->add_metadata("producer", "test 1");
  texts.finish();
  EXPECT_EQ(writer->rows<rows::Call>(), 1u);
  EXPECT_EQ(writer->rows(), 3u + 2 + 4) << "with the texts";
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_EQ(row("select id, pid, tid, start, end, domain, category, apiName, args from api"),
            "8589934593|7|8|10|20|hip||hipMalloc|size = 4");
  EXPECT_EQ(row("select * from wavetap_allocation"),
            "1|7|8589934593|-1|host|0xffff000000000000|4|20|null|3");
  EXPECT_EQ(row("select value, string from rocpd_counter c join rocpd_string s on s.id = name_id"),
            "0.5|waves");
  EXPECT_EQ(row("select value from rocpd_metadata where tag = 'schema_version'"), "3");
  EXPECT_EQ(row("select value from rocpd_metadata where tag = 'producer'"), "test 1");
  EXPECT_EQ(row("pragma integrity_check"), "ok");
}

TEST_F(Writer, EveryTableOfTheListIsLoadedBack) {
  {
    Result<TraceWriter> writer = TraceWriter::create(path_);
    ASSERT_TRUE(writer.ok());
    SessionTexts texts(*writer, 0);
    writer->put(call_with_id(1));
    writer->put(rows::Op{.id = 1,
                         .gpu = 0,
                         .queue = 3,
                         .sequence = 0,
                         .start = 30,
                         .end = 40,
                         .description = texts.string("k"),
                         .type = texts.string("KernelExecution")});
    writer->put(rows::FaultEvent{.pid = 7,
                                 .time = 50,
                                 .gpu = 0,
                                 .queue = std::nullopt,
                                 .address = 0x1234,
                                 .reason = 1,
                                 .what = "page not present",
                                 .owner = "in no allocation"});
    writer->put(rows::OpenCall{.pid = 7, .tid = 8, .name = "hipFree", .start = 45});
    writer->put(rows::Counter{.value = 12, .op = 1, .name = texts.string("waves")});
    writer->put(rows::LossEvent{.pid = std::nullopt,
                                .time = std::nullopt,
                                .reason = "unreadable",
                                .count = 3,
                                .what = "x"});
    texts.finish();
    ASSERT_TRUE(writer->finish().ok());
  }
  Result<Trace> trace = Trace::load(path_);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->faults.size(), 1u);
  EXPECT_EQ(trace->faults[0].address, 0x1234u);
  EXPECT_EQ(trace->faults[0].queue, -1);
  EXPECT_EQ(trace->str(trace->faults[0].what), "page not present");
  ASSERT_EQ(trace->open_calls.size(), 1u);
  EXPECT_EQ(trace->str(trace->open_calls[0].name), "hipFree");
  ASSERT_EQ(trace->counters.size(), 1u);
  EXPECT_EQ(trace->counters[0].op, 0u) << "the row of the op, not its id";
  EXPECT_EQ(trace->counters[0].value, 12);
  EXPECT_EQ(trace->str(trace->counters[0].name), "waves");
  ASSERT_EQ(trace->losses.size(), 1u);
  EXPECT_EQ(trace->losses[0].pid, 0);
  EXPECT_TRUE(trace->problems.empty());
}

TEST_F(Writer, RowsOutOfOrderFailInsteadOfMakingADamagedFile) {
  Result<TraceWriter> writer = TraceWriter::create(path_);
  ASSERT_TRUE(writer.ok());
  for (const int64_t id : {5, 4}) writer->put(call_with_id(id));
  const Status done = writer->finish();
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.error().message.find("not in order"), std::string::npos);
}

TEST_F(Writer, WithoutItsOwnTablesTheFileIsOneOfRpds) {
  Result<TraceWriter> writer = TraceWriter::create(path_, /*wavetap_tables=*/false);
  ASSERT_TRUE(writer.ok());
  writer->put(rows::OpenCall{.pid = 1, .tid = 1, .name = "x", .start = 1});  // has no place
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_EQ(row("select count(*) from sqlite_master where name like 'wavetap_%'"), "0");
  EXPECT_TRUE(Trace::load(path_).ok());
}

TEST_F(Writer, AFileIsMadeWholeOrNotAtAll) {
  const auto files = [&] {
    size_t n = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      n += entry.exists() ? 1 : 0;
    return n;
  };
  EXPECT_FALSE(make_whole(path_, false, [](const std::string& part) -> Status {
                 if (Result<TraceWriter> half = TraceWriter::create(part); !half.ok())
                   return half.error();
                 return errorf("no more");
               }).ok());
  EXPECT_EQ(files(), 0u);
  const auto make = [](const std::string& part) -> Status {
    Result<TraceWriter> writer = TraceWriter::create(part);
    return writer.ok() ? writer->finish() : Status(writer.error());
  };
  EXPECT_TRUE(make_whole(path_, false, make).ok());
  EXPECT_FALSE(make_whole(path_, false, make).ok());
  EXPECT_TRUE(make_whole(path_, true, make).ok());
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace wavetap::store
