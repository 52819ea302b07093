// What HSA's info queries are asked for: the numbers of hsa_agent_info_t, hsa_amd_agent_info_t,
// hsa_amd_memory_pool_info_t and of their answers, as far as we ask. tests/hsa_trace holds them
// against AMD's headers.
#pragma once

#include <cstdint>

namespace wavetap::amd {

enum HsaAgentInfo : uint32_t {
  kAgentName = 0,
  kAgentWavefrontSize = 6,
  kAgentQueueMaxSize = 14,
  kAgentNode = 16,
  kAgentDevice = 17,     // 0 CPU, 1 GPU
  kAgentCacheSize = 18,  // four numbers, the second is the L2's
  kAgentIsa = 19,
  kAgentComputeUnits = 0xA002,
  kAgentMaxClockMhz = 0xA003,
  kAgentDriverNode = 0xA004,
  kAgentBdf = 0xA006,
  kAgentProductName = 0xA009,
  kAgentDomain = 0xA00F,
  kAgentUuid = 0xA011,
  kAgentXccs = 0xA111,  // ROCm 6
};
inline constexpr uint32_t kIsaName = 1;
inline constexpr uint32_t kDeviceGpu = 1;

enum HsaPoolInfo : uint32_t {
  kPoolSegment = 0,
  kPoolFlags = 1,
  kPoolSize = 2,
  kPoolMayAllocate = 5
};
// The same numbers describe regions.
inline constexpr uint32_t kSegmentGlobal = 0;
inline constexpr uint32_t kSegmentGroup = 3;
inline constexpr uint32_t kPoolKernarg = 1;
inline constexpr uint32_t kPoolFineGrained = 2;

}  // namespace wavetap::amd
