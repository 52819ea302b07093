// BufferTable: the memory a process got from the device, and where each GPU sees it.
//
//   kind      storage                                 what the GPU sees
//   VRAM      a memfd, committed page by page          our own mapping of it
//   GTT       the same                                 the same
//   USERPTR   the program's memory                     that memory; GPU and host address often differ
//   DOORBELL  a range of the compute device's file     the page the packet processors poll
//   MMIO      likewise                                 a page of registers that swallows writes
//
// The GPU's view never depends on the program's mappings: VRAM the CPU may not touch, mappings the
// program removed or protected, and ranges bound through DRM (VMM) all work, because the engine
// uses our own mapping of the file. The file is also what is shared: it is the dma-buf, has the
// buffer's size, travels over sockets and can be mapped by anyone. Its name tells an importer in
// another process what it is. When the program may open only few files, buffers are ranges of the
// render node's file instead; these cannot be exported.
//
// A buffer lives as long as a KFD handle or a GEM handle names it.
//
// Thread-safe. Functions return 0 or a positive errno.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "vgpu/gpu.h"

namespace wavetap::vgpu {

enum class BufferKind : uint8_t { kVram, kGtt, kUserptr, kDoorbell, kMmio };
const char* buffer_kind_name(BufferKind kind);

struct Buffer {
  uint64_t handle = 0;  // KFD's; 0 once freed there
  Gpu* gpu = nullptr;   // the owner
  BufferKind kind{};
  uint32_t flags = 0;  // amd::kKfdAlloc*
  uint64_t va = 0;     // 0: bound later through DRM, if at all
  uint64_t size_bytes = 0;
  std::byte* host = nullptr;  // what the GPU sees
  bool owns_mapping = false;  // `host` is ours to unmap
  int fd = -1;                // storage, -1 for user pointers
  bool owns_fd = false;
  uint64_t fd_offset = 0;
  ino_t inode = 0;           // of an own file
  uint64_t mmap_offset = 0;  // key for mmap on the render node
  uint32_t mapped_gpus = 0;  // bit per Gpu::index
  bool counted = false;      // against the owner's VRAM
  bool shared = false;       // exported or imported: freeing must not clear the pages

  bool writable() const;
  bool executable() const;
};

struct IpcHandle {
  uint32_t word[4];
};

class BufferTable {
 public:
  // mmap offsets of render nodes start here; no ordinary file is mapped that far out.
  static constexpr uint64_t kFirstMmapOffset = 1ull << 40;

  // `gpus` by index; `render_files` are the files of the render nodes, `device_file` the compute
  // device's. `side_directory` keeps metadata of exported buffers; empty: none is kept.
  BufferTable(std::span<Gpu* const> gpus, std::span<const int> render_files, int device_file,
              std::string side_directory);
  BufferTable(const BufferTable&) = delete;
  BufferTable& operator=(const BufferTable&) = delete;

  // --- KFD
  // `mmap_offset`: in, the host address of a user pointer; out, the offset for mmap of the others.
  int allocate(Gpu& gpu, uint64_t va, uint64_t size_bytes, uint32_t flags, uint64_t* mmap_offset,
               uint64_t* handle);
  int free(uint64_t handle);
  // Maps for gpus[done...]; `done` counts what succeeded so far, as the driver's n_success does.
  int map(uint64_t handle, std::span<Gpu* const> gpus, uint32_t* done);
  int unmap(uint64_t handle, std::span<Gpu* const> gpus, uint32_t* done);
  uint64_t available_vram(const Gpu& gpu);
  uint64_t used_vram(const Gpu& gpu);

  // --- sharing
  int export_dmabuf(uint64_t handle, bool cloexec, int* fd);
  int dmabuf_info(int fd, Buffer* info);
  int import_dmabuf(Gpu& gpu, int fd, uint64_t va, uint64_t* handle);
  int export_ipc(uint64_t handle, IpcHandle* ipc);
  int import_ipc(Gpu& gpu, const IpcHandle& ipc, uint64_t va, uint64_t* handle,
                 uint64_t* mmap_offset, uint32_t* flags);

  // --- DRM
  int gem_create(Gpu& gpu, uint64_t size_bytes, bool vram, uint32_t* gem);
  int gem_import(Gpu& gpu, int fd, uint32_t* gem);
  int gem_export(Gpu& gpu, uint32_t gem, bool cloexec, int* fd);
  int gem_close(Gpu& gpu, uint32_t gem);
  int gem_info(Gpu& gpu, uint32_t gem, Buffer* info);
  int gem_map(Gpu& gpu, uint32_t gem, uint64_t va, uint64_t offset, uint64_t size_bytes,
              bool writable, bool executable);
  int gem_unmap(Gpu& gpu, uint64_t va, uint64_t size_bytes);
  // Metadata travels with the storage, across processes.
  int set_metadata(Gpu& gpu, uint32_t gem, std::span<const std::byte> bytes);
  int get_metadata(Gpu& gpu, uint32_t gem, std::span<std::byte> bytes);

  // --- the CPU's side
  // mmap(at, length, protection, flags, <render node>, offset).
  int cpu_map(void* at, uint64_t length, int protection, int flags, uint64_t offset, void** result);
  // The GPU's view of a whole buffer (the event page).
  std::byte* host_of(uint64_t handle, uint64_t* size_bytes);
  // "VRAM buffer of 2097152 bytes at 0x...", for fault messages. False: none holds or neighbours
  // it.
  bool describe(uint64_t va, char* text, size_t size);
  // The file known as descriptor `from` is now `to`.
  void replace_fd(int from, int to);

  size_t buffer_count();

 private:
  using BufferRef = std::shared_ptr<Buffer>;
  struct GemBinding {
    uint64_t va;
    uint64_t size_bytes;
  };
  struct Gem {
    BufferRef buffer;
    std::vector<GemBinding> bindings;
  };

  // All need mutex_ held.
  int create_storage(Buffer& buffer);
  int map_storage(Buffer& buffer);
  int make_memory(Gpu& gpu, BufferKind kind, uint64_t size_bytes, uint32_t flags, BufferRef* made);
  int make_from_file(int fd, BufferRef* made);
  BufferRef buffer_of_file(int fd);
  void unmap_from(Buffer& buffer, Gpu& gpu);
  // Takes the last handle's reference; the buffer dies when nothing else names it.
  void drop(BufferRef buffer);
  Gem* find_gem(const Gpu& gpu, uint32_t gem);
  uint64_t add_handle(Gpu& gpu, const BufferRef& buffer);
  std::string metadata_path(const Buffer& buffer) const;

  std::mutex mutex_;
  std::vector<Gpu*> gpus_;
  std::vector<int> render_files_;
  int device_file_;
  std::string side_directory_;
  std::map<uint64_t, BufferRef> buffers_;              // by KFD handle
  std::map<uint64_t, Buffer*> by_mmap_offset_;         // offsets are unique over all render nodes
  std::map<std::pair<uint32_t, uint32_t>, Gem> gems_;  // (gpu index, GEM handle)
  std::vector<uint64_t> used_vram_;                    // per GPU
  uint64_t next_mmap_offset_ = kFirstMmapOffset;
  uint64_t used_gtt_ = 0;
  uint64_t gtt_limit_ = 0;
  uint32_t next_handle_ = 1;
  uint32_t next_gem_ = 1;
};

// Offsets inside the compute device's file. Multiples of 4 GiB for doorbells: ROCm 5.2's thunk
// takes everything below bit 32 of the first queue's offset as the place inside the page.
constexpr uint64_t doorbell_offset(uint32_t gpu_index) { return (gpu_index + 1ull) << 33; }
constexpr uint64_t mmio_offset(uint32_t gpu_index) { return (gpu_index + 1ull) << 24; }
inline constexpr uint64_t kDoorbellBytes = 8192;
inline constexpr uint64_t kMmioBytes = 4096;
inline constexpr uint64_t kDeviceFileBytes = 1ull << 46;

}  // namespace wavetap::vgpu
