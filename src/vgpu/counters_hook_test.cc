#include "vgpu/counters_hook.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "vgpu/test_driver.h"
#include "vgpu/test_queues.h"

namespace wavetap::vgpu {
namespace {

std::vector<nlohmann::ordered_json> records_of(const std::string& path, int* bad) {
  std::vector<nlohmann::ordered_json> records;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    nlohmann::ordered_json record =
        nlohmann::ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (record.is_object()) records.push_back(std::move(record));
    else ++*bad;
  }
  return records;
}

struct Machine {
  explicit Machine(const std::string& path) : hook(path) {}
  TestGpu gpu;
  EventTable events;
  TestEngine engine;
  CountersHook hook;
  DispatchHook* hooks[1] = {&hook};

  QueueHooks queue_hooks() {
    QueueHooks all = engine.hooks();
    all.dispatch = hooks;
    return all;
  }
};

TEST(CountersHook, WritesALinePerDispatchWithTheTimesOfTheSignal) {
  const ScratchDirectory folder;
  const std::string path = folder.path() + "/counters";
  Machine machine(path);
  machine.engine.run = [](const emu::Dispatch& dispatch) {
    EXPECT_TRUE(dispatch.count);
    emu::DispatchResult result;
    result.counters.waves = 7 + dispatch.dispatch_id;
    return result;
  };
  QueueTable table(machine.events, machine.queue_hooks());
  TestAqlQueue queue(machine.gpu, table);
  int bad = 0;
  for (uint64_t i = 0; i < 3; ++i) {
    const GpuAddr signal = machine.gpu.make_signal(1);
    queue.submit_dispatch(0x100, signal);
    ASSERT_TRUE(machine.gpu.waits_for(signal, 0));
    // The line is there as soon as the signal says so.
    const std::vector<nlohmann::ordered_json> records = records_of(path, &bad);
    ASSERT_EQ(records.size(), i + 1);
    const auto* stamps = machine.gpu.at<amd::Signal>(signal);
    EXPECT_EQ(records[i]["begin_ticks"], stamps->start_ts);
    EXPECT_EQ(records[i]["end_ticks"], stamps->end_ts);
    EXPECT_EQ(records[i]["dispatch_id"], i);
    EXPECT_EQ(records[i]["queue"], queue.handle.id);
    EXPECT_EQ(records[i]["node"], machine.gpu.gpu.node);
    EXPECT_EQ(records[i]["counters"]["waves"], 7 + i);
    EXPECT_FALSE(records[i].contains("fault"));
  }
  EXPECT_EQ(bad, 0);
}

TEST(CountersHook, AFaultedDispatchHasItsLine) {
  const ScratchDirectory folder;
  const std::string path = folder.path() + "/counters";
  Machine machine(path);
  machine.engine.run = [](const emu::Dispatch&) {
    emu::DispatchResult result;
    result.fault.emplace();
    result.fault->kind = emu::FaultKind::kIllegalInstruction;
    return result;
  };
  QueueTable table(machine.events, machine.queue_hooks());
  TestAqlQueue queue(machine.gpu, table);
  queue.submit_dispatch(0x100, {});
  ASSERT_TRUE(eventually([&] { return queue.queue_error() != 0; }));
  int bad = 0;
  const std::vector<nlohmann::ordered_json> records = records_of(path, &bad);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0]["fault"], "illegal instruction");
}

// What a killed process left unfinished stays a line of its own.
TEST(CountersHook, ATornLineDamagesNoOther) {
  const ScratchDirectory folder;
  const std::string path = folder.path() + "/counters";
  std::ofstream(path) << "\n{\"format\":1,\"kernel\":\"half a li";
  Machine machine(path);
  QueueTable table(machine.events, machine.queue_hooks());
  TestAqlQueue queue(machine.gpu, table);
  const GpuAddr signal = machine.gpu.make_signal(1);
  queue.submit_dispatch(0x100, signal);
  ASSERT_TRUE(machine.gpu.waits_for(signal, 0));
  int bad = 0;
  EXPECT_EQ(records_of(path, &bad).size(), 1u);
  EXPECT_EQ(bad, 1);
}

}  // namespace
}  // namespace wavetap::vgpu
