// What the program says about its memory: how many bytes it asked for, and, where it has an allocator of its own, what that
// cuts out of them.
//
// How many bytes the program asked for. The driver is asked for whole pages, so the number is taken
// where it is still known: ROCr loads the library named by HSA_TOOLS_LIB and calls OnLoad with its
// tables of functions, one of which allocates. HIP allocates through it, too.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "vgpu/preload/front.h"

namespace wavetap::vgpu {
namespace {

// The head of AMD's tables; `size` is that of the whole table, pointers to functions follow.
struct TableVersion {
  uint32_t major;
  uint32_t size;
  uint32_t step;
  uint32_t reserved;
};
struct Tables {
  TableVersion version;
  TableVersion* core;
  TableVersion* amd_ext;
};
// hsa_amd_memory_pool_allocate's place in the extension table, the same in every ROCr since 1.0.
constexpr size_t kPoolAllocate = 13;

using PoolAllocate = uint32_t (*)(uint64_t pool, size_t size, uint32_t flags, void** pointer);
constinit std::atomic<PoolAllocate> g_next{nullptr};

uint32_t on_pool_allocate(uint64_t pool, size_t size, uint32_t flags, void** pointer) {
  const uint32_t status = g_next.load(std::memory_order_acquire)(pool, size, flags, pointer);
  if (status == 0 && pointer != nullptr) {
    if (Driver* driver = front::running_driver())
      driver->note_requested_size(reinterpret_cast<uint64_t>(*pointer), size);
  }
  return status;
}

}  // namespace
}  // namespace wavetap::vgpu

WT_EXPORT bool OnLoad(void* tables, uint64_t, uint64_t, const char* const*) {
  using namespace wavetap::vgpu;
  if (tables == nullptr) return true;
  TableVersion* table = static_cast<Tables*>(tables)->amd_ext;
  if (table == nullptr || table->size < sizeof *table + (kPoolAllocate + 1) * sizeof(void*))
    return true;
  PoolAllocate& entry = reinterpret_cast<PoolAllocate*>(table + 1)[kPoolAllocate];
  if (entry == &on_pool_allocate) return true;
  g_next.store(entry, std::memory_order_release);
  entry = &on_pool_allocate;
  return true;
}

WT_EXPORT void OnUnload() {}

// include/wavetap/annotate.h looks for it.
WT_EXPORT void wavetap_annotate_v1(int what, const void* address, size_t bytes) {
  using namespace wavetap::vgpu;
  if (Driver* driver = front::running_driver())
    driver->annotate(what, reinterpret_cast<uint64_t>(address), bytes);
}

// agent/host_copies.cc looks for these.
WT_EXPORT uint64_t wavetap_host_copy_began_v1() {
  using namespace wavetap::vgpu;
  Driver* const driver = front::running_driver();
  return driver == nullptr ? 0 : driver->host_copy_began();
}
WT_EXPORT void wavetap_host_copied_v1(uint64_t number, const void* to, const void* from,
                                      size_t bytes) {
  using namespace wavetap::vgpu;
  if (Driver* driver = front::running_driver())
    driver->host_copied(number, reinterpret_cast<uint64_t>(to), reinterpret_cast<uint64_t>(from),
                        bytes);
}
