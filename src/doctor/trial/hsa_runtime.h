// The few HSA calls the trials make, declared from the HSA runtime specification: handles are
// 64-bit, results and attributes (amd/hsa_info.h) 32-bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "amd/hsa_info.h"

namespace wavetap::doctor::trial {

struct HsaHandle {
  uint64_t handle;
};
using HsaStatus = uint32_t;
using HsaCallback = HsaStatus(HsaHandle, void*);

struct HsaApi {
  HsaStatus (*init)() = nullptr;
  HsaStatus (*shut_down)() = nullptr;
  HsaStatus (*status_string)(HsaStatus, const char**) = nullptr;
  HsaStatus (*iterate_agents)(HsaCallback*, void*) = nullptr;
  HsaStatus (*agent_get_info)(HsaHandle, uint32_t, void*) = nullptr;
  HsaStatus (*iterate_pools)(HsaHandle, HsaCallback*, void*) = nullptr;
  HsaStatus (*pool_get_info)(HsaHandle, uint32_t, void*) = nullptr;
  HsaStatus (*pool_allocate)(HsaHandle, size_t, uint32_t, void**) = nullptr;
  HsaStatus (*pool_free)(void*) = nullptr;

  HsaStatus (*allow_access)(uint32_t, const HsaHandle*, const uint32_t*, const void*) = nullptr;
  HsaStatus (*signal_create)(int64_t, uint32_t, const HsaHandle*, HsaHandle*) = nullptr;
  int64_t (*signal_wait)(HsaHandle, uint32_t, int64_t, uint64_t, uint32_t) = nullptr;
  HsaStatus (*async_copy)(void*, HsaHandle, const void*, HsaHandle, size_t, uint32_t,
                          const HsaHandle*, HsaHandle) = nullptr;

  bool can_copy() const { return allow_access && signal_create && signal_wait && async_copy; }
  bool complete() const {
    return init && iterate_agents && agent_get_info && iterate_pools && pool_get_info &&
           pool_allocate && pool_free;
  }
};
const HsaApi& hsa_api();
const char* hsa_text(HsaStatus status);

}  // namespace wavetap::doctor::trial
