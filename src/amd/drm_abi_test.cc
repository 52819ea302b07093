// Compares our layouts of the kernel's interfaces with the headers installed on this system, where
// there are any. The headers may be older than our layouts: later fields are compared by their
// neighbours.
#include "amd/drm_abi.h"

#include <gtest/gtest.h>

#include "amd/kfd_abi.h"

#if __has_include(<libdrm/amdgpu_drm.h>)
#include <libdrm/amdgpu_drm.h>
#define WT_HAVE_DRM 1
#endif
#if __has_include(<linux/kfd_ioctl.h>) && __has_include(<drm/drm.h>)
#include <linux/kfd_ioctl.h>
#define WT_HAVE_KFD 1
#endif

namespace wavetap::amd {
namespace {

TEST(DrmAbi, AgreesWithTheSystemsHeaders) {
#ifdef WT_HAVE_DRM
  EXPECT_EQ(sizeof(DrmVersion), sizeof(drm_version));
  EXPECT_EQ(sizeof(DrmPrimeHandle), sizeof(drm_prime_handle));
  EXPECT_EQ(sizeof(AmdgpuInfoArgs), sizeof(drm_amdgpu_info));
  EXPECT_EQ(sizeof(AmdgpuGemMetadataArgs), sizeof(drm_amdgpu_gem_metadata));
  EXPECT_EQ(sizeof(AmdgpuGemOpArgs), sizeof(drm_amdgpu_gem_op));
  EXPECT_EQ(sizeof(AmdgpuGemCreateArgs), sizeof(drm_amdgpu_gem_create));
  EXPECT_EQ(sizeof(AmdgpuMemoryInfo), sizeof(drm_amdgpu_memory_info));
  EXPECT_EQ(sizeof(AmdgpuVramGtt), sizeof(drm_amdgpu_info_vram_gtt));
  EXPECT_EQ(sizeof(AmdgpuVbiosInfo), sizeof(drm_amdgpu_info_vbios));
  EXPECT_EQ(offsetof(AmdgpuGemVaArgs, va_address), offsetof(drm_amdgpu_gem_va, va_address));
  EXPECT_EQ(offsetof(AmdgpuGemVaArgs, map_size), offsetof(drm_amdgpu_gem_va, map_size));
  EXPECT_EQ(offsetof(AmdgpuDeviceInfo, family), offsetof(drm_amdgpu_info_device, family));
  EXPECT_EQ(offsetof(AmdgpuDeviceInfo, cu_bitmap), offsetof(drm_amdgpu_info_device, cu_bitmap));
  EXPECT_EQ(offsetof(AmdgpuDeviceInfo, vram_bit_width),
            offsetof(drm_amdgpu_info_device, vram_bit_width));
  EXPECT_EQ(offsetof(AmdgpuDeviceInfo, wave_front_size),
            offsetof(drm_amdgpu_info_device, wave_front_size));
  EXPECT_EQ(offsetof(AmdgpuDeviceInfo, tcc_disabled_mask),
            offsetof(drm_amdgpu_info_device, tcc_disabled_mask));
  EXPECT_EQ(static_cast<uint32_t>(DrmIoctl::kAmdgpuInfo), DRM_COMMAND_BASE + DRM_AMDGPU_INFO);
  EXPECT_EQ(static_cast<uint32_t>(DrmIoctl::kAmdgpuGemVa), DRM_COMMAND_BASE + DRM_AMDGPU_GEM_VA);
  EXPECT_EQ(static_cast<uint32_t>(DrmIoctl::kAmdgpuGemOp), DRM_COMMAND_BASE + DRM_AMDGPU_GEM_OP);
  EXPECT_EQ(static_cast<uint32_t>(AmdgpuInfo::kDevInfo), AMDGPU_INFO_DEV_INFO);
  EXPECT_EQ(static_cast<uint32_t>(AmdgpuInfo::kSensor), AMDGPU_INFO_SENSOR);
#else
  GTEST_SKIP() << "no libdrm headers";
#endif
}

TEST(KfdAbi, AgreesWithTheSystemsHeader) {
#ifdef WT_HAVE_KFD
  EXPECT_EQ(kKfdCreateQueueArgsV1, offsetof(kfd_ioctl_create_queue_args, ctl_stack_size) + 4);
  EXPECT_EQ(sizeof(KfdAllocMemoryArgs), sizeof(kfd_ioctl_alloc_memory_of_gpu_args));
  EXPECT_EQ(sizeof(KfdEventData), sizeof(kfd_event_data));
  EXPECT_EQ(sizeof(KfdWaitEventsArgs), sizeof(kfd_ioctl_wait_events_args));
  EXPECT_EQ(sizeof(KfdApertures), sizeof(kfd_process_device_apertures));
  EXPECT_EQ(sizeof(KfdGetDmabufInfoArgs), sizeof(kfd_ioctl_get_dmabuf_info_args));
  EXPECT_EQ(static_cast<uint32_t>(KfdIoctl::kSvm), _IOC_NR(AMDKFD_IOC_SVM));
  EXPECT_EQ(static_cast<uint32_t>(KfdIoctl::kAvailableMemory),
            _IOC_NR(AMDKFD_IOC_AVAILABLE_MEMORY));
#else
  GTEST_SKIP() << "no kfd_ioctl.h, or it needs a <drm/drm.h> that is not installed";
#endif
}

}  // namespace
}  // namespace wavetap::amd
