// Recordings of an x86 CPU at 2.7 GHz, as they were made before the recorder stated the rate: one
// sample, and times in ticks.
#include "store/import_clock.h"

#include <gtest/gtest.h>

#include <fstream>

#include "format/test_writer.h"
#include "store/check.h"
#include "store/import.h"
#include "store/sqlite.h"

namespace wavetap::store {
namespace {

using namespace format;
using format::test::TestFolder;
using format::test::TestProcess;

constexpr double kHz = 2.7e9;
constexpr int64_t kStart = 3'000'000'000;
constexpr int64_t kMs = 1'000'000;

uint64_t ticks_at(int64_t ns) { return static_cast<uint64_t>(static_cast<double>(ns) * kHz / 1e9); }

class ImportClock : public testing::Test {
 protected:
  ImportClock()
      : folder_("import-clock"), session_(folder_.file("session")), out_(folder_.file("out.rpd")) {
    std::filesystem::create_directories(session_);
  }

  // A call of 300 ms that begins 100 ms after the only sample.
  void record(uint64_t stated_hz, const std::string& boot_id) {
    process_ = std::make_unique<TestProcess>(session_, 100, 7, 8192, Clock::kCounter);
    ProcessFact fact{};
    fact.time = ticks_at(kStart);
    fact.clock_hz = stated_hz;
    fact.pid = 100;
    process_->fact(fact, Kind::kProcess, 0, {"/usr/bin/app", "app", "host", boot_id, "0.1"});
    ClockSampleFact sample{};
    sample.counter = sample.counter_after = ticks_at(kStart);
    sample.boottime_ns = sample.monotonic_ns = kStart;
    process_->fact(sample, Kind::kClockSample);
    process_->fact(FunctionFact{{}, 1, 0}, Kind::kFunction, 0, {"hipLaunchKernel", ""});
    CallRecord call{};
    call.start = ticks_at(kStart + 100 * kMs);
    call.duration = static_cast<uint32_t>(300 * kMs * kHz / 1e9);
    call.function = 1;
    call.call = 1;
    process_->stream(1, 100).put(call, Kind::kCall);
  }

  // A kernel of that call that began 30 us after it was submitted.
  void record_kernel() {
    DispatchRecord dispatch{};
    dispatch.id = 1;
    dispatch.time = ticks_at(kStart + 101 * kMs);
    dispatch.owner = {1, 1};
    process_->stream(1, 100).put(dispatch, Kind::kDispatch);
    CompleteRecord complete{};
    complete.id = 1;
    complete.start_ns = kStart + 101 * kMs + 30'000;
    complete.end_ns = kStart + 102 * kMs;
    process_->stream(1, 100).put(complete, Kind::kComplete, static_cast<uint8_t>(Kind::kDispatch));
  }

  ImportResult import() {
    process_->flush();
    Result<ImportResult> result = import_session(session_, out_);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return std::move(*result);
  }

  int64_t number(const std::string& sql) {
    Result<Db> db = Db::open_read_only(out_);
    EXPECT_TRUE(db.ok());
    Result<int64_t> value = db->query_int(sql);
    EXPECT_TRUE(value.ok()) << value.error().message;
    return value.ok() ? *value : -1;
  }
  double call_ms() {
    return static_cast<double>(number("select end - start from rocpd_api")) / 1e6;
  }
  int64_t doubts(const char* reason) {
    return number(std::string("select count(*) from wavetap_loss where reason = '") + reason + "'");
  }
  uint64_t errors() {
    Result<CheckResult> check = check_trace(out_);
    EXPECT_TRUE(check.ok());
    uint64_t count = 0;
    for (const Finding& finding : check->findings) count += finding.is_error ? 1 : 0;
    return count;
  }

  TestFolder folder_;
  std::string session_, out_;
  std::unique_ptr<TestProcess> process_;
};

TEST_F(ImportClock, UsesTheRateThatTheRecordingStates) {
  record(2'700'000'000, "elsewhere");
  EXPECT_TRUE(import().notes.empty());
  EXPECT_NEAR(call_ms(), 300, 0.001);
  EXPECT_EQ(number("select start from rocpd_api"), kStart + 100 * kMs);
  EXPECT_EQ(errors(), 0u);
}

TEST_F(ImportClock, EstimatesTheRateFromTheGpuAndSaysSo) {
  record(0, "elsewhere");
  record_kernel();
  const ImportResult result = import();
  EXPECT_NEAR(call_ms(), 300, 0.2);
  EXPECT_EQ(doubts(kClockEstimated), 1);
  EXPECT_EQ(result.notes.size(), 1u);
  EXPECT_EQ(result.losses, 0u);
  EXPECT_EQ(errors(), 0u);
}

TEST_F(ImportClock, SaysThatTimesAreAGuessWhenNothingTellsTheRate) {
  record(0, "elsewhere");
  import();
  EXPECT_NEAR(call_ms(), 300, 150);
  EXPECT_EQ(doubts(kClockUnknown), 1);
  EXPECT_EQ(errors(), 1u);
}

TEST_F(ImportClock, CallsAKernelThatBeginsLongBeforeItsCallAnError) {
  // The recording's own statement, and it is wrong: calls seem to come later than they did.
  record(900'000'000, "elsewhere");
  record_kernel();
  import();
  EXPECT_EQ(errors(), 1u);
}

}  // namespace
}  // namespace wavetap::store
