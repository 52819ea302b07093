// Sessions made here, imported, and asked in SQL.
#include "store/import.h"

#include <gtest/gtest.h>

#include <fstream>

#include "format/session.h"
#include "format/test_writer.h"
#include "store/check.h"
#include "store/sqlite.h"
#include "store/trace.h"

namespace wavetap::store {
namespace {

using namespace format;
using format::test::TestFolder;
using format::test::TestProcess;
using format::test::TestStream;
using format::test::texts;

constexpr int64_t kBoot = 5'000'000'000;  // CLOCK_BOOTTIME - CLOCK_MONOTONIC: the machine has slept
constexpr uint64_t kHz = 2'500'000'000;   // not used: the test clock counts boottime ns

enum Function : uint16_t { kMalloc = 1, kMemcpy, kLaunch, kMemset, kGraphLaunch, kSync, kFree };

class Import : public testing::Test {
 protected:
  Import() : folder_("import"), session_(folder_.file("session")), out_(folder_.file("out.rpd")) {
    std::filesystem::create_directories(session_);
  }

  // A process with two GPUs, the functions above and three kernels.
  TestProcess& process(uint32_t pid, uint64_t start) {
    processes_.push_back(std::make_unique<TestProcess>(session_, pid, start, 8192));
    TestProcess& p = *processes_.back();
    ProcessFact fact{};
    fact.time = 1000;
    fact.clock_hz = kHz;
    fact.pid = pid;
    fact.emulated = 1;
    p.fact(fact, Kind::kProcess, 0,
           {"/usr/bin/app", std::string_view("app\0--fast\0", 11), "host", "boot-1", "0.1"});
    p.fact(
        ClockSampleFact{
            {}, 1000 + kBoot, 1000 + kBoot, 1000 + kBoot, 1000, 1'700'000'000'000'000'000},
        Kind::kClockSample);
    const auto function = [&](uint32_t number, const char* name, const char* layout) {
      p.fact(FunctionFact{{}, number, 0}, Kind::kFunction, 0, {name, layout});
    };
    function(kMalloc, "hipMalloc", "ptr:op,size:z");
    function(kMemcpy, "hipMemcpyAsync", "dst:p,src:p,sizeBytes:z,kind:e:hipMemcpyKind,stream:p");
    function(kLaunch, "hipLaunchKernel",
             "function_address:p,numBlocks:d3,dimBlocks:d3,args:p,sharedMemBytes:z,stream:p");
    function(kMemset, "hipMemset", "dst:p,value:i,sizeBytes:z");
    function(kGraphLaunch, "hipGraphLaunch", "graphExec:p,stream:p");
    function(kSync, "hipDeviceSynchronize", "");
    function(kFree, "hipFree", "ptr:p");
    AgentFact agent{};
    agent.number = 0;
    agent.gpu_index = UINT32_MAX;
    p.fact(agent, Kind::kAgent, 0, {"cpu", "CPU", ""});
    for (uint32_t gpu = 0; gpu < 2; ++gpu) {
      agent.number = gpu + 1;
      agent.is_gpu = 1;
      agent.gpu_index = gpu;
      agent.driver_node = gpu + 1;
      agent.bdf = 0x300 + gpu * 0x100;
      p.fact(agent, Kind::kAgent, 0, {"gfx1030", "Test GPU", ""});
    }
    constexpr auto kCreated = static_cast<uint8_t>(QueueEvent::kCreated);
    p.fact(QueueFact{{}, 1000, 0x7000, 1, 1, 1024, 0}, Kind::kQueue, kCreated);
    p.fact(QueueFact{{}, 1000, 0x8000, 2, 2, 1024, 0}, Kind::kQueue, kCreated);
    p.fact(KernelFact{{}, 1000, 0x1000, 0, 16, 256, 0}, Kind::kKernel, 0, {"_Z5saxpyifPKfPf"});
    p.fact(KernelFact{{}, 1000, 0x2000, 0, 16, 0, 0}, Kind::kKernel, 0,
           {"__amd_rocclr_fillBufferAligned"});
    p.fact(KernelFact{{}, 1000, 0x3000, 0, 16, 0, 0}, Kind::kKernel, 0,
           {"__amd_rocclr_copyBuffer"});
    return p;
  }

  static CallRecord call(uint16_t function, uint32_t number, uint64_t start, uint32_t duration,
                         uint16_t depth = 0, int32_t result = 0) {
    CallRecord r{};
    r.start = start + kBoot;
    r.duration = duration;
    r.function = function;
    r.call = number;
    r.depth = depth;
    r.result = result;
    return r;
  }
  static DispatchRecord dispatch(uint64_t id, Owner owner, uint64_t time, uint64_t kernel,
                                 uint32_t queue = 1) {
    DispatchRecord r{};
    r.id = id;
    r.time = time + kBoot;
    r.kernel_object = kernel;
    r.owner = owner;
    r.queue = queue;
    r.grid[0] = 1024, r.grid[1] = r.grid[2] = 1;
    r.workgroup[0] = 256, r.workgroup[1] = r.workgroup[2] = 1;
    r.group_bytes = 512;
    r.private_bytes = 16;
    return r;
  }
  static CompleteRecord complete(uint64_t id, int64_t start, int64_t end) {
    return {{}, id, start + kBoot, end + kBoot};
  }

  ImportResult import() {
    for (const auto& p : processes_) p->flush();
    Result<ImportResult> result = import_session(session_, out_);
    EXPECT_TRUE(result.ok()) << result.error().message;
    Result<Db> db = Db::open_read_only(out_);
    EXPECT_TRUE(db.ok());
    db_ = std::move(*db);
    Result<Stmt> integrity = db_.prepare("pragma integrity_check");
    EXPECT_TRUE(integrity->step());
    EXPECT_EQ(integrity->text(0), "ok");
    return std::move(*result);
  }

  // First row, columns joined by '|'.
  std::string row(const std::string& sql) {
    Result<Stmt> stmt = db_.prepare(sql);
    EXPECT_TRUE(stmt.ok()) << stmt.error().message;
    if (!stmt.ok() || !stmt->step()) return "no row";
    std::string out;
    for (int i = 0; i < stmt->columns(); ++i)
      out += (i == 0 ? "" : "|") + (stmt->is_null(i) ? "null" : std::string(stmt->text(i)));
    return out;
  }
  int64_t number(const std::string& sql) {
    Result<int64_t> value = db_.query_int(sql);
    EXPECT_TRUE(value.ok()) << value.error().message;
    return value.ok() ? *value : -1;
  }
  void expect_sound() {
    Result<CheckResult> check = check_trace(out_);
    ASSERT_TRUE(check.ok()) << check.error().message;
    for (const Finding& finding : check->findings)
      EXPECT_FALSE(finding.is_error) << finding.what << ", " << finding.example;
    EXPECT_TRUE(check->sound());
  }

  TestFolder folder_;
  std::string session_, out_;
  std::vector<std::unique_ptr<TestProcess>> processes_;
  Db db_;
};

TEST_F(Import, ACallWithItsDispatch) {
  TestProcess& p = process(100, 1);
  TestStream& t = p.stream(1, 101);
  t.put(dispatch(1, {1, 1}, 2100, 0x1000), Kind::kDispatch);
  // function, {4,1,1} blocks, {256,1,1} threads, args, dynamic LDS, stream
  t.put(call(kLaunch, 1, 2000, 500), Kind::kCall, kCallHasArguments,
        {0x4000, 4 | 1ull << 32, 1, 256 | 1ull << 32, 1, 0x9000, 256, 0xab0});
  t.put(complete(1, 3000, 3700), Kind::kComplete, static_cast<uint8_t>(Kind::kDispatch));
  const ImportResult result = import();
  EXPECT_EQ(result.events.calls, 1u);
  EXPECT_EQ(result.events.dispatches, 1u);
  EXPECT_EQ(result.losses, 0u);
  EXPECT_TRUE(result.emulated);
  EXPECT_EQ(row("select id, pid, tid, start, end, domain, category, apiName from api"),
            "1|100|101|2000|2500|hip||hipLaunchKernel");
  EXPECT_EQ(row("select args from api"),
            "function_address = 0x4000 | numBlocks = 4,1,1 | dimBlocks = 256,1,1 | args = 0x9000 | "
            "sharedMemBytes = 256 | stream = 0xab0");
  EXPECT_EQ(row("select * from op"),
            "1|0|0|0|3000|3700|saxpy(int, float, float const*, float*)|KernelExecution");
  EXPECT_EQ(
      row("select * from kernel"),
      "1|0|0|0|3000|3700|700|0xab0|4|1|1|256|1|1|512|16|saxpy(int, float, float const*, float*)");
  EXPECT_EQ(row("select api_id, op_id from rocpd_api_ops"), "1|1");
  EXPECT_EQ(row("select gridX, workgroupX, lds_bytes, dynamic_lds_bytes, submitted, timed from "
                "wavetap_dispatch"),
            "1024|256|512|256|2100|1");
  EXPECT_EQ(row("select name, mangled, internal from wavetap_kernel"),
            "saxpy(int, float, float const*, float*)|_Z5saxpyifPKfPf|0");
  EXPECT_EQ(row("select executable, command, emulated from wavetap_process"),
            "/usr/bin/app|app --fast|1");
  EXPECT_EQ(row("select value from rocpd_metadata where tag = 'epoch_offset_ns'"),
            "1699999999999999000");
  EXPECT_EQ(row("select string from rocpd_string where id = 1"), "");
  expect_sound();
}

TEST_F(Import, CallsAreNumberedInTheOrderTheyBegan) {
  TestProcess& p = process(100, 1);
  TestStream& a = p.stream(1, 101);
  TestStream& b = p.stream(2, 102);
  // Thread a: call 1 encloses calls 2 and 3, whose records come first. Thread b runs in between.
  a.put(call(kMalloc, 2, 1100, 10, 1), Kind::kCall);
  a.put(call(kMalloc, 3, 1200, 10, 1), Kind::kCall);
  a.put(call(kSync, 1, 1000, 900), Kind::kCall);
  a.put(call(kFree, 4, 2000, 10), Kind::kCall);
  b.put(call(kFree, 1, 1150, 10), Kind::kCall);
  import();
  EXPECT_EQ(row("select group_concat(start || ':' || tid, ' ') from (select start, tid from "
                "rocpd_api order by id)"),
            "1000:101 1100:101 1150:102 1200:101 2000:101");
  EXPECT_EQ(number("select count(*) from rocpd_ustring"), 1);
  expect_sound();
}

TEST_F(Import, EveryProcessIsASession) {
  for (uint32_t i = 0; i < 3; ++i) {
    TestProcess& p = process(200 - i, 10 + i);
    p.stream(1, 300 + i).put(dispatch(1, {1, 1}, 2100, 0x1000, 2), Kind::kDispatch);
    p.stream(1, 300 + i).put(call(kLaunch, 1, 2000, 500), Kind::kCall);
    p.stream(1, 300 + i).put(complete(1, 3000, 3700), Kind::kComplete);
    p.stream(1, 300 + i)
        .put(MarkerRecord{{}, 2000 + kBoot, 0}, Kind::kMarker,
             static_cast<uint8_t>(MarkerKind::kInstant), texts({"x", "", ""}));
  }
  const ImportResult result = import();
  EXPECT_EQ(result.processes, 3u);
  EXPECT_EQ(number("select count(*) from rocpd_api_ops l join rocpd_api a on a.id = l.api_id join "
                   "rocpd_op o on o.id = l.op_id"),
            3);
  EXPECT_EQ(row("select group_concat(id || ':' || pid, ' ') from (select id, pid from rocpd_api "
                "where id % 4294967296 = 1 order by id)"),
            "1:200 4294967297:199 8589934593:198");
  EXPECT_EQ(number("select count(*) from rocpd_api where id = 2147483649 + 2 * 4294967296"), 1);
  EXPECT_EQ(number("select count(*) from rocpd_string where string = ''"), 3);
  EXPECT_EQ(row("select value from rocpd_metadata where tag = 'session_count'"), "3");
  // The same GPU everywhere, but lanes of their own.
  EXPECT_EQ(row("select count(distinct gpuId), count(distinct queueId), min(gpuId) from rocpd_op"),
            "1|3|1");
  expect_sound();
}

TEST_F(Import, CopiesFillsAndTheRuntimesOwnKernels) {
  TestProcess& p = process(100, 1);
  TestStream& t = p.stream(1, 101);
  CopyRecord copy{};
  copy.id = 1;
  copy.time = 1100 + kBoot;
  copy.destination = 0xd000;
  copy.source = 0x5000;
  copy.bytes = 5ull << 30;
  copy.owner = {1, 1};
  copy.destination_agent = 2;
  copy.source_agent = 0;
  t.put(copy, Kind::kCopy);
  t.put(call(kMemcpy, 1, 1000, 300), Kind::kCall, kCallHasArguments,
        {0xd000, 0x5000, 5ull << 30, 1, 0xab0});
  t.put(complete(1, 1500, 1900), Kind::kComplete);
  t.put(dispatch(2, {1, 2}, 2100, 0x2000), Kind::kDispatch);
  t.put(call(kMemset, 2, 2000, 300), Kind::kCall, kCallHasArguments, {0xd000, 0, 4096});
  t.put(complete(2, 2500, 2900), Kind::kComplete);
  t.put(dispatch(3, {1, 3}, 3100, 0x3000), Kind::kDispatch);
  t.put(call(kMemcpy, 3, 3000, 300), Kind::kCall, kCallHasArguments,
        {0x5000, 0xd000, 64, 2, 0xab0});
  t.put(complete(3, 3500, 3900), Kind::kComplete);
  t.put(call(kMemcpy, 4, 4000, 300, 0, 1), Kind::kCall, kCallHasArguments, {0, 0, 64, 2, 0});
  import();
  EXPECT_EQ(
      row("select stream, size, kind, dst, src, dstDevice, srcDevice, sync from rocpd_copyapi"),
      "0xab0|5368709120|1|0xd000|0x5000|1|-1|0");
  EXPECT_EQ(row("select args from api where start = 1000"),
            "dst = 0xd000 | src = 0x5000 | sizeBytes = 5368709120 | kind = hipMemcpyHostToDevice | "
            "stream = 0xab0");
  EXPECT_EQ(row("select gpuId, description, opType from op where id = 1"), "1||CopyHostToDevice");
  EXPECT_EQ(row("select description, opType from op where id = 2"),
            "__amd_rocclr_fillBufferAligned|FillBuffer");
  EXPECT_EQ(row("select description, opType from op where id = 3"),
            "__amd_rocclr_copyBuffer|CopyDeviceToHost");
  EXPECT_EQ(number("select count(*) from rocpd_kernelapi"), 0);
  EXPECT_EQ(row("select args from api where start = 4000"),
            "dst = 0x0 | src = 0x0 | sizeBytes = 64 | kind = hipMemcpyDeviceToHost | stream = 0x0 "
            "| result = hipErrorInvalidValue");
  EXPECT_EQ(number("select count(*) from rocpd_copyapi"), 3);
  EXPECT_EQ(
      row("select kind from wavetap_queue q join rocpd_op o on o.queueId = q.id where o.id = 1"),
      "CopyHostToDevice");
  expect_sound();
}

TEST_F(Import, AGraphLaunchKeepsItsNodes) {
  TestProcess& p = process(100, 1);
  TestStream& t = p.stream(1, 101);
  for (uint32_t i = 0; i < 5; ++i) {
    DispatchRecord d = dispatch(i + 1, {1, 1}, 2100 + i, 0x1000);
    d.ordinal = i;
    t.put(d, Kind::kDispatch);
  }
  t.put(call(kGraphLaunch, 1, 2000, 300), Kind::kCall, kCallHasArguments, {0x6000, 0});
  for (uint32_t i = 0; i < 5; ++i)
    t.put(complete(i + 1, 3000 + i * 100, 3050 + i * 100), Kind::kComplete);
  import();
  EXPECT_EQ(row("select count(*), min(api_id), max(api_id) from rocpd_api_ops"), "5|1|1");
  EXPECT_EQ(row("select group_concat(sequenceId) from rocpd_op"), "0,1,2,3,4");
  EXPECT_EQ(number("select count(*) from rocpd_kernelapi"), 0);
  EXPECT_EQ(row("select group_concat(node) from wavetap_dispatch"), "0,1,2,3,4");
  expect_sound();
}

TEST_F(Import, MarkersBecomeRanges) {
  TestProcess& p = process(100, 1);
  TestStream& t = p.stream(1, 101);
  const auto marker = [&](TestStream& s, MarkerKind kind, uint64_t time, const char* text = "",
                          const char* domain = "", const char* category = "", uint64_t range = 0) {
    const bool named =
        kind == MarkerKind::kPush || kind == MarkerKind::kInstant || kind == MarkerKind::kStart;
    s.put(MarkerRecord{{}, time + kBoot, range}, Kind::kMarker, static_cast<uint8_t>(kind),
          named ? texts({text, domain, category}) : std::vector<uint64_t>{});
  };
  marker(t, MarkerKind::kPop, 1500);  // its push was before the recording
  marker(t, MarkerKind::kPush, 2000, "outer");
  marker(t, MarkerKind::kPush, 2100, "inner", "io", "disk");
  marker(t, MarkerKind::kInstant, 2200, "now");
  marker(t, MarkerKind::kPop, 2300);
  marker(t, MarkerKind::kPop, 2400);
  marker(t, MarkerKind::kStart, 2500, "async", "", "", 7);
  marker(p.stream(2, 102), MarkerKind::kStop, 2900, "", "", "", 7);
  t.put(MarkerRecord{{}, 2950 + kBoot, 0}, Kind::kMarker,
        static_cast<uint8_t>(MarkerKind::kPush) | kMarkerNamed,
        texts({"file.py:12", "python", "train"}));
  marker(t, MarkerKind::kPop, 2960);
  marker(t, MarkerKind::kPush, 3000, "never ended");
  t.put(call(kSync, 1, 3500, 500), Kind::kCall);
  const ImportResult result = import();
  EXPECT_EQ(result.events.markers, 6u);
  EXPECT_EQ(
      row("select domain, apiName, category, args, start, end from api where domain = 'python'"),
      "python|train||file.py:12|2950|2960");
  EXPECT_EQ(row("select group_concat(args || ' ' || start || '-' || end || ' ' || tid, ', ') from "
                "(select * from api where apiName = 'UserMarker' order by id)"),
            "outer 2000-2400 101, inner 2100-2300 101, now 2200-2200 101, async 2500-2900 101, "
            "never ended 3000-4000 101");
  EXPECT_EQ(row("select domain, category from api where args = 'inner'"), "UserMarker|io/disk");
  EXPECT_EQ(number("select min(id) from rocpd_api where id > 100"), 2147483649);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_EQ(result.notes[0], "process 100: 1 marker ends without a beginning");
  expect_sound();
}

TEST_F(Import, StoppingClosesTheOpenMarkers) {
  TestProcess& p = process(100, 1);
  TestStream& t = p.stream(1, 101);
  p.fact(ControlFact{{}, 2500 + kBoot, 1, 0}, Kind::kControl,
         static_cast<uint8_t>(Control::kStopped));
  p.fact(ControlFact{{}, 3000 + kBoot, 1, 1}, Kind::kControl,
         static_cast<uint8_t>(Control::kStarted));
  t.put(MarkerRecord{{}, 2000 + kBoot, 0}, Kind::kMarker, 0, texts({"before", "", ""}));
  t.put(MarkerRecord{{}, 3100 + kBoot, 0}, Kind::kMarker, 0, texts({"after", "", ""}));
  t.put(MarkerRecord{{}, 3200 + kBoot, 0}, Kind::kMarker, static_cast<uint8_t>(MarkerKind::kPop));
  t.put(MarkerRecord{{}, 3300 + kBoot, 0}, Kind::kMarker, static_cast<uint8_t>(MarkerKind::kPop));
  import();
  EXPECT_EQ(row("select group_concat(args || ' ' || start || '-' || end, ', ') from (select * from "
                "api order by id)"),
            "before 2000-2500, after 3100-3200");
  expect_sound();
}

TEST_F(Import, WhatNeverEndedIsKeptApart) {
  TestProcess& p = process(100, 1);
  TestStream& t = p.stream(1, 101);
  t.put(call(kMalloc, 1, 1500, 100), Kind::kCall, kCallHasArguments, {0xd000, 4096});
  AllocateRecord a{};
  a.time = 1600 + kBoot;
  a.address = 0xd000;
  a.bytes = 4096;
  a.owner = {1, 1};
  a.agent = 1;
  t.put(a, Kind::kAllocate, static_cast<uint8_t>(MemoryKind::kDevice));
  t.put(dispatch(1, {1, 2}, 2100, 0x1000), Kind::kDispatch);
  t.put(call(kLaunch, 2, 2000, 500), Kind::kCall);
  t.set_open_call(kSync, 3, 2600 + kBoot);
  p.fact(FaultFact{{}, 2700 + kBoot, 0xe010, 1, 1, 1, 0}, Kind::kFault, 0, {"page not present"});
  const ImportResult result = import();
  EXPECT_EQ(result.unfinished, 1u);
  EXPECT_EQ(result.faults, 1u);
  EXPECT_EQ(number("select count(*) from rocpd_op"), 0);
  EXPECT_EQ(number("select count(*) from rocpd_api_ops"), 0);
  EXPECT_EQ(row("select pid, api_id, kind, gpuId, submitted, name, gridX, workgroupX from "
                "wavetap_inflight"),
            "100|2|kernel|0|2100|saxpy(int, float, float const*, float*)|1024|256");
  EXPECT_EQ(row("select tid, name, start from wavetap_open_call"), "101|hipDeviceSynchronize|2600");
  EXPECT_EQ(row("select address, what, owner from wavetap_fault"),
            "0xe010|page not present|in no allocation; 16 bytes past the end of 4096 bytes of "
            "device memory at 0xd000");
  expect_sound();
}

TEST_F(Import, MemoryHeldPerDevice) {
  TestProcess& p = process(100, 1);
  TestStream& t = p.stream(1, 101);
  const auto allocate = [&](uint64_t time, uint64_t address, uint64_t bytes, MemoryKind kind) {
    AllocateRecord a{};
    a.time = time + kBoot;
    a.address = address;
    a.bytes = bytes;
    a.agent = 1;
    t.put(a, Kind::kAllocate, static_cast<uint8_t>(kind));
  };
  allocate(2000, 0x1000, 100, MemoryKind::kDevice);
  allocate(2100, 0x2000, 200, MemoryKind::kDevice);
  allocate(2150, 0x9000, 999, MemoryKind::kHost);
  t.put(FreeRecord{{}, 2200 + kBoot, 0x1000, {}}, Kind::kFree);
  allocate(2300, 0x1000, 50, MemoryKind::kDevice);  // the address again
  t.put(FreeRecord{{}, 2400 + kBoot, 0x7777, {}}, Kind::kFree);
  import();
  EXPECT_EQ(row("select id, peak_bytes, peak_time from wavetap_device"), "0|300|2100");
  EXPECT_EQ(number("select count(*) from wavetap_allocation"), 4);
  EXPECT_EQ(row("select kind, bytes, start, end from wavetap_allocation where id = 1"),
            "device|100|2000|2200");
  EXPECT_EQ(
      row("select group_concat(value || ' ' || start || '-' || end, ', ') from rocpd_monitor"),
      "100 2000-2100, 300 2100-2200, 200 2200-2300, 250 2300-2400");
  expect_sound();
}

// What HSA gives out while a call is open, as the recorder sees it.
AllocateRecord allocation(uint64_t time, uint64_t address, uint64_t bytes, Owner owner) {
  AllocateRecord a{};
  a.time = time + kBoot;
  a.address = address;
  a.bytes = bytes;
  a.owner = owner;
  a.agent = 1;
  return a;
}

TEST_F(Import, WhatTheProgramAskedForIsToldFromWhatTheRuntimeTook) {
  TestProcess& p = process(100, 1);
  TestStream& t = p.stream(1, 101);
  // The first hipMalloc: HIP sets itself up, then gets what was asked for, rounded up.
  t.put(allocation(1010, 0x10000, 4096, {1, 1}), Kind::kAllocate);
  t.put(allocation(1020, 0x20000, 524288, {1, 1}), Kind::kAllocate);
  t.put(allocation(1030, 0x100000, 2097152, {1, 1}), Kind::kAllocate);
  t.put(call(kMalloc, 1, 1000, 100), Kind::kCall, kCallHasArguments, {0x100000, 1000000});
  // Too much: fails, and HIP keeps what it took on the way.
  t.put(allocation(1210, 0x400000, 8192, {1, 2}), Kind::kAllocate);
  t.put(call(kMalloc, 2, 1200, 100, 0, /*result=*/2), Kind::kCall, kCallHasArguments,
        {0, uint64_t{1} << 50});
  // A pool: the pointer lies in memory that was there already.
  t.put(call(kMalloc, 3, 1400, 100), Kind::kCall, kCallHasArguments, {0x20100, 256});
  // Frees: one gives memory back to HSA, one to the pool; HIP allocates even here.
  t.put(allocation(1610, 0x500000, 524288, {1, 4}), Kind::kAllocate);
  t.put(FreeRecord{{}, 1650 + kBoot, 0x100000, {1, 4}}, Kind::kFree);
  t.put(call(kFree, 4, 1600, 100), Kind::kCall, kCallHasArguments, {0x100000});
  t.put(call(kFree, 5, 1800, 100), Kind::kCall, kCallHasArguments, {0x20100});
  import();
  EXPECT_EQ(row("select count(*), sum(asked_bytes) from wavetap_allocation where asked_bytes is "
                "not null"),
            "2|1000256");
  EXPECT_EQ(row("select api_id, bytes, asked_bytes, start, end from wavetap_allocation where "
                "address = '0x100000'"),
            "1|2097152|1000000|1030|1600");
  EXPECT_EQ(row("select api_id, bytes, asked_bytes, gpuId, kind, start, end from "
                "wavetap_allocation where address = '0x20100'"),
            "3|0|256|0|device|1500|1800");
  EXPECT_EQ(row("select count(*), sum(bytes) from wavetap_allocation where asked_bytes is null"),
            "4|1060864");
  EXPECT_EQ(row("select peak_bytes from wavetap_device"), "3158016")
      << "the GPU held all of it, whoever asked";
  expect_sound();
}

TEST_F(Import, AnArrayIsWhatItsCallGotLast) {
  TestProcess& p = process(100, 1);
  p.fact(FunctionFact{{}, 20, 0}, Kind::kFunction, 0,
         {"hipMallocArray", "array:op,desc:p,width:z,height:z,flags:u"});
  p.fact(FunctionFact{{}, 21, 0}, Kind::kFunction, 0, {"hipFreeArray", "array:p"});
  TestStream& t = p.stream(1, 101);
  t.put(allocation(1010, 0x10000, 4096, {1, 1}), Kind::kAllocate);
  t.put(allocation(1030, 0x20000, 65536, {1, 1}), Kind::kAllocate);
  t.put(call(20, 1, 1000, 100), Kind::kCall, kCallHasArguments, {0xaaaa1234, 0, 128, 128, 0});
  t.put(FreeRecord{{}, 1650 + kBoot, 0x20000, {1, 2}}, Kind::kFree);
  t.put(call(21, 2, 1600, 100), Kind::kCall, kCallHasArguments, {0xaaaa1234});
  import();
  EXPECT_EQ(row("select address, bytes, asked_bytes, end from wavetap_allocation where asked_bytes "
                "is not null"),
            "0x20000|65536|65536|1600");
}

TEST_F(Import, AProgramWithoutHipAsksHsaItself) {
  TestProcess& p = process(100, 1);
  TestStream& t = p.stream(1, 101);
  t.put(allocation(1010, 0x10000, 4096, {0, 0}), Kind::kAllocate);
  import();
  EXPECT_EQ(row("select bytes, asked_bytes from wavetap_allocation"), "4096|4096");
}

TEST_F(Import, CopiesBetweenBuffersKnowTheirDevice) {
  TestProcess& p = process(100, 1);
  p.fact(FunctionFact{{}, 20, 0}, Kind::kFunction, 0, {"hipMemcpyDtoD", "dst:p,src:p,sizeBytes:z"});
  TestStream& t = p.stream(1, 101);
  t.put(allocation(500, 0xd000, 4096, {}), Kind::kAllocate);
  t.put(allocation(500, 0xe000, 4096, {}), Kind::kAllocate);
  const auto copy_by_kernel = [&](uint32_t n, uint16_t function, uint64_t start,
                                  std::vector<uint64_t> words) {
    t.put(dispatch(n, {1, n}, start + 10, 0x3000), Kind::kDispatch);
    t.put(call(function, n, start, 300), Kind::kCall, kCallHasArguments, words);
    t.put(complete(n, static_cast<int64_t>(start) + 50, static_cast<int64_t>(start) + 90),
          Kind::kComplete);
  };
  copy_by_kernel(1, kMemcpy, 1000, {0xe000, 0xd010, 64, 3, 0xab0});  // device to device
  copy_by_kernel(2, kMemcpy, 2000, {0xe000, 0xd010, 64, 4, 0xab0});  // by address
  copy_by_kernel(3, 20, 3000, {0xe000, 0xd010, 64});
  copy_by_kernel(4, kMemcpy, 4000, {0x5000, 0xd010, 64, 4, 0xab0});  // by address, to the host
  // By the CPU: no operation at all.
  t.put(call(kMemcpy, 5, 5000, 300), Kind::kCall, kCallHasArguments,
        {0x5000, 0xd010, 64, 2, 0xab0});
  // Of memory that was there before the recording.
  copy_by_kernel(6, kMemcpy, 6000, {0x71000, 0x72000, 64, 3, 0xab0});
  import();
  const auto copied = [&](int id) {
    return row("select kind, dstDevice, srcDevice from rocpd_copyapi where api_ptr_id = " +
               std::to_string(id));
  };
  EXPECT_EQ(copied(1), "3|0|0");
  EXPECT_EQ(copied(2), "4|0|0");
  EXPECT_EQ(copied(3), "3|0|0");
  EXPECT_EQ(copied(4), "4|-1|0");
  EXPECT_EQ(copied(5), "2|-1|0");
  EXPECT_EQ(copied(6), "3|0|0");
  EXPECT_EQ(row("select group_concat(opType, ' ') from (select opType from op order by id)"),
            "CopyDeviceToDevice CopyDeviceToDevice CopyDeviceToDevice CopyDeviceToHost "
            "CopyDeviceToDevice");
  expect_sound();
}

TEST_F(Import, ABoxIsCountedInBytes) {
  TestProcess& p = process(100, 1);
  p.fact(FunctionFact{{}, 20, 0}, Kind::kFunction, 0, {"hipMemcpy3D", "p:v160"});
  std::vector<uint64_t> box(20);
  box[4] = 0x5000;   // srcPtr.ptr
  box[12] = 0xd000;  // dstPtr.ptr
  box[16] = 64, box[17] = 8, box[18] = 3;
  box[19] = 1;
  p.stream(1, 101).put(call(20, 1, 1000, 100), Kind::kCall, kCallHasArguments, box);
  import();
  EXPECT_EQ(row("select size, width, height, kind, dst, src, sync from rocpd_copyapi"),
            "1536|64|8|1|0xd000|0x5000|1");
}

TEST_F(Import, EventsAreCountedAsTheReportCountsThem) {
  TestProcess& p = process(100, 1);
  p.fact(KernelFact{{}, 1000, 0x4000, 0, 16, 0, 0}, Kind::kKernel, 0,
         {"__amd_rocclr_streamOpsWrite"});
  TestStream& t = p.stream(1, 101);
  uint32_t n = 0;
  for (const uint64_t kernel : {0x1000, 0x1000, 0x2000, 0x3000, 0x4000}) {
    ++n;
    t.put(dispatch(n, {1, n}, n * 1000 + 10, kernel), Kind::kDispatch);
    t.put(call(kernel == 0x1000 ? kLaunch : kMemset, n, n * 1000, 300), Kind::kCall);
    t.put(complete(n, n * 1000 + 50, n * 1000 + 90), Kind::kComplete);
  }
  const ImportResult result = import();
  EXPECT_EQ(result.events.dispatches, 2u);
  EXPECT_EQ(result.events.copies, 2u);
  EXPECT_EQ(result.events.other, 1u);
  EXPECT_EQ(result.program_kernels, 2u);
  Result<Trace> trace = Trace::load(out_);
  ASSERT_TRUE(trace.ok());
  const EventCounts loaded = count_events(*trace);
  Result<ImportResult> converted = import_rpd(out_, folder_.file("copy.rpd"));
  ASSERT_TRUE(converted.ok());
  for (const EventCounts& other : {loaded, converted->events}) {
    EXPECT_EQ(other.calls, result.events.calls);
    EXPECT_EQ(other.dispatches, result.events.dispatches);
    EXPECT_EQ(other.copies, result.events.copies);
    EXPECT_EQ(other.other, result.events.other);
    EXPECT_EQ(other.all(), result.events.all());
  }
}

TEST_F(Import, KernelsOfManySessionsNeverShareANumber) {
  for (uint32_t i = 0; i < 2; ++i) {
    TestProcess& p = process(200 + i, 10 + i);
    p.fact(CodeObjectFact{{}, 1000, 1'000'001, 1, 0x7000, 64, 0, 64}, Kind::kCodeObject,
           static_cast<uint8_t>(CodeObjectEvent::kLoaded), {"file:///nowhere", ""});
    p.stream(1, 300 + i).put(call(kSync, 1, 2000, 1), Kind::kCall);
  }
  import();
  EXPECT_EQ(row("select group_concat(id, ' ') from wavetap_code_object"),
            "1000001 " + std::to_string((int64_t{1} << 32) + 1'000'001));
  EXPECT_EQ(row("select min(id), max(id), count(distinct id) from wavetap_kernel"),
            "1|" + std::to_string((int64_t{1} << 32) + 3) + "|6");
}

TEST_F(Import, StacksAreNamedFromTheFilesThatWereLoaded) {
  TestProcess& p = process(100, 1);
  TestStream& t = p.stream(1, 101);
  p.fact(ImageFact{{}, 1000, 0x7f0000, 0x7f8000, 0x7f0000}, Kind::kImage, 0,
         {"/nonexistent/libfoo.so"});
  t.put(StackRecord{{}, 1, 2}, Kind::kStack, 0, {0x7f0124, 0x10});
  t.put(call(kSync, 1, 2000, 500), Kind::kCall);
  import();
  EXPECT_EQ(row("select group_concat(depth || ' ' || s.string, ', ') from rocpd_stackframe f join "
                "rocpd_string s on s.id = f.name_id"),
            "0 hipDeviceSynchronize, 1 0x124 (libfoo.so), 2 0x10");
  expect_sound();
}

TEST_F(Import, LayersAreMatchedByPlaceWhateverTheirNumbers) {
  TestProcess& p = process(100, 1);
  p.stream(1, 101).put(call(kSync, 1, 2000, 1), Kind::kCall);
  const auto device = [](TestProcess& to, DeviceLayer layer, uint32_t number, uint32_t bdf,
                         const char* figures, const char* told = "") {
    to.fact(DeviceFact{{}, 1000, number, bdf}, Kind::kDevice, static_cast<uint8_t>(layer),
            {figures, told});
  };
  device(p, DeviceLayer::kDriver, 2, 0x400, "simd_count 8\nlocation_id 1024\n");
  device(p, DeviceLayer::kDriver, 3, 0x500, "simd_count 8\n");  // HSA does not show it
  device(p, DeviceLayer::kHsa, 2, 0x400, "lds_bytes 65536\n");
  device(p, DeviceLayer::kHip, 0, 0x400, "arch gfx1030\nmultiprocessors 4\nno value\nnothing\n");
  device(p, DeviceLayer::kHip, 1, 0x300, "arch gfx1030\n");
  device(p, DeviceLayer::kHip, 0, 0x400, "multiprocessors 4\n", "multiprocessors 9\n");
  device(p, DeviceLayer::kEnvironment, 0, 0,
         "GPU_ENABLE_WGP_MODE 0\nHSA_OVERRIDE_GFX_VERSION 10.3.0\n");
  process(200, 2);  // is told nothing
  TestProcess& same = process(300, 3);
  device(same, DeviceLayer::kEnvironment, 0, 0, "GPU_ENABLE_WGP_MODE 0\n");
  TestProcess& again = process(400, 4);
  device(again, DeviceLayer::kEnvironment, 0, 0, "GPU_ENABLE_WGP_MODE 0\n");
  import();
  const auto figure = [&](const char* where) {
    return row(std::string("select group_concat(coalesce(gpuId, '-') || ' ' || coalesce(pci, '-') "
                           "|| ' ' || field || ' ' || value || ' ' || coalesce(told, '-'), ', ') "
                           "from wavetap_device_figure where pid = 100 and ") +
               where);
  };
  EXPECT_EQ(figure("layer = 'hip' and field = 'multiprocessors'"),
            "1 0000:04:00.0 multiprocessors 4 9");
  EXPECT_EQ(figure("layer = 'hip' and pci like '%03:00.0'"), "0 0000:03:00.0 arch gfx1030 -");
  EXPECT_EQ(figure("layer = 'driver' and field in ('node', 'simd_count')"),
            "1 0000:04:00.0 node 2 -, 1 0000:04:00.0 simd_count 8 -, - 0000:05:00.0 node 3 -, - "
            "0000:05:00.0 simd_count 8 -");
  EXPECT_EQ(figure("layer = 'hsa' and field in ('lds_bytes', 'arch')"),
            "0 0000:03:00.0 arch gfx1030 -, 1 0000:04:00.0 arch gfx1030 -, 1 0000:04:00.0 "
            "lds_bytes 65536 -");
  EXPECT_EQ(figure("layer = 'environment'"),
            "- - GPU_ENABLE_WGP_MODE 0 -, - - HSA_OVERRIDE_GFX_VERSION 10.3.0 -");
  EXPECT_EQ(row("select group_concat(distinct pid) from wavetap_device_figure"), "100,300")
      << "the last was told what 300 was told";
  expect_sound();
}

TEST_F(Import, PartitionsOfOneChipAreTakenInOrder) {
  TestProcess& p = process(100, 1);
  p.stream(1, 101).put(call(kSync, 1, 2000, 1), Kind::kCall);
  for (uint32_t i = 0; i < 2; ++i) {
    AgentFact agent{};
    agent.number = i + 3;
    agent.is_gpu = 1;
    agent.gpu_index = i + 2;
    agent.driver_node = i + 3;
    agent.bdf = 0x700 + i;  // functions of one device
    p.fact(agent, Kind::kAgent, 0, {"gfx942", "Part", ""});
    p.fact(DeviceFact{{}, 1000, i + 2, 0x700}, Kind::kDevice,
           static_cast<uint8_t>(DeviceLayer::kHip), {"arch gfx942\n", ""});
  }
  import();
  EXPECT_EQ(row("select group_concat(gpuId) from wavetap_device_figure where layer = 'hip'"),
            "2,3");
  expect_sound();
}

TEST_F(Import, LossesAreCountedAndMakeTheTraceUnsound) {
  TestProcess& p = process(100, 1);
  TestStream& t = p.stream(1, 101);
  p.fact(LossFact{{}, 3000 + kBoot, 5}, Kind::kLoss, static_cast<uint8_t>(Loss::kDiskFull),
         {"no space left"});
  for (uint32_t i = 1; i <= 600; ++i) t.put(call(kSync, i, 2000 + i, 1), Kind::kCall);
  p.flush();
  processes_.clear();
  // The middle one of three chunks of 252 records goes.
  ASSERT_TRUE(std::filesystem::remove(session_ + "/100-1.1.1.chunk"));
  const ImportResult result = import();
  EXPECT_EQ(result.events.calls, 600u - 252u);
  EXPECT_EQ(result.losses, 5u + 252u);
  Result<CheckResult> check = check_trace(out_);
  ASSERT_TRUE(check.ok());
  EXPECT_FALSE(check->sound());
  EXPECT_EQ(check->losses, "257");
}

TEST_F(Import, NonsenseIsSurvived) {
  TestProcess& p = process(100, 1);
  TestStream& t = p.stream(1, 101);
  t.put(dispatch(UINT64_MAX, {9, 9}, 0, 0x9999, 77), Kind::kDispatch);
  t.put(complete(1ull << 60, 5, 1), Kind::kComplete);
  t.put(dispatch(1, {77, 5}, 2000, 0x9999, 77), Kind::kDispatch);
  t.put(complete(1, 4000, 3000), Kind::kComplete);  // ends before it starts
  t.put(call(999, 1, 2000, 1), Kind::kCall);        // a function nobody described
  // Fewer words than its layout.
  t.put(call(kMemcpy, 2, 2100, 1), Kind::kCall, kCallHasArguments, {1});
  t.put(StackRecord{{}, 2, 4000}, Kind::kStack);  // frames that are not there
  t.put(NoteFact{}, static_cast<Kind>(200));
  const ImportResult result = import();
  EXPECT_EQ(result.events.calls, 2u);
  EXPECT_EQ(row("select apiName from api where start = 2000"), "function 999");
  EXPECT_EQ(row("select args from api where start = 2100"), "dst = 0x1");
  EXPECT_EQ(row("select start, end, description from op"), "4000|4000|kernel 0x9999");
  EXPECT_EQ(result.losses, 2u);
}

TEST_F(Import, AnExistingFileIsNotReplacedUnlessAsked) {
  process(100, 1).stream(1, 101).put(call(kSync, 1, 2000, 1), Kind::kCall);
  import();
  const Result<ImportResult> again = import_session(session_, out_);
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().message.find("exists already"), std::string::npos);
  EXPECT_TRUE(import_session(session_, out_, {.overwrite = true}).ok());
  const Result<ImportResult> empty = import_session(folder_.path(), folder_.file("empty.rpd"));
  ASSERT_FALSE(empty.ok());
  EXPECT_NE(empty.error().message.find("holds no recording"), std::string::npos);
}

TEST_F(Import, OurFileIsReadBackAndAnRpdFileIsConverted) {
  TestProcess& p = process(100, 1);
  TestStream& t = p.stream(1, 101);
  t.put(dispatch(1, {1, 1}, 2100, 0x1000), Kind::kDispatch);
  t.put(call(kLaunch, 1, 2000, 500), Kind::kCall);
  t.put(complete(1, 3000, 3700), Kind::kComplete);
  import();
  Result<Trace> trace = Trace::load(out_, {.args = true});
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace->apis.size(), 1u);
  EXPECT_EQ(trace->ops.size(), 1u);
  EXPECT_TRUE(trace->is_emulated());
  EXPECT_TRUE(trace->problems.empty());
  Result<ImportResult> converted = import_rpd(out_, folder_.file("copy.rpd"));
  ASSERT_TRUE(converted.ok()) << converted.error().message;
  EXPECT_EQ(converted->events.calls, 1u);
  EXPECT_EQ(converted->events.dispatches, 1u);
}

TEST_F(Import, ThreadsThatShareAFileOneAfterTheOtherKeepTheirCalls) {
  TestProcess& p = process(100, 1);
  TestStream& file = p.stream(1, 101);
  file.put(call(kMalloc, 1, 2000, 10), Kind::kCall);
  file.put(MarkerRecord{{}, 2020 + kBoot, 0}, Kind::kMarker,
           static_cast<uint8_t>(MarkerKind::kPush), texts({"left open", "", ""}));
  p.fact(ThreadFact{{}, 3000 + kBoot, 2, 102}, Kind::kThread, 0, {"second"});
  file.put(ThreadFact{{}, 3000 + kBoot, 2, 102}, Kind::kThread);
  file.put(dispatch(1, {2, 1}, 3010, 0x1000), Kind::kDispatch);
  file.put(call(kLaunch, 1, 3000, 100), Kind::kCall);
  file.put(complete(1, 3020, 3050), Kind::kComplete, static_cast<uint8_t>(Kind::kDispatch));
  import();
  EXPECT_EQ(row("select group_concat(apiName || ' ' || tid, ', ') from (select * from api where "
                "apiName like 'hip%' order by start)"),
            "hipMalloc 101, hipLaunchKernel 102");
  EXPECT_EQ(row("select a.apiName from rocpd_api_ops l join api a on a.id = l.api_id"),
            "hipLaunchKernel");
  EXPECT_EQ(row("select tid, start, end from api where args = 'left open'"), "101|2020|3000");
  expect_sound();
}

TEST_F(Import, AProcessEndsWhenItWasSeenToEnd) {
  process(100, 1).stream(1, 101).put(call(kMalloc, 1, 2000, 10), Kind::kCall);
  for (const auto& p : processes_) p->flush();
  ASSERT_TRUE(import_session(session_, out_, {.ended_pid = 100, .ended_ns = 9'000'000}).ok());
  Result<Db> db = Db::open_read_only(out_);
  ASSERT_TRUE(db.ok());
  db_ = std::move(*db);
  EXPECT_EQ(row("select end from wavetap_process"), "9000000");
}

TEST_F(Import, SaysWhatPassedALateRecorderBy) {
  TestProcess& p = process(100, 1);
  ProcessFact late{};
  late.time = 1000;
  late.pid = 100;
  late.options = kOptionLate;
  p.fact(late, Kind::kProcess, 0, {"/usr/bin/app", "app", "host", "boot-1", "0.1"});
  p.fact(LibraryFact{{}, 1000, 0x1000}, Kind::kLibrary, 0,
         {"/lib/libamdhip64.so.5.2", "libamdhip64.so.5", "", ""});
  TestStream& file = p.stream(1, 101);
  file.put(dispatch(1, {1, 0}, 3010, 0x1000), Kind::kDispatch);
  file.put(complete(1, 3020, 3050), Kind::kComplete, static_cast<uint8_t>(Kind::kDispatch));
  const ImportResult result = import();
  EXPECT_EQ(result.losses, 1u);
  EXPECT_EQ(row("select count, reason from wavetap_loss"), "1|bypassed");
}

// Two kernels of one shape at nearly the same time on two GPUs, one that was not counted, a line that
// was cut off, a process that was not recorded.
TEST_F(Import, CountersGoToTheDispatchTheyWereCountedIn) {
  TestProcess& p = process(100, 1);
  TestStream& t = p.stream(1, 101);
  t.put(dispatch(1, {1, 1}, 2100, 0x1000, /*queue=*/1), Kind::kDispatch);
  t.put(dispatch(2, {1, 1}, 2100, 0x1000, /*queue=*/2), Kind::kDispatch);
  t.put(dispatch(3, {1, 1}, 2100, 0x1000, /*queue=*/1), Kind::kDispatch);
  t.put(complete(1, 3000, 3700), Kind::kComplete, static_cast<uint8_t>(Kind::kDispatch));
  t.put(complete(2, 3004, 3704), Kind::kComplete, static_cast<uint8_t>(Kind::kDispatch));
  t.put(complete(3, 903000, 903700), Kind::kComplete, static_cast<uint8_t>(Kind::kDispatch));
  const auto line = [](uint32_t pid, uint32_t node, uint32_t grid, int64_t begin, int64_t end,
                       const std::string& values) {
    return "\n{\"format\":1,\"pid\":" + std::to_string(pid) + ",\"node\":" + std::to_string(node) +
           ",\"grid_size\":[" + std::to_string(grid) +
           ",1,1],\"workgroup_size\":[256,1,1],\"begin_ticks\":" +
           std::to_string((begin + kBoot) / 10) +
           ",\"end_ticks\":" + std::to_string((end + kBoot) / 10) + "," + values + "}\n";
  };
  std::ofstream(session_ + "/" + kCountersFile)
      << line(100, 1, 512, 3000, 3700, R"("counters":{"waves":1})")
      << line(100, 1, 1024, 2960, 3660, R"("counters":{"waves":4,"salu":0},"amd":{"SQ_WAVES":4})")
      << line(100, 2, 1024, 2960, 3660, R"("counters":{"waves":8},"amd":{"SQ_WAVES":8})")
      << line(99, 1, 1024, 3000, 3700, R"("counters":{"waves":2})") << "\n{\"format\":1,\"coun";
  const ImportResult result = import();
  EXPECT_EQ(row("select group_concat(o.gpuId || ' ' || s.string || ' ' || c.value, ', ') from "
                "rocpd_counter c join rocpd_op o on o.id = c.op_id join rocpd_string s on "
                "s.id = c.name_id"),
            "0 waves 4.0, 0 SQ_WAVES 4.0, 1 waves 8.0, 1 SQ_WAVES 8.0");
  EXPECT_EQ(result.losses, 2u);
  EXPECT_EQ(
      row("select group_concat(what, ', ') from wavetap_loss"),
      "1 dispatch has no counters: none were found at its time, counters.jsonl: 1 line cannot "
      "be read; what was counted there is missing");
  Result<Trace> trace = Trace::load(out_);
  ASSERT_TRUE(trace.ok());
  ASSERT_EQ(trace->counters.size(), 4u);
}

}  // namespace
}  // namespace wavetap::store
