// What the program says about its memory: how many bytes it asked for, and, where it has an allocator of its own, what that
// cuts out of them.
//
// How many bytes the program asked for. The driver is asked for whole pages, so the number is taken
// where it is still known: ROCr loads the library named by HSA_TOOLS_LIB and calls OnLoad with its
// tables of functions, one of which allocates. HIP allocates through it, too.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "vgpu/preload/front.h"
#include "vgpu/preload/hsa_tables.h"

namespace wavetap::vgpu {
namespace {

using front::next;
using front::replace;

// Functions of the extension table that hand memory out, and their places in it, the same in every ROCr that has them.
constexpr size_t kPoolAllocate = 13;
constexpr size_t kMemoryLock = 20;
constexpr size_t kMemoryUnlock = 21;
constexpr size_t kIpcMemoryAttach = 29;
constexpr size_t kMemoryLockToPool = 40;

using PoolAllocate = uint32_t (*)(uint64_t pool, size_t size, uint32_t flags, void** pointer);
using Lock = uint32_t (*)(void* host, size_t size, void* agents, int count, void** pointer);
using LockToPool = uint32_t (*)(void* host, size_t size, void* agents, int count, uint64_t pool,
                                uint32_t flags, void** pointer);
using Unlock = uint32_t (*)(void* host);
using IpcAttach = uint32_t (*)(const void* handle, size_t size, uint32_t count, const void* agents,
                               void** pointer);
constinit std::atomic<PoolAllocate> g_pool_allocate{nullptr};
constinit std::atomic<Lock> g_lock{nullptr};
constinit std::atomic<LockToPool> g_lock_to_pool{nullptr};
constinit std::atomic<Unlock> g_unlock{nullptr};
constinit std::atomic<IpcAttach> g_ipc_attach{nullptr};

uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

// Else ROCr cuts small allocations out of blocks, and the first one in a block has the address of all of it.
bool is_each_allocation_apart() {
  static const bool s_is = [] {
    const char* const value = std::getenv("HSA_DISABLE_FRAGMENT_ALLOCATOR");
    return value != nullptr && std::strcmp(value, "1") == 0;
  }();
  return s_is;
}

void note_size(uint32_t status, void** pointer, size_t size) {
  if (status != 0 || pointer == nullptr || !is_each_allocation_apart()) return;
  if (Driver* driver = front::running_driver())
    driver->note_requested_size(address_of(*pointer), size);
}
void note_locked(uint32_t status, void* host, void** pointer, size_t size) {
  if (status != 0 || pointer == nullptr) return;
  if (Driver* driver = front::running_driver())
    driver->note_locked(address_of(host), address_of(*pointer), size);
}

uint32_t on_pool_allocate(uint64_t pool, size_t size, uint32_t flags, void** pointer) {
  const uint32_t status = next(g_pool_allocate)(pool, size, flags, pointer);
  note_size(status, pointer, size);
  return status;
}
uint32_t on_lock(void* host, size_t size, void* agents, int count, void** pointer) {
  const uint32_t status = next(g_lock)(host, size, agents, count, pointer);
  note_locked(status, host, pointer, size);
  return status;
}
uint32_t on_lock_to_pool(void* host, size_t size, void* agents, int count, uint64_t pool,
                         uint32_t flags, void** pointer) {
  const uint32_t status = next(g_lock_to_pool)(host, size, agents, count, pool, flags, pointer);
  note_locked(status, host, pointer, size);
  return status;
}
uint32_t on_unlock(void* host) {
  if (Driver* driver = front::running_driver()) driver->forget_locked(address_of(host));
  return next(g_unlock)(host);
}
uint32_t on_ipc_attach(const void* handle, size_t size, uint32_t count, const void* agents,
                       void** pointer) {
  const uint32_t status = next(g_ipc_attach)(handle, size, count, agents, pointer);
  note_size(status, pointer, size);
  return status;
}

}  // namespace
}  // namespace wavetap::vgpu

WT_EXPORT bool OnLoad(void* tables, uint64_t, uint64_t, const char* const*) {
  using namespace wavetap::vgpu;
  if (tables == nullptr) return true;
  const auto* const all = static_cast<const front::Tables*>(tables);
  if (all->core != nullptr) front::sleep_in_waits(all->core);
  front::TableVersion* const table = all->amd_ext;
  if (table == nullptr) return true;
  replace(table, kPoolAllocate, &on_pool_allocate, g_pool_allocate);
  replace(table, kMemoryLock, &on_lock, g_lock);
  replace(table, kMemoryLockToPool, &on_lock_to_pool, g_lock_to_pool);
  replace(table, kMemoryUnlock, &on_unlock, g_unlock);
  replace(table, kIpcMemoryAttach, &on_ipc_attach, g_ipc_attach);
  return true;
}

WT_EXPORT void OnUnload() {}

// include/wavetap/annotate.h looks for it.
WT_EXPORT void wavetap_annotate_v1(int what, const void* address, size_t bytes) {
  using namespace wavetap::vgpu;
  if (Driver* driver = front::running_driver())
    driver->annotate(what, reinterpret_cast<uint64_t>(address), bytes);
}

// agent/virtual_gpu.cc looks for these.
WT_EXPORT bool wavetap_wants_pool_blocks_v1() {
  using namespace wavetap::vgpu;
  const Driver* const driver = front::running_driver();
  return driver != nullptr && driver->wants_pool_blocks();
}
WT_EXPORT void wavetap_pool_block_began_v1(const void* address, size_t bytes) {
  using namespace wavetap::vgpu;
  if (Driver* driver = front::running_driver())
    driver->pool_block_began(address_of(address), bytes);
}
WT_EXPORT void wavetap_pool_block_ended_v1(const void* address) {
  using namespace wavetap::vgpu;
  if (Driver* driver = front::running_driver()) driver->pool_block_ended(address_of(address));
}
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
