// Decoding of the compute device's ioctls. Arguments come from user space and are hostile: they are
// copied in, sizes are checked before anything is allocated, addresses only used through
// user_copy.h. As in the kernel, a caller with shorter arguments gets zeros for the rest and a
// longer one is cut.
#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/log.h"
#include "vgpu/driver.h"
#include "vgpu/user_copy.h"

namespace wavetap::vgpu {
namespace {

using namespace amd;  // NOLINT: every name here is the ABI's.

constexpr uint32_t kMostDevices = 64;
constexpr uint32_t kMostWaitedEvents = 1 << 16;
constexpr uint32_t kMostCuMaskBits = 1 << 16;
constexpr uint32_t kMostSvmAttributes = 1024;

int on_get_version(Driver& driver, KfdGetVersionArgs& args) {
  args = {kKfdMajor, driver.config().kfd_minor};
  return 0;
}

int on_create_queue(Driver& driver, KfdCreateQueueArgs& args) {
  Gpu* gpu = driver.gpu_by_id(args.gpu_id);
  if (gpu == nullptr) return EINVAL;
  QueueParams params;
  params.type = static_cast<QueueType>(args.queue_type);
  params.ring = GpuAddr{args.ring_base_address};
  params.ring_bytes = args.ring_size;
  params.read_pointer = GpuAddr{args.read_pointer_address};
  params.write_pointer = GpuAddr{args.write_pointer_address};
  params.percentage = args.queue_percentage & 0xff;
  params.priority = args.queue_priority;
  params.sdma_engine = args.sdma_engine_id;
  params.eop = GpuAddr{args.eop_buffer_address};
  params.eop_bytes = args.eop_buffer_size;
  params.context_save = GpuAddr{args.ctx_save_restore_address};
  params.context_save_bytes = args.ctx_save_restore_size;
  params.control_stack_bytes = args.ctl_stack_size;
  if (params.percentage > 100 || params.priority > 15) return EINVAL;
  QueueHandle handle;
  const int error = driver.queues().create(params, *gpu, &handle);
  if (error != 0) return error;
  args.queue_id = handle.id;
  args.doorbell_offset = doorbell_offset(gpu->index) + 8ull * handle.doorbell_slot;
  return 0;
}

int on_destroy_queue(Driver& driver, KfdQueueIdArgs& args) {
  return driver.queues().destroy(args.queue_id);
}

int on_update_queue(Driver& driver, KfdUpdateQueueArgs& args) {
  if ((args.queue_percentage & 0xff) > 100 || args.queue_priority > 15) return EINVAL;
  return driver.queues().update(args.queue_id, {.ring = GpuAddr{args.ring_base_address},
                                                .ring_bytes = args.ring_size,
                                                .percentage = args.queue_percentage & 0xff,
                                                .priority = args.queue_priority});
}

int on_set_cu_mask(Driver& driver, KfdSetCuMaskArgs& args) {
  if (args.num_cu_mask == 0 || args.num_cu_mask % 32 != 0) return EINVAL;
  std::vector<uint32_t> mask(std::min(args.num_cu_mask, kMostCuMaskBits) / 32);
  if (!copy_from_user(mask.data(), args.cu_mask_ptr, mask.size() * sizeof(uint32_t))) return EFAULT;
  return driver.queues().set_cu_mask(args.queue_id, mask);
}

// See Config::wave_sync.
void set_wave_sync(const std::string& counters, emu::WaveSync& wave_sync) {
  for (const char* at = counters.c_str(); *at != '\0';) {
    char* end = nullptr;
    const uint64_t number = std::strtoull(at, &end, 10);
    if (*end != ':' || number >= emu::WaveSync::kResources) return;
    wave_sync.resource[number].store(std::strtoull(end + 1, &end, 10), std::memory_order_relaxed);
    at = *end == ',' ? end + 1 : end;
    if (*end != ',' && *end != '\0') return;
  }
}

int on_alloc_queue_gws(Driver& driver, KfdAllocQueueGwsArgs& args) {
  Gpu* gpu = driver.queues().gpu_of(args.queue_id);
  if (gpu == nullptr) return EINVAL;
  if (gpu->model.global_wave_sync == 0) return ENODEV;
  args.first_gws = 0;
  set_wave_sync(driver.config().wave_sync, gpu->space.wave_sync);
  return driver.queues().set_cooperative(args.queue_id, args.num_gws != 0);
}

int on_set_memory_policy(Driver& driver, KfdSetMemoryPolicyArgs& args) {
  if (args.default_policy > 1 || args.alternate_policy > 1) return EINVAL;
  return driver.gpu_by_id(args.gpu_id) == nullptr ? EINVAL : 0;
}

int on_get_clock_counters(Driver& driver, KfdGetClockCountersArgs& args) {
  if (args.gpu_id != 0 && driver.gpu_by_id(args.gpu_id) == nullptr) return EINVAL;
  driver.clock_counters(&args);
  return 0;
}

int on_get_process_apertures(Driver& driver, KfdGetProcessAperturesArgs& args) {
  std::memset(&args, 0, sizeof args);
  for (const Gpu* gpu : driver.gpus()) {
    if (args.num_of_nodes == kKfdMaxGpusOfOldAperturesCall) break;
    args.apertures[args.num_of_nodes++] = driver.apertures(*gpu);
  }
  return 0;
}

int on_get_process_apertures_new(Driver& driver, KfdGetProcessAperturesNewArgs& args) {
  const uint32_t room = args.num_of_nodes;
  const uint32_t gpus = static_cast<uint32_t>(driver.gpus().size());
  args.num_of_nodes = room == 0 ? gpus : std::min(room, gpus);
  if (room == 0) return 0;
  for (uint32_t i = 0; i < args.num_of_nodes; ++i) {
    const KfdApertures apertures = driver.apertures(*driver.gpus()[i]);
    if (!copy_to_user(args.apertures_ptr + i * sizeof apertures, &apertures, sizeof apertures))
      return EFAULT;
  }
  return 0;
}

int on_create_event(Driver& driver, KfdCreateEventArgs& args) {
  EventHandle handle;
  const int error =
      driver.create_event(static_cast<EventType>(args.event_type), args.auto_reset != 0,
                          args.node_id, &args.event_page_offset, &handle);
  if (error != 0) return error;
  args.event_id = handle.id;
  args.event_trigger_data = handle.id;
  args.event_slot_index = handle.slot;
  return 0;
}

int on_destroy_event(Driver& driver, KfdEventIdArgs& args) {
  return driver.events().destroy(args.event_id);
}

int on_set_event(Driver& driver, KfdEventIdArgs& args) {
  const int error = driver.events().set(args.event_id);
  driver.queues().nudge();
  return error;
}

int on_reset_event(Driver& driver, KfdEventIdArgs& args) {
  return driver.events().reset(args.event_id);
}

void report_exceptions(const EventWait& wait, KfdEventData& data) {
  if (wait.has_memory_fault) {
    const MemoryFaultData& fault = wait.memory_fault;
    data.memory_exception = {.not_present = fault.not_present,
                             .read_only = fault.read_only,
                             .no_execute = fault.no_execute,
                             .imprecise = fault.imprecise,
                             .va = fault.address,
                             .gpu_id = fault.gpu_id,
                             .error_type = fault.error_type};
  } else if (wait.has_hw_exception) {
    const HwExceptionData& exception = wait.hw_exception;
    data.hw_exception = {exception.reset_type, exception.reset_cause, exception.memory_lost,
                         exception.gpu_id};
  } else {
    data.last_event_age = wait.last_event_age;
  }
}

int on_wait_events(Driver& driver, KfdWaitEventsArgs& args) {
  if (args.num_events > kMostWaitedEvents) return EINVAL;
  std::vector<KfdEventData> data(args.num_events);
  const size_t bytes = data.size() * sizeof(KfdEventData);
  if (!copy_from_user(data.data(), args.events_ptr, bytes)) return EFAULT;
  std::vector<EventWait> waits(data.size());
  for (size_t i = 0; i < data.size(); ++i) {
    waits[i].id = data[i].event_id;
    waits[i].last_event_age = driver.config().kfd_minor >= 14 ? data[i].last_event_age : 0;
  }
  driver.queues().nudge();
  const std::vector<KfdEventData> asked = data;
  WaitResult result = WaitResult::kFail;
  const int error = driver.events().wait(waits, args.wait_for_all != 0, args.timeout, &result);
  args.wait_result = static_cast<uint32_t>(result);
  if (error != 0) return error;
  for (size_t i = 0; i < data.size(); ++i) report_exceptions(waits[i], data[i]);
  if (std::memcmp(data.data(), asked.data(), bytes) == 0) return 0;
  return copy_to_user(args.events_ptr, data.data(), bytes) ? 0 : EFAULT;
}

// The traps, scratch and tiling registers of the emulated GPU need no set-up from outside.
int on_set_scratch_backing_va(Driver& driver, KfdSetScratchBackingVaArgs& args) {
  return driver.gpu_by_id(args.gpu_id) == nullptr ? EINVAL : 0;
}

int on_set_trap_handler(Driver& driver, KfdSetTrapHandlerArgs& args) {
  return driver.gpu_by_id(args.gpu_id) == nullptr ? EINVAL : 0;
}

int on_get_tile_config(Driver& driver, KfdGetTileConfigArgs& args) {
  if (driver.gpu_by_id(args.gpu_id) == nullptr) return EINVAL;
  args.num_tile_configs = 0;
  args.num_macro_tile_configs = 0;
  args.gb_addr_config = 0;  // one memory pipe: what emu/exec/image_layout.cc lays images out for
  args.num_banks = 0;
  args.num_ranks = 0;
  return 0;
}

int on_acquire_vm(Driver& driver, KfdAcquireVmArgs& args) {
  const Gpu* gpu = driver.gpu_by_id(args.gpu_id);
  DeviceFile file;
  if (gpu == nullptr) return EINVAL;
  return driver.identify(static_cast<int>(args.drm_fd), &file) && file.gpu == gpu ? 0 : EINVAL;
}

int on_alloc_memory(Driver& driver, KfdAllocMemoryArgs& args) {
  Gpu* gpu = driver.gpu_by_id(args.gpu_id);
  if (gpu == nullptr) return EINVAL;
  return driver.buffers().allocate(*gpu, args.va_addr, args.size, args.flags, &args.mmap_offset,
                                   &args.handle);
}

int on_free_memory(Driver& driver, KfdFreeMemoryArgs& args) {
  return driver.free_memory(args.handle);
}

int read_devices(Driver& driver, const KfdMapMemoryArgs& args, std::vector<Gpu*>* gpus) {
  if (args.n_devices == 0 || args.n_devices > kMostDevices || args.n_success > args.n_devices)
    return EINVAL;
  std::vector<uint32_t> ids(args.n_devices);
  if (!copy_from_user(ids.data(), args.device_ids_array_ptr, ids.size() * sizeof(uint32_t)))
    return EFAULT;
  for (const uint32_t id : ids) {
    Gpu* gpu = driver.gpu_by_id(id);
    if (gpu == nullptr) return EINVAL;
    gpus->push_back(gpu);
  }
  return 0;
}

int on_map_memory(Driver& driver, KfdMapMemoryArgs& args) {
  std::vector<Gpu*> gpus;
  const int error = read_devices(driver, args, &gpus);
  return error != 0 ? error : driver.buffers().map(args.handle, gpus, &args.n_success);
}

int on_unmap_memory(Driver& driver, KfdMapMemoryArgs& args) {
  std::vector<Gpu*> gpus;
  const int error = read_devices(driver, args, &gpus);
  return error != 0 ? error : driver.buffers().unmap(args.handle, gpus, &args.n_success);
}

int on_available_memory(Driver& driver, KfdAvailableMemoryArgs& args) {
  const Gpu* gpu = driver.gpu_by_id(args.gpu_id);
  if (gpu == nullptr) return EINVAL;
  args.available = driver.store().available_vram(*gpu);
  return 0;
}

int on_export_dmabuf(Driver& driver, KfdExportDmabufArgs& args) {
  int fd = -1;
  const int error = driver.buffers().export_dmabuf(args.handle, (args.flags & O_CLOEXEC) != 0, &fd);
  if (error == 0) args.dmabuf_fd = static_cast<uint32_t>(fd);
  return error;
}

int on_get_dmabuf_info(Driver& driver, KfdGetDmabufInfoArgs& args) {
  Buffer info;
  const int error = driver.buffers().dmabuf_info(static_cast<int>(args.dmabuf_fd), &info);
  if (error != 0) return error;
  args.size = info.size_bytes;
  args.metadata_size = 0;
  args.gpu_id = info.gpu->gpu_id;
  args.flags = info.flags;
  return 0;
}

int on_import_dmabuf(Driver& driver, KfdImportDmabufArgs& args) {
  Gpu* gpu = driver.gpu_by_id(args.gpu_id);
  if (gpu == nullptr) return EINVAL;
  return driver.buffers().import_dmabuf(*gpu, static_cast<int>(args.dmabuf_fd), args.va_addr,
                                        &args.handle);
}

int on_ipc_export(Driver& driver, KfdIpcExportHandleArgs& args) {
  IpcHandle ipc{};
  const int error = driver.buffers().export_ipc(args.handle, &ipc);
  if (error == 0) std::memcpy(args.share_handle, ipc.word, sizeof ipc.word);
  return error;
}

int on_ipc_import(Driver& driver, KfdIpcImportHandleArgs& args) {
  Gpu* gpu = driver.gpu_by_id(args.gpu_id);
  if (gpu == nullptr) return EINVAL;
  IpcHandle ipc{};
  std::memcpy(ipc.word, args.share_handle, sizeof ipc.word);
  return driver.buffers().import_ipc(*gpu, ipc, args.va_addr, &args.handle, &args.mmap_offset,
                                     &args.flags);
}

int on_set_xnack_mode(Driver&, KfdSetXnackModeArgs& args) {
  // Retry faults are not modelled: asking is fine, switching them on is refused.
  if (args.xnack_enabled > 0) return EPERM;
  args.xnack_enabled = 0;
  return 0;
}

int on_runtime_enable(Driver& driver, KfdRuntimeEnableArgs& args) {
  driver.queues().report_exceptions((args.mode_mask & kKfdRuntimeEnable) != 0);
  // Core files of GPUs are the kernel's business then: the runtime would try, and say that it failed.
  args.capabilities_mask = kKfdRuntimeCoreDump;
  return 0;
}

// SVM's arguments end in an array whose length only the arguments know.
int svm_ioctl(Driver& driver, uint64_t user_args) {
  KfdSvmArgs args{};
  if (!copy_from_user(&args, user_args, sizeof args)) return EFAULT;
  if (args.nattr == 0 || args.nattr > kMostSvmAttributes) return EINVAL;
  std::vector<KfdSvmAttribute> attributes(args.nattr);
  const uint64_t at = user_args + sizeof args;
  const size_t bytes = attributes.size() * sizeof(KfdSvmAttribute);
  if (!copy_from_user(attributes.data(), at, bytes)) return EFAULT;
  for (const KfdSvmAttribute& attribute : attributes)
    WT_DEBUG("vgpu", "svm %s %#llx+%#llx attribute %u = %#x", args.op == 0 ? "set" : "get",
             static_cast<unsigned long long>(args.start_addr),
             static_cast<unsigned long long>(args.size), attribute.type, attribute.value);
  switch (static_cast<KfdSvmOp>(args.op)) {
    case KfdSvmOp::kSetAttr:
      return driver.svm().set_attributes(args.start_addr, args.size, attributes);
    case KfdSvmOp::kGetAttr: {
      const int error = driver.svm().get_attributes(args.start_addr, args.size, attributes);
      if (error != 0) return error;
      return copy_to_user(at, attributes.data(), bytes) ? 0 : EFAULT;
    }
  }
  return EINVAL;
}

// Copies the arguments in, calls `handler`, copies out again what it changed (also after a failure, as the
// kernel). Most of what a running program asks for, waiting and setting events, changes nothing.
template <class Args>
int with_args(Driver& driver, uint32_t request, uint64_t user_args,
              int (*handler)(Driver&, Args&)) {
  static_assert(std::is_trivially_copyable_v<Args>);
  const uint32_t user_size = (request >> 16) & 0x3fff;
  const size_t size = std::min<size_t>(user_size, sizeof(Args));
  Args args;
  std::memset(static_cast<void*>(&args), 0, sizeof args);
  if (!copy_from_user(&args, user_args, size)) return EFAULT;
  const Args asked = args;
  const int result = handler(driver, args);
  const bool is_changed = std::memcmp(&args, &asked, size) != 0;
  if (is_changed && !copy_to_user(user_args, &args, size)) return EFAULT;
  return result;
}

const char* ioctl_name(uint32_t number) {
  switch (static_cast<KfdIoctl>(number)) {
#define WT_NAME(x) \
  case KfdIoctl::k##x: return #x
    WT_NAME(GetVersion);
    WT_NAME(CreateQueue);
    WT_NAME(DestroyQueue);
    WT_NAME(SetMemoryPolicy);
    WT_NAME(GetClockCounters);
    WT_NAME(GetProcessApertures);
    WT_NAME(UpdateQueue);
    WT_NAME(CreateEvent);
    WT_NAME(DestroyEvent);
    WT_NAME(SetEvent);
    WT_NAME(ResetEvent);
    WT_NAME(WaitEvents);
    WT_NAME(SetScratchBackingVa);
    WT_NAME(GetTileConfig);
    WT_NAME(SetTrapHandler);
    WT_NAME(GetProcessAperturesNew);
    WT_NAME(AcquireVm);
    WT_NAME(AllocMemory);
    WT_NAME(FreeMemory);
    WT_NAME(MapMemory);
    WT_NAME(UnmapMemory);
    WT_NAME(SetCuMask);
    WT_NAME(GetQueueWaveState);
    WT_NAME(GetDmabufInfo);
    WT_NAME(ImportDmabuf);
    WT_NAME(AllocQueueGws);
    WT_NAME(SmiEvents);
    WT_NAME(Svm);
    WT_NAME(SetXnackMode);
    WT_NAME(CriuOp);
    WT_NAME(AvailableMemory);
    WT_NAME(ExportDmabuf);
    WT_NAME(RuntimeEnable);
    WT_NAME(DbgTrap);
    WT_NAME(IpcImportHandle);
    WT_NAME(IpcExportHandle);
    WT_NAME(LegacyDbgTrap);
    WT_NAME(CrossMemoryCopy);
#undef WT_NAME
    default: return "?";
  }
}

int decode(Driver& driver, uint32_t request, uint64_t args) {
  switch (static_cast<KfdIoctl>(request & 0xff)) {
    case KfdIoctl::kGetVersion: return with_args(driver, request, args, on_get_version);
    case KfdIoctl::kCreateQueue: return with_args(driver, request, args, on_create_queue);
    case KfdIoctl::kDestroyQueue: return with_args(driver, request, args, on_destroy_queue);
    case KfdIoctl::kSetMemoryPolicy: return with_args(driver, request, args, on_set_memory_policy);
    case KfdIoctl::kGetClockCounters:
      return with_args(driver, request, args, on_get_clock_counters);
    case KfdIoctl::kGetProcessApertures:
      return with_args(driver, request, args, on_get_process_apertures);
    case KfdIoctl::kUpdateQueue: return with_args(driver, request, args, on_update_queue);
    case KfdIoctl::kCreateEvent: return with_args(driver, request, args, on_create_event);
    case KfdIoctl::kDestroyEvent: return with_args(driver, request, args, on_destroy_event);
    case KfdIoctl::kSetEvent: return with_args(driver, request, args, on_set_event);
    case KfdIoctl::kResetEvent: return with_args(driver, request, args, on_reset_event);
    case KfdIoctl::kWaitEvents: return with_args(driver, request, args, on_wait_events);
    case KfdIoctl::kSetScratchBackingVa:
      return with_args(driver, request, args, on_set_scratch_backing_va);
    case KfdIoctl::kGetTileConfig: return with_args(driver, request, args, on_get_tile_config);
    case KfdIoctl::kSetTrapHandler: return with_args(driver, request, args, on_set_trap_handler);
    case KfdIoctl::kGetProcessAperturesNew:
      return with_args(driver, request, args, on_get_process_apertures_new);
    case KfdIoctl::kAcquireVm: return with_args(driver, request, args, on_acquire_vm);
    case KfdIoctl::kAllocMemory: return with_args(driver, request, args, on_alloc_memory);
    case KfdIoctl::kFreeMemory: return with_args(driver, request, args, on_free_memory);
    case KfdIoctl::kMapMemory: return with_args(driver, request, args, on_map_memory);
    case KfdIoctl::kUnmapMemory: return with_args(driver, request, args, on_unmap_memory);
    case KfdIoctl::kSetCuMask: return with_args(driver, request, args, on_set_cu_mask);
    case KfdIoctl::kGetDmabufInfo: return with_args(driver, request, args, on_get_dmabuf_info);
    case KfdIoctl::kImportDmabuf: return with_args(driver, request, args, on_import_dmabuf);
    case KfdIoctl::kAllocQueueGws: return with_args(driver, request, args, on_alloc_queue_gws);
    case KfdIoctl::kSvm: return svm_ioctl(driver, args);
    case KfdIoctl::kSetXnackMode: return with_args(driver, request, args, on_set_xnack_mode);
    case KfdIoctl::kAvailableMemory: return with_args(driver, request, args, on_available_memory);
    case KfdIoctl::kExportDmabuf: return with_args(driver, request, args, on_export_dmabuf);
    case KfdIoctl::kRuntimeEnable: return with_args(driver, request, args, on_runtime_enable);
    case KfdIoctl::kIpcImportHandle: return with_args(driver, request, args, on_ipc_import);
    case KfdIoctl::kIpcExportHandle: return with_args(driver, request, args, on_ipc_export);
    // Debugging, checkpointing, SMI events, the deprecated calls and whatever comes later.
    default: return ENOTTY;
  }
}

}  // namespace

int kfd_ioctl(Driver& driver, uint32_t request, uint64_t user_args) {
  if (((request >> 8) & 0xff) != kKfdIoctlType) return ENOTTY;
  const int result = decode(driver, request, user_args);
  if (result != 0)
    WT_DEBUG("vgpu", "kfd ioctl %s (%#x) -> %s", ioctl_name(request & 0xff), request,
             std::strerror(result));
  return result;
}

}  // namespace wavetap::vgpu
