#include "replay/private_pages.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "base/round_up.h"

namespace wavetap::replay {
namespace {

// linux/fs.h, from Linux 6.7 on.
struct ScanArguments {
  uint64_t size, flags, start, end, walk_end, regions, region_count, most_pages;
  uint64_t inverted, all_of, any_of, returned;
};
struct ScanRegion {
  uint64_t start, end, categories;
};
constexpr unsigned long kScan = _IOWR('f', 16, ScanArguments);
constexpr uint64_t kIsFile = 1 << 2;
constexpr uint64_t kIsPresent = 1 << 3;
constexpr uint64_t kIsSwapped = 1 << 4;

// Of an entry of the page map: the page is this process's own copy.
bool is_private(uint64_t entry) {
  const bool is_there = (entry >> 62) != 0;  // in memory or swapped out
  return is_there && (entry >> 61 & 1) == 0;
}

void append(std::vector<PrivatePages::Range>& found, uint64_t offset, uint64_t size_bytes) {
  if (!found.empty() && found.back().offset + found.back().size_bytes == offset)
    found.back().size_bytes += size_bytes;
  else found.push_back({offset, size_bytes});
}

}  // namespace

uint64_t PrivatePages::page_bytes() {
  static const auto size = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

PrivatePages::PrivatePages(int file, Source best) {
  if (best == Source::kNone) return;
  entries_ = ScopedFd(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (entries_.get() < 0) return;
  const uint64_t size = 2 * page_bytes();
  void* trial = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  if (trial == MAP_FAILED) return;
  auto* bytes = static_cast<volatile char*>(trial);
  static_cast<void>(bytes[0]);
  bytes[page_bytes()] = 1;
  source_ = best;
  const auto* pages = static_cast<const std::byte*>(trial);
  if (source_ == Source::kScan && !is_told(pages)) source_ = Source::kEntries;
  if (source_ == Source::kEntries && !is_told(pages)) source_ = Source::kNone;
  ::munmap(trial, size);
}

// Of two pages, the second was written.
bool PrivatePages::is_told(const std::byte* pages) const {
  std::vector<Range> found;
  return find(pages, 2 * page_bytes(), found) && found.size() == 1 &&
         found[0].offset == page_bytes() && found[0].size_bytes == page_bytes();
}

bool PrivatePages::find(const std::byte* begin, uint64_t size_bytes,
                        std::vector<Range>& found) const {
  found.clear();
  if (!works()) return false;
  return source_ == Source::kScan ? scan(begin, size_bytes, found) : read(begin, size_bytes, found);
}

bool PrivatePages::scan(const std::byte* begin, uint64_t size_bytes,
                        std::vector<Range>& found) const {
  const auto first = reinterpret_cast<uint64_t>(begin);
  ScanRegion regions[64];
  ScanArguments scan{};
  scan.size = sizeof scan;
  scan.start = first;
  scan.end = first + round_up(size_bytes, page_bytes());
  scan.regions = reinterpret_cast<uint64_t>(regions);
  scan.region_count = std::size(regions);
  scan.inverted = kIsFile;
  scan.all_of = kIsFile;
  scan.any_of = kIsPresent | kIsSwapped;
  while (scan.start < scan.end) {
    const int count = ::ioctl(entries_.get(), kScan, &scan);
    if (count < 0 || scan.walk_end <= scan.start) return false;
    for (int i = 0; i < count; ++i)
      append(found, regions[i].start - first, regions[i].end - regions[i].start);
    scan.start = scan.walk_end;
  }
  return true;
}

bool PrivatePages::read(const std::byte* begin, uint64_t size_bytes,
                        std::vector<Range>& found) const {
  const uint64_t first = reinterpret_cast<uint64_t>(begin) / page_bytes();
  const uint64_t count = (size_bytes + page_bytes() - 1) / page_bytes();
  uint64_t entries[1024];
  for (uint64_t done = 0; done < count;) {
    const uint64_t wanted = std::min<uint64_t>(count - done, std::size(entries));
    const ssize_t got = ::pread(entries_.get(), entries, wanted * sizeof entries[0],
                                static_cast<off_t>((first + done) * sizeof entries[0]));
    if (got < static_cast<ssize_t>(sizeof entries[0])) return false;
    const uint64_t read = static_cast<uint64_t>(got) / sizeof entries[0];
    for (uint64_t i = 0; i < read; ++i)
      if (is_private(entries[i])) append(found, (done + i) * page_bytes(), page_bytes());
    done += read;
  }
  return true;
}

}  // namespace wavetap::replay
