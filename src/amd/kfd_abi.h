// The compute driver's interface (/dev/kfd): numbers and argument layouts of its ioctls, as
// published in the kernel's uapi header (kfd_ioctl.h up to interface version 1.17) and, for the
// last four, in AMD's out-of-tree driver. Ours, so that the device builds and answers the same on
// any distribution. The layouts have only ever grown at the end; drm_abi_test.cc compares them with
// the system's header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace wavetap::amd {

inline constexpr uint32_t kKfdIoctlType = 'K';
inline constexpr uint32_t kKfdMajor = 1;
inline constexpr uint32_t kKfdMinor = 17;

enum class KfdIoctl : uint8_t {
  kGetVersion = 0x01,
  kCreateQueue = 0x02,
  kDestroyQueue = 0x03,
  kSetMemoryPolicy = 0x04,
  kGetClockCounters = 0x05,
  kGetProcessApertures = 0x06,
  kUpdateQueue = 0x07,
  kCreateEvent = 0x08,
  kDestroyEvent = 0x09,
  kSetEvent = 0x0a,
  kResetEvent = 0x0b,
  kWaitEvents = 0x0c,
  kDbgRegister = 0x0d,
  kDbgUnregister = 0x0e,
  kDbgAddressWatch = 0x0f,
  kDbgWaveControl = 0x10,
  kSetScratchBackingVa = 0x11,
  kGetTileConfig = 0x12,
  kSetTrapHandler = 0x13,
  kGetProcessAperturesNew = 0x14,
  kAcquireVm = 0x15,
  kAllocMemory = 0x16,
  kFreeMemory = 0x17,
  kMapMemory = 0x18,
  kUnmapMemory = 0x19,
  kSetCuMask = 0x1a,
  kGetQueueWaveState = 0x1b,
  kGetDmabufInfo = 0x1c,
  kImportDmabuf = 0x1d,
  kAllocQueueGws = 0x1e,
  kSmiEvents = 0x1f,
  kSvm = 0x20,
  kSetXnackMode = 0x21,
  kCriuOp = 0x22,
  kAvailableMemory = 0x23,
  kExportDmabuf = 0x24,
  kRuntimeEnable = 0x25,
  kDbgTrap = 0x26,
  // Out of tree, but used by the thunk of ROCm 5.x and 6.x.
  kIpcImportHandle = 0x80,
  kIpcExportHandle = 0x81,
  kLegacyDbgTrap = 0x82,
  kCrossMemoryCopy = 0x83,
};

struct KfdGetVersionArgs {
  uint32_t major;
  uint32_t minor;
};
static_assert(sizeof(KfdGetVersionArgs) == 8);

struct KfdCreateQueueArgs {
  uint64_t ring_base_address;
  uint64_t write_pointer_address;
  uint64_t read_pointer_address;
  uint64_t doorbell_offset;  // out: mmap offset of the page plus the slot inside it
  uint32_t ring_size;
  uint32_t gpu_id;
  uint32_t queue_type;
  uint32_t queue_percentage;  // 7:0 percentage, 15:8 index of the target pipe
  uint32_t queue_priority;
  uint32_t queue_id;  // out
  uint64_t eop_buffer_address;
  uint64_t eop_buffer_size;
  uint64_t ctx_save_restore_address;
  uint32_t ctx_save_restore_size;
  uint32_t ctl_stack_size;
  // Since 1.17; older callers pass 88 bytes.
  uint32_t sdma_engine_id;
  uint32_t pad;
};
inline constexpr size_t kKfdCreateQueueArgsV1 = 88;
static_assert(sizeof(KfdCreateQueueArgs) == 96 && offsetof(KfdCreateQueueArgs, ring_size) == 32 &&
              offsetof(KfdCreateQueueArgs, eop_buffer_address) == 56 &&
              offsetof(KfdCreateQueueArgs, sdma_engine_id) == kKfdCreateQueueArgsV1);

struct KfdQueueIdArgs {  // DESTROY_QUEUE
  uint32_t queue_id;
  uint32_t pad;
};
static_assert(sizeof(KfdQueueIdArgs) == 8);

struct KfdUpdateQueueArgs {
  uint64_t ring_base_address;
  uint32_t queue_id;
  uint32_t ring_size;
  uint32_t queue_percentage;
  uint32_t queue_priority;
};
static_assert(sizeof(KfdUpdateQueueArgs) == 24);

struct KfdSetCuMaskArgs {
  uint32_t queue_id;
  uint32_t num_cu_mask;  // bits
  uint64_t cu_mask_ptr;
};
static_assert(sizeof(KfdSetCuMaskArgs) == 16);

struct KfdSetMemoryPolicyArgs {
  uint64_t alternate_aperture_base;
  uint64_t alternate_aperture_size;
  uint32_t gpu_id;
  uint32_t default_policy;
  uint32_t alternate_policy;
  uint32_t pad;
};
static_assert(sizeof(KfdSetMemoryPolicyArgs) == 32);

struct KfdGetClockCountersArgs {
  uint64_t gpu_clock_counter;
  uint64_t cpu_clock_counter;
  uint64_t system_clock_counter;
  uint64_t system_clock_freq;
  uint32_t gpu_id;
  uint32_t pad;
};
static_assert(sizeof(KfdGetClockCountersArgs) == 40);

struct KfdApertures {
  uint64_t lds_base;
  uint64_t lds_limit;
  uint64_t scratch_base;
  uint64_t scratch_limit;
  uint64_t gpuvm_base;
  uint64_t gpuvm_limit;
  uint32_t gpu_id;
  uint32_t pad;
};
static_assert(sizeof(KfdApertures) == 56);

inline constexpr uint32_t kKfdMaxGpusOfOldAperturesCall = 7;
struct KfdGetProcessAperturesArgs {
  KfdApertures apertures[kKfdMaxGpusOfOldAperturesCall];
  uint32_t num_of_nodes;
  uint32_t pad;
};
static_assert(sizeof(KfdGetProcessAperturesArgs) == 400);

struct KfdGetProcessAperturesNewArgs {
  uint64_t apertures_ptr;
  uint32_t num_of_nodes;  // in: room; out: filled, or needed when the room was 0
  uint32_t pad;
};
static_assert(sizeof(KfdGetProcessAperturesNewArgs) == 16);

struct KfdCreateEventArgs {
  uint64_t event_page_offset;  // in: handle of the page's buffer (once); out: non-zero
  uint32_t event_trigger_data;
  uint32_t event_type;
  uint32_t auto_reset;
  uint32_t node_id;
  uint32_t event_id;
  uint32_t event_slot_index;
};
static_assert(sizeof(KfdCreateEventArgs) == 32);

struct KfdEventIdArgs {  // DESTROY_EVENT, SET_EVENT, RESET_EVENT
  uint32_t event_id;
  uint32_t pad;
};
static_assert(sizeof(KfdEventIdArgs) == 8);

struct KfdMemoryExceptionData {
  uint32_t not_present;
  uint32_t read_only;
  uint32_t no_execute;
  uint32_t imprecise;
  uint64_t va;
  uint32_t gpu_id;
  uint32_t error_type;
};

struct KfdHwExceptionData {
  uint32_t reset_type;
  uint32_t reset_cause;
  uint32_t memory_lost;
  uint32_t gpu_id;
};

struct KfdEventData {
  union {
    KfdMemoryExceptionData memory_exception;
    KfdHwExceptionData hw_exception;
    uint64_t last_event_age;  // SIGNAL events, since 1.14
  };
  uint64_t event_data_ext;
  uint32_t event_id;
  uint32_t pad;
};
static_assert(sizeof(KfdEventData) == 48 && offsetof(KfdEventData, event_id) == 40 &&
              offsetof(KfdEventData, memory_exception.va) == 16);

struct KfdWaitEventsArgs {
  uint64_t events_ptr;
  uint32_t num_events;
  uint32_t wait_for_all;
  uint32_t timeout;  // milliseconds
  uint32_t wait_result;
};
static_assert(sizeof(KfdWaitEventsArgs) == 24);

struct KfdSetScratchBackingVaArgs {
  uint64_t va_addr;
  uint32_t gpu_id;
  uint32_t pad;
};
static_assert(sizeof(KfdSetScratchBackingVaArgs) == 16);

struct KfdGetTileConfigArgs {
  uint64_t tile_config_ptr;
  uint64_t macro_tile_config_ptr;
  uint32_t num_tile_configs;
  uint32_t num_macro_tile_configs;
  uint32_t gpu_id;
  uint32_t gb_addr_config;
  uint32_t num_banks;
  uint32_t num_ranks;
};
static_assert(sizeof(KfdGetTileConfigArgs) == 40);

struct KfdSetTrapHandlerArgs {
  uint64_t tba_addr;
  uint64_t tma_addr;
  uint32_t gpu_id;
  uint32_t pad;
};
static_assert(sizeof(KfdSetTrapHandlerArgs) == 24);

struct KfdAcquireVmArgs {
  uint32_t drm_fd;
  uint32_t gpu_id;
};
static_assert(sizeof(KfdAcquireVmArgs) == 8);

// KfdAllocMemoryArgs::flags: one of the first five, and attributes.
inline constexpr uint32_t kKfdAllocVram = 1u << 0;
inline constexpr uint32_t kKfdAllocGtt = 1u << 1;
inline constexpr uint32_t kKfdAllocUserptr = 1u << 2;
inline constexpr uint32_t kKfdAllocDoorbell = 1u << 3;
inline constexpr uint32_t kKfdAllocMmioRemap = 1u << 4;
inline constexpr uint32_t kKfdAllocDomains = 0x1f;
inline constexpr uint32_t kKfdAllocContiguous = 1u << 23;
inline constexpr uint32_t kKfdAllocExtCoherent = 1u << 24;
inline constexpr uint32_t kKfdAllocUncached = 1u << 25;
inline constexpr uint32_t kKfdAllocCoherent = 1u << 26;
inline constexpr uint32_t kKfdAllocAqlQueue = 1u << 27;
inline constexpr uint32_t kKfdAllocNoSubstitute = 1u << 28;
inline constexpr uint32_t kKfdAllocPublic = 1u << 29;
inline constexpr uint32_t kKfdAllocExecutable = 1u << 30;
inline constexpr uint32_t kKfdAllocWritable = 1u << 31;

struct KfdAllocMemoryArgs {
  uint64_t va_addr;
  uint64_t size;
  uint64_t handle;       // out
  uint64_t mmap_offset;  // in: host address of a user pointer; out: offset for mmap otherwise
  uint32_t gpu_id;
  uint32_t flags;
};
static_assert(sizeof(KfdAllocMemoryArgs) == 40);

struct KfdFreeMemoryArgs {
  uint64_t handle;
};
static_assert(sizeof(KfdFreeMemoryArgs) == 8);

struct KfdMapMemoryArgs {  // MAP_MEMORY_TO_GPU, UNMAP_MEMORY_FROM_GPU
  uint64_t handle;
  uint64_t device_ids_array_ptr;  // u32 gpu_id each
  uint32_t n_devices;
  uint32_t n_success;
};
static_assert(sizeof(KfdMapMemoryArgs) == 24);

struct KfdGetQueueWaveStateArgs {
  uint64_t ctl_stack_address;
  uint32_t ctl_stack_used_size;
  uint32_t save_area_used_size;
  uint32_t queue_id;
  uint32_t pad;
};
static_assert(sizeof(KfdGetQueueWaveStateArgs) == 24);

struct KfdGetDmabufInfoArgs {
  uint64_t size;
  uint64_t metadata_ptr;
  uint32_t metadata_size;
  uint32_t gpu_id;
  uint32_t flags;
  uint32_t dmabuf_fd;
};
static_assert(sizeof(KfdGetDmabufInfoArgs) == 32);

struct KfdImportDmabufArgs {
  uint64_t va_addr;
  uint64_t handle;
  uint32_t gpu_id;
  uint32_t dmabuf_fd;
};
static_assert(sizeof(KfdImportDmabufArgs) == 24);

struct KfdExportDmabufArgs {
  uint64_t handle;
  uint32_t flags;  // O_CLOEXEC, O_RDWR
  uint32_t dmabuf_fd;
};
static_assert(sizeof(KfdExportDmabufArgs) == 16);

struct KfdAllocQueueGwsArgs {
  uint32_t queue_id;
  uint32_t num_gws;  // 0: give them back
  uint32_t first_gws;
  uint32_t pad;
};
static_assert(sizeof(KfdAllocQueueGwsArgs) == 16);

struct KfdSmiEventsArgs {
  uint32_t gpu_id;
  uint32_t anon_fd;
};
static_assert(sizeof(KfdSmiEventsArgs) == 8);

enum class KfdSvmOp : uint32_t { kSetAttr = 0, kGetAttr = 1 };

enum class KfdSvmAttr : uint32_t {
  kPreferredLocation = 0,  // gpu_id, 0 system memory, ~0 undefined
  kPrefetchLocation = 1,
  kAccess = 2,  // gpu_id
  kAccessInPlace = 3,
  kNoAccess = 4,
  kSetFlags = 5,
  kClearFlags = 6,
  kGranularity = 7,  // log2 of pages
};

inline constexpr uint32_t kKfdSvmFlagHostAccess = 1u << 0;
inline constexpr uint32_t kKfdSvmFlagCoherent = 1u << 1;
inline constexpr uint32_t kKfdSvmFlagGpuReadOnly = 1u << 3;
inline constexpr uint32_t kKfdSvmFlagGpuExec = 1u << 4;
inline constexpr uint32_t kKfdSvmLocationUndefined = 0xffffffffu;

struct KfdSvmAttribute {
  uint32_t type;
  uint32_t value;
};

struct KfdSvmArgs {  // followed by nattr attributes
  uint64_t start_addr;
  uint64_t size;
  uint32_t op;
  uint32_t nattr;
};
static_assert(sizeof(KfdSvmArgs) == 24 && sizeof(KfdSvmAttribute) == 8);

struct KfdSetXnackModeArgs {
  int32_t xnack_enabled;  // -1: only ask
};
static_assert(sizeof(KfdSetXnackModeArgs) == 4);

struct KfdAvailableMemoryArgs {
  uint64_t available;
  uint32_t gpu_id;
  uint32_t pad;
};
static_assert(sizeof(KfdAvailableMemoryArgs) == 16);

struct KfdRuntimeEnableArgs {
  uint64_t r_debug;
  uint32_t mode_mask;
  uint32_t capabilities_mask;
};
static_assert(sizeof(KfdRuntimeEnableArgs) == 16);
inline constexpr uint32_t kKfdRuntimeEnable = 1;  // mode_mask; without it: disable
// capabilities_mask: core files of GPUs are written by the kernel.
inline constexpr uint32_t kKfdRuntimeCoreDump = 0x8000'0000;

// The first bytes of a queue's context save area, which the runtime fills: where it wants to be told of
// exceptions.
struct KfdContextSaveHeader {
  uint32_t control_stack_offset;
  uint32_t control_stack_size;
  uint32_t wave_state_offset;
  uint32_t wave_state_size;
  uint32_t debug_offset;
  uint32_t debug_size;
  uint64_t error_payload;  // address of a 64-bit mask: bit N - 1 for exception N
  uint32_t error_event;
  uint32_t reserved;
};
static_assert(sizeof(KfdContextSaveHeader) == 40);

struct KfdIpcExportHandleArgs {
  uint64_t handle;
  uint32_t share_handle[4];
  uint32_t gpu_id;
  uint32_t flags;
};
static_assert(sizeof(KfdIpcExportHandleArgs) == 32);

struct KfdIpcImportHandleArgs {
  uint64_t handle;
  uint64_t va_addr;
  uint64_t mmap_offset;
  uint32_t share_handle[4];
  uint32_t gpu_id;
  uint32_t flags;
};
static_assert(sizeof(KfdIpcImportHandleArgs) == 48);

}  // namespace wavetap::amd
