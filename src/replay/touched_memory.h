// TouchedMemory: which bytes of memory a dispatch reads and writes, found by running it.
//
// What the engine reads on the kernel's behalf (code, descriptor, kernarg, packet) counts as read,
// whether or not an instruction loads it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "emu/watch.h"
#include "format/capture.h"
#include "replay/replay_run.h"

namespace wavetap::replay {

// Callbacks come from any thread; everything else once the dispatch is over.
class TouchedMemory final : public emu::Watcher {
 public:
  emu::Wants wants(const isa::Program& program, int32_t index) noexcept override;
  void accessing(const emu::WatchPoint& at,
                 std::span<const emu::MemoryAccess> accesses) noexcept override;

  void note(uint64_t address, uint64_t size_bytes, bool is_read, bool is_write);

  // Forgets what does not lie in captured memory: what the replay brings itself.
  void keep_captured(const Capture& capture);
  // Pages with a byte that was read or written, by address.
  std::vector<format::CaptureTouchedPage> pages() const;

 private:
  using Bits = std::array<std::atomic<uint64_t>, format::kCapturePageBytes / 64>;
  struct Page {
    Bits read{};
    Bits written{};
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
  };

  Page& page(uint64_t number);

  std::array<Shard, 64> shards_;
};

// Runs the dispatch once, from the captured state, and notes what it touches. A kernel that faults has
// touched what it touched until then.
ReplayResult find_touched(const Capture& capture, const CapturedKernel& kernel,
                          CapturedMemory& memory, ReplayOptions options, TouchedMemory& touched);

// What is touched of memory that lies at two addresses is touched of both.
std::vector<format::CaptureTouchedPage> with_aliases(const Capture& capture,
                                                     std::vector<format::CaptureTouchedPage> pages);

uint64_t read_bytes(std::span<const format::CaptureTouchedPage> pages);
uint64_t written_bytes(std::span<const format::CaptureTouchedPage> pages);
// What the bytes that the kernel reads come to, compressed as the file's pages are.
uint64_t packed_read_bytes(const CaptureFile& file, const Capture& capture);
inline bool has_bit(const uint64_t* bits, uint64_t byte) {
  return (bits[byte / 64] >> (byte % 64) & 1) != 0;
}

}  // namespace wavetap::replay
