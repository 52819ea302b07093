// What the agent knows of HSA's binary interface: the parts of AMD's hsa.h, hsa_ext_amd.h,
// hsa_ven_amd_loader.h and hsa_api_trace.h that it touches, in our own words, so that one library
// serves every ROCr and builds where none is installed. tests/hsa_trace holds the numbers against
// AMD's headers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "amd/aql.h"
#include "amd/hsa_info.h"

namespace wavetap::agent {

using HsaStatus = uint32_t;
inline constexpr HsaStatus kHsaSuccess = 0;
inline constexpr HsaStatus kHsaError = 0x1000;

// hsa_queue_t
struct HsaQueue {
  uint32_t type;
  uint32_t features;
  void* base_address;
  uint64_t doorbell_signal;
  uint32_t size;
  uint32_t reserved1;
  uint64_t id;
};
static_assert(sizeof(HsaQueue) == 40);
inline constexpr uint32_t kQueueCooperative = 2;
inline constexpr size_t kAmdQueueBytes = 256;  // amd_queue_t, which begins with the HsaQueue

// The tables OnLoad is handed. `size` (AMD's minor_id) is that of the whole table; pointers to
// functions follow the version.
struct HsaTableVersion {
  uint32_t major;
  uint32_t size;
  uint32_t step;
  uint32_t reserved;
};
struct HsaTables {
  HsaTableVersion version;
  HsaTableVersion* core;
  HsaTableVersion* amd_ext;
};

inline constexpr uint32_t kSystemTimestampFrequency = 3;

enum HsaSymbolInfo : uint32_t {
  kSymbolType = 0,
  kSymbolNameLength = 1,
  kSymbolName = 2,
  kSymbolKernelObject = 22,
  kSymbolKernargBytes = 11,
  kSymbolGroupBytes = 13,
  kSymbolPrivateBytes = 14,
};
inline constexpr uint32_t kSymbolKindKernel = 1;

inline constexpr uint16_t kLoaderExtension = 0x201;
// hsa_ven_amd_loader_1_01_pfn_t
struct HsaLoaderTable {
  void* query_host_address;
  void* query_segment_descriptors;
  void* query_executable;
  HsaStatus (*iterate_code_objects)(uint64_t executable,
                                    HsaStatus (*)(uint64_t executable, uint64_t object, void*),
                                    void* data);
  HsaStatus (*code_object_info)(uint64_t object, uint32_t attribute, void* value);
};
enum HsaLoadedCodeObjectInfo : uint32_t {
  kLoadedAgent = 3,
  kLoadedStorage = 4,  // 1 file, 2 memory
  kLoadedMemoryBase = 5,
  kLoadedMemorySize = 6,
  kLoadedFile = 7,
  kLoadedDelta = 8,
  kLoadedBase = 9,
  kLoadedSize = 10,
  kLoadedUriLength = 11,
  kLoadedUri = 12,
};
inline constexpr uint32_t kStorageFile = 1;
inline constexpr uint32_t kStorageMemory = 2;

struct HsaTimes {  // hsa_amd_profiling_dispatch_time_t, hsa_amd_profiling_async_copy_time_t
  uint64_t start;
  uint64_t end;
};

struct HsaPointerInfo {  // hsa_amd_pointer_info_t of the first version; `size` says so
  uint32_t size;
  uint32_t type;  // 0: unknown to the runtime
  void* agent_base;
  void* host_base;
  size_t bytes;
  void* user_data;
  uint64_t owner;
};

struct HsaDim3 {
  uint32_t x, y, z;
};
struct HsaPitchedPointer {
  void* base;
  size_t pitch;
  size_t slice;
};

// hsa_amd_event_t: all kinds of events begin with the agent; a memory fault goes on as here.
struct HsaEvent {
  uint32_t type;
  uint64_t agent;
  uint64_t address;
  uint32_t reason;
};
enum HsaEventType : uint32_t {
  kEventMemoryFault = 0,
  kEventHardwareException = 1,
  kEventMemoryError = 2
};

// HSA_AMD_SIGNAL_AMD_GPU_ONLY: no interrupt behind it.
inline constexpr uint64_t kSignalGpuOnly = 1;
inline constexpr int64_t kSignalKindUser = 1;

}  // namespace wavetap::agent
