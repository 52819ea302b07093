// GemTable: buffers by DRM's (GEM) handles, per render node, and the GPU addresses they are bound to.
// ROCr binds memory this way for hipMemMap, and for everything from ROCm 6 on.
//
// Thread-safe. Functions return 0 or a positive errno.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vgpu/buffer_store.h"

namespace wavetap::vgpu {

class GemTable {
 public:
  // `side_directory` keeps metadata of exported buffers; empty: none is kept.
  GemTable(BufferStore& store, std::string side_directory)
      : store_(store), side_directory_(std::move(side_directory)) {}
  GemTable(const GemTable&) = delete;
  GemTable& operator=(const GemTable&) = delete;

  int create(Gpu& gpu, uint64_t size_bytes, bool vram, uint32_t* gem);
  int import(Gpu& gpu, int fd, uint32_t* gem);
  int export_file(Gpu& gpu, uint32_t gem, bool cloexec, int* fd);
  int close(Gpu& gpu, uint32_t gem);
  int info(Gpu& gpu, uint32_t gem, Buffer* info);
  int map(Gpu& gpu, uint32_t gem, uint64_t va, uint64_t offset, uint64_t size_bytes, bool writable,
          bool executable);
  int unmap(Gpu& gpu, uint64_t va, uint64_t size_bytes);
  // Metadata travels with the storage, across processes.
  int set_metadata(Gpu& gpu, uint32_t gem, std::span<const std::byte> bytes);
  int get_metadata(Gpu& gpu, uint32_t gem, std::span<std::byte> bytes);

 private:
  struct Binding {
    uint64_t va;
    uint64_t size_bytes;
    uint64_t allocation_id;
  };
  struct Gem {
    BufferRef buffer;
    std::vector<Binding> bindings;
  };

  // Need the store's lock held.
  Gem* find(const Gpu& gpu, uint32_t gem);
  std::string metadata_path(const Buffer& buffer) const;

  BufferStore& store_;
  const std::string side_directory_;
  std::map<std::pair<uint32_t, uint32_t>, Gem> gems_;  // (gpu index, GEM handle)
  uint32_t next_gem_ = 1;
};

}  // namespace wavetap::vgpu
