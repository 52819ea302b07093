#include "vgpu/pm4_processor.h"

#include <gtest/gtest.h>

#include <vector>

#include "amd/pm4.h"
#include "vgpu/test_queues.h"

namespace wavetap::vgpu {
namespace {

class Pm4Test : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(events.create(EventType::kHwException, true, 0, &exception_event), 0);
    pointers = gpu.allocate(64);
    ring = gpu.allocate(kRingBytes, 4096);
    QueueParams params;
    params.type = QueueType::kComputePm4;
    params.ring = ring;
    params.ring_bytes = kRingBytes;
    params.read_pointer = pointers;
    params.write_pointer = pointers + 8;
    ASSERT_EQ(table.create(params, gpu.gpu, &handle), 0);
  }
  void submit(const std::vector<uint32_t>& dwords) {
    for (const uint32_t dword : dwords)
      gpu.store<uint32_t>(ring + written++ * 4 % kRingBytes, dword);
    gpu.ring_doorbell(handle.doorbell_slot, written);
  }
  bool drains() {
    return eventually([&] { return gpu.load<uint64_t>(pointers) == written; });
  }

  static constexpr uint64_t kRingBytes = 256;
  TestGpu gpu;
  EventTable events;
  TestEngine engine;
  QueueTable table{events, engine.hooks()};
  EventHandle exception_event;
  GpuAddr pointers, ring;
  QueueHandle handle;
  uint64_t written = 0;
};

TEST_F(Pm4Test, ExecutesItsRingAroundTheEnd) {
  const GpuAddr word = gpu.allocate(8);
  for (uint32_t i = 1; i <= 200; ++i) {
    submit({amd::pm4_header(amd::Pm4Op::kWriteData, 5), 5u << 8, low(word), high(word), i});
    submit({0xffff1000, 0x80000000});  // a single-dword NOP and a type-2 filler
    ASSERT_TRUE(drains());
    ASSERT_EQ(gpu.load<uint32_t>(word), i);
  }
}

TEST_F(Pm4Test, RefusesRegisterWritesAndGarbage) {
  submit({amd::pm4_header(static_cast<amd::Pm4Op>(0x79), 3), 0, 0});
  EventWait wait{.id = exception_event.id};
  WaitResult result{};
  ASSERT_EQ(events.wait({&wait, 1}, false, 10'000, &result), 0);
  EXPECT_TRUE(wait.has_hw_exception);
}

TEST_F(Pm4Test, BuffersThatCallThemselvesAreRefused) {
  const GpuAddr buffer = gpu.allocate(64);
  const std::vector<uint32_t> call = {amd::pm4_header(amd::Pm4Op::kIndirectBuffer, 4), low(buffer),
                                      high(buffer), 4};
  std::memcpy(gpu.host(buffer), call.data(), 16);
  submit(call);
  EventWait wait{.id = exception_event.id};
  WaitResult result{};
  ASSERT_EQ(events.wait({&wait, 1}, false, 10'000, &result), 0);
  EXPECT_TRUE(wait.has_hw_exception);
}

TEST_F(Pm4Test, PredicatedPacketsOfOtherXccsAreSkipped) {
  const GpuAddr word = gpu.allocate(16);
  gpu.store<uint64_t>(word, 0);
  std::vector<uint32_t> ib;
  for (uint32_t xcc = 0; xcc < 2; ++xcc) {
    const GpuAddr to = word + xcc * 4;
    const std::vector<uint32_t> part = {amd::pm4_header(amd::Pm4Op::kPredExec, 2),
                                        5u | (1u << xcc) << 24,
                                        amd::pm4_header(amd::Pm4Op::kWriteData, 5),
                                        5u << 8,
                                        low(to),
                                        high(to),
                                        1};
    ib.insert(ib.end(), part.begin(), part.end());
  }
  const GpuAddr buffer = gpu.allocate(ib.size() * 4);
  std::memcpy(gpu.host(buffer), ib.data(), ib.size() * 4);
  submit({amd::pm4_header(amd::Pm4Op::kIndirectBuffer, 4), low(buffer), high(buffer),
          static_cast<uint32_t>(ib.size())});
  ASSERT_TRUE(drains());
  EXPECT_EQ(gpu.load<uint32_t>(word), 1u);
  EXPECT_EQ(gpu.load<uint32_t>(word + 4), 0u);
}

}  // namespace
}  // namespace wavetap::vgpu
