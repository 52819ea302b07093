// Decoding of a render node's ioctls: what libdrm_amdgpu asks when a device is opened, and the
// buffer calls behind virtual memory management and sharing. Same rules as kfd_ioctl.cc.
#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "amd/drm_abi.h"
#include "base/clock.h"
#include "base/log.h"
#include "vgpu/driver.h"
#include "vgpu/user_copy.h"

namespace wavetap::vgpu {
namespace {

using namespace amd;  // NOLINT: every name here is the ABI's.

constexpr uint32_t kMostRegisters = 128;
constexpr uint64_t kSmallBarBytes = 256ull << 20;
constexpr uint64_t kGttBytes = 16ull << 30;
constexpr uint32_t kHwIpCompute = 1;
constexpr uint32_t kHwIpDma = 2;
constexpr uint32_t kHwIpKinds = 9;

// AMDGPU_INFO_FW_VERSION's firmware types.
constexpr uint32_t kFirmwareMec = 0x08;
constexpr uint32_t kFirmwareSmc = 0x0a;
constexpr uint32_t kFirmwareSdma = 0x0b;

// AMDGPU_INFO_SENSOR's sensor types.
enum class Sensor : uint32_t {
  kSclk = 1,
  kMclk = 2,
  kTemperature = 3,
  kLoad = 4,
  kPower = 5,
  kVddGfx = 7
};

// Copies a string into a (length, pointer) pair the way DRM does: as much as fits, and the full
// length.
bool put_string(uint64_t* length, uint64_t pointer, const char* text) {
  const size_t full = std::strlen(text);
  const bool good = pointer == 0 || copy_to_user(pointer, text, std::min<size_t>(*length, full));
  *length = full;
  return good;
}

int on_version(Driver&, Gpu&, DrmVersion& args) {
  args.version_major = 3;
  args.version_minor = 57;
  args.version_patchlevel = 0;
  return put_string(&args.name_len, args.name, "amdgpu") &&
                 put_string(&args.date_len, args.date, "20150101") &&
                 put_string(&args.desc_len, args.desc, "AMD GPU")
             ? 0
             : EFAULT;
}

int on_get_unique(Driver&, Gpu&, DrmUnique& args) {
  return put_string(&args.unique_len, args.unique, "") ? 0 : EFAULT;
}

int on_get_cap(Driver&, Gpu&, DrmGetCap& args) {
  args.value = args.capability == kDrmCapPrime ? 3 : 0;
  return 0;
}

AmdgpuDeviceInfo device_info(const Gpu& gpu) {
  const model::Model& m = gpu.reported;
  AmdgpuDeviceInfo info{};
  info.device_id = m.device_id;
  info.external_rev = m.external_revision;
  info.pci_rev = m.revision;
  info.family = m.family();
  info.num_shader_engines = m.shader_engines;
  info.num_shader_arrays_per_engine = m.shader_arrays_per_engine;
  info.gpu_counter_freq_khz = kGpuTickHz / 1000;
  info.max_engine_clock_khz = m.engine_clock_mhz * 1000ull;
  info.max_memory_clock_khz = m.memory_clock_mhz * 1000ull;
  info.cu_active_number = m.compute_units;
  // The bitmap has room for 4 engines of 4 arrays; more engines continue in the array index.
  uint32_t left = m.compute_units;
  for (uint32_t i = 0; i < std::min(m.shader_arrays(), 16u); ++i) {
    const uint32_t here =
        std::min(left, (m.compute_units + m.shader_arrays() - 1) / m.shader_arrays());
    const uint32_t bits = here >= 32 ? ~0u : (1u << here) - 1;
    const uint32_t engine = i / m.shader_arrays_per_engine;
    const uint32_t array =
        i % m.shader_arrays_per_engine + (engine / 4) * m.shader_arrays_per_engine;
    if (array < 4) info.cu_bitmap[engine % 4][array] = bits;
    left -= here;
  }
  info.num_rb_pipes = m.render_backends;
  info.enabled_rb_pipes_mask = m.render_backends >= 32 ? ~0u : (1u << m.render_backends) - 1;
  info.num_hw_gfx_contexts = 8;
  info.pcie_gen = m.pcie_generation;
  info.pcie_num_lanes = m.pcie_lanes;
  info.virtual_address_offset = 0x1000000;
  info.virtual_address_max = 1ull << 47;
  info.virtual_address_alignment = 4096;
  info.pte_fragment_size = 2u << 20;
  info.gart_page_size = 4096;
  info.vram_type = m.vram_type;
  info.vram_bit_width = m.vram_width_bits;
  info.wave_front_size = m.wave_size;
  info.num_shader_visible_vgprs = m.target.is_gfx90a_family() ? 512 : 256;
  info.num_cu_per_sh = m.cus_per_shader_array;
  info.num_tcc_blocks = 16;
  info.min_engine_clock_khz = 500'000;
  info.min_memory_clock_khz = 96'000;
  info.tcp_cache_size_kib = m.l1_vector_kib;
  info.num_sqc_per_wgp = 1;
  info.sqc_data_cache_size_kib = m.l1_scalar_kib;
  info.sqc_inst_cache_size_kib = m.l1_instruction_kib;
  info.gl1c_cache_size_kib = m.gl1_kib;
  info.gl2c_cache_size_kib = m.l2_kib;
  info.mall_size_bytes = m.l3_kib * 1024ull;
  return info;
}

AmdgpuMemoryInfo memory_info(Driver& driver, const Gpu& gpu) {
  const uint64_t total = gpu.model.vram_bytes;
  const uint64_t used = driver.store().used_vram(gpu);
  const uint64_t visible = driver.config().small_bar ? std::min(total, kSmallBarBytes) : total;
  AmdgpuMemoryInfo info{};
  info.vram = {total, total - std::min(used, total), used, total / 4 * 3};
  info.cpu_accessible_vram = {visible, visible, driver.config().small_bar ? 0 : used,
                              visible / 4 * 3};
  info.gtt = {kGttBytes, kGttBytes, 0, kGttBytes / 4 * 3};
  return info;
}

AmdgpuHwIpInfo hw_ip_info(const Gpu& gpu, uint32_t kind) {
  AmdgpuHwIpInfo info{};
  info.version_major = gpu.model.target.major;
  info.version_minor = gpu.model.target.minor;
  info.ib_start_alignment = 32;
  info.ib_size_alignment = 32;
  if (kind == kHwIpCompute) info.available_rings = 0xff;
  if (kind == kHwIpDma) info.available_rings = (1u << gpu.model.sdma_engines) - 1;
  return info;
}

AmdgpuFirmwareInfo firmware_info(const Gpu& gpu, uint32_t kind) {
  const model::Model& m = gpu.model;
  const uint32_t version = kind == kFirmwareMec    ? m.mec_firmware
                           : kind == kFirmwareSdma ? m.sdma_firmware
                           : kind == kFirmwareSmc  ? m.smc_firmware
                                                   : 0;
  return {version, version};
}

int sensor(const Gpu& gpu, uint32_t kind, uint32_t* value) {
  switch (static_cast<Sensor>(kind)) {
    case Sensor::kSclk: *value = 500; return 0;
    case Sensor::kMclk: *value = gpu.model.memory_clock_mhz; return 0;
    case Sensor::kTemperature: *value = gpu.model.idle_temperature_c * 1000; return 0;
    case Sensor::kLoad: *value = 0; return 0;
    case Sensor::kPower: *value = gpu.model.idle_power_w; return 0;
    case Sensor::kVddGfx: *value = 793; return 0;
  }
  return EINVAL;
}

// The answer to AMDGPU_INFO: at most what the caller has room for.
template <class T>
int answer(const AmdgpuInfoArgs& args, const T& value) {
  const size_t size = std::min<size_t>(args.return_size, sizeof value);
  return copy_to_user(args.return_pointer, &value, size) ? 0 : EFAULT;
}

int vbios(const Gpu& gpu, const AmdgpuInfoArgs& args) {
  if (args.parameter[0] == 1) return answer(args, uint32_t{0});  // size of the image we do not have
  if (args.parameter[0] != 3) return EINVAL;
  AmdgpuVbiosInfo info{};
  std::snprintf(reinterpret_cast<char*>(info.name), sizeof info.name, "%s",
                gpu.model.marketing_name.c_str());
  std::snprintf(reinterpret_cast<char*>(info.part_number), sizeof info.part_number, "%s",
                gpu.model.vbios.c_str());
  return answer(args, info);
}

int read_registers(const AmdgpuInfoArgs& args) {
  const uint32_t count = args.parameter[1];
  if (count == 0 || count > kMostRegisters) return EINVAL;
  const std::vector<uint32_t> values(count, 0);
  const size_t size = std::min<size_t>(args.return_size, count * sizeof(uint32_t));
  return copy_to_user(args.return_pointer, values.data(), size) ? 0 : EFAULT;
}

int on_info(Driver& driver, Gpu& gpu, AmdgpuInfoArgs& args) {
  if (args.return_size == 0 || args.return_pointer == 0) return EINVAL;
  switch (static_cast<AmdgpuInfo>(args.query)) {
    case AmdgpuInfo::kAccelWorking: return answer(args, uint32_t{1});
    case AmdgpuInfo::kHwIpInfo:
      return args.parameter[0] < kHwIpKinds ? answer(args, hw_ip_info(gpu, args.parameter[0]))
                                            : EINVAL;
    case AmdgpuInfo::kHwIpCount:
      if (args.parameter[0] >= kHwIpKinds) return EINVAL;
      return answer(args, uint32_t{args.parameter[0] == kHwIpCompute ? 1u
                                   : args.parameter[0] == kHwIpDma   ? gpu.model.sdma_engines
                                                                     : 0u});
    case AmdgpuInfo::kTimestamp: return answer(args, to_ticks(now()).value);
    case AmdgpuInfo::kFwVersion: return answer(args, firmware_info(gpu, args.parameter[0]));
    case AmdgpuInfo::kVramUsage: return answer(args, driver.store().used_vram(gpu));
    case AmdgpuInfo::kVisVramUsage:
      return answer(args, driver.config().small_bar ? uint64_t{0} : driver.store().used_vram(gpu));
    case AmdgpuInfo::kNumBytesMoved:
    case AmdgpuInfo::kGttUsage:
    case AmdgpuInfo::kNumEvictions:
    case AmdgpuInfo::kNumVramCpuPageFaults: return answer(args, uint64_t{0});
    case AmdgpuInfo::kVramLostCounter: return answer(args, uint32_t{0});
    case AmdgpuInfo::kGdsConfig: {
      const uint32_t config[8] = {0, 0, gpu.model.gds_kib * 1024, 0, gpu.model.global_wave_sync, 0,
                                  0, 0};
      return answer(args, config);
    }
    case AmdgpuInfo::kVramGtt: {
      const AmdgpuMemoryInfo info = memory_info(driver, gpu);
      return answer(
          args, AmdgpuVramGtt{info.vram.total_heap_size, info.cpu_accessible_vram.total_heap_size,
                              info.gtt.total_heap_size});
    }
    case AmdgpuInfo::kReadMmrReg: return read_registers(args);
    case AmdgpuInfo::kDevInfo: return answer(args, device_info(gpu));
    case AmdgpuInfo::kMemory: return answer(args, memory_info(driver, gpu));
    case AmdgpuInfo::kVbios: return vbios(gpu, args);
    case AmdgpuInfo::kSensor: {
      uint32_t value = 0;
      const int error = sensor(gpu, args.parameter[0], &value);
      return error != 0 ? error : answer(args, value);
    }
    case AmdgpuInfo::kRasEnabledFeatures:
      return answer(args, uint64_t{gpu.model.sram_ecc ? 0x7u : 0u});
    default: return EINVAL;
  }
}

int on_gem_create(Driver& driver, Gpu& gpu, AmdgpuGemCreateArgs& args) {
  const bool vram = (args.domains & kAmdgpuDomainVram) != 0;
  if (!vram && (args.domains & kAmdgpuDomainGtt) == 0) return EINVAL;
  uint32_t gem = 0;
  const int error = driver.gems().create(gpu, args.size, vram, &gem);
  if (error == 0) args.size = gem;
  return error;
}

int on_gem_close(Driver& driver, Gpu& gpu, DrmGemClose& args) {
  return driver.gems().close(gpu, args.handle);
}

int on_prime_fd_to_handle(Driver& driver, Gpu& gpu, DrmPrimeHandle& args) {
  return driver.gems().import(gpu, args.fd, &args.handle);
}

int on_prime_handle_to_fd(Driver& driver, Gpu& gpu, DrmPrimeHandle& args) {
  return driver.gems().export_file(gpu, args.handle, (args.flags & O_CLOEXEC) != 0, &args.fd);
}

int on_gem_mmap(Driver& driver, Gpu& gpu, AmdgpuGemMmapArgs& args) {
  Buffer info;
  const int error = driver.gems().info(gpu, args.handle, &info);
  if (error == 0) std::memcpy(&args, &info.mmap_offset, sizeof args);
  return error;
}

int on_gem_metadata(Driver& driver, Gpu& gpu, AmdgpuGemMetadataArgs& args) {
  constexpr size_t kBytes = sizeof args - offsetof(AmdgpuGemMetadataArgs, flags);
  std::byte* bytes = reinterpret_cast<std::byte*>(&args) + offsetof(AmdgpuGemMetadataArgs, flags);
  if (args.op == 1) {
    if (args.data_size_bytes > sizeof args.data) return EINVAL;
    return driver.gems().set_metadata(gpu, args.handle, {bytes, kBytes});
  }
  return args.op == 2 ? driver.gems().get_metadata(gpu, args.handle, {bytes, kBytes}) : EINVAL;
}

int on_gem_va(Driver& driver, Gpu& gpu, AmdgpuGemVaArgs& args) {
  switch (args.operation) {
    case kAmdgpuVaMap:
    case kAmdgpuVaReplace:
      return driver.gems().map(gpu, args.handle, args.va_address, args.offset_in_bo, args.map_size,
                               (args.flags & kAmdgpuVmPageWriteable) != 0,
                               (args.flags & kAmdgpuVmPageExecutable) != 0);
    case kAmdgpuVaUnmap:
    case kAmdgpuVaClear: return driver.gems().unmap(gpu, args.va_address, args.map_size);
    default: return EINVAL;
  }
}

int on_gem_op(Driver& driver, Gpu& gpu, AmdgpuGemOpArgs& args) {
  Buffer info;
  const int error = driver.gems().info(gpu, args.handle, &info);
  if (error != 0) return error;
  if (args.op == 1) return 0;  // a placement wish
  if (args.op != 0) return EINVAL;
  const AmdgpuGemCreateArgs created{
      info.size_bytes, 4096, info.kind == BufferKind::kVram ? kAmdgpuDomainVram : kAmdgpuDomainGtt,
      0};
  return copy_to_user(args.value, &created, sizeof created) ? 0 : EFAULT;
}

int on_gem_wait_idle(Driver&, Gpu&, DrmPrimeHandle& args) {
  // Nothing is ever pending on this interface: work is submitted through the compute device only.
  args.handle = 0;
  return 0;
}

// Reserve or give back a VM id: there is always one.
int on_vm(Driver&, Gpu&, DrmGemClose&) { return 0; }

template <class Args>
int with_args(Driver& driver, Gpu& gpu, uint32_t request, uint64_t user_args,
              int (*handler)(Driver&, Gpu&, Args&)) {
  static_assert(std::is_trivially_copyable_v<Args>);
  const uint32_t user_size = (request >> 16) & 0x3fff;
  const size_t size = std::min<size_t>(user_size, sizeof(Args));
  Args args;
  std::memset(static_cast<void*>(&args), 0, sizeof args);
  if (!copy_from_user(&args, user_args, size)) return EFAULT;
  const int result = handler(driver, gpu, args);
  if (!copy_to_user(user_args, &args, size)) return EFAULT;
  return result;
}

int decode(Driver& driver, Gpu& gpu, uint32_t request, uint64_t args) {
  switch (static_cast<DrmIoctl>(request & 0xff)) {
    case DrmIoctl::kVersion: return with_args(driver, gpu, request, args, on_version);
    case DrmIoctl::kGetUnique: return with_args(driver, gpu, request, args, on_get_unique);
    case DrmIoctl::kGetCap: return with_args(driver, gpu, request, args, on_get_cap);
    case DrmIoctl::kGemClose: return with_args(driver, gpu, request, args, on_gem_close);
    case DrmIoctl::kPrimeFdToHandle:
      return with_args(driver, gpu, request, args, on_prime_fd_to_handle);
    case DrmIoctl::kPrimeHandleToFd:
      return with_args(driver, gpu, request, args, on_prime_handle_to_fd);
    case DrmIoctl::kAmdgpuGemCreate: return with_args(driver, gpu, request, args, on_gem_create);
    case DrmIoctl::kAmdgpuGemMmap: return with_args(driver, gpu, request, args, on_gem_mmap);
    case DrmIoctl::kAmdgpuInfo: return with_args(driver, gpu, request, args, on_info);
    case DrmIoctl::kAmdgpuGemMetadata:
      return with_args(driver, gpu, request, args, on_gem_metadata);
    case DrmIoctl::kAmdgpuGemWaitIdle:
      return with_args(driver, gpu, request, args, on_gem_wait_idle);
    case DrmIoctl::kAmdgpuGemVa: return with_args(driver, gpu, request, args, on_gem_va);
    case DrmIoctl::kAmdgpuGemOp: return with_args(driver, gpu, request, args, on_gem_op);
    case DrmIoctl::kAmdgpuVm: return with_args(driver, gpu, request, args, on_vm);
    // Command submission is the compute device's; display, authentication and fences are not
    // modelled.
    default: return EINVAL;
  }
}

}  // namespace

int drm_ioctl(Driver& driver, Gpu& gpu, uint32_t request, uint64_t user_args) {
  if (((request >> 8) & 0xff) != kDrmIoctlType) return ENOTTY;
  const int result = decode(driver, gpu, request, user_args);
  if (result != 0)
    WT_DEBUG("vgpu", "drm ioctl %#x on GPU %u -> %s", request & 0xff, gpu.index,
             std::strerror(result));
  return result;
}

}  // namespace wavetap::vgpu
