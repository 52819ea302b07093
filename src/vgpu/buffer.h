// Buffer: one piece of memory a process got from the device.
//
//   kind      storage                                 what the GPU sees
//   VRAM      a memfd, committed page by page          our own mapping of it
//   GTT       the same                                 the same
//   USERPTR   the program's memory                     that memory; GPU and host address often differ
//   DOORBELL  a range of the compute device's file     the page the packet processors poll
//   MMIO      likewise                                 a page of registers that swallows writes
//   SVM       the program's memory                     that memory, at its own address; no Buffer
//
// A buffer lives as long as a KFD handle (buffer_table.h) or a GEM handle (gem_table.h) names it;
// buffer_store.h makes and removes the storage.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace wavetap::vgpu {

struct Gpu;

enum class BufferKind : uint8_t { kVram, kGtt, kUserptr, kDoorbell, kMmio, kSvm };
const char* buffer_kind_name(BufferKind kind);

// Fields change under the store's lock only.
struct Buffer : std::enable_shared_from_this<Buffer> {
  uint64_t serial = 0;  // in the order of creation
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
  ino_t inode = 0;             // of an own file
  uint64_t mmap_offset = 0;    // key for mmap on the render node
  uint32_t mapped_gpus = 0;    // bit per Gpu::index
  uint64_t allocation_id = 0;  // in the allocation table; 0: not there
  bool counted = false;        // against the owner's VRAM
  bool shared = false;         // exported or imported: freeing must not clear the pages
  bool imported = false;       // made elsewhere, or a second handle to a buffer of ours

  bool writable() const;
  bool executable() const;
};
using BufferRef = std::shared_ptr<Buffer>;

// GPU addresses end here; beyond lie the LDS and scratch apertures.
inline constexpr uint64_t kAddressLimit = 1ull << 48;

// Offsets inside the compute device's file. Multiples of 4 GiB for doorbells: ROCm 5.2's thunk
// takes everything below bit 32 of the first queue's offset as the place inside the page.
constexpr uint64_t doorbell_offset(uint32_t gpu_index) { return (gpu_index + 1ull) << 33; }
constexpr uint64_t mmio_offset(uint32_t gpu_index) { return (gpu_index + 1ull) << 24; }
inline constexpr uint64_t kDoorbellBytes = 8192;
inline constexpr uint64_t kMmioBytes = 4096;
inline constexpr uint64_t kDeviceFileBytes = 1ull << 46;
// mmap offsets of render nodes start here; no ordinary file is mapped that far out.
inline constexpr uint64_t kFirstMmapOffset = 1ull << 40;

}  // namespace wavetap::vgpu
