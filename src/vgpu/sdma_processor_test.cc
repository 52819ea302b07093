#include "vgpu/sdma_processor.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "amd/sdma.h"
#include "base/clock.h"
#include "vgpu/test_queues.h"

namespace wavetap::vgpu {
namespace {

using Packet = std::vector<uint32_t>;

Packet copy(GpuAddr to, GpuAddr from, uint32_t size_bytes) {
  return {1, size_bytes - 1, 0, low(from), high(from), low(to), high(to)};
}
Packet fence(GpuAddr to, uint32_t value) { return {5, low(to), high(to), value}; }
Packet fill(GpuAddr to, uint32_t pattern, uint32_t element_log2, uint32_t count) {
  return {11u | element_log2 << 30, low(to), high(to), pattern, count};
}
Packet poll(GpuAddr address, uint32_t function, uint32_t reference, uint32_t mask = 0xffffffff) {
  return {8u | function << 28 | 1u << 31,
          low(address),
          high(address),
          reference,
          mask,
          4u | 0xfffu << 16};
}
Packet atomic(GpuAddr address, uint32_t operation, uint64_t operand, uint64_t comparand = 0,
              bool loop = false) {
  return {10u | operation << 25 | (loop ? 1u << 16 : 0),
          low(address),
          high(address),
          static_cast<uint32_t>(operand),
          static_cast<uint32_t>(operand >> 32),
          static_cast<uint32_t>(comparand),
          static_cast<uint32_t>(comparand >> 32),
          0};
}

class SdmaTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(events.create(EventType::kMemory, true, 0, &memory_event), 0);
    ASSERT_EQ(events.create(EventType::kHwException, true, 0, &exception_event), 0);
  }
  GpuAddr zeroed(uint64_t size_bytes) {
    const GpuAddr address = gpu.allocate(size_bytes);
    std::memset(gpu.host(address), 0, size_bytes);
    return address;
  }
  void fill_with_counter(GpuAddr address, uint64_t size_bytes) {
    for (uint64_t i = 0; i < size_bytes; ++i)
      gpu.host(address)[i] = static_cast<std::byte>(i * 7 + 1);
  }
  bool waits(uint32_t event_id, EventWait* wait) {
    *wait = EventWait{.id = event_id};
    WaitResult result{};
    EXPECT_EQ(events.wait({wait, 1}, false, 10'000, &result), 0);
    return result == WaitResult::kComplete;
  }

  TestGpu gpu;
  EventTable events;
  TestEngine engine;
  QueueTable table{events, engine.hooks()};
  EventHandle memory_event, exception_event;
};

TEST_F(SdmaTest, CopiesOddSizesAtOddAddressesAndNothingElse) {
  TestSdmaQueue queue(gpu, table);
  const GpuAddr from = gpu.allocate(1 << 20);
  fill_with_counter(from, 1 << 20);
  for (const uint32_t size : {1u, 2u, 3u, 7u, 63u, 65u, 4095u, 4097u, 300'001u}) {
    for (const uint32_t offset : {0u, 1u, 3u}) {
      const GpuAddr to = zeroed(size + 16);
      queue.submit(copy(to + 8 + offset, from + offset * 5, size));
      ASSERT_TRUE(queue.drains());
      EXPECT_EQ(std::memcmp(gpu.host(to) + 8 + offset, gpu.host(from) + offset * 5, size), 0)
          << size;
      EXPECT_EQ(gpu.host(to)[7 + offset], std::byte{0});
      EXPECT_EQ(gpu.host(to)[8 + offset + size], std::byte{0});
    }
  }
}

TEST_F(SdmaTest, CopiesMoreThanTheOldPacketLimit) {
  TestSdmaQueue queue(gpu, table);
  constexpr uint32_t kSize = 10'000'019;
  const GpuAddr from = gpu.allocate(kSize);
  fill_with_counter(from, kSize);
  const GpuAddr to = zeroed(kSize + 1);
  queue.submit(copy(to, from, kSize));
  ASSERT_TRUE(queue.drains());
  EXPECT_EQ(std::memcmp(gpu.host(to), gpu.host(from), kSize), 0);
  EXPECT_EQ(gpu.host(to)[kSize], std::byte{0});
}

TEST_F(SdmaTest, CopiesAcrossMappingsThatAreNotAdjacentOnTheHost) {
  constexpr uint64_t kBase = 0x6000'0000'0000;
  std::vector<std::byte> first(4096), second(4096);
  gpu.gpu.space.map(kBase, 4096, second.data(), true, false);
  gpu.gpu.space.map(kBase + 4096, 4096, first.data(), true, false);
  TestSdmaQueue queue(gpu, table);
  const GpuAddr from = gpu.allocate(8192);
  fill_with_counter(from, 8192);
  queue.submit(copy(GpuAddr{kBase + 5}, from, 8000));
  ASSERT_TRUE(queue.drains());
  EXPECT_EQ(std::memcmp(second.data() + 5, gpu.host(from), 4091), 0);
  EXPECT_EQ(std::memcmp(first.data(), gpu.host(from) + 4091, 8000 - 4091), 0);
  gpu.gpu.space.unmap(kBase, 8192);
}

TEST_F(SdmaTest, BroadcastWritesBothDestinations) {
  TestSdmaQueue queue(gpu, table);
  const GpuAddr from = gpu.allocate(64);
  fill_with_counter(from, 64);
  const GpuAddr a = zeroed(64);
  const GpuAddr b = zeroed(64);
  Packet packet = copy(a, from, 50);
  packet[0] |= 1u << 27;
  packet.push_back(low(b));
  packet.push_back(high(b));
  queue.submit(packet);
  ASSERT_TRUE(queue.drains());
  EXPECT_EQ(std::memcmp(gpu.host(a), gpu.host(from), 50), 0);
  EXPECT_EQ(std::memcmp(gpu.host(b), gpu.host(from), 50), 0);
}

// Against a plain triple loop, with element sizes from 1 to 16 bytes, offsets and different
// pitches.
TEST_F(SdmaTest, CopiesSubWindows) {
  for (const uint32_t element_log2 : {0u, 1u, 2u, 4u}) {
    TestSdmaQueue queue(gpu, table);
    const uint32_t element = 1u << element_log2;
    const uint32_t source_pitch = 40, source_slice = 40 * 9, target_pitch = 33,
                   target_slice = 33 * 11;
    const uint32_t width = 17, height = 5, depth = 3, x = 3, y = 2, z = 1;
    const GpuAddr from = gpu.allocate(source_slice * 6 * element);
    fill_with_counter(from, source_slice * 6 * element);
    const uint32_t target_bytes = target_slice * 6 * element;
    const GpuAddr to = zeroed(target_bytes);
    queue.submit({1u | 4u << 8 | element_log2 << 29, low(from), high(from), x | y << 16,
                  z | (source_pitch - 1) << 13, source_slice - 1, low(to), high(to), 0,
                  (target_pitch - 1) << 13, target_slice - 1, (width - 1) | (height - 1) << 16,
                  depth - 1});
    ASSERT_TRUE(queue.drains());
    std::vector<std::byte> expected(target_bytes);
    for (uint32_t k = 0; k < depth; ++k) {
      for (uint32_t j = 0; j < height; ++j) {
        const uint64_t source =
            uint64_t{element} * ((k + z) * source_slice + (j + y) * source_pitch + x);
        const uint64_t target = uint64_t{element} * (k * target_slice + j * target_pitch);
        std::memcpy(expected.data() + target, gpu.host(from) + source, width * element);
      }
    }
    EXPECT_EQ(std::memcmp(gpu.host(to), expected.data(), target_bytes), 0) << element;
  }
}

TEST_F(SdmaTest, FillsBytesAndDwordsAsBothEmittersCount) {
  TestSdmaQueue queue(gpu, table);
  const GpuAddr to = zeroed(32768);
  queue.submit(fill(to, 0x11223344, 2, (100 - 1) * 4));  // ROCr: bytes - 4
  queue.submit(fill(to + 1000, 0x55667788, 2, 40 - 1));  // kernel: bytes - 1
  queue.submit(fill(to + 2001, 0xee, 0, 13 - 1));
  queue.submit(fill(to + 4096, 0xa5a5a5a5, 2, 20000 - 4));
  ASSERT_TRUE(queue.drains());
  EXPECT_EQ(gpu.load<uint32_t>(to + 396), 0x11223344u);
  EXPECT_EQ(gpu.load<uint32_t>(to + 400), 0u);
  EXPECT_EQ(gpu.load<uint32_t>(to + 1036), 0x55667788u);
  EXPECT_EQ(gpu.load<uint32_t>(to + 1040), 0u);
  EXPECT_EQ(gpu.load<uint8_t>(to + 2000), 0);
  EXPECT_EQ(gpu.load<uint8_t>(to + 2001), 0xee);
  EXPECT_EQ(gpu.load<uint8_t>(to + 2013), 0xee);
  EXPECT_EQ(gpu.load<uint8_t>(to + 2014), 0);
  EXPECT_EQ(gpu.load<uint32_t>(to + 4096 + 19996), 0xa5a5a5a5u);
  EXPECT_EQ(gpu.load<uint32_t>(to + 4096 + 20000), 0u);
}

TEST_F(SdmaTest, WritesInlineDataLongerThanItsBuffer) {
  TestSdmaQueue queue(gpu, table, 8192);
  constexpr uint32_t kCount = 777;
  const GpuAddr to = zeroed(kCount * 4 + 8);
  Packet packet = {2, low(to), high(to), kCount - 1};
  for (uint32_t i = 0; i < kCount; ++i) packet.push_back(i * 3 + 1);
  queue.submit(packet);
  ASSERT_TRUE(queue.drains());
  for (uint32_t i = 0; i < kCount; ++i) EXPECT_EQ(gpu.load<uint32_t>(to + i * 4u), i * 3 + 1);
  EXPECT_EQ(gpu.load<uint32_t>(to + kCount * 4u), 0u);
}

TEST_F(SdmaTest, NopsWithAndWithoutPayloadGcrAndFlushesDoNothing) {
  TestSdmaQueue queue(gpu, table);
  const GpuAddr to = zeroed(8);
  queue.append({0, 0, 5u << 16, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff});
  queue.append({17u | 1u << 8, 0, 0xc0c00000, 0, 0});  // GCR
  queue.append({8, 0, 0x80000000, 0, 0, 0});           // host-data-path flush
  queue.append({14u | 0xfu << 28, 0x1234, 1});         // SRBM write
  queue.submit(fence(to, 99));
  ASSERT_TRUE(queue.drains());
  EXPECT_EQ(gpu.load<uint32_t>(to), 99u);
}

TEST_F(SdmaTest, PollHonoursEveryFunctionAndTheMask) {
  struct Case {
    uint32_t function, blocked_value, passing_value;
  };
  const Case cases[] = {{1, 10, 9}, {2, 11, 10}, {3, 9, 10}, {4, 10, 9}, {5, 9, 10}, {6, 10, 11}};
  for (const Case& c : cases) {
    TestSdmaQueue queue(gpu, table);
    const GpuAddr word = zeroed(8);
    const GpuAddr done = zeroed(8);
    gpu.store<uint32_t>(word, c.blocked_value | 0xff00);
    queue.append(poll(word, c.function, 10, 0xff));
    queue.submit(fence(done, 1));
    ASSERT_TRUE(eventually([&] {
      return table.snapshot().at(0).activity == QueueActivity::kWaiting;
    })) << c.function;
    EXPECT_EQ(gpu.load<uint32_t>(done), 0u);
    gpu.store<uint32_t>(word, c.passing_value | 0xff00);
    ASSERT_TRUE(queue.drains()) << c.function;
    EXPECT_EQ(gpu.load<uint32_t>(done), 1u);
    ASSERT_EQ(table.destroy(queue.handle.id), 0);
  }
  TestSdmaQueue queue(gpu, table);
  queue.submit(poll(zeroed(8), 0, 10));
  EXPECT_TRUE(queue.drains()) << "always";
}

TEST_F(SdmaTest, AtomicsOfBothWidths) {
  TestSdmaQueue queue(gpu, table);
  const GpuAddr word = zeroed(64);
  gpu.store<uint64_t>(word, 5);
  queue.append(atomic(word, 47, ~uint64_t{0}));  // ADD64 -1, a signal's decrement
  gpu.store<uint64_t>(word + 8, 0xffffffff'fffffff0);
  queue.append(atomic(word + 8, 49, 3));    // SMIN64: stays -16
  queue.append(atomic(word + 16, 111, 7));  // ADD64 without return
  gpu.store<uint32_t>(word + 24, 0xffffffff);
  gpu.store<uint32_t>(word + 28, 0xaaaaaaaa);
  queue.append(atomic(word + 24, 15, 1));     // ADD32 wraps in its own dword
  queue.submit(atomic(word + 32, 40, 9, 0));  // CMPSWAP64
  ASSERT_TRUE(queue.drains());
  EXPECT_EQ(gpu.load<uint64_t>(word), 4u);
  EXPECT_EQ(gpu.load<uint64_t>(word + 8), 0xffffffff'fffffff0u);
  EXPECT_EQ(gpu.load<uint64_t>(word + 16), 7u);
  EXPECT_EQ(gpu.load<uint32_t>(word + 24), 0u);
  EXPECT_EQ(gpu.load<uint32_t>(word + 28), 0xaaaaaaaau);
  EXPECT_EQ(gpu.load<uint64_t>(word + 32), 9u);
  // A looping compare-and-swap waits for its comparand.
  queue.submit(atomic(word + 40, 40, 11, 3, /*loop=*/true));
  ASSERT_TRUE(
      eventually([&] { return table.snapshot().at(0).activity == QueueActivity::kWaiting; }));
  gpu.store<uint64_t>(word + 40, 3);
  ASSERT_TRUE(queue.drains());
  EXPECT_EQ(gpu.load<uint64_t>(word + 40), 11u);
}

TEST_F(SdmaTest, TimestampsAreGpuTicksInOrder) {
  TestSdmaQueue queue(gpu, table);
  const GpuAddr times = zeroed(64);
  const uint64_t before = to_ticks(now()).value;
  queue.append({13u | 2u << 8, low(times), high(times)});
  queue.submit({13u | 2u << 8, low(times + 32), high(times + 32)});
  ASSERT_TRUE(queue.drains());
  EXPECT_LE(before, gpu.load<uint64_t>(times));
  EXPECT_LE(gpu.load<uint64_t>(times), gpu.load<uint64_t>(times + 32));
  EXPECT_LE(gpu.load<uint64_t>(times + 32), to_ticks(now()).value);
}

TEST_F(SdmaTest, ATrapSetsItsEvent) {
  EventHandle event;
  ASSERT_EQ(events.create(EventType::kSignal, true, 0, &event), 0);
  TestSdmaQueue queue(gpu, table);
  queue.submit({6, event.id});
  EventWait wait;
  EXPECT_TRUE(waits(event.id, &wait));
}

TEST_F(SdmaTest, PacketsWrapAroundTheEndOfTheRing) {
  TestSdmaQueue queue(gpu, table, 256);
  const GpuAddr counter = zeroed(8);
  // 7 dwords do not divide 64: every alignment of the wrap is met.
  for (uint32_t i = 1; i <= 500; ++i) {
    queue.append({2u << 16, 0, 0});
    queue.submit(fence(counter, i));
  }
  ASSERT_TRUE(queue.drains());
  EXPECT_EQ(gpu.load<uint32_t>(counter), 500u);
}

TEST_F(SdmaTest, A32BitEmitterCountsInsideTheRing) {
  TestSdmaQueue queue(gpu, table, 256);
  const GpuAddr counter = zeroed(8);
  queue.submit(Packet(60));  // NOPs
  ASSERT_TRUE(queue.drains());
  // Eight dwords more: positions 60..63 and 0..3; the write pointer goes back to 16.
  queue.append({0, 0, 0, 0});
  queue.append(fence(counter, 7));
  const QueueSnapshot shot = table.snapshot().at(0);
  EXPECT_EQ(shot.read_index, 240u);
  queue.ring_doorbell_wrapped();
  ASSERT_TRUE(eventually([&] { return gpu.load<uint32_t>(counter) == 7; }));
}

TEST_F(SdmaTest, DestroyInterruptsAHugeCopyAndAnEndlessPoll) {
  TestSdmaQueue polling(gpu, table);
  polling.submit(poll(zeroed(8), 3, 1));
  ASSERT_TRUE(
      eventually([&] { return table.snapshot().at(0).activity == QueueActivity::kWaiting; }));
  EXPECT_EQ(table.destroy(polling.handle.id), 0);

  // A gigabyte through two windows of 16 MiB mapped 64 times (a copy onto itself may cost nothing).
  constexpr uint64_t kFrom = 0x5000'0000'0000;
  constexpr uint64_t kTo = 0x5001'0000'0000;
  for (const uint64_t window : {kFrom, kTo}) {
    const GpuAddr memory = gpu.allocate(16u << 20, 4096);
    for (uint64_t i = 0; i < 64; ++i) {
      gpu.gpu.space.map(window + (i << 24), 16u << 20, gpu.host(memory), true, false);
    }
  }
  TestSdmaQueue copying(gpu, table);
  copying.submit(copy(GpuAddr{kFrom}, GpuAddr{kTo}, 0x40000000));
  ASSERT_TRUE(
      eventually([&] { return table.snapshot().at(0).activity == QueueActivity::kRunning; }));
  EXPECT_EQ(table.destroy(copying.handle.id), 0);
  gpu.gpu.space.unmap(kFrom, uint64_t{64} << 24);
  gpu.gpu.space.unmap(kTo, uint64_t{64} << 24);
}

TEST_F(SdmaTest, BadPacketsAreAHardwareException) {
  const Packet bad[] = {{0xff},
                        {1u | 9u << 8},
                        {4, 0, 0, 0, 0, 0},
                        {10u | 99u << 25, 0, 0, 0, 0, 0, 0, 0},
                        {1, 0xffff, 0},  // cut off
                        {11u | 3u << 30, low(zeroed(8)), high(zeroed(8)), 0, 3}};
  for (const Packet& packet : bad) {
    TestSdmaQueue queue(gpu, table);
    queue.submit(packet);
    EventWait wait;
    ASSERT_TRUE(waits(exception_event.id, &wait));
    EXPECT_EQ(wait.hw_exception.gpu_id, 0x1234u);
    EXPECT_EQ(table.destroy(queue.handle.id), 0);
  }
}

TEST_F(SdmaTest, BadAddressesAreMemoryFaultsAtTheRightPage) {
  const auto faulting_address = [&](const Packet& packet) {
    TestSdmaQueue queue(gpu, table);
    queue.submit(packet);
    EventWait wait;
    EXPECT_TRUE(waits(memory_event.id, &wait));
    EXPECT_EQ(table.destroy(queue.handle.id), 0);
    return wait.memory_fault.address;
  };
  const GpuAddr fine = zeroed(4096);
  EXPECT_EQ(faulting_address(copy(GpuAddr{0x12345678}, fine, 4)), 0x12345000u);
  EXPECT_EQ(faulting_address(copy(fine, GpuAddr{0x12345678}, 4)), 0x12345000u);
  EXPECT_EQ(faulting_address(fence(GpuAddr{0x777000}, 1)), 0x777000u);
  EXPECT_EQ(faulting_address(poll(GpuAddr{0x888000}, 3, 1)), 0x888000u);
  // Runs off the end of the mapping after some good pages.
  const GpuAddr end{TestGpu::kBase + TestGpu::kBytes};
  EXPECT_EQ(faulting_address(copy(GpuAddr{end.value - 100}, fine, 400)), end.value);

  constexpr uint64_t kReadOnly = 0x6000'0000'0000;
  gpu.gpu.space.map(kReadOnly, 4096, gpu.host(fine), /*writable=*/false, false);
  TestSdmaQueue queue(gpu, table);
  queue.submit(fill(GpuAddr{kReadOnly}, 1, 2, 12));
  EventWait wait;
  ASSERT_TRUE(waits(memory_event.id, &wait));
  EXPECT_TRUE(wait.memory_fault.read_only);
  gpu.gpu.space.unmap(kReadOnly, 4096);
}

}  // namespace
}  // namespace wavetap::vgpu
