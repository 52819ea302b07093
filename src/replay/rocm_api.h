// The calls of AMD's runtime that a replay makes, found by name, so that nothing of ROCm is needed to
// build or to start us. Declared from the HSA runtime specification and the thunk's interface: handles
// are 64-bit, results and attributes 32-bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace wavetap::replay {

struct HsaHandle {
  uint64_t handle = 0;
};
using HsaStatus = uint32_t;

// hsa_queue_t, as far as it is public.
struct HsaQueue {
  uint32_t type;
  uint32_t features;
  void* base_address;
  HsaHandle doorbell;
  uint32_t size;
  uint32_t reserved;
  uint64_t id;
};

struct HsaTimes {
  uint64_t start;
  uint64_t end;
};

// hsa_amd_event_t: what, and for a memory fault where.
struct HsaEvent {
  uint32_t type;
  HsaHandle agent;
  uint64_t address;
  uint32_t reason;
};

struct HsaAccess {
  uint32_t permissions;
  HsaHandle agent;
};

// All of them or an error, but for those marked optional.
struct RocmApi {
  static Result<RocmApi> open();

  HsaStatus (*init)();
  HsaStatus (*status_string)(HsaStatus, const char**);
  HsaStatus (*system_get_info)(uint32_t, void*);
  HsaStatus (*iterate_agents)(HsaStatus (*)(HsaHandle, void*), void*);
  HsaStatus (*agent_get_info)(HsaHandle, uint32_t, void*);
  HsaStatus (*iterate_pools)(HsaHandle, HsaStatus (*)(HsaHandle, void*), void*);
  HsaStatus (*pool_get_info)(HsaHandle, uint32_t, void*);
  HsaStatus (*pool_allocate)(HsaHandle, size_t, uint32_t, void**);
  HsaStatus (*allow_access)(uint32_t, const HsaHandle*, const uint32_t*, const void*);
  HsaStatus (*signal_create)(int64_t, uint32_t, const HsaHandle*, HsaHandle*);
  void (*signal_store)(HsaHandle, int64_t);
  int64_t (*signal_wait)(HsaHandle, uint32_t, int64_t, uint64_t, uint32_t);
  HsaStatus (*async_copy)(void*, HsaHandle, const void*, HsaHandle, size_t, uint32_t,
                          const HsaHandle*, HsaHandle);
  HsaStatus (*queue_create)(HsaHandle, uint32_t, uint32_t, void (*)(HsaStatus, HsaQueue*, void*),
                            void*, uint32_t, uint32_t, HsaQueue**);
  uint64_t (*add_write_index)(const HsaQueue*, uint64_t);
  HsaStatus (*enable_times)(HsaQueue*, int);
  HsaStatus (*dispatch_time)(HsaHandle, HsaHandle, HsaTimes*);
  HsaStatus (*on_event)(HsaStatus (*)(const HsaEvent*, void*), void*);

  // Optional: memory in reserved ranges, from ROCr 6.0 on.
  HsaStatus (*vmem_reserve)(void**, size_t, uint64_t, uint64_t) = nullptr;
  HsaStatus (*vmem_free)(void*, size_t) = nullptr;
  HsaStatus (*vmem_create)(HsaHandle, size_t, uint32_t, uint64_t, HsaHandle*) = nullptr;
  HsaStatus (*vmem_map)(void*, size_t, size_t, HsaHandle, uint64_t) = nullptr;
  HsaStatus (*vmem_set_access)(void*, size_t, const HsaAccess*, size_t) = nullptr;
  // Optional: the thunk, where it is a library of its own (up to ROCm 6.2).
  uint32_t (*kmt_allocate)(uint32_t, uint64_t, uint32_t, void**) = nullptr;
  uint32_t (*kmt_map)(void*, uint64_t, uint64_t*) = nullptr;
  uint32_t (*kmt_free)(void*, uint64_t) = nullptr;

  const char* text(HsaStatus status) const;
};

}  // namespace wavetap::replay
