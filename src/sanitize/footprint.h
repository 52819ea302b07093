// Footprint: which bytes of global memory a dispatch read, wrote and accessed by atomics, and with which
// instruction. Two dispatches that nothing orders are compared by their footprints.
//
// Marks are kept per page of 4 KiB that is touched, a bit per byte, and the instruction per line of 64 bytes:
// of several that use a line one is named. All workgroups mark the same pages, without locks: a mark is only
// ever added.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "emu/watch.h"
#include "sanitize/finding.h"

namespace wavetap::sanitize {

// kPastCache: loads that go past the caches, as compilers make them of atomic and volatile loads.
enum class PageUse : uint8_t { kRead, kWritten, kAtomic, kPastCache };

struct PageMarks {
  static constexpr uint64_t kBytes = 4096;
  static constexpr uint64_t kLineBytes = 64;
  static constexpr size_t kLines = kBytes / kLineBytes;
  static constexpr size_t kUses = 4;

  std::atomic<uint64_t> used[kUses][kLines] = {};  // a bit for each byte
  std::atomic<uint16_t> site[kUses][kLines] = {};  // number in FootprintMarks::sites
  uint64_t number = 0;                             // address / kBytes
  PageMarks* next = nullptr;                       // in its bucket

  uint64_t line(PageUse use, size_t number_of_line) const {
    return used[static_cast<size_t>(use)][number_of_line].load(std::memory_order_relaxed);
  }
  // Bytes [begin, + size) of the page.
  void mark(PageUse use, uint16_t by, uint64_t begin, uint64_t size_bytes);
};

// The pages that were touched. page() is thread-safe.
class FootprintPages {
 public:
  FootprintPages();
  ~FootprintPages();
  FootprintPages(FootprintPages&&) noexcept;
  FootprintPages& operator=(FootprintPages&&) noexcept;

  PageMarks* find(uint64_t number) const;  // null: not touched
  PageMarks* page(uint64_t number);        // null: there is no memory for it
  const std::vector<std::unique_ptr<PageMarks>>& all() const { return state_->pages; }
  size_t size() const { return state_->pages.size(); }

 private:
  static constexpr size_t kBuckets = 1 << 10;
  struct State {
    std::atomic<PageMarks*> buckets[kBuckets] = {};
    std::mutex mutex;
    std::vector<std::unique_ptr<PageMarks>> pages;
  };
  static size_t bucket_of(uint64_t number) {
    return static_cast<size_t>((number * 0x9e37'79b9'7f4a'7c15) >> 54);
  }
  std::unique_ptr<State> state_;
};

// One who accessed memory, and with elements of which size.
struct FootprintMarks {
  FootprintPages pages;
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

// A part of memory that something other than a kernel read or wrote as a whole: a copy engine, the host.
struct MovedRange {
  uint64_t begin = 0;
  uint64_t size_bytes = 0;
  bool is_write = false;

  uint64_t end() const { return begin + size_bytes; }
};
// Adds one; what goes on where the last one of its kind ends makes that one longer.
void add_range(std::vector<MovedRange>& ranges, const MovedRange& more);

// The same of a kernel and ranges, and of ranges alone.
std::optional<FootprintConflict> find_conflict(const FootprintMarks& earlier,
                                               std::span<const MovedRange> later);
std::optional<FootprintConflict> find_conflict(std::span<const MovedRange> earlier,
                                               const FootprintMarks& later);
std::optional<FootprintConflict> find_conflict(std::span<const MovedRange> earlier,
                                               std::span<const MovedRange> later);

// Makes one. Of one dispatch at a time.
class Footprint final : public emu::Watcher {
 public:
  Footprint();
  ~Footprint() override;

  emu::Wants wants(const isa::Program& program, int32_t index) noexcept override;
  void workgroup_ended(const emu::Workgroup& group, void*& state) noexcept override;
  bool screen(const emu::WatchPoint& at, const emu::ByteSpan* span) noexcept override;
  void accessing(const emu::WatchPoint& at,
                 std::span<const emu::MemoryAccess> accesses) noexcept override;

  // After the dispatch; empty afterwards.
  FootprintMarks take();

 private:
  struct Group;

  Group& group_of(const emu::WatchPoint& at);
  uint16_t site_of(Group& group, const emu::WatchPoint& at, const emu::MemoryAccess& access);
  void mark(Group& group, PageUse use, uint16_t site, uint64_t begin, uint64_t size_bytes);

  std::mutex mutex_;  // for the sites, and for groups that are over
  FootprintMarks all_;
  std::vector<std::unique_ptr<Group>> idle_;
  uint64_t dispatch_ = 1;  // counts them
};

}  // namespace wavetap::sanitize
