#include "vgpu/memory.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "amd/kfd_abi.h"
#include "base/log.h"
#include "base/sys_files.h"
#include "vgpu/own_fds.h"

namespace wavetap::vgpu {
namespace {

// GPU addresses end here; beyond lie the LDS and scratch apertures.
constexpr uint64_t kAddressLimit = 1ull << 48;
constexpr char kFileNameFormat[] = "wavetap-buffer-%x-%x";  // gpu_id, flags

uint64_t round_to_page(uint64_t size) {
  const uint64_t page = sys::page_size();
  return (size + page - 1) & ~(page - 1);
}

// Is every page of the range mapped in this process? As the driver's get_user_pages would insist.
bool is_mapped(uint64_t address, uint64_t size_bytes) {
  const uint64_t page = sys::page_size();
  unsigned char state[4096];
  uint64_t at = address & ~(page - 1);
  const uint64_t end = round_to_page(address + size_bytes);
  while (at < end) {
    const uint64_t step = std::min<uint64_t>(end - at, sizeof state * page);
    if (sys::call(SYS_mincore, at, step, state) != 0) return false;
    at += step;
  }
  return true;
}

uint64_t host_memory_bytes() {
  struct sysinfo info {};
  if (::sysinfo(&info) != 0) return 8ull << 30;
  return static_cast<uint64_t>(info.totalram) * info.mem_unit;
}

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

}  // namespace

const char* buffer_kind_name(BufferKind kind) {
  switch (kind) {
    case BufferKind::kVram: return "VRAM";
    case BufferKind::kGtt: return "GTT";
    case BufferKind::kUserptr: return "host";
    case BufferKind::kDoorbell: return "doorbell";
    case BufferKind::kMmio: return "register";
  }
  return "?";
}

bool Buffer::writable() const { return (flags & amd::kKfdAllocWritable) != 0; }
bool Buffer::executable() const { return (flags & amd::kKfdAllocExecutable) != 0; }

BufferTable::BufferTable(std::span<Gpu* const> gpus, std::span<const int> render_files,
                         int device_file, std::string side_directory)
    : gpus_(gpus.begin(), gpus.end()),
      render_files_(render_files.begin(), render_files.end()),
      device_file_(device_file),
      side_directory_(std::move(side_directory)),
      used_vram_(gpus.size()),
      gtt_limit_(host_memory_bytes()) {}

int BufferTable::create_storage(Buffer& buffer) {
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

int BufferTable::map_storage(Buffer& buffer) {
  buffer.host = sys::map(nullptr, buffer.size_bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_NORESERVE, buffer.fd, buffer.fd_offset);
  if (buffer.host == nullptr) return ENOMEM;
  buffer.owns_mapping = true;
  return 0;
}

int BufferTable::make_memory(Gpu& gpu, BufferKind kind, uint64_t size_bytes, uint32_t flags,
                             BufferRef* made) {
  const auto buffer = std::make_shared<Buffer>();
  buffer->gpu = &gpu;
  buffer->kind = kind;
  buffer->flags = flags;
  buffer->size_bytes = size_bytes;
  uint64_t& used = kind == BufferKind::kVram ? used_vram_[gpu.index] : used_gtt_;
  const uint64_t limit = kind == BufferKind::kVram ? gpu.model.vram_bytes : gtt_limit_;
  if (size_bytes > limit - std::min(used, limit)) return ENOMEM;
  int error = create_storage(*buffer);
  if (error == 0) error = map_storage(*buffer);
  if (error != 0) {
    if (buffer->owns_fd) own_fds::close(buffer->fd);
    return error;
  }
  used += size_bytes;
  buffer->counted = true;
  by_mmap_offset_[buffer->mmap_offset] = buffer.get();
  *made = buffer;
  return 0;
}

uint64_t BufferTable::add_handle(Gpu& gpu, const BufferRef& buffer) {
  const uint64_t handle = (static_cast<uint64_t>(gpu.gpu_id) << 32) | next_handle_++;
  buffer->handle = handle;
  buffers_[handle] = buffer;
  return handle;
}

int BufferTable::allocate(Gpu& gpu, uint64_t va, uint64_t size_bytes, uint32_t flags,
                          uint64_t* mmap_offset, uint64_t* handle) {
  if (size_bytes == 0 || size_bytes > kAddressLimit || va > kAddressLimit - size_bytes)
    return EINVAL;
  const uint64_t rounded = round_to_page(size_bytes);
  const std::lock_guard lock(mutex_);
  BufferRef buffer;
  switch (flags & amd::kKfdAllocDomains) {
    case amd::kKfdAllocVram:
    case amd::kKfdAllocGtt: {
      const bool vram = (flags & amd::kKfdAllocVram) != 0;
      const int error =
          make_memory(gpu, vram ? BufferKind::kVram : BufferKind::kGtt, rounded, flags, &buffer);
      if (error != 0) return error;
      *mmap_offset = buffer->mmap_offset;
      break;
    }
    case amd::kKfdAllocUserptr:
      if (*mmap_offset == 0 || *mmap_offset > ~0ull - rounded) return EINVAL;
      if (!is_mapped(*mmap_offset, size_bytes)) return EFAULT;
      buffer = std::make_shared<Buffer>();
      buffer->kind = BufferKind::kUserptr;
      buffer->size_bytes = rounded;
      buffer->host = reinterpret_cast<std::byte*>(*mmap_offset);
      break;
    case amd::kKfdAllocDoorbell:
    case amd::kKfdAllocMmioRemap: {
      const bool doorbell = (flags & amd::kKfdAllocDoorbell) != 0;
      const uint64_t most = std::max(doorbell ? kDoorbellBytes : kMmioBytes, sys::page_size());
      if (rounded > most) return EINVAL;
      buffer = std::make_shared<Buffer>();
      buffer->kind = doorbell ? BufferKind::kDoorbell : BufferKind::kMmio;
      buffer->size_bytes = rounded;
      buffer->fd = device_file_;
      buffer->fd_offset = doorbell ? doorbell_offset(gpu.index) : mmio_offset(gpu.index);
      const int error = map_storage(*buffer);
      if (error != 0) return error;
      *mmap_offset = buffer->fd_offset;
      break;
    }
    default: return EINVAL;
  }
  buffer->gpu = &gpu;
  buffer->flags = flags;
  buffer->va = va;
  *handle = add_handle(gpu, buffer);
  WT_DEBUG("vgpu", "alloc gpu %u %s va %#llx size %#llx flags %#x -> handle %#llx", gpu.index,
           buffer_kind_name(buffer->kind), static_cast<unsigned long long>(va),
           static_cast<unsigned long long>(size_bytes), flags,
           static_cast<unsigned long long>(*handle));
  return 0;
}

int BufferTable::free(uint64_t handle) {
  const std::lock_guard lock(mutex_);
  const auto it = buffers_.find(handle);
  if (it == buffers_.end()) return EINVAL;
  if (it->second->mapped_gpus != 0) return EBUSY;
  BufferRef buffer = std::move(it->second);
  buffers_.erase(it);
  buffer->handle = 0;
  drop(std::move(buffer));
  return 0;
}

// The caller's reference ends here.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void BufferTable::drop(BufferRef buffer) {
  if (buffer.use_count() > 1) return;
  for (Gpu* gpu : gpus_) unmap_from(*buffer, *gpu);
  if (buffer->mmap_offset != 0) by_mmap_offset_.erase(buffer->mmap_offset);
  if (buffer->owns_mapping) sys::unmap(buffer->host, buffer->size_bytes);
  const bool is_memory = buffer->kind == BufferKind::kVram || buffer->kind == BufferKind::kGtt;
  // Gives the pages back even where a forked child still holds the file.
  if (is_memory && !buffer->shared)
    sys::punch_hole(buffer->fd, buffer->fd_offset, buffer->size_bytes);
  if (buffer->owns_fd) own_fds::close(buffer->fd);
  if (buffer->counted)
    (buffer->kind == BufferKind::kVram ? used_vram_[buffer->gpu->index] : used_gtt_) -=
        buffer->size_bytes;
}

int BufferTable::map(uint64_t handle, std::span<Gpu* const> gpus, uint32_t* done) {
  const std::lock_guard lock(mutex_);
  const auto it = buffers_.find(handle);
  if (it == buffers_.end()) return EINVAL;
  Buffer& buffer = *it->second;
  for (; *done < gpus.size(); ++*done) {
    Gpu& gpu = *gpus[*done];
    const uint32_t bit = 1u << gpu.index;
    if ((buffer.mapped_gpus & bit) == 0 && buffer.va != 0)
      gpu.space.map(buffer.va, buffer.size_bytes, buffer.host, buffer.writable(),
                    buffer.executable());
    buffer.mapped_gpus |= bit;
  }
  return 0;
}

void BufferTable::unmap_from(Buffer& buffer, Gpu& gpu) {
  const uint32_t bit = 1u << gpu.index;
  if ((buffer.mapped_gpus & bit) == 0) return;
  buffer.mapped_gpus &= ~bit;
  if (buffer.va == 0) return;
  gpu.space.unmap(buffer.va, buffer.size_bytes);
  if (buffer.executable() && gpu.engine != nullptr)
    gpu.engine->invalidate_code(GpuAddr{buffer.va}, buffer.size_bytes);
}

int BufferTable::unmap(uint64_t handle, std::span<Gpu* const> gpus, uint32_t* done) {
  const std::lock_guard lock(mutex_);
  const auto it = buffers_.find(handle);
  if (it == buffers_.end()) return EINVAL;
  for (; *done < gpus.size(); ++*done) unmap_from(*it->second, *gpus[*done]);
  return 0;
}

uint64_t BufferTable::used_vram(const Gpu& gpu) {
  const std::lock_guard lock(mutex_);
  return used_vram_[gpu.index];
}

uint64_t BufferTable::available_vram(const Gpu& gpu) {
  return gpu.model.vram_bytes - std::min(used_vram(gpu), gpu.model.vram_bytes);
}

// ---------------------------------------------------------------------------------------- sharing

int BufferTable::export_dmabuf(uint64_t handle, bool cloexec, int* fd) {
  const std::lock_guard lock(mutex_);
  const auto it = buffers_.find(handle);
  if (it == buffers_.end() || it->second->fd < 0) return EINVAL;
  Buffer& buffer = *it->second;
  if (!buffer.owns_fd)
    return buffer.kind == BufferKind::kVram || buffer.kind == BufferKind::kGtt ? EMFILE : EINVAL;
  const int copy = sys::dup_above(buffer.fd, 0, cloexec);
  if (copy < 0) return -copy;
  buffer.shared = true;
  *fd = copy;
  return 0;
}

BufferTable::BufferRef BufferTable::buffer_of_file(int fd) {
  struct stat st {};
  if (sys::fstat(fd, &st) != 0) return nullptr;
  for (const auto& [handle, buffer] : buffers_)
    if (buffer->inode != 0 && buffer->inode == st.st_ino) return buffer;
  for (const auto& [key, gem] : gems_)
    if (gem.buffer->inode != 0 && gem.buffer->inode == st.st_ino) return gem.buffer;
  return nullptr;
}

int BufferTable::make_from_file(int fd, BufferRef* made) {
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

  const auto buffer = std::make_shared<Buffer>();
  buffer->gpu = *owner;
  buffer->kind = (flags & amd::kKfdAllocVram) != 0 ? BufferKind::kVram : BufferKind::kGtt;
  buffer->flags = flags;
  buffer->size_bytes = size;
  buffer->fd = own_fds::adopt(copy);
  buffer->owns_fd = true;
  buffer->inode = st.st_ino;
  buffer->shared = true;
  const int error = map_storage(*buffer);
  if (error != 0) {
    own_fds::close(buffer->fd);
    return error;
  }
  buffer->mmap_offset = next_mmap_offset_;
  next_mmap_offset_ += size;
  by_mmap_offset_[buffer->mmap_offset] = buffer.get();
  *made = buffer;
  return 0;
}

int BufferTable::dmabuf_info(int fd, Buffer* info) {
  const std::lock_guard lock(mutex_);
  BufferRef buffer = buffer_of_file(fd);
  if (buffer == nullptr) {
    const int error = make_from_file(fd, &buffer);
    if (error != 0) return error;
    *info = *buffer;
    drop(std::move(buffer));
    return 0;
  }
  *info = *buffer;
  return 0;
}

int BufferTable::import_dmabuf(Gpu& gpu, int fd, uint64_t va, uint64_t* handle) {
  const std::lock_guard lock(mutex_);
  if (const BufferRef own = buffer_of_file(fd)) own->shared = true;
  BufferRef buffer;
  const int error = make_from_file(fd, &buffer);
  if (error != 0) return error;
  if (va > kAddressLimit - std::min(buffer->size_bytes, kAddressLimit)) {
    drop(std::move(buffer));
    return EINVAL;
  }
  buffer->va = va;
  *handle = add_handle(gpu, buffer);
  return 0;
}

int BufferTable::export_ipc(uint64_t handle, IpcHandle* ipc) {
  const std::lock_guard lock(mutex_);
  const auto it = buffers_.find(handle);
  if (it == buffers_.end() || it->second->fd < 0) return EINVAL;
  Buffer& buffer = *it->second;
  if (!buffer.owns_fd) return EMFILE;
  buffer.shared = true;
  const uint64_t inode = buffer.inode;
  *ipc = {{static_cast<uint32_t>(sys::pid()), static_cast<uint32_t>(buffer.fd),
           static_cast<uint32_t>(inode), static_cast<uint32_t>(inode >> 32)}};
  return 0;
}

int BufferTable::import_ipc(Gpu& gpu, const IpcHandle& ipc, uint64_t va, uint64_t* handle,
                            uint64_t* mmap_offset, uint32_t* flags) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%u/fd/%u", ipc.word[0], ipc.word[1]);
  const int fd = sys::open(path, O_RDWR);
  if (fd < 0) return EINVAL;
  struct stat st {};
  const uint64_t inode = ipc.word[2] | static_cast<uint64_t>(ipc.word[3]) << 32;
  int error = sys::fstat(fd, &st) == 0 && st.st_ino == inode ? 0 : EINVAL;
  if (error == 0) error = import_dmabuf(gpu, fd, va, handle);
  sys::close(fd);
  if (error != 0) return error;
  const std::lock_guard lock(mutex_);
  const Buffer& buffer = *buffers_[*handle];
  *mmap_offset = buffer.mmap_offset;
  *flags = buffer.flags;
  return 0;
}

// -------------------------------------------------------------------------------------------- DRM

BufferTable::Gem* BufferTable::find_gem(const Gpu& gpu, uint32_t gem) {
  const auto it = gems_.find({gpu.index, gem});
  return it == gems_.end() ? nullptr : &it->second;
}

int BufferTable::gem_create(Gpu& gpu, uint64_t size_bytes, bool vram, uint32_t* gem) {
  if (size_bytes == 0 || size_bytes > kAddressLimit) return EINVAL;
  const std::lock_guard lock(mutex_);
  const uint32_t domain = vram ? amd::kKfdAllocVram : amd::kKfdAllocGtt;
  BufferRef buffer;
  const int error =
      make_memory(gpu, vram ? BufferKind::kVram : BufferKind::kGtt, round_to_page(size_bytes),
                  domain | amd::kKfdAllocWritable | amd::kKfdAllocPublic, &buffer);
  if (error != 0) return error;
  *gem = next_gem_++;
  gems_[{gpu.index, *gem}] = {std::move(buffer), {}};
  return 0;
}

int BufferTable::gem_import(Gpu& gpu, int fd, uint32_t* gem) {
  const std::lock_guard lock(mutex_);
  BufferRef buffer = buffer_of_file(fd);
  if (buffer == nullptr) {
    const int error = make_from_file(fd, &buffer);
    if (error != 0) return error;
  }
  // The same storage has one GEM handle per render node.
  for (const auto& [key, known] : gems_) {
    if (key.first != gpu.index || known.buffer != buffer) continue;
    *gem = key.second;
    return 0;
  }
  *gem = next_gem_++;
  gems_[{gpu.index, *gem}] = {std::move(buffer), {}};
  return 0;
}

int BufferTable::gem_export(Gpu& gpu, uint32_t gem, bool cloexec, int* fd) {
  const std::lock_guard lock(mutex_);
  const Gem* found = find_gem(gpu, gem);
  if (found == nullptr) return ENOENT;
  if (!found->buffer->owns_fd) return EMFILE;
  const int copy = sys::dup_above(found->buffer->fd, 0, cloexec);
  if (copy < 0) return -copy;
  found->buffer->shared = true;
  *fd = copy;
  return 0;
}

int BufferTable::gem_close(Gpu& gpu, uint32_t gem) {
  const std::lock_guard lock(mutex_);
  const auto it = gems_.find({gpu.index, gem});
  if (it == gems_.end()) return EINVAL;
  Gem closing = std::move(it->second);
  gems_.erase(it);
  for (const GemBinding& binding : closing.bindings)
    gpu.space.unmap(binding.va, binding.size_bytes);
  drop(std::move(closing.buffer));
  return 0;
}

int BufferTable::gem_info(Gpu& gpu, uint32_t gem, Buffer* info) {
  const std::lock_guard lock(mutex_);
  const Gem* found = find_gem(gpu, gem);
  if (found == nullptr) return ENOENT;
  *info = *found->buffer;
  return 0;
}

int BufferTable::gem_map(Gpu& gpu, uint32_t gem, uint64_t va, uint64_t offset, uint64_t size_bytes,
                         bool writable, bool executable) {
  const std::lock_guard lock(mutex_);
  Gem* found = find_gem(gpu, gem);
  if (found == nullptr) return ENOENT;
  const Buffer& buffer = *found->buffer;
  const uint64_t page = 4096;
  if (va == 0 || size_bytes == 0 || (va | offset | size_bytes) % page != 0) return EINVAL;
  if (offset > buffer.size_bytes || size_bytes > buffer.size_bytes - offset) return EINVAL;
  if (size_bytes > kAddressLimit || va > kAddressLimit - size_bytes) return EINVAL;
  gpu.space.map(va, size_bytes, buffer.host + offset, writable, executable);
  found->bindings.push_back({va, size_bytes});
  return 0;
}

int BufferTable::gem_unmap(Gpu& gpu, uint64_t va, uint64_t size_bytes) {
  if (size_bytes == 0 || va > ~0ull - size_bytes) return EINVAL;
  const std::lock_guard lock(mutex_);
  for (auto& [key, gem] : gems_) {
    if (key.first != gpu.index) continue;
    std::erase_if(gem.bindings, [&](const GemBinding& binding) {
      return binding.va >= va && binding.va + binding.size_bytes <= va + size_bytes;
    });
  }
  gpu.space.unmap(va, size_bytes);
  if (gpu.engine != nullptr) gpu.engine->invalidate_code(GpuAddr{va}, size_bytes);
  return 0;
}

std::string BufferTable::metadata_path(const Buffer& buffer) const {
  return side_directory_ + "/" + std::to_string(buffer.inode);
}

int BufferTable::set_metadata(Gpu& gpu, uint32_t gem, std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  const Gem* found = find_gem(gpu, gem);
  if (found == nullptr) return ENOENT;
  if (side_directory_.empty() || found->buffer->inode == 0) return EINVAL;
  return sys::write_file(metadata_path(*found->buffer),
                         {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

int BufferTable::get_metadata(Gpu& gpu, uint32_t gem, std::span<std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  const Gem* found = find_gem(gpu, gem);
  if (found == nullptr) return ENOENT;
  std::memset(bytes.data(), 0, bytes.size());
  if (side_directory_.empty() || found->buffer->inode == 0) return 0;
  const std::optional<std::string> stored = sys::read_file(metadata_path(*found->buffer));
  if (stored) std::memcpy(bytes.data(), stored->data(), std::min(bytes.size(), stored->size()));
  return 0;
}

// ---------------------------------------------------------------------------------- the CPU's side

int BufferTable::cpu_map(void* at, uint64_t length, int protection, int flags, uint64_t offset,
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

std::byte* BufferTable::host_of(uint64_t handle, uint64_t* size_bytes) {
  const std::lock_guard lock(mutex_);
  const auto it = buffers_.find(handle);
  if (it == buffers_.end()) return nullptr;
  *size_bytes = it->second->size_bytes;
  return it->second->host;
}

bool BufferTable::describe(uint64_t va, char* text, size_t size) {
  const std::lock_guard lock(mutex_);
  const Buffer* best = nullptr;
  uint64_t best_distance = ~0ull;
  for (const auto& [handle, buffer] : buffers_) {
    if (buffer->va == 0) continue;
    const uint64_t end = buffer->va + buffer->size_bytes;
    const uint64_t distance = va < buffer->va ? buffer->va - va : va < end ? 0 : va - end + 1;
    if (distance >= best_distance) continue;
    best = buffer.get();
    best_distance = distance;
  }
  if (best == nullptr) return false;
  const char* where = best_distance == 0 ? "inside" : va < best->va ? "before" : "past";
  std::snprintf(text, size, "%s the %s buffer of %llu bytes at %#llx (GPU %u)", where,
                buffer_kind_name(best->kind), static_cast<unsigned long long>(best->size_bytes),
                static_cast<unsigned long long>(best->va), best->gpu->index);
  return true;
}

void BufferTable::replace_fd(int from, int to) {
  const std::lock_guard lock(mutex_);
  if (device_file_ == from) device_file_ = to;
  for (int& file : render_files_)
    if (file == from) file = to;
  const auto replace = [&](Buffer& buffer) {
    if (buffer.fd == from) buffer.fd = to;
  };
  for (const auto& [handle, buffer] : buffers_) replace(*buffer);
  for (const auto& [key, gem] : gems_) replace(*gem.buffer);
}

size_t BufferTable::buffer_count() {
  const std::lock_guard lock(mutex_);
  return buffers_.size();
}

}  // namespace wavetap::vgpu
