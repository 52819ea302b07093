// BufferTable: the process's memory by KFD handle: allocating, mapping for GPUs, sharing with other
// processes. Storage is buffer_store.h's, DRM's handles are gem_table.h's.
//
// Thread-safe. Functions return 0 or a positive errno.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "vgpu/buffer_store.h"

namespace wavetap::vgpu {

struct IpcHandle {
  uint32_t word[4];
};

class BufferTable {
 public:
  explicit BufferTable(BufferStore& store) : store_(store) {}
  BufferTable(const BufferTable&) = delete;
  BufferTable& operator=(const BufferTable&) = delete;

  // `mmap_offset`: in, the host address of a user pointer; out, the offset for mmap of the others.
  int allocate(Gpu& gpu, uint64_t va, uint64_t size_bytes, uint32_t flags, uint64_t* mmap_offset,
               uint64_t* handle);
  int free(uint64_t handle);
  // Maps for gpus[done...]; `done` counts what succeeded so far, as the driver's n_success does.
  int map(uint64_t handle, std::span<Gpu* const> gpus, uint32_t* done);
  int unmap(uint64_t handle, std::span<Gpu* const> gpus, uint32_t* done);

  int export_dmabuf(uint64_t handle, bool cloexec, int* fd);
  int dmabuf_info(int fd, Buffer* info);
  int import_dmabuf(Gpu& gpu, int fd, uint64_t va, uint64_t* handle);
  int export_ipc(uint64_t handle, IpcHandle* ipc);
  int import_ipc(Gpu& gpu, const IpcHandle& ipc, uint64_t va, uint64_t* handle,
                 uint64_t* mmap_offset, uint32_t* flags);

  // The GPU's view of a whole buffer (the event page).
  std::byte* host_of(uint64_t handle, uint64_t* size_bytes);
  size_t buffer_count();

 private:
  // Need the store's lock held.
  int make(Gpu& gpu, uint64_t size_bytes, uint32_t flags, uint64_t host, BufferRef* made);
  uint64_t add_handle(Gpu& gpu, uint64_t va, const BufferRef& buffer);
  Buffer* find(uint64_t handle);

  BufferStore& store_;
  std::map<uint64_t, BufferRef> buffers_;  // by handle
  uint32_t next_handle_ = 1;
};

}  // namespace wavetap::vgpu
