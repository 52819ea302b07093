// CapturedMemory: the memory of a captured dispatch, at the addresses it had, for the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/gpu_addr.h"
#include "base/result.h"
#include "emu/memory.h"
#include "replay/capture_file.h"

namespace wavetap::replay {

// load(), restore() and add() while no dispatch runs; lookup() from any thread while one does.
class CapturedMemory final : public emu::Memory {
 public:
  // The state before the dispatch. File and capture must outlive the object.
  static Result<std::unique_ptr<CapturedMemory>> load(const CaptureFile& file,
                                                      const Capture& capture);
  ~CapturedMemory() override;

  // The state before the dispatch again. Memory that add() gave is left alone.
  void restore();
  // Fresh memory at an address that nothing captured has.
  Result<GpuAddr> add(uint64_t size_bytes, bool executable);

  // The host's view of [address, +size); empty when it is not inside one region.
  std::span<std::byte> bytes(GpuAddr address, uint64_t size_bytes);
  std::span<const std::byte> bytes(GpuAddr address, uint64_t size_bytes) const;

  emu::MappedRange lookup(GpuAddr address) noexcept override;

 private:
  struct Block {
    emu::MappedRange range;
    size_t host_bytes = 0;
    const CapturedRegion* region = nullptr;  // null: from add()
    uint32_t first_page = 0;                 // of the region
    uint32_t page_count = 0;
  };

  CapturedMemory(const CaptureFile& file, const Capture& capture)
      : file_(file), capture_(capture) {}
  void restore_wave_sync();
  Status map(Block block);
  void fill(const Block& block);
  Status map_region(const CapturedRegion& region);
  Status map_pages(const CapturedRegion& region, uint32_t first_page, uint32_t page_count);
  const Block* find(uint64_t address) const;

  const CaptureFile& file_;
  const Capture& capture_;
  std::vector<Block> blocks_;  // by address
};

}  // namespace wavetap::replay
