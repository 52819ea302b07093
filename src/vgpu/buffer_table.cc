#include "vgpu/buffer_table.h"

#include <algorithm>
#include <cstdio>

#include "amd/kfd_abi.h"
#include "base/check.h"
#include "base/log.h"
#include "base/sys_files.h"
#include "vgpu/host_memory.h"

namespace wavetap::vgpu {
namespace {

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

}  // namespace

Buffer* BufferTable::find(uint64_t handle) {
  const auto it = buffers_.find(handle);
  return it == buffers_.end() ? nullptr : it->second.get();
}

uint64_t BufferTable::add_handle(Gpu& gpu, uint64_t va, const BufferRef& buffer) {
  const uint64_t handle = (static_cast<uint64_t>(gpu.gpu_id) << 32) | next_handle_++;
  buffer->handle = handle;
  buffer->va = va;
  buffer->allocation_id = store_.allocations().add(
      {.va = va,
       .size_bytes = buffer->size_bytes,
       .host = buffer->host,
       .kind = buffer->kind,
       .origin = buffer->imported ? AllocationOrigin::kImported : AllocationOrigin::kDriver,
       .flags = buffer->flags,
       .owner = buffer->gpu});
  // Handles count up to 2^32 for each GPU: a buffer under an old one would be lost without a word.
  const bool is_new = buffers_.emplace(handle, buffer).second;
  WT_SOFT_CHECK(is_new, "a handle is given out once");
  return handle;
}

// `host` is the address of a user pointer.
int BufferTable::make(Gpu& gpu, uint64_t size_bytes, uint32_t flags, uint64_t host,
                      BufferRef* made) {
  const uint64_t rounded = round_to_page(size_bytes);
  switch (flags & amd::kKfdAllocDomains) {
    case amd::kKfdAllocVram:
      return store_.make_memory(gpu, BufferKind::kVram, rounded, flags, made);
    case amd::kKfdAllocGtt: return store_.make_memory(gpu, BufferKind::kGtt, rounded, flags, made);
    case amd::kKfdAllocUserptr:
      if (host == 0 || host > ~0ull - rounded) return EINVAL;
      // Nor can the driver pin more than there is; and each page is asked for.
      if (rounded > host_memory_bytes()) return ENOMEM;
      if (!is_mapped(host, size_bytes)) return EFAULT;
      return store_.make_userptr(gpu, host, rounded, flags, made);
    case amd::kKfdAllocDoorbell:
    case amd::kKfdAllocMmioRemap: {
      const bool doorbell = (flags & amd::kKfdAllocDoorbell) != 0;
      if (rounded > std::max(doorbell ? kDoorbellBytes : kMmioBytes, sys::page_size()))
        return EINVAL;
      return store_.make_device_page(gpu, doorbell ? BufferKind::kDoorbell : BufferKind::kMmio,
                                     rounded, flags, made);
    }
    default: return EINVAL;
  }
}

int BufferTable::allocate(Gpu& gpu, uint64_t va, uint64_t size_bytes, uint32_t flags,
                          uint64_t* mmap_offset, uint64_t* handle) {
  if (size_bytes == 0 || size_bytes > kAddressLimit || va > kAddressLimit - size_bytes)
    return EINVAL;
  const auto lock = store_.lock();
  BufferRef buffer;
  const int error = make(gpu, size_bytes, flags, *mmap_offset, &buffer);
  if (error != 0) return error;
  const bool device_page =
      buffer->kind == BufferKind::kDoorbell || buffer->kind == BufferKind::kMmio;
  if (buffer->kind != BufferKind::kUserptr)
    *mmap_offset = device_page ? buffer->fd_offset : buffer->mmap_offset;
  *handle = add_handle(gpu, va, buffer);
  WT_DEBUG("vgpu", "alloc gpu %u %s va %#llx size %#llx flags %#x -> handle %#llx", gpu.index,
           buffer_kind_name(buffer->kind), static_cast<unsigned long long>(va),
           static_cast<unsigned long long>(size_bytes), flags,
           static_cast<unsigned long long>(*handle));
  return 0;
}

int BufferTable::free(uint64_t handle) {
  const auto lock = store_.lock();
  const auto it = buffers_.find(handle);
  if (it == buffers_.end()) return EINVAL;
  if (it->second->mapped_gpus != 0) return EBUSY;
  BufferRef buffer = std::move(it->second);
  buffers_.erase(it);
  buffer->handle = 0;
  store_.allocations().remove(buffer->allocation_id);
  buffer->allocation_id = 0;
  store_.drop(std::move(buffer));
  return 0;
}

int BufferTable::map(uint64_t handle, std::span<Gpu* const> gpus, uint32_t* done) {
  const auto lock = store_.lock();
  Buffer* buffer = find(handle);
  if (buffer == nullptr) return EINVAL;
  for (; *done < gpus.size(); ++*done) {
    Gpu& gpu = *gpus[*done];
    const uint32_t bit = 1u << gpu.index;
    if ((buffer->mapped_gpus & bit) == 0 && buffer->va != 0)
      gpu.space.map(buffer->va, buffer->size_bytes, buffer->host, buffer->writable(),
                    buffer->executable());
    buffer->mapped_gpus |= bit;
  }
  store_.allocations().set_mapped(buffer->allocation_id, buffer->mapped_gpus);
  return 0;
}

int BufferTable::unmap(uint64_t handle, std::span<Gpu* const> gpus, uint32_t* done) {
  const auto lock = store_.lock();
  Buffer* buffer = find(handle);
  if (buffer == nullptr) return EINVAL;
  for (; *done < gpus.size(); ++*done) store_.unmap_from(*buffer, *gpus[*done]);
  return 0;
}

// ---------------------------------------------------------------------------------------- sharing

int BufferTable::export_dmabuf(uint64_t handle, bool cloexec, int* fd) {
  const auto lock = store_.lock();
  Buffer* buffer = find(handle);
  if (buffer == nullptr || buffer->fd < 0) return EINVAL;
  if (!buffer->owns_fd)
    return buffer->kind == BufferKind::kVram || buffer->kind == BufferKind::kGtt ? EMFILE : EINVAL;
  const int copy = sys::dup_above(buffer->fd, 0, cloexec);
  if (copy < 0) return -copy;
  buffer->shared = true;
  *fd = copy;
  return 0;
}

int BufferTable::dmabuf_info(int fd, Buffer* info) {
  const auto lock = store_.lock();
  BufferRef buffer = store_.buffer_of_file(fd);
  if (buffer != nullptr) {
    *info = *buffer;
    return 0;
  }
  const int error = store_.make_from_file(fd, &buffer);
  if (error != 0) return error;
  *info = *buffer;
  store_.drop(std::move(buffer));
  return 0;
}

int BufferTable::import_dmabuf(Gpu& gpu, int fd, uint64_t va, uint64_t* handle) {
  const auto lock = store_.lock();
  if (const BufferRef own = store_.buffer_of_file(fd)) own->shared = true;
  BufferRef buffer;
  const int error = store_.make_from_file(fd, &buffer);
  if (error != 0) return error;
  if (va > kAddressLimit - std::min(buffer->size_bytes, kAddressLimit)) {
    store_.drop(std::move(buffer));
    return EINVAL;
  }
  *handle = add_handle(gpu, va, buffer);
  return 0;
}

int BufferTable::export_ipc(uint64_t handle, IpcHandle* ipc) {
  const auto lock = store_.lock();
  Buffer* buffer = find(handle);
  if (buffer == nullptr || buffer->fd < 0) return EINVAL;
  if (!buffer->owns_fd) return EMFILE;
  buffer->shared = true;
  const uint64_t inode = buffer->inode;
  *ipc = {{static_cast<uint32_t>(sys::pid()), static_cast<uint32_t>(buffer->fd),
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
  const auto lock = store_.lock();
  const Buffer* buffer = find(*handle);
  if (buffer == nullptr) return EINVAL;  // another thread has freed it already
  *mmap_offset = buffer->mmap_offset;
  *flags = buffer->flags;
  return 0;
}

std::byte* BufferTable::host_of(uint64_t handle, uint64_t* size_bytes) {
  const auto lock = store_.lock();
  const Buffer* buffer = find(handle);
  if (buffer == nullptr) return nullptr;
  *size_bytes = buffer->size_bytes;
  return buffer->host;
}

size_t BufferTable::buffer_count() {
  const auto lock = store_.lock();
  return buffers_.size();
}

}  // namespace wavetap::vgpu
