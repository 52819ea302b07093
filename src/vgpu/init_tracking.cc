#include "vgpu/init_tracking.h"

#include <algorithm>

#include "base/sys_files.h"

namespace wavetap::vgpu {
namespace {

// Padding of structs is shorter.
constexpr uint64_t kLeastGap = 16;
// Of a copy that is looked at in pieces.
constexpr uint64_t kChunk = 4096;
// Of an entry of /proc/self/pagemap: there, or swapped out.
constexpr uint64_t kPresent = uint64_t{3} << 62;

// Which pages of the process somebody has touched, read in pieces: of a large copy every page is asked about.
class TouchedPages {
 public:
  static constexpr uint64_t kMost = 512;
  // `at_once`: pages.
  explicit TouchedPages(uint64_t at_once = kMost) : at_once_(at_once) {}
  TouchedPages(const TouchedPages&) = delete;
  TouchedPages& operator=(const TouchedPages&) = delete;
  ~TouchedPages() {
    if (fd_ >= 0) sys::close(fd_);
  }

  bool contains(uint64_t address) {
    const uint64_t page = address / sys::page_size();
    if (page - first_ >= count_ && !read(page)) return true;  // nobody knows
    return (entries_[page - first_] & kPresent) != 0;
  }

 private:
  bool read(uint64_t page) {
    if (fd_ < 0) fd_ = sys::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) return false;
    first_ = page;
    const int64_t got = sys::call(SYS_pread64, fd_, entries_, at_once_ * sizeof entries_[0],
                                  page * sizeof entries_[0]);
    count_ = got > 0 ? static_cast<uint64_t>(got) / sizeof entries_[0] : 0;
    return count_ != 0;
  }

  const uint64_t at_once_;
  int fd_ = -1;
  uint64_t first_ = 0;
  uint64_t count_ = 0;
  uint64_t entries_[kMost];
};

}  // namespace

bool starts_undefined(const Allocation& allocation) {
  const bool is_own = allocation.origin == AllocationOrigin::kDriver ||
                      allocation.origin == AllocationOrigin::kBound;
  return allocation.kind == BufferKind::kVram && is_own && allocation.requested_bytes != 0;
}

bool InitTracking::host_has_touched(GpuAddr address) const noexcept {
  // Anew each time: a child of fork() has pages of its own.
  return TouchedPages(1).contains(address.value);
}

void InitTracking::wrote(GpuAddr address, uint64_t size_bytes) noexcept {
  const std::optional<Allocation> to = allocations_.lookup(address);
  if (!to || !starts_undefined(*to)) return;
  if ((address.value | size_bytes) % 4 != 0) map_.note_part();
  sanitize::InitCursor cursor;
  if (sanitize::InitMap* const undefined = map_.undefined()) {
    cursor.use(undefined);
    cursor.unmark(address.value, size_bytes);
  }
  cursor.use(&map_);
  cursor.mark(address.value, size_bytes);
}

// What is undefined of the source is so of the target.
void InitTracking::copy_defined(uint64_t to, uint64_t from, uint64_t size_bytes) {
  sanitize::InitCursor written;
  written.use(&map_);
  TouchedPages touched;
  for (uint64_t end = from + size_bytes, count = 0; from < end; from += count, to += count) {
    count = std::min({kChunk - from % kChunk, kChunk - to % kChunk, end - from});
    sanitize::InitMap* const map = map_.undefined();
    sanitize::InitCursor undefined;
    undefined.use(map);
    const bool is_stored = map != nullptr && undefined.any_written(from, count);
    // Somebody may have written it whom nobody saw.
    if (!is_stored && (written.all_written(from, count) || touched.contains(from))) {
      written.mark(to, count);
      if (map != nullptr) undefined.unmark(to, count);
      continue;
    }
    if (!is_stored && !written.any_written(from, count) && !written.any_written(to, count))
      continue;
    for (uint64_t i = 0; i < count; ++i) {
      const bool is_written = written.any_written(from + i, 1);
      if (!is_written && !written.any_written(to + i, 1)) continue;  // it stays what it is
      const bool is_defined = is_written && !(is_stored && undefined.any_written(from + i, 1));
      written.mark(to + i, 1);
      if (!is_defined) {
        undefined.use(&map_.make_undefined());
        undefined.mark(to + i, 1);
      } else if (map_.undefined() != nullptr) {
        undefined.use(map_.undefined());
        undefined.unmark(to + i, 1);
      }
    }
  }
}

void InitTracking::copied(GpuAddr to, GpuAddr from, uint64_t size_bytes) noexcept {
  const std::optional<Allocation> source = allocations_.lookup(from);
  const std::optional<Allocation> target = allocations_.lookup(to);
  const bool may_be_undefined = source && starts_undefined(*source);
  const bool is_tracked = target && starts_undefined(*target);
  if (!may_be_undefined) return is_tracked ? wrote(to, size_bytes) : void();
  if (is_tracked) return copy_defined(to.value, from.value, size_bytes);
  look_for_gap(*source, from, size_bytes);
}

void InitTracking::look_for_gap(const Allocation& source, GpuAddr from, uint64_t size_bytes) {
  if (!on_gap_) return;
  sanitize::InitCursor cursor;
  TouchedPages touched;
  if (sanitize::InitMap* const undefined = map_.undefined()) {
    cursor.use(undefined);
    uint64_t run = 0;
    uint64_t count = 0;
    if (cursor.find_run(from.value, size_bytes, kLeastGap, &run, &count) && !touched.contains(run))
      return on_gap_(source, run, count);
  }
  cursor.use(&map_);
  for (const uint64_t end = from.value + size_bytes; from.value < end;) {
    uint64_t gap = 0;
    uint64_t count = 0;
    if (!cursor.find_gap(from.value, end - from.value, kLeastGap, &gap, &count)) return;
    // Somebody may have written it whom nobody saw: what is not as it was handed out is written.
    const std::byte* const bytes = source.host + (gap - source.va);
    const bool is_untouched =
        std::all_of(bytes, bytes + count, [](std::byte byte) { return byte == std::byte{0}; });
    if (is_untouched && !touched.contains(gap)) return on_gap_(source, gap, count);
    from.value = gap + count;
  }
}

}  // namespace wavetap::vgpu
