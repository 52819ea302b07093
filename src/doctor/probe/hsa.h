// The few HSA calls the probes make, declared from the HSA runtime specification: handles are 64-bit, results
// and attributes 32-bit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wavetap::doctor::probe {

struct HsaHandle {
  uint64_t handle;
};
using HsaStatus = uint32_t;
using HsaCallback = HsaStatus(HsaHandle, void*);

// hsa_agent_info_t and hsa_amd_agent_info_t
enum HsaAgentInfo : uint32_t {
  kAgentName = 0,
  kAgentWavefrontSize = 6,
  kAgentNode = 16,
  kAgentDevice = 17,
  kAgentCacheSize = 18,
  kAgentComputeUnits = 0xa002,
  kAgentMaxClock = 0xa003,
  kAgentBdf = 0xa006,
  kAgentProductName = 0xa009,
  kAgentDomain = 0xa00f,
};
inline constexpr uint32_t kHsaDeviceGpu = 1;

// hsa_amd_memory_pool_info_t
enum HsaPoolInfo : uint32_t { kPoolSegment = 0, kPoolGlobalFlags = 1, kPoolSize = 2, kPoolAllocAllowed = 5 };
inline constexpr uint32_t kSegmentGlobal = 0;
inline constexpr uint32_t kSegmentGroup = 3;

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
  HsaStatus (*async_copy)(void*, HsaHandle, const void*, HsaHandle, size_t, uint32_t, const HsaHandle*,
                          HsaHandle) = nullptr;

  bool can_copy() const { return allow_access && signal_create && signal_wait && async_copy; }
  bool complete() const {
    return init && iterate_agents && agent_get_info && iterate_pools && pool_get_info && pool_allocate &&
           pool_free;
  }
};
const HsaApi& hsa_api();
const char* hsa_text(HsaStatus status);

}  // namespace wavetap::doctor::probe
