// Feeds arbitrary dwords to an SDMA queue, and the same to a PM4 queue. Operations are drawn
// towards those that exist and addresses towards the mapped memory. Nothing may crash, hang or
// touch memory outside.
#include <cstdint>
#include <cstring>
#include <memory>

#include "vgpu/guard.h"
#include "vgpu/queue_scheduler.h"
#include "vgpu/queue_state.h"
#include "vgpu/test_queues.h"

namespace wavetap::vgpu {
namespace {

constexpr uint64_t kRingBytes = 1024;
constexpr int kMostSteps = 300;

void run_ring(const uint8_t* data, size_t size, QueueType type) {
  static TestGpu& gpu = *new TestGpu;
  static EventTable& events = *new EventTable;
  static TestEngine& engine = *new TestEngine;
  static const QueueHooks& hooks = *new QueueHooks(engine.hooks());
  static QueueScheduler& scheduler = *new QueueScheduler;
  static const GpuAddr memory = gpu.allocate(65536, 4096);

  Queue queue;
  queue.id = 1;
  queue.type = type;
  queue.gpu = &gpu.gpu;
  queue.events = &events;
  queue.hooks = &hooks;
  queue.scheduler = &scheduler;
  queue.read_pointer = memory;
  queue.write_pointer = memory + 8;
  queue.ring = (memory + 4096).value;
  queue.ring_bytes = kRingBytes;
  std::memset(gpu.host(memory), 0, 65536);

  const size_t dwords = size / 4 < kRingBytes / 4 ? size / 4 : kRingBytes / 4;
  for (size_t i = 0; i < dwords; ++i) {
    uint32_t dword = 0;
    std::memcpy(&dword, data + i * 4, 4);
    const uint32_t choice = dword & 7;
    if (type == QueueType::kSdma && choice < 2) dword = (dword & 0xff000000) | (dword >> 8) % 18;
    if (type == QueueType::kComputePm4 && choice < 2) dword = 3u << 30 | (dword & 0x000fff00);
    if (choice == 2) dword = static_cast<uint32_t>(TestGpu::kBase >> 32);
    if (choice == 3) dword = low(memory) + (dword >> 8) % 65536 / 8 * 8;
    if (choice == 4) dword %= 4096;
    gpu.store<uint32_t>(GpuAddr{queue.ring.load()} + i * 4, dword);
  }
  gpu.ring_doorbell(0, type == QueueType::kSdma ? dwords * 4 : dwords);
  const std::unique_ptr<PacketProcessor> processor =
      type == QueueType::kSdma ? make_sdma_processor(queue) : make_pm4_processor(queue);
  for (int step = 0; step < kMostSteps; ++step) {
    const Step result = processor->step();
    if (result == Step::kFaulted) break;
    if (result == Step::kBlocked && !processor->ready()) break;
  }
}

}  // namespace
}  // namespace wavetap::vgpu

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wavetap::vgpu;
  arm_guard();
  run_ring(data, size, QueueType::kSdma);
  run_ring(data, size, QueueType::kComputePm4);
  return 0;
}
