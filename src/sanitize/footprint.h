// Footprint: which bytes of global memory a dispatch read, wrote and accessed by atomics, and with which
// instruction. Two dispatches that nothing orders are compared by their footprints.
//
// Marks are kept per page of 4 KiB that is touched, a bit per byte, and the instruction per line of 64 bytes:
// of several that use a line the last one is named.
#pragma once

#include <bitset>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "emu/watch.h"
#include "sanitize/finding.h"

namespace wavetap::sanitize {

// kPastCache: loads that go past the caches, as compilers make them of atomic and volatile loads.
enum class PageUse : uint8_t { kRead, kWritten, kAtomic, kPastCache };

struct PageMarks {
  static constexpr uint64_t kBytes = 4096;
  static constexpr uint64_t kLineBytes = 64;
  static constexpr size_t kUses = 4;

  std::bitset<kBytes> used[kUses];
  uint16_t site[kUses][kBytes / kLineBytes] = {};  // number in FootprintMarks::sites

  std::bitset<kBytes>& of(PageUse use) { return used[static_cast<size_t>(use)]; }
  const std::bitset<kBytes>& of(PageUse use) const { return used[static_cast<size_t>(use)]; }
};

// One who accessed memory, and with elements of which size.
struct FootprintMarks {
  std::unordered_map<uint64_t, PageMarks> pages;  // by address / PageMarks::kBytes
  std::vector<Place> sites;

  const Place& site_at(uint64_t address, PageUse use) const;
};

// Bytes that both used, in a way that needs an order.
struct FootprintConflict {
  Kind kind{};
  uint64_t address = 0;  // of the first of them
  uint64_t bytes = 0;
  PageUse earlier{};
  PageUse later{};
};
// The most serious one. Nothing when one may learn from the other where it is: by an atomic location that they have in
// common, or by a load past the caches of what the other one stores.
std::optional<FootprintConflict> find_conflict(const FootprintMarks& earlier,
                                               const FootprintMarks& later);

// Makes one. Of one dispatch at a time.
class Footprint final : public emu::Watcher {
 public:
  emu::Wants wants(const isa::Program& program, int32_t index) noexcept override;
  void workgroup_ended(const emu::Workgroup& group, void*& state) noexcept override;
  void accessing(const emu::WatchPoint& at,
                 std::span<const emu::MemoryAccess> accesses) noexcept override;

  // After the dispatch; empty afterwards.
  FootprintMarks take();

 private:
  std::mutex mutex_;
  FootprintMarks all_;
};

}  // namespace wavetap::sanitize
