// Traces made here, added to each other, and asked in SQL.
#include "store/append.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "format/test_writer.h"
#include "store/check.h"
#include "store/import.h"
#include "store/schema.h"
#include "store/sqlite.h"

namespace wavetap::store {
namespace {

using namespace format;
using format::test::TestFolder;
using format::test::TestProcess;

constexpr int64_t kMs = 1'000'000;

struct Recorded {
  uint32_t pid = 100;
  int64_t start = 1000 * kMs;
  const char* host = "host";
  const char* boot = "boot-1";
  int64_t epoch = 1'700'000'000'000'000'000;
  uint32_t bdf = 0x300;
  uint32_t calls = 2;
};

class Append : public testing::Test {
 protected:
  Append() : folder_("append") {}

  // One process with a GPU, some calls, each with a kernel.
  std::string trace(const char* name, const Recorded& run) {
    const std::string session = folder_.file(std::string(name) + ".raw");
    std::filesystem::create_directories(session);
    {
      TestProcess p(session, run.pid, 7, 8192);
      ProcessFact process{};
      process.time = static_cast<uint64_t>(run.start);
      process.pid = run.pid;
      p.fact(process, Kind::kProcess, 0, {"/usr/bin/app", "app", run.host, run.boot, "0.1"});
      const auto now = static_cast<uint64_t>(run.start);
      p.fact(ClockSampleFact{{}, now, now, run.start, run.start, run.start + run.epoch},
             Kind::kClockSample);
      p.fact(FunctionFact{{}, 1, 0}, Kind::kFunction, 0, {"hipLaunchKernel", ""});
      AgentFact agent{};
      agent.is_gpu = 1;
      agent.bdf = run.bdf;
      p.fact(agent, Kind::kAgent, 0, {"gfx1030", "Test GPU", ""});
      p.fact(QueueFact{{}, now, 0x7000, 1, 0, 64, 0}, Kind::kQueue, 1);
      p.fact(KernelFact{{}, now, 0x1000, 0, 16, 0, 0}, Kind::kKernel, 0, {"square"});
      auto& stream = p.stream(1, run.pid);
      for (uint32_t i = 1; i <= run.calls; ++i) {
        const uint64_t at = now + i * static_cast<uint64_t>(kMs);
        DispatchRecord dispatch{};
        dispatch.id = i;
        dispatch.time = at + 10;
        dispatch.kernel_object = 0x1000;
        dispatch.owner = {1, i};
        dispatch.queue = 1;
        stream.put(dispatch, Kind::kDispatch);
        CallRecord call{};
        call.start = at;
        call.duration = 1000;
        call.function = 1;
        call.call = i;
        stream.put(call, Kind::kCall);
        CompleteRecord complete{};
        complete.id = i;
        complete.start_ns = static_cast<int64_t>(at) + 100;
        complete.end_ns = static_cast<int64_t>(at) + 900;
        stream.put(complete, Kind::kComplete, static_cast<uint8_t>(Kind::kDispatch));
      }
    }
    const std::string out = folder_.file(name);
    Result<ImportResult> imported = import_session(session, out);
    EXPECT_TRUE(imported.ok()) << imported.error().message;
    return out;
  }

  AppendResult append(const std::string& file, const std::string& added) {
    Result<AppendResult> result = append_trace(file, added);
    EXPECT_TRUE(result.ok()) << result.error().message;
    Result<CheckResult> check = check_trace(file);
    EXPECT_TRUE(check.ok() && check->sound());
    for (const Finding& finding : check->findings) ADD_FAILURE() << finding.what;
    return result.ok() ? *result : AppendResult{};
  }
  static std::string row(const std::string& file, const std::string& sql) {
    Result<Db> db = Db::open_read_only(file);
    EXPECT_TRUE(db.ok());
    Result<Stmt> stmt = db->prepare(sql);
    EXPECT_TRUE(stmt.ok()) << stmt.error().message;
    std::string out;
    while (stmt.ok() && stmt->step()) {
      out += out.empty() ? "" : " ";
      for (int i = 0; i < stmt->columns(); ++i)
        out += (i == 0 ? "" : "|") + (stmt->is_null(i) ? "null" : std::string(stmt->text(i)));
    }
    return out;
  }

  TestFolder folder_;
};

TEST_F(Append, KeepsWhatIsThereAndAddsTheRest) {
  const std::string file = trace("a.rpd", {});
  const AppendResult result = append(file, trace("b.rpd", {.pid = 101, .calls = 3}));
  EXPECT_EQ(result.calls_before, 2u);
  EXPECT_EQ(result.method, "same clock");
  EXPECT_EQ(row(file, "select pid, count(*) from rocpd_api group by pid"), "100|2 101|3");
  EXPECT_EQ(row(file, "select session, pid from wavetap_process"), "0|100 1|101");
  EXPECT_EQ(row(file, "select count(*) from op where description = 'square'"), "5");
  EXPECT_EQ(row(file,
                "select count(*) from rocpd_api_ops l join rocpd_api a on a.id = l.api_id "
                "join rocpd_op o on o.id = l.op_id where o.start = a.start + 100"),
            "5");
  EXPECT_EQ(row(file, "select value from rocpd_metadata where tag = 'session_count'"), "2");
}

TEST_F(Append, ManyTimesOverGivesEachASessionOfItsOwn) {
  const std::string file = trace("a.rpd", {});
  for (uint32_t i = 1; i < 8; ++i)
    append(file, trace(("more" + std::to_string(i) + ".rpd").c_str(), {.pid = 100 + i}));
  EXPECT_EQ(row(file, "select count(distinct id >> 32), count(*) from rocpd_api"), "8|16");
}

TEST_F(Append, GivesTheSameGpuOneNumberAndItsQueuesSeveral) {
  const std::string file = trace("a.rpd", {});
  append(file, trace("b.rpd", {.pid = 101}));
  append(file, trace("c.rpd", {.pid = 102, .bdf = 0x400}));
  EXPECT_EQ(row(file, "select id, pci from wavetap_device"), "0|0000:03:00.0 1|0000:04:00.0");
  EXPECT_EQ(row(file, "select distinct gpuId, queueId from rocpd_op order by 2"), "0|0 0|1 1|2");
  EXPECT_EQ(row(file, "select id, gpuId from wavetap_queue"), "0|0 1|0 2|1");
}

TEST_F(Append, TellsGpusOfOtherMachinesApart) {
  const std::string file = trace("a.rpd", {});
  append(file, trace("b.rpd", {.pid = 101, .host = "other", .boot = "boot-2"}));
  EXPECT_EQ(row(file, "select distinct gpuId from rocpd_op"), "0 1");
}

TEST_F(Append, TellsProcessesOfOneNumberApart) {
  const std::string file = trace("a.rpd", {});
  EXPECT_TRUE(append(file, trace("b.rpd", {.calls = 1})).renumbered);
  EXPECT_EQ(row(file, "select pid, count(*) from rocpd_api group by pid"), "100|2 10000100|1");
  EXPECT_EQ(row(file, "select node, pid from napi where id >= 4294967296"), "1|100");
}

TEST_F(Append, BringsTimesOfAnotherBootTogetherByWallClock) {
  const std::string file = trace("a.rpd", {});
  const Recorded later{
      .pid = 101, .boot = "boot-2", .epoch = 1'700'000'000'000'000'000 + 5000 * kMs};
  EXPECT_EQ(append(file, trace("b.rpd", later)).method, "wall clock");
  EXPECT_EQ(row(file, "select min(start) from rocpd_api where pid = 101"),
            std::to_string(6001 * kMs));
}

TEST_F(Append, AddsToATraceWithoutTablesOfOurs) {
  const std::string file = folder_.file("rpd.rpd");
  {
    Result<Db> db = Db::create(file);
    ASSERT_TRUE(db.ok());
    ASSERT_TRUE(create_schema(*db).ok());
    ASSERT_TRUE(db->exec("insert into rocpd_string values (1, ''), (2, 'hipFree');"
                         "insert into rocpd_ustring values (1, '');"
                         "insert into rocpd_api values (1, 9, 9, 10, 20, 2, 1, 1, 1);"
                         "insert into rocpd_metadata (tag, value) values ('session_count', '1')")
                    .ok());
  }
  append(file, trace("b.rpd", {}));
  EXPECT_EQ(row(file, "select pid, count(*) from rocpd_api group by pid"), "9|1 100|2");
  EXPECT_EQ(row(file, "select pid from wavetap_process"), "100");
}

TEST_F(Append, LeavesAFileAloneThatIsNoTrace) {
  const std::string file = folder_.file("note.txt");
  {
    Result<Db> db = Db::create(file);
    ASSERT_TRUE(db.ok() && db->exec("create table t (x)").ok());
  }
  const Result<AppendResult> result = append_trace(file, trace("b.rpd", {}));
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("not a trace"), std::string::npos);
  EXPECT_EQ(row(file, "select count(*) from sqlite_master"), "1");
}

TEST_F(Append, LeavesTheFileAsItWasWhenItFails) {
  const std::string file = trace("a.rpd", {});
  const std::string damaged = trace("b.rpd", {.pid = 101});
  {
    Result<Db> db = Db::open_read_write(damaged);
    ASSERT_TRUE(db->exec("update rocpd_metadata set value = '1' where tag = 'session_count';"
                         "create table wavetap_zzz (id integer primary key, x text);"
                         "insert into wavetap_zzz values (1, 'a')")
                    .ok());
  }
  {
    Result<Db> db = Db::open_read_write(file);
    // A table that refuses rows.
    ASSERT_TRUE(
        db->exec("create table wavetap_zzz (id integer primary key, x text check (x = ''))").ok());
  }
  EXPECT_FALSE(append_trace(file, damaged).ok());
  EXPECT_EQ(row(file, "select pid, count(*) from rocpd_api group by pid"), "100|2");
}

}  // namespace
}  // namespace wavetap::store
