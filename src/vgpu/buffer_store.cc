#include "vgpu/buffer_store.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "amd/kfd_abi.h"
#include "base/check.h"
#include "base/sys_files.h"
#include "vgpu/host_memory.h"
#include "vgpu/own_fds.h"

namespace wavetap::vgpu {
namespace {

constexpr char kFileNameFormat[] = "wavetap-buffer-%x-%x";  // gpu_id, flags

// Reads gpu_id and flags out of the name of a file made by create_storage(), possibly elsewhere.
bool parse_file_name(int fd, uint32_t* gpu_id, uint32_t* flags) {
  char link[64];
  char name[256];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const int64_t length = sys::call(SYS_readlinkat, AT_FDCWD, link, name, sizeof name - 1);
  if (length <= 0) return false;
  name[length] = '\0';
  const char* start = std::strstr(name, "wavetap-buffer-");
  return start != nullptr && std::sscanf(start, kFileNameFormat, gpu_id, flags) == 2;
}

bool is_memory(BufferKind kind) { return kind == BufferKind::kVram || kind == BufferKind::kGtt; }

}  // namespace

const char* buffer_kind_name(BufferKind kind) {
  switch (kind) {
    case BufferKind::kVram: return "VRAM";
    case BufferKind::kGtt: return "GTT";
    case BufferKind::kUserptr: return "host";
    case BufferKind::kDoorbell: return "doorbell";
    case BufferKind::kMmio: return "register";
    case BufferKind::kSvm: return "SVM";
  }
  return "?";
}

bool Buffer::writable() const { return (flags & amd::kKfdAllocWritable) != 0; }
bool Buffer::executable() const { return (flags & amd::kKfdAllocExecutable) != 0; }

BufferStore::BufferStore(std::span<Gpu* const> gpus, std::span<const int> render_files,
                         int device_file, AllocationTable& allocations)
    : gpus_(gpus.begin(), gpus.end()),
      render_files_(render_files.begin(), render_files.end()),
      device_file_(device_file),
      allocations_(allocations),
      used_vram_(gpus.size()),
      gtt_limit_(host_memory_bytes()) {}

BufferRef BufferStore::make(Gpu& gpu, BufferKind kind, uint64_t size_bytes, uint32_t flags) {
  auto buffer = std::make_shared<Buffer>();
  buffer->serial = next_serial_++;
  buffer->gpu = &gpu;
  buffer->kind = kind;
  buffer->flags = flags;
  buffer->size_bytes = size_bytes;
  return buffer;
}

int BufferStore::create_storage(Buffer& buffer) {
  const uint64_t offset = next_mmap_offset_;
  if (buffer.size_bytes > kDeviceFileBytes - offset) return ENOMEM;
  if (own_fds::has_room()) {
    char name[64];
    std::snprintf(name, sizeof name, kFileNameFormat, buffer.gpu->gpu_id, buffer.flags);
    const int fd = sys::memfd(name);
    struct stat st {};
    if (fd >= 0 && sys::set_file_size(fd, buffer.size_bytes) == 0 && sys::fstat(fd, &st) == 0) {
      buffer.fd = own_fds::adopt(fd);
      buffer.owns_fd = true;
      buffer.inode = st.st_ino;
    } else if (fd >= 0) {
      sys::close(fd);
      return ENOMEM;
    }
  }
  if (buffer.fd < 0) {
    buffer.fd = render_files_[buffer.gpu->index];
    buffer.fd_offset = offset;
  }
  buffer.mmap_offset = offset;
  next_mmap_offset_ += buffer.size_bytes;
  return 0;
}

int BufferStore::map_storage(Buffer& buffer) {
  buffer.host = sys::map(nullptr, buffer.size_bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_NORESERVE, buffer.fd, buffer.fd_offset);
  if (buffer.host == nullptr) return ENOMEM;
  buffer.owns_mapping = true;
  return 0;
}

int BufferStore::make_memory(Gpu& gpu, BufferKind kind, uint64_t size_bytes, uint32_t flags,
                             BufferRef* made) {
  uint64_t& used = kind == BufferKind::kVram ? used_vram_[gpu.index] : used_gtt_;
  const uint64_t limit = kind == BufferKind::kVram ? gpu.model.vram_bytes : gtt_limit_;
  if (size_bytes > limit - std::min(used, limit)) return ENOMEM;
  const BufferRef buffer = make(gpu, kind, size_bytes, flags);
  int error = create_storage(*buffer);
  if (error == 0) error = map_storage(*buffer);
  if (error != 0) {
    if (buffer->owns_fd) own_fds::close(buffer->fd);
    return error;
  }
  used += size_bytes;
  buffer->counted = true;
  by_mmap_offset_[buffer->mmap_offset] = buffer.get();
  live_[buffer->serial] = buffer.get();
  *made = buffer;
  return 0;
}

int BufferStore::make_userptr(Gpu& gpu, uint64_t host, uint64_t size_bytes, uint32_t flags,
                              BufferRef* made) {
  const BufferRef buffer = make(gpu, BufferKind::kUserptr, size_bytes, flags);
  buffer->host = reinterpret_cast<std::byte*>(host);
  live_[buffer->serial] = buffer.get();
  *made = buffer;
  return 0;
}

int BufferStore::make_device_page(Gpu& gpu, BufferKind kind, uint64_t size_bytes, uint32_t flags,
                                  BufferRef* made) {
  const BufferRef buffer = make(gpu, kind, size_bytes, flags);
  buffer->fd = device_file_;
  buffer->fd_offset =
      kind == BufferKind::kDoorbell ? doorbell_offset(gpu.index) : mmio_offset(gpu.index);
  const int error = map_storage(*buffer);
  if (error != 0) return error;
  live_[buffer->serial] = buffer.get();
  *made = buffer;
  return 0;
}

int BufferStore::make_from_file(int fd, BufferRef* made) {
  struct stat st {};
  uint32_t gpu_id = 0;
  uint32_t flags = 0;
  if (sys::fstat(fd, &st) != 0 || !parse_file_name(fd, &gpu_id, &flags)) return EINVAL;
  const auto owner =
      std::find_if(gpus_.begin(), gpus_.end(), [&](Gpu* g) { return g->gpu_id == gpu_id; });
  const uint64_t size = static_cast<uint64_t>(st.st_size);
  if (owner == gpus_.end() || size == 0 || size > kDeviceFileBytes - next_mmap_offset_)
    return EINVAL;
  const int copy = sys::dup_above(fd, 0);
  if (copy < 0) return -copy;

  const bool vram = (flags & amd::kKfdAllocVram) != 0;
  const BufferRef buffer = make(**owner, vram ? BufferKind::kVram : BufferKind::kGtt, size, flags);
  buffer->fd = own_fds::adopt(copy);
  buffer->owns_fd = true;
  buffer->inode = st.st_ino;
  buffer->shared = true;
  buffer->imported = true;
  const int error = map_storage(*buffer);
  if (error != 0) {
    own_fds::close(buffer->fd);
    return error;
  }
  buffer->mmap_offset = next_mmap_offset_;
  next_mmap_offset_ += size;
  by_mmap_offset_[buffer->mmap_offset] = buffer.get();
  live_[buffer->serial] = buffer.get();
  *made = buffer;
  return 0;
}

BufferRef BufferStore::buffer_of_file(int fd) {
  struct stat st {};
  if (sys::fstat(fd, &st) != 0) return nullptr;
  for (const auto& [serial, buffer] : live_)
    if (buffer->inode != 0 && buffer->inode == st.st_ino) return buffer->shared_from_this();
  return nullptr;
}

// The caller's reference ends here.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void BufferStore::drop(BufferRef buffer) {
  if (buffer.use_count() > 1) return;
  allocations_.remove(buffer->allocation_id);
  for (Gpu* gpu : gpus_) unmap_from(*buffer, *gpu);
  live_.erase(buffer->serial);
  if (buffer->mmap_offset != 0) by_mmap_offset_.erase(buffer->mmap_offset);
  if (buffer->owns_mapping) sys::unmap(buffer->host, buffer->size_bytes);
  // Gives the pages back even where a forked child still holds the file.
  if (is_memory(buffer->kind) && !buffer->shared)
    sys::punch_hole(buffer->fd, buffer->fd_offset, buffer->size_bytes);
  if (buffer->owns_fd) own_fds::close(buffer->fd);
  if (!buffer->counted) return;
  uint64_t& used = buffer->kind == BufferKind::kVram ? used_vram_[buffer->gpu->index] : used_gtt_;
  // Wrapped around, the GPU would be full for ever.
  if (WT_SOFT_CHECK(used >= buffer->size_bytes, "memory that is given back was taken"))
    used -= buffer->size_bytes;
}

void BufferStore::unmap_from(Buffer& buffer, Gpu& gpu) {
  const uint32_t bit = 1u << gpu.index;
  if ((buffer.mapped_gpus & bit) == 0) return;
  buffer.mapped_gpus &= ~bit;
  allocations_.set_mapped(buffer.allocation_id, buffer.mapped_gpus);
  if (buffer.va == 0) return;
  gpu.space.unmap(buffer.va, buffer.size_bytes);
  if (buffer.executable() && gpu.engine != nullptr)
    gpu.engine->invalidate_code(GpuAddr{buffer.va}, buffer.size_bytes);
}

uint64_t BufferStore::used_vram(const Gpu& gpu) {
  const std::lock_guard lock(mutex_);
  return used_vram_[gpu.index];
}

uint64_t BufferStore::available_vram(const Gpu& gpu) {
  return gpu.model.vram_bytes - std::min(used_vram(gpu), gpu.model.vram_bytes);
}

int BufferStore::cpu_map(void* at, uint64_t length, int protection, int flags, uint64_t offset,
                         void** result) {
  const std::lock_guard lock(mutex_);
  const auto it = by_mmap_offset_.upper_bound(offset);
  if (it == by_mmap_offset_.begin()) return EINVAL;
  const Buffer& buffer = *std::prev(it)->second;
  const uint64_t inside = offset - buffer.mmap_offset;
  if (inside >= buffer.size_bytes || length > buffer.size_bytes - inside) return EINVAL;
  const int64_t address =
      sys::call(SYS_mmap, at, length, protection, flags, buffer.fd, buffer.fd_offset + inside);
  if (address < 0 && address > -4096) return static_cast<int>(-address);
  *result = reinterpret_cast<void*>(address);
  return 0;
}

void BufferStore::replace_fd(int from, int to) {
  const std::lock_guard lock(mutex_);
  if (device_file_ == from) device_file_ = to;
  for (int& file : render_files_)
    if (file == from) file = to;
  for (const auto& [serial, buffer] : live_)
    if (buffer->fd == from) buffer->fd = to;
}

}  // namespace wavetap::vgpu
