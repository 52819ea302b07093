// DeviceHeap: what kernels take from the device library's allocator (malloc, new) and give back.
//
// The allocator is a part of each code object that uses it: functions that are never inlined, __ockl_dm_alloc and
// __ockl_dm_dealloc. A caller has the size, or the address, of each lane in v[0:1], and finds the address there when it goes on;
// where that is it has left in s[30:31]. Small blocks are cut out of slabs, of 2 MiB and aligned to it, that hold blocks of about
// the same size; what is larger than 3072 bytes is an allocation of its own, whose address ends in twelve zeros.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <vector>

#include "sanitize/check.h"

namespace wavetap::sanitize {

enum class HeapCode : uint8_t {
  kNone,
  kAllocate,
  kFree,
  kWraps,    // malloc and its like, where they are functions: who calls them is who allocates
  kLibrary,  // any other function of the device library: may touch the heap's own data
};
// By the name of a symbol.
HeapCode heap_code_of(std::string_view function);

// Who has taken blocks, and holds them now.
struct HeapSite {
  uint64_t kernel_object = 0;
  Place place;  // of the first block
  uint64_t blocks = 0;
  uint64_t bytes = 0;
};

// Of one process. Thread-safe.
class DeviceHeap {
 public:
  static constexpr uint64_t kSlabBytes = 2 << 20;

  // What is told of blocks in slabs: to whoever keeps the bounds of memory.
  struct Listener {
    std::function<void(uint64_t slab, uint64_t address, uint64_t size_bytes)> began;
    std::function<void(uint64_t address)> ended;
  };
  explicit DeviceHeap(Listener listener) : listener_(std::move(listener)) {}

  // A function of a code object that was loaded. Before its code runs.
  void add_code(HeapCode what, uint64_t begin, uint64_t end);
  // Code without symbols was loaded: it may have an allocator that nobody sees, and the same slabs. From then on bounds are not
  // told, and what is freed is not judged.
  void add_unseen_code() { has_unseen_code_.store(true, std::memory_order_relaxed); }
  bool has_unseen_code() const { return has_unseen_code_.load(std::memory_order_relaxed); }
  // Whether there is any allocator.
  bool is_used() const { return is_used_.load(std::memory_order_acquire); }
  // What begins at an address; whether an address is the allocator's or another function's of the library.
  HeapCode entry_at(uint64_t pc) const;
  bool is_library(uint64_t pc) const;

  void took(uint64_t address, uint64_t size_bytes, uint64_t kernel_object, const Place& place);
  enum class Freed : uint8_t { kRight, kTwice, kNowhere };
  Freed gave_back(uint64_t address);

  // Who holds other blocks than when this was last asked.
  std::vector<HeapSite> changed_sites();

 private:
  struct Code {
    HeapCode what{};
    uint64_t end = 0;
  };
  struct Block {
    uint64_t size_bytes = 0;
    uint64_t site = 0;  // its pc
  };
  struct Known {
    HeapSite site;
    bool is_changed = false;
  };

  const Listener listener_;
  std::atomic<bool> is_used_{false};
  std::atomic<bool> has_unseen_code_{false};
  mutable std::shared_mutex code_mutex_;
  std::map<uint64_t, Code> code_;  // by begin
  std::mutex mutex_;
  std::map<uint64_t, Block> blocks_;    // by address
  std::map<uint64_t, uint64_t> freed_;  // to its size; what is taken again is not here
  std::map<uint64_t, Known> sites_;     // by pc
};

// Watches calls of the allocator. Finds what is given back and is not to be; the bounds are Memcheck's, what is left over is
// leakcheck's.
class HeapWatch final : public Check {
 public:
  void begin(const MemoryMap& map) noexcept override { heap_ = map.heap(); }
  bool is_needed(const MemoryMap& map, bool moves_memory) const noexcept override {
    return !moves_memory && map.heap() != nullptr && map.heap()->is_used();
  }
  bool keeps_state() const noexcept override { return true; }
  void set_quiet(bool is_quiet) noexcept override { is_quiet_ = is_quiet; }

  emu::Wants wants(const isa::Program& program, int32_t index) noexcept override;
  void workgroup_began(const emu::Workgroup& group, void*& state) noexcept override;
  void workgroup_ended(const emu::Workgroup& group, void*& state) noexcept override;
  void before(const emu::WatchPoint& at) noexcept override;

 private:
  struct Call;

  void enter(const emu::WatchPoint& at, HeapCode what, Call& call);
  void leave(const emu::WatchPoint& at, Call& call);
  void free_blocks(const emu::WatchPoint& at, uint64_t site);

  DeviceHeap* heap_ = nullptr;
  bool is_quiet_ = false;
};

}  // namespace wavetap::sanitize
