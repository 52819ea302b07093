// The render node's interface (/dev/dri/renderD*): the few DRM and amdgpu ioctls that libdrm_amdgpu
// and the compute runtime use, as published in the kernel's drm.h and amdgpu_drm.h. drm_abi_test.cc
// compares the layouts with libdrm's headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wavetap::amd {

inline constexpr uint32_t kDrmIoctlType = 'd';
inline constexpr uint32_t kDrmMajorDevice = 226;

enum class DrmIoctl : uint8_t {
  kVersion = 0x00,
  kGetUnique = 0x01,
  kGetMagic = 0x02,
  kGetClient = 0x05,
  kSetVersion = 0x07,
  kGemClose = 0x09,
  kGetCap = 0x0c,
  kSetClientCap = 0x0d,
  kPrimeHandleToFd = 0x2d,
  kPrimeFdToHandle = 0x2e,
  kAmdgpuGemCreate = 0x40,
  kAmdgpuGemMmap = 0x41,
  kAmdgpuCtx = 0x42,
  kAmdgpuInfo = 0x45,
  kAmdgpuGemMetadata = 0x46,
  kAmdgpuGemWaitIdle = 0x47,
  kAmdgpuGemVa = 0x48,
  kAmdgpuGemOp = 0x50,
  kAmdgpuVm = 0x53,
};

struct DrmVersion {
  int32_t version_major;
  int32_t version_minor;
  int32_t version_patchlevel;
  int32_t pad;
  uint64_t name_len;
  uint64_t name;
  uint64_t date_len;
  uint64_t date;
  uint64_t desc_len;
  uint64_t desc;
};
static_assert(sizeof(DrmVersion) == 64);

struct DrmUnique {
  uint64_t unique_len;
  uint64_t unique;
};
static_assert(sizeof(DrmUnique) == 16);

struct DrmGetCap {
  uint64_t capability;
  uint64_t value;
};
static_assert(sizeof(DrmGetCap) == 16);
inline constexpr uint64_t kDrmCapPrime = 0x5;  // value: 1 import, 2 export
inline constexpr uint64_t kDrmCapSyncobj = 0x13;

struct DrmGemClose {
  uint32_t handle;
  uint32_t pad;
};
static_assert(sizeof(DrmGemClose) == 8);

struct DrmPrimeHandle {
  uint32_t handle;
  uint32_t flags;
  int32_t fd;
};
static_assert(sizeof(DrmPrimeHandle) == 12);

struct AmdgpuGemCreateArgs {  // in; the first word is the handle on return
  uint64_t size;
  uint64_t alignment;
  uint64_t domains;  // kAmdgpuDomain*
  uint64_t flags;
};
static_assert(sizeof(AmdgpuGemCreateArgs) == 32);
inline constexpr uint64_t kAmdgpuDomainGtt = 0x2;
inline constexpr uint64_t kAmdgpuDomainVram = 0x4;

struct AmdgpuGemMmapArgs {  // in: handle; out: the offset for mmap, in the same eight bytes
  uint32_t handle;
  uint32_t pad;
};
static_assert(sizeof(AmdgpuGemMmapArgs) == 8);

struct AmdgpuInfoArgs {
  uint64_t return_pointer;
  uint32_t return_size;
  uint32_t query;
  uint32_t parameter[4];  // by query
};
static_assert(sizeof(AmdgpuInfoArgs) == 32);

enum class AmdgpuInfo : uint32_t {
  kAccelWorking = 0x00,
  kHwIpInfo = 0x02,
  kHwIpCount = 0x03,
  kTimestamp = 0x05,
  kFwVersion = 0x0e,
  kNumBytesMoved = 0x0f,
  kVramUsage = 0x10,
  kGttUsage = 0x11,
  kGdsConfig = 0x13,
  kVramGtt = 0x14,
  kReadMmrReg = 0x15,
  kDevInfo = 0x16,
  kVisVramUsage = 0x17,
  kNumEvictions = 0x18,
  kMemory = 0x19,
  kVbios = 0x1b,
  kNumHandles = 0x1c,
  kSensor = 0x1d,
  kNumVramCpuPageFaults = 0x1e,
  kVramLostCounter = 0x1f,
  kRasEnabledFeatures = 0x20,
};

// AMDGPU_INFO_DEV_INFO. Later kernels append fields; callers pass the size they know.
struct AmdgpuDeviceInfo {
  uint32_t device_id;
  uint32_t chip_rev;
  uint32_t external_rev;
  uint32_t pci_rev;
  uint32_t family;
  uint32_t num_shader_engines;
  uint32_t num_shader_arrays_per_engine;
  uint32_t gpu_counter_freq_khz;
  uint64_t max_engine_clock_khz;
  uint64_t max_memory_clock_khz;
  uint32_t cu_active_number;
  uint32_t cu_ao_mask;
  uint32_t cu_bitmap[4][4];
  uint32_t enabled_rb_pipes_mask;
  uint32_t num_rb_pipes;
  uint32_t num_hw_gfx_contexts;
  uint32_t pcie_gen;
  uint64_t ids_flags;
  uint64_t virtual_address_offset;
  uint64_t virtual_address_max;
  uint32_t virtual_address_alignment;
  uint32_t pte_fragment_size;
  uint32_t gart_page_size;
  uint32_t ce_ram_size;
  uint32_t vram_type;
  uint32_t vram_bit_width;
  uint32_t vce_harvest_config;
  uint32_t gc_double_offchip_lds_buf;
  uint64_t prim_buf_gpu_addr;
  uint64_t pos_buf_gpu_addr;
  uint64_t cntl_sb_buf_gpu_addr;
  uint64_t param_buf_gpu_addr;
  uint32_t prim_buf_size;
  uint32_t pos_buf_size;
  uint32_t cntl_sb_buf_size;
  uint32_t param_buf_size;
  uint32_t wave_front_size;
  uint32_t num_shader_visible_vgprs;
  uint32_t num_cu_per_sh;
  uint32_t num_tcc_blocks;
  uint32_t gs_vgt_table_depth;
  uint32_t gs_prim_buffer_depth;
  uint32_t max_gs_waves_per_vgt;
  uint32_t pcie_num_lanes;
  uint32_t cu_ao_bitmap[4][4];
  uint64_t high_va_offset;
  uint64_t high_va_max;
  uint32_t pa_sc_tile_steering_override;
  uint32_t pad;
  uint64_t tcc_disabled_mask;
  // Since DRM 3.50.
  uint64_t min_engine_clock_khz;
  uint64_t min_memory_clock_khz;
  uint32_t tcp_cache_size_kib;
  uint32_t num_sqc_per_wgp;
  uint32_t sqc_data_cache_size_kib;
  uint32_t sqc_inst_cache_size_kib;
  uint32_t gl1c_cache_size_kib;
  uint32_t gl2c_cache_size_kib;
  uint64_t mall_size_bytes;
  uint32_t enabled_rb_pipes_mask_hi;
  // Later still; zero.
  uint32_t shadow_size;
  uint32_t shadow_alignment;
  uint32_t csa_size;
  uint32_t csa_alignment;
  uint32_t userq_ip_mask;
};
static_assert(offsetof(AmdgpuDeviceInfo, max_engine_clock_khz) == 32 &&
              offsetof(AmdgpuDeviceInfo, cu_active_number) == 48 &&
              offsetof(AmdgpuDeviceInfo, min_engine_clock_khz) == 368 &&
              offsetof(AmdgpuDeviceInfo, enabled_rb_pipes_mask_hi) == 416);

struct AmdgpuVramGtt {
  uint64_t vram_size;
  uint64_t vram_cpu_accessible_size;
  uint64_t gtt_size;
};
static_assert(sizeof(AmdgpuVramGtt) == 24);

struct AmdgpuHeapInfo {
  uint64_t total_heap_size;
  uint64_t usable_heap_size;
  uint64_t heap_usage;
  uint64_t max_allocation;
};
struct AmdgpuMemoryInfo {
  AmdgpuHeapInfo vram;
  AmdgpuHeapInfo cpu_accessible_vram;
  AmdgpuHeapInfo gtt;
};
static_assert(sizeof(AmdgpuMemoryInfo) == 96);

struct AmdgpuHwIpInfo {
  uint32_t version_major;
  uint32_t version_minor;
  uint64_t capabilities_flags;
  uint32_t ib_start_alignment;
  uint32_t ib_size_alignment;
  uint32_t available_rings;
  uint32_t ip_discovery_version;
};
static_assert(sizeof(AmdgpuHwIpInfo) == 32);

struct AmdgpuFirmwareInfo {
  uint32_t version;
  uint32_t feature;
};
static_assert(sizeof(AmdgpuFirmwareInfo) == 8);

struct AmdgpuVbiosInfo {
  uint8_t name[64];
  uint8_t part_number[64];
  uint32_t version;
  uint32_t pad;
  uint8_t version_text[32];
  uint8_t date[32];
};
static_assert(sizeof(AmdgpuVbiosInfo) == 200);

struct AmdgpuGemMetadataArgs {
  uint32_t handle;
  uint32_t op;  // 1 set, 2 get
  uint64_t flags;
  uint64_t tiling_info;
  uint32_t data_size_bytes;
  uint32_t data[64];
  uint32_t pad;
};
static_assert(sizeof(AmdgpuGemMetadataArgs) == 288);

inline constexpr uint32_t kAmdgpuVaMap = 1;
inline constexpr uint32_t kAmdgpuVaUnmap = 2;
inline constexpr uint32_t kAmdgpuVaClear = 3;
inline constexpr uint32_t kAmdgpuVaReplace = 4;
inline constexpr uint32_t kAmdgpuVmPageReadable = 1u << 1;
inline constexpr uint32_t kAmdgpuVmPageWriteable = 1u << 2;
inline constexpr uint32_t kAmdgpuVmPageExecutable = 1u << 3;
struct AmdgpuGemVaArgs {  // later kernels append fields
  uint32_t handle;
  uint32_t pad;
  uint32_t operation;
  uint32_t flags;
  uint64_t va_address;
  uint64_t offset_in_bo;
  uint64_t map_size;
};
static_assert(sizeof(AmdgpuGemVaArgs) == 40);

struct AmdgpuGemOpArgs {
  uint32_t handle;
  uint32_t op;  // 0: creation info into *value, 1: set placement
  uint64_t value;
};
static_assert(sizeof(AmdgpuGemOpArgs) == 16);

}  // namespace wavetap::amd
