#include "vgpu/gem_table.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "amd/kfd_abi.h"
#include "base/check.h"
#include "base/sys_files.h"

namespace wavetap::vgpu {

GemTable::Gem* GemTable::find(const Gpu& gpu, uint32_t gem) {
  const auto it = gems_.find({gpu.index, gem});
  return it == gems_.end() ? nullptr : &it->second;
}

int GemTable::create(Gpu& gpu, uint64_t size_bytes, bool vram, uint32_t* gem) {
  if (size_bytes == 0 || size_bytes > kAddressLimit) return EINVAL;
  const uint64_t page = sys::page_size();
  const uint64_t rounded = (size_bytes + page - 1) & ~(page - 1);
  const uint32_t domain = vram ? amd::kKfdAllocVram : amd::kKfdAllocGtt;
  const auto lock = store_.lock();
  BufferRef buffer;
  const int error =
      store_.make_memory(gpu, vram ? BufferKind::kVram : BufferKind::kGtt, rounded,
                         domain | amd::kKfdAllocWritable | amd::kKfdAllocPublic, &buffer);
  if (error != 0) return error;
  *gem = next_gem_++;
  const bool is_new = gems_.try_emplace({gpu.index, *gem}, Gem{std::move(buffer), {}}).second;
  WT_SOFT_CHECK(is_new, "a handle is given out once");
  return 0;
}

int GemTable::import(Gpu& gpu, int fd, uint32_t* gem) {
  const auto lock = store_.lock();
  BufferRef buffer = store_.buffer_of_file(fd);
  if (buffer == nullptr) {
    const int error = store_.make_from_file(fd, &buffer);
    if (error != 0) return error;
  }
  // The same storage has one GEM handle per render node.
  for (const auto& [key, known] : gems_) {
    if (key.first != gpu.index || known.buffer != buffer) continue;
    *gem = key.second;
    return 0;
  }
  *gem = next_gem_++;
  const bool is_new = gems_.try_emplace({gpu.index, *gem}, Gem{std::move(buffer), {}}).second;
  WT_SOFT_CHECK(is_new, "a handle is given out once");
  return 0;
}

int GemTable::export_file(Gpu& gpu, uint32_t gem, bool cloexec, int* fd) {
  const auto lock = store_.lock();
  const Gem* found = find(gpu, gem);
  if (found == nullptr) return ENOENT;
  if (!found->buffer->owns_fd) return EMFILE;
  const int copy = sys::dup_above(found->buffer->fd, 0, cloexec);
  if (copy < 0) return -copy;
  found->buffer->shared = true;
  *fd = copy;
  return 0;
}

int GemTable::close(Gpu& gpu, uint32_t gem) {
  const auto lock = store_.lock();
  const auto it = gems_.find({gpu.index, gem});
  if (it == gems_.end()) return EINVAL;
  Gem closing = std::move(it->second);
  gems_.erase(it);
  for (const Binding& binding : closing.bindings) {
    gpu.space.unmap(binding.va, binding.size_bytes);
    store_.allocations().remove(binding.allocation_id);
  }
  store_.drop(std::move(closing.buffer));
  return 0;
}

int GemTable::info(Gpu& gpu, uint32_t gem, Buffer* info) {
  const auto lock = store_.lock();
  const Gem* found = find(gpu, gem);
  if (found == nullptr) return ENOENT;
  *info = *found->buffer;
  return 0;
}

int GemTable::map(Gpu& gpu, uint32_t gem, uint64_t va, uint64_t offset, uint64_t size_bytes,
                  bool writable, bool executable) {
  const auto lock = store_.lock();
  Gem* found = find(gpu, gem);
  if (found == nullptr) return ENOENT;
  const Buffer& buffer = *found->buffer;
  const uint64_t page = 4096;
  if (va == 0 || size_bytes == 0 || (va | offset | size_bytes) % page != 0) return EINVAL;
  if (offset > buffer.size_bytes || size_bytes > buffer.size_bytes - offset) return EINVAL;
  if (size_bytes > kAddressLimit || va > kAddressLimit - size_bytes) return EINVAL;
  gpu.space.map(va, size_bytes, buffer.host + offset, writable, executable);
  const uint64_t id = store_.allocations().add({.va = va,
                                                .size_bytes = size_bytes,
                                                .host = buffer.host + offset,
                                                .kind = buffer.kind,
                                                .origin = AllocationOrigin::kBound,
                                                .flags = buffer.flags,
                                                .owner = buffer.gpu,
                                                .mapped_gpus = 1u << gpu.index});
  found->bindings.push_back({va, size_bytes, id});
  return 0;
}

int GemTable::unmap(Gpu& gpu, uint64_t va, uint64_t size_bytes) {
  if (size_bytes == 0 || va > ~0ull - size_bytes) return EINVAL;
  const auto lock = store_.lock();
  for (auto& [key, gem] : gems_) {
    if (key.first != gpu.index) continue;
    std::erase_if(gem.bindings, [&](const Binding& binding) {
      if (binding.va < va || binding.va + binding.size_bytes > va + size_bytes) return false;
      store_.allocations().remove(binding.allocation_id);
      return true;
    });
  }
  gpu.space.unmap(va, size_bytes);
  if (gpu.engine != nullptr) gpu.engine->invalidate_code(GpuAddr{va}, size_bytes);
  return 0;
}

std::string GemTable::metadata_path(const Buffer& buffer) const {
  return side_directory_ + "/" + std::to_string(buffer.inode);
}

int GemTable::set_metadata(Gpu& gpu, uint32_t gem, std::span<const std::byte> bytes) {
  const auto lock = store_.lock();
  const Gem* found = find(gpu, gem);
  if (found == nullptr) return ENOENT;
  if (side_directory_.empty() || found->buffer->inode == 0) return EINVAL;
  return sys::write_file(metadata_path(*found->buffer),
                         {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

int GemTable::get_metadata(Gpu& gpu, uint32_t gem, std::span<std::byte> bytes) {
  const auto lock = store_.lock();
  const Gem* found = find(gpu, gem);
  if (found == nullptr) return ENOENT;
  std::memset(bytes.data(), 0, bytes.size());
  if (side_directory_.empty() || found->buffer->inode == 0) return 0;
  const std::optional<std::string> stored = sys::read_file(metadata_path(*found->buffer));
  if (stored) std::memcpy(bytes.data(), stored->data(), std::min(bytes.size(), stored->size()));
  return 0;
}

}  // namespace wavetap::vgpu
