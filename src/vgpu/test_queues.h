// A GPU without a front end, for the tests, fuzzers and benchmarks of queues: some memory,
// doorbells, and an engine that is a function of the test. GPU addresses differ from host addresses
// on purpose.
#pragma once

#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "amd/aql.h"
#include "vgpu/events.h"
#include "vgpu/gpu.h"
#include "vgpu/queues.h"

namespace wavetap::vgpu {

// Spins politely until `done` or ten seconds have passed.
template <class Done>
bool eventually(Done done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    sched_yield();
  }
  return true;
}

// One mapping of the GPU with a bump allocator on it.
class TestGpu {
 public:
  static constexpr uint64_t kBase = 0x7000'0000'0000;
  static constexpr uint64_t kBytes = 64u << 20;

  TestGpu() {
    gpu.model.name = "test";
    gpu.model.target = {10, 3, 0};
    gpu.model.compute_units = 40;
    gpu.node = 1;
    gpu.gpu_id = 0x1234;
    void* memory =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    host_ = static_cast<std::byte*>(memory);
    gpu.space.map(kBase, kBytes, host_, /*writable=*/true, /*executable=*/true);
    gpu.doorbells = doorbells_.data();
  }
  ~TestGpu() { munmap(host_, kBytes); }
  TestGpu(const TestGpu&) = delete;
  TestGpu& operator=(const TestGpu&) = delete;

  GpuAddr allocate(uint64_t size_bytes, uint64_t alignment = 64) {
    next_ = (next_ + alignment - 1) / alignment * alignment;
    const GpuAddr address{kBase + next_};
    next_ += size_bytes;
    return address;
  }
  std::byte* host(GpuAddr address) { return host_ + (address.value - kBase); }
  template <class T>
  T* at(GpuAddr address) {
    return reinterpret_cast<T*>(host(address));
  }
  template <class T>
  T load(GpuAddr address) {
    return __atomic_load_n(at<T>(address), __ATOMIC_ACQUIRE);
  }
  template <class T>
  void store(GpuAddr address, T value) {
    __atomic_store_n(at<T>(address), value, __ATOMIC_RELEASE);
  }
  void ring_doorbell(uint32_t slot, uint64_t value) {
    __atomic_store_n(&doorbells_[slot], value, __ATOMIC_RELEASE);
  }

  GpuAddr make_signal(int64_t value, uint32_t event_id = 0, GpuAddr mailbox = {}) {
    const GpuAddr signal = allocate(sizeof(amd::Signal));
    auto* s = at<amd::Signal>(signal);
    *s = {};
    s->kind = 1;
    s->value = value;
    s->event_id = event_id;
    s->event_mailbox_ptr = mailbox.value;
    return signal;
  }
  int64_t value_of(GpuAddr signal) { return load<int64_t>(signal + offsetof(amd::Signal, value)); }
  bool waits_for(GpuAddr signal, int64_t value) {
    return eventually([&] { return value_of(signal) == value; });
  }

  Gpu gpu;

 private:
  std::vector<uint64_t> doorbells_ = std::vector<uint64_t>(kDoorbellSlotsPerGpu);
  std::byte* host_ = nullptr;
  uint64_t next_ = 4096;
};

// An AQL queue as ROCr lays it out, with a producer.
class TestAqlQueue {
 public:
  TestAqlQueue(TestGpu& gpu, QueueTable& table, uint32_t slots = 64, uint64_t context_save = 0)
      : gpu_(gpu), slots_(slots) {
    amd_queue = gpu.allocate(0x100);
    std::memset(gpu.host(amd_queue), 0, 0x100);
    gpu.store<uint32_t>(amd_queue + amd::kQueueReadDispatchIdOffsetField,
                        amd::kQueueReadDispatchId);
    inactive_signal = gpu.make_signal(0);
    gpu.store<uint64_t>(amd_queue + amd::kQueueInactiveSignal, inactive_signal.value);
    ring = gpu.allocate(uint64_t{slots} * 64, 4096);
    for (uint32_t i = 0; i < slots; ++i) gpu.store<uint16_t>(ring + uint64_t{i} * 64, 1);
    QueueParams params;
    params.type = QueueType::kComputeAql;
    params.ring = ring;
    params.ring_bytes = uint64_t{slots} * 64;
    params.read_pointer = amd_queue + amd::kQueueReadDispatchId;
    params.write_pointer = amd_queue + amd::kQueueWriteDispatchId;
    params.context_save = GpuAddr{context_save};
    create_error = table.create(params, gpu.gpu, &handle);
  }

  // Reserves a slot, waits for room, writes the packet and submits it. Any thread.
  uint64_t submit(const void* packet) {
    uint64_t* written = gpu_.at<uint64_t>(amd_queue + amd::kQueueWriteDispatchId);
    const uint64_t index = __atomic_fetch_add(written, 1, __ATOMIC_ACQ_REL);
    eventually([&] { return index - read_index() < slots_; });
    const GpuAddr slot = ring + (index % slots_) * 64;
    std::memcpy(gpu_.host(slot) + 4, static_cast<const std::byte*>(packet) + 4, 60);
    uint32_t head = 0;
    std::memcpy(&head, packet, 4);
    gpu_.store<uint32_t>(slot, head);
    gpu_.ring_doorbell(handle.doorbell_slot, index);
    return index;
  }
  uint64_t read_index() { return gpu_.load<uint64_t>(amd_queue + amd::kQueueReadDispatchId); }

  static constexpr uint16_t header(amd::PacketType type) {
    return static_cast<uint16_t>(type) | 1u << 8;
  }

  uint64_t submit_dispatch(uint64_t kernel_object, GpuAddr signal, GpuAddr kernarg = {}) {
    amd::KernelDispatchPacket p{};
    p.header = header(amd::PacketType::kKernelDispatch);
    p.setup = 1;
    p.workgroup_size[0] = 64;
    p.grid_size[0] = 256;
    p.kernel_object = kernel_object;
    p.kernarg_address = kernarg.value;
    p.completion_signal = signal.value;
    return submit(&p);
  }
  uint64_t submit_barrier(amd::PacketType type, std::vector<GpuAddr> dependencies, GpuAddr signal) {
    amd::BarrierPacket p{};
    p.header = header(type);
    for (size_t i = 0; i < dependencies.size(); ++i) p.dep_signal[i] = dependencies[i].value;
    p.completion_signal = signal.value;
    return submit(&p);
  }
  int64_t queue_error() { return gpu_.value_of(inactive_signal); }

  GpuAddr amd_queue;
  GpuAddr ring;
  GpuAddr inactive_signal;
  QueueHandle handle;
  int create_error = 0;

 private:
  TestGpu& gpu_;
  uint32_t slots_;
};

// An SDMA queue with a producer.
class TestSdmaQueue {
 public:
  TestSdmaQueue(TestGpu& gpu, QueueTable& table, uint64_t ring_bytes = 4096)
      : gpu_(gpu), ring_bytes_(ring_bytes) {
    pointers_ = gpu.allocate(64);
    std::memset(gpu.host(pointers_), 0, 64);
    ring = gpu.allocate(ring_bytes, 4096);
    QueueParams params;
    params.type = QueueType::kSdma;
    params.ring = ring;
    params.ring_bytes = ring_bytes;
    params.read_pointer = pointers_ + 16;
    params.write_pointer = pointers_ + 8;
    create_error = table.create(params, gpu.gpu, &handle);
  }

  void append(const std::vector<uint32_t>& dwords) {
    eventually([&] { return written_ + dwords.size() * 4 - read_position() <= ring_bytes_; });
    for (const uint32_t dword : dwords) {
      gpu_.store<uint32_t>(ring + written_ % ring_bytes_, dword);
      written_ += 4;
    }
  }
  void ring_doorbell() {
    gpu_.store<uint64_t>(pointers_ + 8, written_);
    gpu_.ring_doorbell(handle.doorbell_slot, written_);
  }
  // As an emitter with 32-bit pointers does: the position inside the ring.
  void ring_doorbell_wrapped() {
    gpu_.store<uint64_t>(pointers_ + 8, written_ % ring_bytes_);
    gpu_.ring_doorbell(handle.doorbell_slot, written_ % ring_bytes_);
  }
  void submit(const std::vector<uint32_t>& dwords) {
    append(dwords);
    ring_doorbell();
  }
  uint64_t read_position() { return gpu_.load<uint64_t>(pointers_ + 16); }
  uint64_t written() const { return written_; }
  bool drains() {
    return eventually([&] { return read_position() == written_; });
  }

  GpuAddr ring;
  QueueHandle handle;
  int create_error = 0;

 private:
  TestGpu& gpu_;
  GpuAddr pointers_;
  uint64_t ring_bytes_;
  uint64_t written_ = 0;
};

// Hooks whose engine is a function.
struct TestEngine {
  std::function<emu::DispatchResult(const emu::Dispatch&)> run = [](const emu::Dispatch&) {
    return emu::DispatchResult{};
  };
  std::atomic<int> invalidations{0};

  QueueHooks hooks() {
    QueueHooks h;
    h.context = this;
    h.run = [](void* context, Gpu&, const emu::Dispatch& dispatch) {
      return static_cast<TestEngine*>(context)->run(dispatch);
    };
    h.invalidate_code = [](void* context, Gpu&, GpuAddr, uint64_t) {
      static_cast<TestEngine*>(context)->invalidations.fetch_add(1);
    };
    return h;
  }
};

inline uint32_t low(GpuAddr address) { return static_cast<uint32_t>(address.value); }
inline uint32_t high(GpuAddr address) { return static_cast<uint32_t>(address.value >> 32); }

}  // namespace wavetap::vgpu
