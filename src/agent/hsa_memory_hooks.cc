// Memory: what is allocated, mapped and freed, recorded as it happens, and kept by address when somebody
// asks for that (allocations.h).
#include "agent/allocations.h"
#include "agent/hsa_facts.h"
#include "agent/hsa_hooks.h"
#include "agent/hsa_table.h"
#include "agent/recording.h"

namespace wavetap::agent {
namespace {

using format::MemoryKind;

// ---- the record --------------------------------------------------------------------------------
// Written whenever a session is open, started or not: a fault's address may lie in one made earlier.

void record_allocation(const LiveAllocation& allocation) {
  Stream* out = stream();
  auto* record = out == nullptr ? nullptr : out->reserve<format::AllocateRecord>();
  if (record == nullptr) return;
  record->time = ticks();
  record->address = allocation.address;
  record->bytes = allocation.bytes;
  record->owner = out->owner();
  record->agent = allocation.agent;
  record->reserved = 0;
  out->commit(record, format::Kind::kAllocate, static_cast<uint8_t>(allocation.kind));
}

// `time` is from before the call: afterwards the address may be somebody else's already.
void record_free(const void* address, uint64_t time) {
  Stream* out = stream();
  auto* record = out == nullptr ? nullptr : out->reserve<format::FreeRecord>();
  if (record == nullptr) return;
  record->time = time;
  record->address = reinterpret_cast<uint64_t>(address);
  record->owner = out->owner();
  out->commit(record, format::Kind::kFree);
}

// ---- both --------------------------------------------------------------------------------------

LiveAllocation describe(MemorySource source, const void* address, uint64_t bytes, uint64_t pool,
                        uint64_t flags) {
  const PoolFact* known = pool == 0 ? nullptr : find_pool(pool);
  LiveAllocation allocation;
  allocation.address = reinterpret_cast<uint64_t>(address);
  allocation.bytes = bytes;
  allocation.source = source;
  allocation.kind = known == nullptr ? MemoryKind::kHost : known->kind;
  allocation.agent = known == nullptr ? kNoAgent : known->agent;
  allocation.flags = static_cast<uint32_t>(flags);
  return allocation;
}

void allocated(const LiveAllocation& allocation) {
  record_allocation(allocation);
  if (are_allocations_wanted()) note_allocation(allocation);
}

// Frees with `free`, which says whether that worked.
template <class Free>
HsaStatus free_with(MemoryLayer layer, const void* address, bool recorded, Free free) {
  const uint64_t time = ticks();
  LiveAllocation known;
  const bool noted = are_allocations_wanted() && forget_allocation(layer, address, &known);
  const HsaStatus status = free();
  if (status != kHsaSuccess) {
    if (noted) note_allocation(known);
  } else if (recorded && address != nullptr) {
    record_free(address, time);
  }
  return status;
}

// ---- pools and regions -------------------------------------------------------------------------

HsaStatus on_pool_allocate(uint64_t pool, size_t size, uint32_t flags, void** pointer) {
  const HsaStatus status = hsa().hsa_amd_memory_pool_allocate(pool, size, flags, pointer);
  if (status == kHsaSuccess) allocated(describe(MemorySource::kPool, *pointer, size, pool, flags));
  return status;
}

HsaStatus on_pool_free(void* pointer) {
  return free_with(MemoryLayer::kRuntime, pointer, true,
                   [&] { return hsa().hsa_amd_memory_pool_free(pointer); });
}

HsaStatus on_memory_allocate(uint64_t region, size_t size, void** pointer) {
  const HsaStatus status = hsa().hsa_memory_allocate(region, size, pointer);
  if (status == kHsaSuccess) allocated(describe(MemorySource::kRegion, *pointer, size, region, 0));
  return status;
}

HsaStatus on_memory_free(void* pointer) {
  return free_with(MemoryLayer::kRuntime, pointer, true,
                   [&] { return hsa().hsa_memory_free(pointer); });
}

// ---- addresses apart from memory ---------------------------------------------------------------

// Memory gets its address when a handle is mapped, so that is when it counts as allocated.
HsaStatus on_vmem_map(void* address, size_t size, size_t offset, uint64_t handle, uint64_t flags) {
  const HsaStatus status = hsa().hsa_amd_vmem_map(address, size, offset, handle, flags);
  if (status != kHsaSuccess) return status;
  uint64_t pool = 0;
  uint32_t type = 0;
  if (hsa().hsa_amd_vmem_get_alloc_properties_from_handle != nullptr) {
    hsa().hsa_amd_vmem_get_alloc_properties_from_handle(handle, &pool, &type);
  }
  LiveAllocation allocation = describe(MemorySource::kMapped, address, size, pool, flags);
  allocation.kind = MemoryKind::kVirtual;
  allocated(allocation);
  return status;
}

HsaStatus on_vmem_unmap(void* address, size_t size) {
  return free_with(MemoryLayer::kRuntime, address, true,
                   [&] { return hsa().hsa_amd_vmem_unmap(address, size); });
}

// ---- only for those who ask for it -------------------------------------------------------------

HsaStatus on_vmem_reserve(void** address, size_t size, uint64_t wanted, uint64_t flags) {
  const HsaStatus status = hsa().hsa_amd_vmem_address_reserve(address, size, wanted, flags);
  if (status == kHsaSuccess)
    note_allocation(describe(MemorySource::kReserved, *address, size, 0, flags));
  return status;
}

HsaStatus on_vmem_reserve_align(void** address, size_t size, uint64_t wanted, uint64_t alignment,
                                uint64_t flags) {
  const HsaStatus status =
      hsa().hsa_amd_vmem_address_reserve_align(address, size, wanted, alignment, flags);
  if (status == kHsaSuccess)
    note_allocation(describe(MemorySource::kReserved, *address, size, 0, flags));
  return status;
}

HsaStatus on_vmem_release(void* address, size_t size) {
  return free_with(MemoryLayer::kReserved, address, false,
                   [&] { return hsa().hsa_amd_vmem_address_free(address, size); });
}

void note_locked(const void* host, size_t size, const void* gpu, uint32_t flags) {
  LiveAllocation allocation = describe(MemorySource::kLocked, host, size, 0, flags);
  allocation.agent = host_agent();
  allocation.gpu_address = reinterpret_cast<uint64_t>(gpu);
  note_allocation(allocation);
}

HsaStatus on_memory_lock(void* host, size_t size, uint64_t* agents, int32_t count, void** gpu) {
  const HsaStatus status = hsa().hsa_amd_memory_lock(host, size, agents, count, gpu);
  if (status == kHsaSuccess) note_locked(host, size, *gpu, 0);
  return status;
}

HsaStatus on_memory_lock_to_pool(void* host, size_t size, uint64_t* agents, int32_t count,
                                 uint64_t pool, uint32_t flags, void** gpu) {
  const HsaStatus status =
      hsa().hsa_amd_memory_lock_to_pool(host, size, agents, count, pool, flags, gpu);
  if (status == kHsaSuccess) note_locked(host, size, *gpu, flags);
  return status;
}

HsaStatus on_memory_unlock(void* host) {
  return free_with(MemoryLayer::kRuntime, host, false,
                   [&] { return hsa().hsa_amd_memory_unlock(host); });
}

// Host memory that is registered as it is used; nothing says when it is gone.
HsaStatus on_svm_set(void* address, size_t size, void* attributes, size_t count) {
  const HsaStatus status = hsa().hsa_amd_svm_attributes_set(address, size, attributes, count);
  LiveAllocation known;
  if (status == kHsaSuccess && !find_allocation(reinterpret_cast<uint64_t>(address), &known)) {
    LiveAllocation allocation = describe(MemorySource::kShared, address, size, 0, 0);
    allocation.kind = MemoryKind::kManaged;
    allocation.agent = host_agent();
    note_allocation(allocation);
  }
  return status;
}

HsaStatus on_ipc_attach(const void* handle, size_t size, uint32_t count, const uint64_t* agents,
                        void** pointer) {
  const HsaStatus status = hsa().hsa_amd_ipc_memory_attach(handle, size, count, agents, pointer);
  if (status != kHsaSuccess) return status;
  LiveAllocation allocation = describe(MemorySource::kImported, *pointer, size, 0, 0);
  allocation.kind = MemoryKind::kDevice;
  allocation.agent = agent_of_address(*pointer);
  note_allocation(allocation);
  return status;
}

HsaStatus on_ipc_detach(void* pointer) {
  return free_with(MemoryLayer::kRuntime, pointer, false,
                   [&] { return hsa().hsa_amd_ipc_memory_detach(pointer); });
}

}  // namespace

void install_memory_hooks() {
  HsaTable& table = g_hsa_table;
  table.install(&Hsa::hsa_amd_memory_pool_allocate, &on_pool_allocate);
  table.install(&Hsa::hsa_amd_memory_pool_free, &on_pool_free);
  table.install(&Hsa::hsa_memory_allocate, &on_memory_allocate);
  table.install(&Hsa::hsa_memory_free, &on_memory_free);
  table.install(&Hsa::hsa_amd_vmem_map, &on_vmem_map);
  table.install(&Hsa::hsa_amd_vmem_unmap, &on_vmem_unmap);
  if (!are_allocations_wanted()) return;
  table.install(&Hsa::hsa_amd_vmem_address_reserve, &on_vmem_reserve);
  table.install(&Hsa::hsa_amd_vmem_address_reserve_align, &on_vmem_reserve_align);
  table.install(&Hsa::hsa_amd_vmem_address_free, &on_vmem_release);
  table.install(&Hsa::hsa_amd_memory_lock, &on_memory_lock);
  table.install(&Hsa::hsa_amd_memory_lock_to_pool, &on_memory_lock_to_pool);
  table.install(&Hsa::hsa_amd_memory_unlock, &on_memory_unlock);
  table.install(&Hsa::hsa_amd_svm_attributes_set, &on_svm_set);
  table.install(&Hsa::hsa_amd_ipc_memory_attach, &on_ipc_attach);
  table.install(&Hsa::hsa_amd_ipc_memory_detach, &on_ipc_detach);
}

}  // namespace wavetap::agent
