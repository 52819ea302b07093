// What src/agent/hsa_abi.h and src/amd/hsa_info.h say in our words, held against AMD's headers.
// Compiling it is the test.
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_loader.h>

#include "agent/hsa_abi.h"

namespace wavetap::agent {
namespace {

#define WT_SAME(ours, theirs) \
  static_assert(static_cast<uint64_t>(ours) == static_cast<uint64_t>(theirs))

WT_SAME(sizeof(HsaQueue), sizeof(hsa_queue_t));
WT_SAME(offsetof(HsaQueue, base_address), offsetof(hsa_queue_t, base_address));
WT_SAME(offsetof(HsaQueue, doorbell_signal), offsetof(hsa_queue_t, doorbell_signal));
WT_SAME(offsetof(HsaQueue, size), offsetof(hsa_queue_t, size));
WT_SAME(offsetof(HsaQueue, id), offsetof(hsa_queue_t, id));
WT_SAME(kQueueCooperative, HSA_QUEUE_TYPE_COOPERATIVE);
WT_SAME(kAmdQueueBytes, sizeof(amd_queue_t));
WT_SAME(amd::kQueueWriteDispatchId, offsetof(amd_queue_t, write_dispatch_id));
WT_SAME(amd::kQueueReadDispatchId, offsetof(amd_queue_t, read_dispatch_id));
WT_SAME(sizeof(amd::Signal), sizeof(amd_signal_t));
WT_SAME(offsetof(amd::Signal, value), offsetof(amd_signal_t, value));
WT_SAME(offsetof(amd::Signal, start_ts), offsetof(amd_signal_t, start_ts));
WT_SAME(offsetof(amd::Signal, end_ts), offsetof(amd_signal_t, end_ts));
WT_SAME(kSignalKindUser, AMD_SIGNAL_KIND_USER);
WT_SAME(kSignalGpuOnly, HSA_AMD_SIGNAL_AMD_GPU_ONLY);

WT_SAME(kHsaSuccess, HSA_STATUS_SUCCESS);
WT_SAME(kHsaError, HSA_STATUS_ERROR);
WT_SAME(amd::kAgentName, HSA_AGENT_INFO_NAME);
WT_SAME(amd::kAgentWavefrontSize, HSA_AGENT_INFO_WAVEFRONT_SIZE);
WT_SAME(amd::kAgentQueueMaxSize, HSA_AGENT_INFO_QUEUE_MAX_SIZE);
WT_SAME(amd::kAgentNode, HSA_AGENT_INFO_NODE);
WT_SAME(amd::kAgentDevice, HSA_AGENT_INFO_DEVICE);
WT_SAME(amd::kAgentCacheSize, HSA_AGENT_INFO_CACHE_SIZE);
WT_SAME(amd::kDeviceGpu, HSA_DEVICE_TYPE_GPU);
WT_SAME(amd::kAgentComputeUnits, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT);
WT_SAME(amd::kAgentMaxClockMhz, HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY);
WT_SAME(amd::kAgentDriverNode, HSA_AMD_AGENT_INFO_DRIVER_NODE_ID);
WT_SAME(amd::kAgentBdf, HSA_AMD_AGENT_INFO_BDFID);
WT_SAME(amd::kAgentProductName, HSA_AMD_AGENT_INFO_PRODUCT_NAME);
WT_SAME(amd::kAgentDomain, HSA_AMD_AGENT_INFO_DOMAIN);
WT_SAME(amd::kAgentUuid, HSA_AMD_AGENT_INFO_UUID);
WT_SAME(amd::kAgentIsa, HSA_AGENT_INFO_ISA);
WT_SAME(amd::kIsaName, HSA_ISA_INFO_NAME);
WT_SAME(amd::kPoolSegment, HSA_AMD_MEMORY_POOL_INFO_SEGMENT);
WT_SAME(amd::kPoolFlags, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS);
WT_SAME(amd::kPoolSize, HSA_AMD_MEMORY_POOL_INFO_SIZE);
WT_SAME(amd::kPoolMayAllocate, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED);
WT_SAME(amd::kSegmentGlobal, HSA_AMD_SEGMENT_GLOBAL);
WT_SAME(amd::kSegmentGroup, HSA_AMD_SEGMENT_GROUP);
WT_SAME(amd::kPoolKernarg, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT);
WT_SAME(amd::kPoolFineGrained, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
WT_SAME(kSystemTimestampFrequency, HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY);

WT_SAME(kSymbolType, HSA_EXECUTABLE_SYMBOL_INFO_TYPE);
WT_SAME(kSymbolNameLength, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH);
WT_SAME(kSymbolName, HSA_EXECUTABLE_SYMBOL_INFO_NAME);
WT_SAME(kSymbolKernelObject, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
WT_SAME(kSymbolKernargBytes, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE);
WT_SAME(kSymbolGroupBytes, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE);
WT_SAME(kSymbolPrivateBytes, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE);
WT_SAME(kSymbolKindKernel, HSA_SYMBOL_KIND_KERNEL);

WT_SAME(kLoaderExtension, HSA_EXTENSION_AMD_LOADER);
WT_SAME(sizeof(HsaLoaderTable), sizeof(hsa_ven_amd_loader_1_01_pfn_t));
WT_SAME(offsetof(HsaLoaderTable, iterate_code_objects),
        offsetof(hsa_ven_amd_loader_1_01_pfn_t,
                 hsa_ven_amd_loader_executable_iterate_loaded_code_objects));
WT_SAME(kLoadedAgent, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT);
WT_SAME(kLoadedStorage, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE);
WT_SAME(kLoadedMemoryBase,
        HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE);
WT_SAME(kLoadedMemorySize,
        HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE);
WT_SAME(kLoadedDelta, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA);
WT_SAME(kLoadedBase, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE);
WT_SAME(kLoadedSize, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE);
WT_SAME(kLoadedUriLength, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH);
WT_SAME(kLoadedUri, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI);
WT_SAME(kStorageMemory, HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY);

WT_SAME(sizeof(HsaTimes), sizeof(hsa_amd_profiling_dispatch_time_t));
WT_SAME(sizeof(HsaDim3), sizeof(hsa_dim3_t));
WT_SAME(sizeof(HsaPitchedPointer), sizeof(hsa_pitched_ptr_t));
WT_SAME(offsetof(HsaPointerInfo, owner), offsetof(hsa_amd_pointer_info_t, agentOwner));
WT_SAME(offsetof(HsaEvent, agent), offsetof(hsa_amd_event_t, memory_fault));
WT_SAME(offsetof(HsaEvent, reason),
        offsetof(hsa_amd_event_t, memory_fault) +
            offsetof(hsa_amd_gpu_memory_fault_info_t, fault_reason_mask));
WT_SAME(kEventMemoryFault, HSA_AMD_GPU_MEMORY_FAULT_EVENT);

}  // namespace
}  // namespace wavetap::agent
