// CapturedMemory: the memory of a captured dispatch, at the addresses it had, for the engine.
//
// The captured state lies in a memory file, and the engine works on a private mapping of it. What was
// written since is what the kernel of the host has copied for us (private_pages.h), so that
// going back to the captured state costs as much as was written, not as much as there is. Where the
// host does not tell, all pages are compared.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/gpu_addr.h"
#include "base/result.h"
#include "emu/memory.h"
#include "replay/capture_file.h"
#include "replay/private_pages.h"

namespace wavetap::replay {

// lookup() and reveal() from any thread; everything else while no dispatch runs.
class CapturedMemory final : public emu::Memory {
 public:
  // The state before the dispatch. File and capture must outlive the object. `best`: where to learn what
  // was written, at best.
  static Result<std::unique_ptr<CapturedMemory>> load(
      const CaptureFile& file, const Capture& capture,
      PrivatePages::Source best = PrivatePages::Source::kScan);
  ~CapturedMemory() override;

  // The state before the dispatch again. Memory that add() gave is left alone.
  void restore();
  // Fresh memory at an address that nothing captured has.
  Result<GpuAddr> add(uint64_t size_bytes, bool executable);
  // Zeros at an address of the caller's choice, not there for kernels until reveal() shows the first
  // `shown_bytes` of them. hide() makes them zeros again that nobody sees.
  Status reserve(GpuAddr address, uint64_t size_bytes);
  void reveal(GpuAddr reserved, uint64_t shown_bytes);
  void hide(GpuAddr reserved);

  // The host's view of [address, +size); empty when it is not inside one region.
  std::span<std::byte> bytes(GpuAddr address, uint64_t size_bytes);
  std::span<const std::byte> bytes(GpuAddr address, uint64_t size_bytes) const;

  // By page of the region: may it hold something else than was captured?
  std::vector<bool> written_pages(const CapturedRegion& region) const;

  emu::MappedRange lookup(GpuAddr address) noexcept override;

 private:
  struct Block {
    emu::MappedRange range;
    size_t host_bytes = 0;
    const CapturedRegion* region = nullptr;  // null: from add()
    uint32_t first_page = 0;                 // of the region
    uint32_t page_count = 0;
    std::byte* captured = nullptr;                 // the captured state; null: not kept
    std::shared_ptr<std::atomic<uint64_t>> shown;  // bytes from its start; null: all

    bool is_alias = false;  // its memory is that of an earlier block

    uint64_t end() const {
      return shown == nullptr ? range.end : range.begin + shown->load(std::memory_order_acquire);
    }
  };

  CapturedMemory(const CaptureFile& file, const Capture& capture)
      : file_(file), capture_(capture) {}
  void restore_wave_sync();
  Status map(Block block);
  Status map_captured(PrivatePages::Source best);
  void map_file(uint64_t size_bytes, PrivatePages::Source best);
  Status map_alone(Block& block) const;
  bool share(Block& block) const;
  void fill(const Block& block, std::byte* host);
  void restore_differing(const Block& block);
  const Block* find_reserved(uint64_t address) const;
  Status map_region(const CapturedRegion& region);
  Status map_pages(const CapturedRegion& region, uint32_t first_page, uint32_t page_count);
  const Block* find(uint64_t address) const;

  const CaptureFile& file_;
  const Capture& capture_;
  std::vector<Block> blocks_;      // by address
  std::byte* captured_ = nullptr;  // the memory file, shared; null: there is none
  std::byte* own_ = nullptr;       // the same, private: what the engine works on
  uint64_t captured_bytes_ = 0;
  PrivatePages written_;
  mutable std::vector<PrivatePages::Range> ranges_;
};

}  // namespace wavetap::replay
