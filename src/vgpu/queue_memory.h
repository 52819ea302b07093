// GuestMemory: how packet processors touch the GPU's memory. Every address in a packet, and the
// packet itself, is the program's: it is translated with the GPU's page table, checked for rights,
// and the host access itself is guarded, so a bad address becomes a fault value and never a crash.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/gpu_addr.h"
#include "vgpu/address_space.h"
#include "vgpu/guard.h"

namespace wavetap::vgpu {

enum class AccessError : uint8_t { kNone, kNotMapped, kReadOnly, kMisaligned };

// What goes from one queue to another by way of the host program is ordered by the host's own
// atomics, which the thread sanitizer does not see: AMD's runtimes are not instrumented. For it,
// and only for it, one word stands for the host: all we ever released to the host is before all we
// later acquire from it.
#if defined(WT_SANITIZE_THREAD)
inline constinit std::atomic<uint32_t> g_host_order{0};
inline void order_with_host() { g_host_order.fetch_add(1, std::memory_order_acq_rel); }
#else
inline void order_with_host() {}
#endif

struct AccessFault {
  AccessError error = AccessError::kNone;
  GpuAddr address;
  bool is_write = false;
};

// One thread. Functions return false on a fault, which fault() then describes; nothing or a part
// has been transferred. The caller arms the guard (arm_guard()) once in a while.
class GuestMemory {
 public:
  explicit GuestMemory(AddressSpace& space) : space_(space) {}

  bool read(GpuAddr address, void* bytes, uint64_t size_bytes);
  bool write(GpuAddr address, const void* bytes, uint64_t size_bytes);
  // Stop early, with success, when *stop becomes true; large transfers look often.
  bool copy(GpuAddr to, GpuAddr from, uint64_t size_bytes, const std::atomic<bool>& stop);
  // Repeats the low 1, 2 or 4 bytes of `pattern`. A trailing partial element is cut.
  bool fill(GpuAddr to, uint32_t pattern, uint32_t element_bytes, uint64_t size_bytes,
            const std::atomic<bool>& stop);

  // Naturally aligned 1-, 2-, 4- or 8-byte accesses that pair with atomics of the host program:
  // loads acquire, stores release, read-modify-writes do both.
  template <class T>
  bool load(GpuAddr address, T* value) {
    return touch<T>(address, /*is_write=*/false, [value](std::atomic_ref<T> word) {
      *value = word.load(std::memory_order_acquire);
    });
  }
  template <class T>
  bool store(GpuAddr address, T value) {
    return touch<T>(address, /*is_write=*/true, [value](std::atomic_ref<T> word) {
      word.store(value, std::memory_order_release);
    });
  }
  // *old receives the value before.
  template <class T, class Next>
  bool modify(GpuAddr address, T* old, Next next) {
    return touch<T>(address, /*is_write=*/true, [old, next](std::atomic_ref<T> word) {
      *old = word.load(std::memory_order_relaxed);
      while (!word.compare_exchange_weak(*old, next(*old), std::memory_order_acq_rel,
                                         std::memory_order_relaxed)) {
      }
    });
  }

  const AccessFault& fault() const { return fault_; }

 private:
  static constexpr int kCachedRanges = 4;

  // The host address of `address`, with the number of bytes from there to the end of its mapping;
  // null and fault_ set when there is none with the right.
  std::byte* translate(GpuAddr address, bool is_write, uint64_t* available_bytes);
  void note_host_fault(GpuAddr address, const std::byte* host, uint64_t size_bytes,
                       uint64_t host_fault, bool is_write);

  template <class T, class Access>
  bool touch(GpuAddr address, bool is_write, Access access) {
    static_assert(std::is_integral_v<T>);
    if (address.value % sizeof(T) != 0) {
      fault_ = {AccessError::kMisaligned, address, is_write};
      return false;
    }
    uint64_t available = 0;
    std::byte* host = translate(address, is_write, &available);
    if (host == nullptr) return false;
    if (available < sizeof(T)) {
      fault_ = {AccessError::kNotMapped, address, is_write};
      return false;
    }
    uint64_t host_fault = 0;
    if (is_write) order_with_host();
    if (guarded([&] { access(std::atomic_ref<T>(*reinterpret_cast<T*>(host))); }, &host_fault)) {
      order_with_host();
      WriteObserver* const observer = is_write ? space_.write_observer() : nullptr;
      if (observer != nullptr) observer->wrote(address, sizeof(T));
      return true;
    }
    note_host_fault(address, host, sizeof(T), host_fault, is_write);
    return false;
  }

  AddressSpace& space_;
  uint64_t epoch_ = 0;
  emu::MappedRange cached_[kCachedRanges];
  int next_slot_ = 0;
  AccessFault fault_;
};

}  // namespace wavetap::vgpu
