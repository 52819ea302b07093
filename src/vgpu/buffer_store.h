// BufferStore: where the bytes of buffers live, and what they are charged to.
//
// The GPU's view never depends on the program's mappings: VRAM the CPU may not touch, mappings the
// program removed or protected, and ranges bound through DRM (VMM) all work, because the engine
// uses our own mapping of the file. The file is also what is shared: it is the dma-buf, has the
// buffer's size, travels over sockets and can be mapped by anyone. Its name tells an importer in
// another process what it is. When the program may open only few files, buffers are ranges of the
// render node's file instead; these cannot be exported.
//
// One lock for everything about buffers, taken by the tables of handles (BufferTable, GemTable)
// before they touch a Buffer and held while they call the functions marked below. Thread-safe.
// Functions return 0 or a positive errno.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "vgpu/allocation_table.h"
#include "vgpu/buffer.h"
#include "vgpu/gpu.h"

namespace wavetap::vgpu {

class BufferStore {
 public:
  // `gpus` by index; `render_files` are the files of the render nodes, `device_file` the compute
  // device's.
  BufferStore(std::span<Gpu* const> gpus, std::span<const int> render_files, int device_file,
              AllocationTable& allocations);
  BufferStore(const BufferStore&) = delete;
  BufferStore& operator=(const BufferStore&) = delete;

  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  AllocationTable& allocations() { return allocations_; }

  // --- with the lock held
  // VRAM or GTT, charged to the GPU or the host.
  int make_memory(Gpu& gpu, BufferKind kind, uint64_t size_bytes, uint32_t flags, BufferRef* made);
  // The program's memory at `host`.
  int make_userptr(Gpu& gpu, uint64_t host, uint64_t size_bytes, uint32_t flags, BufferRef* made);
  // A GPU's doorbell page or its page of registers.
  int make_device_page(Gpu& gpu, BufferKind kind, uint64_t size_bytes, uint32_t flags,
                       BufferRef* made);
  // What another descriptor refers to: a buffer's file, possibly another process's.
  int make_from_file(int fd, BufferRef* made);
  // The first buffer of this process in that file, or null.
  BufferRef buffer_of_file(int fd);
  // Takes a handle's reference; the buffer dies when nothing else names it.
  void drop(BufferRef buffer);
  // Removes the buffer from the GPU's page table where it was mapped there.
  void unmap_from(Buffer& buffer, Gpu& gpu);

  // --- without
  uint64_t available_vram(const Gpu& gpu);
  uint64_t used_vram(const Gpu& gpu);
  // mmap(at, length, protection, flags, <render node>, offset).
  int cpu_map(void* at, uint64_t length, int protection, int flags, uint64_t offset, void** result);
  // The file known as descriptor `from` is now `to`.
  void replace_fd(int from, int to);

 private:
  BufferRef make(Gpu& gpu, BufferKind kind, uint64_t size_bytes, uint32_t flags);
  int create_storage(Buffer& buffer);
  int map_storage(Buffer& buffer);

  std::mutex mutex_;
  std::vector<Gpu*> gpus_;
  std::vector<int> render_files_;
  int device_file_;
  AllocationTable& allocations_;
  std::map<uint64_t, Buffer*> live_;            // by serial
  std::map<uint64_t, Buffer*> by_mmap_offset_;  // offsets are unique over all render nodes
  std::vector<uint64_t> used_vram_;             // per GPU
  uint64_t next_mmap_offset_ = kFirstMmapOffset;
  uint64_t used_gtt_ = 0;
  uint64_t gtt_limit_ = 0;
  uint64_t next_serial_ = 1;
};

}  // namespace wavetap::vgpu
