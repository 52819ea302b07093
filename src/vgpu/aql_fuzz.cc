// Feeds arbitrary bytes to an AQL queue: the first byte picks how the input is cut, the rest are
// packets. Addresses in it are drawn towards the mapped memory, so that some of them hit. The
// processor may refuse the packets in any way it likes; it may not crash, hang or touch memory
// outside the mapping.
#include <cstdint>
#include <cstring>

#include "vgpu/aql_processor.h"
#include "vgpu/queue_scheduler.h"
#include "vgpu/test_queues.h"

namespace wavetap::vgpu {
namespace {

constexpr uint32_t kSlots = 8;
constexpr int kMostSteps = 64;

// Rewrites 8-byte words that look like nothing into addresses near the memory.
void aim(uint8_t* packet) {
  for (int at = 8; at < 64; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, packet + at, 8);
    if ((word & 3) == 0) continue;
    if ((word & 3) == 1) word = 0;
    if ((word & 3) == 2) word = TestGpu::kBase + (word >> 8) % (TestGpu::kBytes + 4096);
    if ((word & 3) == 3) word = TestGpu::kBase + 4096 + (word >> 8) % 65536 / 8 * 8;
    std::memcpy(packet + at, &word, 8);
  }
}

void run_packets(const uint8_t* data, size_t size) {
  static TestGpu& gpu = *new TestGpu;
  static EventTable& events = *new EventTable;
  static TestEngine& engine = *new TestEngine;
  static const QueueHooks& hooks = *new QueueHooks(engine.hooks());
  static QueueScheduler& scheduler = *new QueueScheduler;
  static const GpuAddr memory = gpu.allocate(131072, 4096);

  Queue queue;
  queue.id = 1;
  queue.type = QueueType::kComputeAql;
  queue.gpu = &gpu.gpu;
  queue.events = &events;
  queue.hooks = &hooks;
  queue.scheduler = &scheduler;
  const GpuAddr amd_queue = memory;
  const GpuAddr ring = memory + 4096;
  std::memset(gpu.host(memory), 0, 131072);
  gpu.store<uint32_t>(amd_queue + amd::kQueueReadDispatchIdOffsetField, amd::kQueueReadDispatchId);
  queue.read_pointer = amd_queue + amd::kQueueReadDispatchId;
  queue.write_pointer = amd_queue + amd::kQueueWriteDispatchId;
  queue.ring = ring.value;
  queue.ring_bytes = kSlots * 64;

  AqlProcessor processor(queue);
  uint64_t written = 0;
  for (int step = 0; step < kMostSteps; ++step) {
    if (size >= 8 && written < kSlots) {
      uint8_t packet[64] = {};
      const size_t part = size < 64 ? size : 64;
      std::memcpy(packet, data, part);
      data += part;
      size -= part;
      packet[0] %= 7;
      if (packet[0] == 0) packet[2] %= 4;
      aim(packet);
      std::memcpy(gpu.host(ring + written % kSlots * 64), packet, 64);
      gpu.store<uint64_t>(queue.write_pointer, ++written);
    }
    if (processor.step() == Step::kFaulted) break;
    (void)processor.ready();
  }
}

}  // namespace
}  // namespace wavetap::vgpu

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wavetap::vgpu;
  arm_guard();
  run_packets(data, size);
  return 0;
}
