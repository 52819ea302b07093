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
    EXPECT_TRUE(db->exec("pragma journal_mode = off; pragma synchronous = off").ok());
    EXPECT_TRUE(create_schema(*db).ok());
    EXPECT_TRUE(create_wavetap_tables(*db).ok());
    const Status status = db->exec(
        "insert into rocpd_metadata (tag, value) values ('producer', 'wavetap test'), ('losses', "
        "'0');"
        "insert into rocpd_string values "
        "(1,''),(2,'hipLaunchKernel'),(3,'hip'),(4,'KernelExecution'),(5,'even'),(6,'odd'),(7,'"
        "UserMarker');"
        "insert into rocpd_ustring values (1,''),(2,'middle');"
        "with recursive n(i) as (select 0 union all select i + 1 from n where i < 9) "
        "insert into rocpd_api select i + 1, 100, 100, 1000 + i * 1000, 1400 + i * 1000, 2, 1, 3, "
        "1 from n;"
        "insert into rocpd_api values (2147483649, 100, 100, 3900, 6500, 7, 1, 7, 2);"
        "insert into rocpd_op select id, 0, 0, id, start + 200, end + 300, 5 + id % 2, 4 from "
        "rocpd_api "
        "where id < 100;"
        "insert into rocpd_api_ops (api_id, op_id) select id, id from rocpd_op;"
        "insert into rocpd_kernelapi select id, '0x0', 1, 1, 1, 64, 1, 1, 0, 0, 5 + id % 2 from "
        "rocpd_api "
        "where id < 100;" +
        extra);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return path;
  }

  static Result<TrimResult> trim(const std::string& in, const std::string& out,
                                 const TrimOptions& options) {
    Result<Trace> trace = Trace::load(in, trim_load_options(options));
    if (!trace.ok()) return trace.error();
    return trim_trace(*trace, out, options);
  }

  std::filesystem::path folder_;
};

TEST_F(Edit, CheckAcceptsASoundTraceAndNamesWhatIsWrong) {
  Result<CheckResult> good = check_trace(make("good.rpd"));
  ASSERT_TRUE(good.ok()) << good.error().message;
  EXPECT_TRUE(good->sound());
  EXPECT_EQ(good->calls, 11u);
  Result<CheckResult> bad = check_trace(make(
      "bad.rpd",
      "update rocpd_api set end = start - 1 where id = 4; delete from rocpd_op where id = 7;"));
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
  Result<TrimResult> result = trim(in, file("out.rpd"), options);
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
  Result<TrimResult> result = trim(in, file("marker.rpd"), by_marker);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->calls_after, 4u);
  TrimOptions by_kernel;
  by_kernel.kernel = "^even$";
  result = trim(in, file("kernel.rpd"), by_kernel);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->ops_after, 5u);
  EXPECT_EQ(result->calls_after, 5u);
  by_kernel.kernel = "(";
  EXPECT_FALSE(trim(in, file("bad.rpd"), by_kernel).ok());
  EXPECT_FALSE(std::filesystem::exists(file("bad.rpd")));
}

TEST_F(Edit, MergeKeepsRanksApartAndAlignsByWallClock) {
  const std::string a = make(
      "a.rpd", "insert into rocpd_metadata (tag, value) values ('epoch_offset_ns', '1000000');");
  const std::string b = make(
      "b.rpd", "insert into rocpd_metadata (tag, value) values ('epoch_offset_ns', '1000250');");
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
  Result<std::vector<MergedFile>> merged = merge_traces(
      {make("a.rpd"), make("b.rpd", "update rocpd_api set start = start + 77, end = end + 77;")},
      file("m.rpd"), {});
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ((*merged)[1].shift_ns, -77);
  EXPECT_NE((*merged)[1].method.find("inferred"), std::string::npos);
}

// Our own tables, one this version does not know among them.
constexpr const char* kOwnTables =
    "create table wavetap_tomorrow (id integer primary key, pid integer, op_id integer, gpuId "
    "integer, first_time integer, note text);"
    "insert into wavetap_process values (0, 100, 1, 900, 0, 'a.out', 'a.out', 'node', '1', 0, 1);"
    "insert into wavetap_library values (1, 100, 950, '/lib/x.so', 'x.so', 'ab12', 'HIP', "
    "'startup');"
    "insert into wavetap_device values (0, 'gfx90a', 'MI250X', 'GPU-1', 110, 1700, 64, "
    "'0000:03:00.0', 64, 32, 4000);"
    "insert into wavetap_queue values (0, 100, 0, 'compute', '0x10', 64, 950, null);"
    "insert into wavetap_code_object values (1, 100, 0, 'gfx90a', 'file:///a', 10, '0x20', 960, "
    "null);"
    "insert into wavetap_kernel (id, pid, code_object_id, name) values (1, 100, 1, 'even'), (2, "
    "100, 1, 'odd');"
    "insert into wavetap_dispatch (op_id, kernel_id, submitted, kernarg) select id, 1 + id % 2, "
    "start - 10, x'00ff00' from rocpd_op;"
    "insert into wavetap_allocation (id, pid, api_id, gpuId, kind, address, bytes, start, end) "
    "values (1, 100, 4, 0, 'device', '0x7f00', 4096, 4000, 9000), "
    "(2, 100, null, -1, 'host', '0x8f00', 10, 900, 0);"
    "insert into wavetap_inflight (id, pid, api_id, kind, gpuId, queueId, submitted, name) values "
    "(1, 100, 9, 'kernel', 0, 0, 9900, 'odd');"
    "insert into wavetap_loss values (1, 100, 9950, 'ring full', 3, 'thread 100'), (2, null, null, "
    "'unreadable', 0, 'x');"
    "insert into wavetap_tomorrow values (1, 100, 3, 0, 3000, 'kept'), (2, 100, 9, -1, 0, 'cut'), "
    "(3, 100, null, 0, 1, 'of no op');"
    "update rocpd_metadata set value = '3' where tag = 'losses';";

std::string rows_of(const std::string& path, const std::string& sql) {
  Result<Db> db = Db::open_read_only(path);
  EXPECT_TRUE(db.ok());
  Result<Stmt> rows = db->prepare(sql);
  EXPECT_TRUE(rows.ok()) << rows.error().message;
  std::string out;
  while (rows.ok() && rows->step()) {
    for (int i = 0; i < rows->columns(); ++i)
      out += (i > 0 ? "|" : "") + std::string(rows->is_null(i) ? "-" : rows->text(i));
    out += "; ";
  }
  return out;
}

// Turns a table of make() into one that only SQL can fill.
std::string without_rowids(const std::string& table, const std::string& columns) {
  return "create table copied as select * from " + table + "; drop table " + table +
         "; create table " + table + " (id integer primary key, " + columns +
         ") without rowid; insert into " + table + " select * from copied; drop table copied;";
}

TEST_F(Edit, TrimKeepsTheTextsInUseWhereOnlySqlCanFillATable) {
  const std::string more_texts =
      "with recursive n(i) as (select 3 union all select i + 1 from n where i < 99) "
      "insert into rocpd_ustring select i, 'text ' || i from n;"
      "update rocpd_api set args_id = 50 + id where id < 100;";
  const std::string texts = "select string from rocpd_ustring order by id";
  const std::string strings = "select string from rocpd_string order by id";
  TrimOptions options;
  options.begin = 3000;
  options.end = 5000;
  ASSERT_TRUE(trim(make("in.rpd", more_texts), file("out.rpd"), options).ok());
  const std::string texts_kept = rows_of(file("out.rpd"), texts);
  const std::string strings_kept = rows_of(file("out.rpd"), strings);
  EXPECT_NE(texts_kept.find("text 54"), std::string::npos) << texts_kept;
  EXPECT_EQ(texts_kept.find("text 60"), std::string::npos) << texts_kept;
  EXPECT_NE(strings_kept.find("KernelExecution"), std::string::npos) << strings_kept;

  // The texts themselves.
  make("texts.rpd", more_texts + without_rowids("rocpd_ustring", "string text"));
  ASSERT_TRUE(trim(file("texts.rpd"), file("texts_out.rpd"), options).ok());
  EXPECT_EQ(rows_of(file("texts_out.rpd"), texts), texts_kept);
  EXPECT_EQ(rows_of(file("texts_out.rpd"), strings), strings_kept);

  // What refers to them.
  make("ops.rpd", more_texts + without_rowids("rocpd_op",
                                              "gpuId integer, queueId integer, sequenceId integer, "
                                              "start integer, end integer, description_id integer, "
                                              "opType_id integer"));
  ASSERT_TRUE(trim(file("ops.rpd"), file("ops_out.rpd"), options).ok());
  EXPECT_EQ(rows_of(file("ops_out.rpd"), "select count(*) from rocpd_op"), "3; ");
  EXPECT_EQ(rows_of(file("ops_out.rpd"), strings), strings_kept);
}

TEST_F(Edit, MergeCarriesOurOwnTablesShiftedLikeTheRest) {
  const std::string with = make("with.rpd", kOwnTables);
  const std::string older =
      make("older.rpd",
           "drop table wavetap_allocation; create table wavetap_allocation (id integer primary "
           "key, pid integer, bytes integer);"
           "insert into wavetap_allocation values (7, 100, 55);"
           "insert into rocpd_metadata (tag, value) values ('epoch_offset_ns', '70')");
  const std::string out = file("m.rpd");
  Result<std::vector<MergedFile>> merged =
      merge_traces({older, with, with}, out, {.align = Align::kNone});
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  EXPECT_EQ((*merged)[2].calls, 11u);
  EXPECT_EQ((*merged)[2].ops, 10u);
  const int64_t one = int64_t{1} << 32, two = int64_t{2} << 32;
  const auto id = [](int64_t value) { return std::to_string(value); };
  EXPECT_EQ(rows_of(out, "select session, pid, parent from wavetap_process"),
            "1|10000100|10000001; 2|20000100|20000001; ");
  EXPECT_EQ(rows_of(out, "select id, gpuId, pid from wavetap_queue"),
            "1000|1000|10000100; 2000|2000|20000100; ");
  EXPECT_EQ(rows_of(out, "select id, name from wavetap_device"), "1000|gfx90a; 2000|gfx90a; ");
  EXPECT_EQ(rows_of(out,
                    "select d.op_id - o.id, k.name = s.string, count(*), max(hex(kernarg)) from "
                    "wavetap_dispatch d "
                    "join rocpd_op o on o.id = d.op_id join wavetap_kernel k on k.id = d.kernel_id "
                    "join rocpd_string s on s.id = o.description_id group by 1, 2"),
            "0|1|20|00FF00; ");
  EXPECT_EQ(rows_of(out, "select id, api_id, gpuId, bytes, \"end\" from wavetap_allocation"),
            "7|-|-|55|-; " + id(one + 1) + "|" + id(one + 4) + "|1000|4096|9000; " + id(one + 2) +
                "|-|-1|10|0; " + id(two + 1) + "|" + id(two + 4) + "|2000|4096|9000; " +
                id(two + 2) + "|-|-1|10|0; ");
  EXPECT_EQ(
      rows_of(
          out,
          "select pid, gpuId, op_id is null, first_time, note from wavetap_tomorrow where id < " +
              id(two)),
      "10000100|1000|0|3000|kept; 10000100|-1|0|0|cut; 10000100|1000|1|1|of no op; ");
  // Every loss of every rank, and their sum where reports look.
  EXPECT_EQ(rows_of(out, "select pid, reason, count from wavetap_loss where count > 0"),
            "10000100|ring full|3; 20000100|ring full|3; ");
  Result<CheckResult> checked = check_trace(out);
  ASSERT_TRUE(checked.ok());
  EXPECT_EQ(checked->losses, "6");
  EXPECT_TRUE(checked->findings.empty());
  EXPECT_EQ(rows_of(out, "pragma integrity_check"), "ok; ");
}

TEST_F(Edit, MergedTimesMoveUnlessThereIsNone) {
  const std::string a =
      make("a.rpd", "insert into rocpd_metadata (tag, value) values ('epoch_offset_ns', '1000');");
  const std::string b = make(
      "b.rpd", std::string(kOwnTables) +
                   "insert into rocpd_metadata (tag, value) values ('epoch_offset_ns', '1500');");
  ASSERT_TRUE(merge_traces({a, b}, file("m.rpd"), {}).ok());
  EXPECT_EQ(rows_of(file("m.rpd"), "select start, \"end\" from wavetap_allocation"),
            "4500|9500; 1400|0; ");
  EXPECT_EQ(rows_of(file("m.rpd"), "select start, \"end\" from wavetap_process"), "1400|0; ");
  EXPECT_EQ(rows_of(file("m.rpd"), "select created, destroyed from wavetap_queue"), "1450|-; ");
  EXPECT_EQ(rows_of(file("m.rpd"), "select peak_time from wavetap_device"), "4500; ");
  // The result is on the first file's clock and can be merged again.
  EXPECT_EQ(
      rows_of(file("m.rpd"), "select value from rocpd_metadata where tag = 'epoch_offset_ns'"),
      "1000; ");
}

TEST_F(Edit, TrimTakesOurOwnTablesAlong) {
  const std::string in = make(
      "in.rpd",
      std::string(kOwnTables) +
          "create table notes (op_id integer, n text); insert into notes values (9, 'mine');"
          "create view names as select string from rocpd_string; create index i on "
          "wavetap_tomorrow (op_id);"
          "create table w (a text primary key, b) without rowid; insert into w values ('x', 2.5)");
  TrimOptions options;
  options.begin = 3000;
  options.end = 5000;
  const std::string out = file("out.rpd");
  Result<TrimResult> result = trim(in, out, options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->left_out.empty());
  EXPECT_EQ(rows_of(out, "select op_id, kernel_id, hex(kernarg) from wavetap_dispatch"),
            "3|2|00FF00; 4|1|00FF00; 5|2|00FF00; ");
  EXPECT_EQ(rows_of(out, "select id from wavetap_allocation"), "1; 2; ");
  EXPECT_EQ(rows_of(out, "select count(*) from wavetap_inflight"), "0; ");
  EXPECT_EQ(rows_of(out, "select note from wavetap_tomorrow indexed by i where op_id is not 99"),
            "of no op; kept; ");
  for (const char* table : {"wavetap_process", "wavetap_library", "wavetap_device", "wavetap_queue",
                            "wavetap_code_object"})
    EXPECT_EQ(rows_of(out, std::string("select count(*) from ") + table), "1; ") << table;
  EXPECT_EQ(rows_of(out, "select count(*) from wavetap_kernel"), "2; ");
  EXPECT_EQ(rows_of(out, "select sum(count) from wavetap_loss"), "3; ");
  EXPECT_EQ(check_trace(out)->losses, "3");
  // What is not ours is left alone.
  EXPECT_EQ(rows_of(out, "select * from notes"), "9|mine; ");
  EXPECT_EQ(rows_of(out, "select * from w"), "x|2.5; ");
  EXPECT_EQ(rows_of(out, "select count(*) > 4 from names"), "1; ");
  EXPECT_EQ(rows_of(out, "pragma integrity_check"), "ok; ");
  EXPECT_EQ(rows_of(in, "select count(*) from rocpd_api"), "11; ");
}

TEST_F(Edit, TheViewOfTopKernelsCountsEqualSpansOfTwoGpus) {
  // As the first op is, on another GPU in step with it.
  const std::string path = make("twins.rpd",
                                "insert into rocpd_op select 11, 1, 0, 11, start, end, "
                                "description_id, opType_id from rocpd_op where id = 1;"
                                "insert into rocpd_api_ops (api_id, op_id) values (1, 11)");
  EXPECT_EQ(rows_of(path, "select TotalCalls from top where Name = 'odd'"), "6; ");
}

TEST_F(Edit, TrimDropsTextsAndStringsNobodyUses) {
  const std::string in =
      make("in.rpd",
           "insert into rocpd_string values (99, 'unused'); insert into rocpd_ustring values (99, "
           "'unused');"
           "insert into rocpd_stackframe (api_ptr_id, depth, name_id) values (1, 0, 6), (4, 0, 5)");
  TrimOptions options;
  options.kernel = "even";
  ASSERT_TRUE(trim(in, file("out.rpd"), options).ok());
  EXPECT_EQ(rows_of(file("out.rpd"), "select string from rocpd_string"),
            "; hipLaunchKernel; hip; KernelExecution; even; ");
  EXPECT_EQ(rows_of(file("out.rpd"), "select string from rocpd_ustring"), "; ");
  EXPECT_EQ(rows_of(file("out.rpd"), "select api_ptr_id from rocpd_stackframe"), "4; ");
}

TEST_F(Edit, FilesSqliteMustReadAreMergedAndTrimmedToo) {
  const std::string in = make("in.rpd", "alter table rocpd_op add column note text default 'x'");
  {
    Result<Db> db = Db::open_read_write(in);
    ASSERT_TRUE(db->exec("insert into rocpd_op values (50, 0, 0, 1, 4200, 4300, 5, 4, 'y'); pragma "
                         "journal_mode = wal")
                    .ok());
  }
  TrimOptions options;
  options.begin = 3000;
  options.end = 5000;
  Result<TrimResult> result = trim(in, file("out.rpd"), options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(rows_of(file("out.rpd"), "select id, note from rocpd_op"), "3|x; 4|x; 5|x; 50|y; ");
  Result<std::vector<MergedFile>> merged = merge_traces({in, in}, file("m.rpd"), {});
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  EXPECT_EQ(rows_of(file("m.rpd"), "select count(*), count(distinct id) from rocpd_op"), "22|22; ");
}

TEST_F(Edit, IdsThatLeaveNoRoomAreRefused) {
  const std::string a = make("a.rpd"),
                    b = make("b.rpd", "insert into rocpd_string values (-5, 'x')");
  Result<std::vector<MergedFile>> merged = merge_traces({a, b}, file("m.rpd"), {});
  ASSERT_FALSE(merged.ok());
  EXPECT_NE(merged.error().message.find("rocpd_string: an id of -5"), std::string::npos)
      << merged.error().message;
  EXPECT_FALSE(std::filesystem::exists(file("m.rpd")));
  const std::string c = make("c.rpd", "insert into rocpd_string values (9223372036854775807, 'x')");
  EXPECT_FALSE(merge_traces({c, a}, file("m.rpd"), {}).ok());
}

TEST_F(Edit, MergeSaysWhichFileIsOfALaterVersion) {
  const std::string a = make("a.rpd");
  const std::string b =
      make("b.rpd", "update rocpd_metadata set value = '99' where tag = 'schema_version'");
  const Result<std::vector<MergedFile>> merged = merge_traces({a, b}, file("m.rpd"), {});
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  EXPECT_EQ((*merged)[0].newer_schema, "");
  EXPECT_NE((*merged)[1].newer_schema.find("schema version 99"), std::string::npos);
}

TEST_F(Edit, MergeSaysWhatDoesNotFitTogether) {
  const auto clock = [](const char* offset) {
    return std::string(
               "insert into rocpd_metadata (tag, value) values ('boot_id', 'b'), "
               "('epoch_offset_ns', '") +
           offset + "');";
  };
  const std::string a = make("a.rpd", clock("1000"));
  const std::string emulated =
      make("emulated.rpd",
           clock("1000") + "insert into rocpd_metadata (tag, value) values ('emulated', '1')");
  const std::string later = make("later.rpd", clock("900000"));
  std::filesystem::copy_file(a, file("copy.rpd"));
  Result<std::vector<MergedFile>> merged =
      merge_traces({a, a, file("copy.rpd"), emulated, later}, file("m.rpd"), {});
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  const auto conflict = [&](size_t rank) {
    return (*merged)[rank].conflicts.empty() ? "" : (*merged)[rank].conflicts.front();
  };
  EXPECT_EQ(conflict(0), "");
  EXPECT_EQ(conflict(1), "is the same file as rank 0");
  EXPECT_EQ(conflict(2), "looks like a copy of rank 0");
  EXPECT_NE(conflict(3).find("virtual GPU"), std::string::npos);
  EXPECT_NE(conflict(4).find("--align"), std::string::npos);
}

}  // namespace
}  // namespace wavetap::store
