// Which pages of a private mapping of a file this process has written: the host's kernel has made copies
// of those. Asked with one call for all of a mapping (PAGEMAP_SCAN, Linux 6.7); before that, from the entry
// of each page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/scoped_fd.h"

namespace wavetap::replay {

class PrivatePages {
 public:
  struct Range {
    uint64_t offset = 0;
    uint64_t size_bytes = 0;
  };

  enum class Source { kNone, kEntries, kScan };

  PrivatePages() = default;
  // Tries it on pages of the file first, from `best` downwards: where the host does not tell a page that
  // was written from one that was read, works() is false.
  explicit PrivatePages(int file, Source best = Source::kScan);

  static uint64_t page_bytes();  // of the host
  bool works() const { return source_ != Source::kNone; }
  Source source() const { return source_; }
  // Whole pages of [begin, +size_bytes), in order. False: not known.
  bool find(const std::byte* begin, uint64_t size_bytes, std::vector<Range>& found) const;

 private:
  bool scan(const std::byte* begin, uint64_t size_bytes, std::vector<Range>& found) const;
  bool read(const std::byte* begin, uint64_t size_bytes, std::vector<Range>& found) const;
  bool is_told(const std::byte* pages) const;

  ScopedFd entries_;  // /proc/self/pagemap
  Source source_ = Source::kNone;
};

}  // namespace wavetap::replay
