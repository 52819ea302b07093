#include "vgpu/driver.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdio>
#include <new>

#include "amd/drm_abi.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/sys_files.h"
#include "jit/compiler.h"
#include "vgpu/dispatch_hooks.h"
#include "vgpu/guard.h"
#include "vgpu/own_fds.h"
#include "vgpu/run_directory.h"

namespace wavetap::vgpu {
namespace {

constexpr uint32_t kKfdCharMajor = 511;

// The fixed windows of a wave's flat addresses, and the range user space may place buffers in. A
// limit of 2^47 or more would tell the thunk that this is an old APU.
constexpr uint64_t kLdsBase = 1ull << 48;
constexpr uint64_t kScratchBase = 2ull << 48;
constexpr uint64_t kWindowBytes = 4ull << 30;
constexpr uint64_t kGpuvmBase = 0x1000000;
constexpr uint64_t kGpuvmLimit = (1ull << 47) - 1;

// Reported while there is no event page: the thunk takes 0 for "no interrupts".
constexpr uint64_t kNoEventPage = 1ull << 62;

bool describe_address(void* context, Gpu& gpu, GpuAddr address, char* text, size_t size) {
  return static_cast<Driver*>(context)->allocations().describe(address, text, size);
}

}  // namespace

Driver::Driver(const Config& config, const std::string& run_dir)
    : config_(config), run_dir_(run_dir) {}

Driver* Driver::create(const Config& config, const std::string& run_dir, int* error) {
  auto* driver = new (std::nothrow) Driver(config, run_dir);
  *error = driver == nullptr ? ENOMEM : driver->start();
  // A driver that could not start is rare and small; it is left behind rather than taken apart.
  return *error == 0 ? driver : nullptr;
}

int Driver::make_file(const char* name, File* file) {
  const int fd = sys::memfd(name);
  if (fd < 0) return -fd;
  struct stat st {};
  const int truncated = sys::set_file_size(fd, kDeviceFileBytes);
  if (truncated != 0 || sys::fstat(fd, &st) != 0) {
    sys::close(fd);
    return truncated != 0 ? -truncated : EIO;
  }
  *file = {own_fds::adopt(fd), st.st_dev, st.st_ino};
  return 0;
}

int Driver::start() {
  pid_ = sys::pid();
  // A directory that cannot be held works all the same; it may only go too early.
  if (!run_dir_.empty()) own_fds::adopt(hold_run_dir(run_dir_));
  int error = make_file("wavetap-kfd", &compute_);
  if (error != 0) return error;

  engine_ = new emu::Engine(
      {.threads = static_cast<int>(config_.threads),
       .seed = config_.seed,
       .watchdog_instructions = config_.watchdog_instructions,
       .run_guarded = run_guarded,
       .compiler =
           config_.jit_library.empty()
               ? nullptr
               : new jit::Compiler({config_.jit_library, config_.jit_verify, config_.jit_cache})});
  std::vector<int> render_fds;
  for (const GpuPlace& place : place_gpus(config_)) {
    File render;
    error = make_file("wavetap-render", &render);
    if (error != 0) return error;
    render_.push_back(render);
    render_fds.push_back(render.fd);

    auto* gpu = new Gpu;
    gpu->model = config_.models[place.model];
    gpu->reported = gpu->model.as_reported();
    gpu->hangs = gpu->model.quirk("fault.hang") == "yes";
    gpu->corrupts_copies = gpu->model.quirk("fault.sdma") == "corrupt";
    gpu->index = place.index;
    gpu->node = place.node;
    gpu->gpu_id = place.gpu_id;
    gpu->render_minor = place.render_minor;
    gpu->engine = engine_;
    std::byte* page =
        sys::map(nullptr, std::max(kDoorbellBytes, sys::page_size()), PROT_READ | PROT_WRITE,
                 MAP_SHARED, compute_.fd, doorbell_offset(place.index));
    if (page == nullptr) return ENOMEM;
    gpu->doorbells = reinterpret_cast<volatile uint64_t*>(page);
    gpus_.push_back(gpu);
  }
  events_ = new EventTable;
  allocations_ = new AllocationTable(/*keep_freed=*/config_.guard_allocations);
  hooks_ = make_dispatch_hooks({.config = config_, .allocations = *allocations_, .gpus = gpus_});
  queues_ = new QueueTable(*events_,
                           {.context = this,
                            .describe_address = describe_address,
                            .dispatch = hooks_,
                            .alone_patience_ms = static_cast<int>(config_.capture_drain_s) * 1000});
  store_ = new BufferStore(gpus_, render_fds, compute_.fd, *allocations_);
  buffers_ = new BufferTable(*store_);
  gems_ = new GemTable(*store_, run_dir_.empty() ? "" : run_dir_ + "/shared");
  svm_ = new SvmTable(gpus_, config_.svm, *allocations_);
  WT_DEBUG("vgpu", "driver started, pid %d, %zu GPUs", pid_, gpus_.size());
  return 0;
}

Gpu* Driver::gpu_by_id(uint32_t gpu_id) const {
  for (Gpu* gpu : gpus_)
    if (gpu->gpu_id == gpu_id) return gpu;
  return nullptr;
}

Gpu* Driver::gpu_by_render_minor(uint32_t minor) const {
  for (Gpu* gpu : gpus_)
    if (gpu->render_minor == minor) return gpu;
  return nullptr;
}

int Driver::open_file(const Gpu* gpu, bool cloexec) const {
  const std::lock_guard lock(files_mutex_);
  const File& file = gpu == nullptr ? compute_ : render_[gpu->index];
  // Through /proc it is a new open file with flags of its own; a duplicate shares ours.
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", file.fd);
  const int fd = static_cast<int>(
      sys::call(SYS_openat, AT_FDCWD, path, O_RDWR | (cloexec ? O_CLOEXEC : 0), 0));
  if (fd >= 0 || fd == -EMFILE || fd == -ENFILE) return fd;
  return sys::dup_above(file.fd, 0, cloexec);
}

bool Driver::identify(const struct stat& st, DeviceFile* file) const {
  if (st.st_dev != compute_.device) return false;
  if (st.st_ino == compute_.inode) {
    file->gpu = nullptr;
    return true;
  }
  for (size_t i = 0; i < render_.size(); ++i) {
    if (st.st_ino != render_[i].inode) continue;
    file->gpu = gpus_[i];
    return true;
  }
  return false;
}

bool Driver::identify(int fd, DeviceFile* file) const {
  struct stat st {};
  return sys::fstat(fd, &st) == 0 && identify(st, file);
}

void Driver::disguise(const DeviceFile& file, struct stat* st) const {
  st->st_mode = S_IFCHR | 0666;
  st->st_rdev = file.gpu == nullptr ? makedev(kKfdCharMajor, 0)
                                    : makedev(amd::kDrmMajorDevice, file.gpu->render_minor);
  st->st_size = 0;
  st->st_blocks = 0;
  st->st_nlink = 1;
}

void Driver::clock_counters(amd::KfdGetClockCountersArgs* counters) const {
  const HostNs time = now();
  counters->gpu_clock_counter = to_ticks(time).value;
  counters->cpu_clock_counter = static_cast<uint64_t>(time.value);
  counters->system_clock_counter = static_cast<uint64_t>(time.value);
  counters->system_clock_freq = 1'000'000'000;
}

amd::KfdApertures Driver::apertures(const Gpu& gpu) const {
  return {.lds_base = kLdsBase,
          .lds_limit = kLdsBase + kWindowBytes - 1,
          .scratch_base = kScratchBase,
          .scratch_limit = kScratchBase + kWindowBytes - 1,
          .gpuvm_base = kGpuvmBase,
          .gpuvm_limit = kGpuvmLimit,
          .gpu_id = gpu.gpu_id,
          .pad = 0};
}

int Driver::create_event(EventType type, bool auto_reset, uint32_t node_id, uint64_t* page,
                         EventHandle* handle) {
  const std::lock_guard lock(event_page_mutex_);
  if (*page != 0 && *page != event_page_handle_ && *page != kNoEventPage) {
    uint64_t size_bytes = 0;
    std::byte* host = buffers_->host_of(*page, &size_bytes);
    if (host == nullptr) return EINVAL;
    const int error = events_->set_event_page(reinterpret_cast<uint64_t*>(host), size_bytes);
    if (error != 0) return error;
    event_page_handle_ = *page;
  }
  *page = event_page_handle_ != 0 ? event_page_handle_ : kNoEventPage;
  return events_->create(type, auto_reset, node_id, handle);
}

int Driver::free_memory(uint64_t handle) {
  const std::lock_guard lock(event_page_mutex_);
  if (handle != 0 && handle == event_page_handle_) {
    events_->set_event_page(nullptr, 0);
    event_page_handle_ = 0;
  }
  return buffers_->free(handle);
}

void Driver::host_unmapped(uint64_t address, uint64_t size_bytes) {
  if (svm_->in_use()) svm_->forget(address, size_bytes);
}

bool Driver::vacate_fd(int fd) {
  int copy = sys::dup_above(fd, 3);
  if (copy == -EMFILE && own_fds::raise_limit()) copy = sys::dup_above(fd, 3);
  if (copy < 0) return false;
  own_fds::forget(fd);
  const int moved = own_fds::adopt(copy);
  const std::lock_guard lock(files_mutex_);
  if (compute_.fd == fd) compute_.fd = moved;
  for (File& file : render_)
    if (file.fd == fd) file.fd = moved;
  store_->replace_fd(fd, moved);
  return true;
}

void Driver::note_locked(uint64_t host, uint64_t va, uint64_t size_bytes) {
  const std::optional<Allocation> around = allocations_->lookup({va});
  if (!around || size_bytes > around->va + around->size_bytes - va) return;
  allocations_->annotations().add_locked(host, {around->va, around->va + around->size_bytes},
                                         {va, va + size_bytes});
}

bool Driver::wants_pool_blocks() const noexcept {
  return std::any_of(hooks_.begin(), hooks_.end(),
                     [](const DispatchHook* hook) { return hook->wants_pool_blocks(); });
}

void Driver::pool_block_began(uint64_t va, uint64_t size_bytes) noexcept {
  const std::optional<Allocation> around = allocations_->lookup({va});
  if (!around || size_bytes > around->va + around->size_bytes - va) return;
  for (DispatchHook* hook : hooks_)
    hook->pool_block_began({around->va, around->va + around->size_bytes}, {va, va + size_bytes});
}

void Driver::pool_block_ended(uint64_t va) noexcept {
  for (DispatchHook* hook : hooks_) hook->pool_block_ended(va);
}

uint64_t Driver::host_copy_began() noexcept {
  uint64_t number = 0;
  for (DispatchHook* hook : hooks_)
    if (number == 0) number = hook->host_copy_began();
  return number;
}

void Driver::host_copied(uint64_t number, uint64_t to, uint64_t from, uint64_t bytes) noexcept {
  const sanitize::MovedRange ranges[] = {{from, bytes, false}, {to, bytes, true}};
  for (DispatchHook* hook : hooks_) hook->host_copied(number, ranges);
}

}  // namespace wavetap::vgpu
