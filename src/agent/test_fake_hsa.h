// A runtime for the tests of the HSA hooks: real tables, one CPU and one GPU whose queues the test
// drains by hand, packet by packet. What the "GPU" took is kept for comparison.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "agent/hsa_abi.h"
#include "agent/hsa_table.h"

namespace wavetap::agent {

class FakeHsa {
 public:
  static constexpr uint64_t kCpu = 0x1000;
  static constexpr uint64_t kGpu = 0x2000;
  static constexpr uint64_t kHostPool = 0x3000;
  static constexpr uint64_t kVramPool = 0x4000;

  using Packet = amd::KernelDispatchPacket;

  struct RealQueue {
    alignas(64) char block[kAmdQueueBytes];
    std::vector<Packet> ring;
    amd::Signal doorbell{};
    std::atomic<uint64_t> write{0};
    std::atomic<uint64_t> read{0};
    std::atomic<int64_t> rung{-1};
    void (*callback)(HsaStatus, HsaQueue*, void*) = nullptr;
    void* callback_data = nullptr;
    bool profiling = false;
    std::vector<Packet> taken;

    HsaQueue* handle() { return reinterpret_cast<HsaQueue*>(block); }

    // Takes up to `count` packets, as the packet processor does; their signals stay as they are.
    size_t take(size_t count) {
      size_t n = 0;
      for (; n < count; ++n) {
        const uint64_t index = read.load();
        if (static_cast<int64_t>(index) > rung.load()) break;
        Packet& packet = ring[index % ring.size()];
        const uint16_t header = __atomic_load_n(&packet.header, __ATOMIC_ACQUIRE);
        if ((header & 0xff) == static_cast<uint8_t>(amd::PacketType::kInvalid)) break;
        taken.push_back(packet);
        __atomic_store_n(&packet.header, static_cast<uint16_t>(amd::PacketType::kInvalid),
                         __ATOMIC_RELEASE);
        read.store(index + 1);
      }
      return n;
    }
  };

  // `amd_entries`: how large the AMD table is to be.
  explicit FakeHsa(size_t amd_entries = 76) { build(amd_entries); }
  ~FakeHsa() {
    instance() = nullptr;
    for (void* memory : memory_) std::free(memory);  // as the runtime does when it is shut down
  }

  HsaTables tables{};
  std::vector<std::unique_ptr<RealQueue>> queues;
  std::map<uint64_t, std::unique_ptr<amd::Signal>> signals;
  std::map<uint64_t, HsaTimes> copy_times;  // by signal, in system time; none: not finished
  std::mutex copy_lock;                     // of copy_times, which the helper thread asks for too
  HsaStatus copy_status = kHsaSuccess;      // of the next copies
  uint64_t clock = 1000;
  uint32_t max_queue_size = 1 << 17;

  // Functions of memory beside the pools: reserving and mapping addresses, locking, sharing.
  void add_memory_functions() {
    set(
        &Hsa::hsa_amd_vmem_address_reserve,
        +[](void** address, size_t, uint64_t, uint64_t) -> HsaStatus {
          *address = reinterpret_cast<void*>(uint64_t{0x7000'0000'0000});
          return kHsaSuccess;
        });
    set(
        &Hsa::hsa_amd_vmem_address_free, +[](void*, size_t) -> HsaStatus { return kHsaSuccess; });
    set(
        &Hsa::hsa_amd_vmem_map,
        +[](void*, size_t, size_t, uint64_t, uint64_t) -> HsaStatus { return kHsaSuccess; });
    set(
        &Hsa::hsa_amd_vmem_unmap, +[](void*, size_t) -> HsaStatus { return kHsaSuccess; });
    set(
        &Hsa::hsa_amd_memory_lock,
        +[](void* host, size_t, uint64_t*, int32_t, void** gpu) -> HsaStatus {
          *gpu = static_cast<char*>(host) + (uint64_t{1} << 40);
          return kHsaSuccess;
        });
    set(
        &Hsa::hsa_amd_memory_unlock, +[](void*) -> HsaStatus { return kHsaSuccess; });
    set(
        &Hsa::hsa_amd_ipc_memory_attach,
        +[](const void*, size_t, uint32_t, const uint64_t*, void** pointer) -> HsaStatus {
          *pointer = reinterpret_cast<void*>(uint64_t{0x6000'0000'0000});
          return kHsaSuccess;
        });
    set(
        &Hsa::hsa_amd_ipc_memory_detach, +[](void*) -> HsaStatus { return kHsaSuccess; });
    set(
        &Hsa::hsa_amd_svm_attributes_set,
        +[](void*, size_t, void*, size_t) -> HsaStatus { return kHsaSuccess; });
  }

  // The GPU finishes a packet.
  void complete(const Packet& packet) {
    clock += 2;
    complete(packet.completion_signal, clock - 1, clock);
  }
  // The copy engine finishes a copy.
  void complete_copy(uint64_t signal, uint64_t start, uint64_t end) {
    {
      const std::lock_guard locked(copy_lock);
      copy_times[signal] = {start, end};
    }
    __atomic_fetch_sub(&signals.at(signal)->value, 1, __ATOMIC_ACQ_REL);
  }
  // What a program does that uses a signal again.
  void set(uint64_t signal, int64_t value) {
    __atomic_store_n(&signals.at(signal)->value, value, __ATOMIC_RELEASE);
  }
  static void complete(uint64_t handle, uint64_t start, uint64_t end) {
    if (handle == 0) return;
    auto* signal = reinterpret_cast<amd::Signal*>(handle);
    __atomic_store_n(&signal->start_ts, start, __ATOMIC_RELEASE);
    __atomic_store_n(&signal->end_ts, end, __ATOMIC_RELEASE);
    __atomic_fetch_sub(&signal->value, 1, __ATOMIC_ACQ_REL);
  }

 private:
  static FakeHsa*& instance() {
    static FakeHsa* one = nullptr;
    return one;
  }
  static FakeHsa& fake() { return *instance(); }

  static RealQueue& queue_of(const HsaQueue* queue) {
    for (auto& known : fake().queues) {
      if (known->handle() == queue) return *known;
    }
    std::abort();  // a hook handed the runtime a queue that is not the runtime's
  }

  static HsaStatus unsupported() { return kHsaError; }
  static HsaStatus fine() { return kHsaSuccess; }

  template <class Function>
  void set(Function Hsa::*which, Function function) {
    void** entry = probe_.entry(probe_.index_of(which));
    if (entry != nullptr) *entry = reinterpret_cast<void*>(function);
  }

  void build(size_t amd_entries) {
    instance() = this;
    const auto table = [](std::vector<uint64_t>& memory, size_t entries) {
      memory.assign(2 + entries, reinterpret_cast<uint64_t>(&unsupported));
      auto* version = reinterpret_cast<HsaTableVersion*>(memory.data());
      *version = {1, static_cast<uint32_t>(memory.size() * 8), 0, 0};
      return version;
    };
    tables.core = table(core_, 125);
    tables.amd_ext = table(amd_, amd_entries);
    probe_.open(tables);

    set(
        &Hsa::hsa_system_get_info, +[](uint32_t, void* value) -> HsaStatus {
          *static_cast<uint64_t*>(value) = 1'000'000'000;
          return kHsaSuccess;
        });
    set(
        &Hsa::hsa_iterate_agents, +[](void* callback, void* data) -> HsaStatus {
          const auto each = reinterpret_cast<HsaStatus (*)(uint64_t, void*)>(callback);
          each(kCpu, data);
          return each(kGpu, data);
        });
    set(
        &Hsa::hsa_agent_get_info,
        +[](uint64_t agent, uint32_t attribute, void* value) -> HsaStatus {
          if (attribute == amd::kAgentName)
            std::strcpy(static_cast<char*>(value), agent == kGpu ? "gfx1030" : "cpu");
          if (attribute == amd::kAgentDevice)
            *static_cast<uint32_t*>(value) = agent == kGpu ? amd::kDeviceGpu : 0;
          if (attribute == amd::kAgentQueueMaxSize)
            *static_cast<uint32_t*>(value) = fake().max_queue_size;
          return kHsaSuccess;
        });
    set(
        &Hsa::hsa_amd_agent_iterate_memory_pools,
        +[](uint64_t agent, void* callback, void* data) -> HsaStatus {
          return reinterpret_cast<HsaStatus (*)(uint64_t, void*)>(callback)(
              agent == kGpu ? kVramPool : kHostPool, data);
        });
    set(
        &Hsa::hsa_amd_memory_pool_get_info,
        +[](uint64_t pool, uint32_t attribute, void* value) -> HsaStatus {
          if (attribute == amd::kPoolFlags)
            *static_cast<uint32_t*>(value) = pool == kHostPool ? amd::kPoolFineGrained : 4;
          if (attribute == amd::kPoolSegment) *static_cast<uint32_t*>(value) = amd::kSegmentGlobal;
          if (attribute == amd::kPoolSize) *static_cast<size_t*>(value) = 1 << 30;
          if (attribute == amd::kPoolMayAllocate) *static_cast<bool*>(value) = true;
          return kHsaSuccess;
        });
    set(
        &Hsa::hsa_amd_memory_pool_allocate,
        +[](uint64_t, size_t size, uint32_t, void** out) -> HsaStatus {
          *out = std::aligned_alloc(4096, (size + 4095) & ~size_t{4095});
          if (*out == nullptr) return kHsaError;
          fake().memory_.insert(*out);
          return kHsaSuccess;
        });
    set(
        &Hsa::hsa_amd_memory_pool_free, +[](void* pointer) -> HsaStatus {
          if (fake().memory_.erase(pointer) == 0) return kHsaError;
          std::free(pointer);
          return kHsaSuccess;
        });
    set(
        &Hsa::hsa_amd_agents_allow_access,
        +[](uint32_t, const uint64_t*, const void*, const void*) -> HsaStatus {
          return kHsaSuccess;
        });
    set(
        &Hsa::hsa_amd_profiling_convert_tick_to_system_domain,
        +[](uint64_t, uint64_t tick, void* out) -> HsaStatus {
          *static_cast<uint64_t*>(out) = tick * 10;
          return kHsaSuccess;
        });
    set(
        &Hsa::hsa_amd_profiling_get_dispatch_time,
        +[](uint64_t, uint64_t signal, void* out) -> HsaStatus {
          const auto* block = reinterpret_cast<const amd::Signal*>(signal);
          *static_cast<HsaTimes*>(out) = {block->start_ts * 10, block->end_ts * 10};
          return kHsaSuccess;
        });
    set(
        &Hsa::hsa_amd_memory_async_copy,
        +[](void*, uint64_t, const void*, uint64_t, size_t, uint32_t, const uint64_t*,
            uint64_t signal) -> HsaStatus {
          const std::lock_guard locked(fake().copy_lock);
          if (fake().copy_status == kHsaSuccess) fake().copy_times.erase(signal);
          return fake().copy_status;
        });
    set(
        &Hsa::hsa_amd_profiling_get_async_copy_time, +[](uint64_t signal, void* out) -> HsaStatus {
          const std::lock_guard locked(fake().copy_lock);
          const auto times = fake().copy_times.find(signal);
          *static_cast<HsaTimes*>(out) =
              times == fake().copy_times.end() ? HsaTimes{} : times->second;
          return kHsaSuccess;
        });
    set(
        &Hsa::hsa_amd_memory_fill,
        +[](void*, uint32_t, size_t) -> HsaStatus { return kHsaSuccess; });
    set(
        &Hsa::hsa_amd_profiling_async_copy_enable, +[](bool) -> HsaStatus { return kHsaSuccess; });
    build_signals();
    build_queues();
  }

  void build_signals() {
    static constexpr auto kCreate = [](int64_t value, uint64_t* out) {
      auto signal = std::make_unique<amd::Signal>();
      signal->kind = kSignalKindUser;
      signal->value = value;
      *out = reinterpret_cast<uint64_t>(signal.get());
      fake().signals[*out] = std::move(signal);
      return kHsaSuccess;
    };
    set(
        &Hsa::hsa_signal_create,
        +[](int64_t value, uint32_t, const uint64_t*, uint64_t* out) -> HsaStatus {
          return kCreate(value, out);
        });
    set(
        &Hsa::hsa_amd_signal_create,
        +[](int64_t value, uint32_t, const uint64_t*, uint64_t, uint64_t* out) -> HsaStatus {
          return kCreate(value, out);
        });
    set(
        &Hsa::hsa_signal_destroy, +[](uint64_t signal) -> HsaStatus {
          return fake().signals.erase(signal) == 1 ? kHsaSuccess : kHsaError;
        });
    set(
        &Hsa::hsa_signal_store_screlease, +[](uint64_t signal, int64_t value) {
          for (auto& queue : fake().queues) {
            if (reinterpret_cast<uint64_t>(&queue->doorbell) == signal)
              return queue->rung.store(value);
          }
          reinterpret_cast<amd::Signal*>(signal)->value = value;
        });
  }

  void build_queues() {
    set(
        &Hsa::hsa_queue_create,
        +[](uint64_t, uint32_t size, uint32_t type, void* callback, void* data, uint32_t, uint32_t,
            HsaQueue** out) -> HsaStatus {
          if (size > fake().max_queue_size) return kHsaError;
          auto queue = std::make_unique<RealQueue>();
          std::memset(queue->block, 0, sizeof queue->block);
          queue->ring.resize(size);
          for (Packet& packet : queue->ring)
            packet.header = static_cast<uint16_t>(amd::PacketType::kInvalid);
          HsaQueue& handle = *queue->handle();
          handle.type = type;
          handle.size = size;
          handle.base_address = queue->ring.data();
          handle.doorbell_signal = reinterpret_cast<uint64_t>(&queue->doorbell);
          handle.id = fake().queues.size();
          queue->callback = reinterpret_cast<void (*)(HsaStatus, HsaQueue*, void*)>(callback);
          queue->callback_data = data;
          *out = &handle;
          fake().queues.push_back(std::move(queue));
          return kHsaSuccess;
        });
    set(
        &Hsa::hsa_queue_destroy, +[](HsaQueue* queue) -> HsaStatus {
          queue_of(queue);
          return kHsaSuccess;
        });
    set(
        &Hsa::hsa_queue_load_read_index_scacquire,
        +[](const HsaQueue* queue) -> uint64_t { return queue_of(queue).read.load(); });
    set(
        &Hsa::hsa_queue_load_write_index_relaxed,
        +[](const HsaQueue* queue) -> uint64_t { return queue_of(queue).write.load(); });
    set(
        &Hsa::hsa_queue_add_write_index_relaxed,
        +[](const HsaQueue* queue, uint64_t count) -> uint64_t {
          return queue_of(queue).write.fetch_add(count);
        });
    set(
        &Hsa::hsa_amd_profiling_set_profiler_enabled,
        +[](HsaQueue* queue, int32_t enable) -> HsaStatus {
          queue_of(queue).profiling = enable != 0;
          return kHsaSuccess;
        });
    set(
        &Hsa::hsa_amd_queue_set_priority, +[](HsaQueue* queue, uint32_t) -> HsaStatus {
          queue_of(queue);
          return kHsaSuccess;
        });
    set(
        &Hsa::hsa_status_string, +[](uint32_t, void* out) -> HsaStatus {
          *static_cast<const char**>(out) = "it broke";
          return kHsaSuccess;
        });
  }

  std::set<void*> memory_;
  std::vector<uint64_t> core_;
  std::vector<uint64_t> amd_;
  HsaTable probe_{};
};

}  // namespace wavetap::agent
