#include "vgpu/capture_memory.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>

#include "base/sys_files.h"
#include "format/capture.h"

namespace wavetap::vgpu {
namespace {

constexpr uint64_t kPage = format::kCapturePageBytes;
constexpr uint64_t kPresenceChunkBytes = 1u << 20;  // of which presence is asked for at once

// Which of the host pages behind a chunk are in memory. A page that begins as zeros and is neither there
// nor swapped out was never written. Where anything is swapped out the two look alike, and all pages
// count as present.
class Presence {
 public:
  explicit Presence(bool begins_zero) : host_page_(sys::page_size()) {
    struct sysinfo info {};
    asks_ = begins_zero && ::sysinfo(&info) == 0 && info.totalswap == info.freeswap;
  }

  void look(const std::byte* host, uint64_t size_bytes) {
    known_ = false;
    if (!asks_) return;
    const auto begin = reinterpret_cast<uint64_t>(host) / host_page_ * host_page_;
    first_ = begin;
    const uint64_t span = reinterpret_cast<uint64_t>(host) + size_bytes - begin;
    present_.assign((span + host_page_ - 1) / host_page_, 1);
    known_ = sys::call(SYS_mincore, begin, span, present_.data()) == 0;
  }
  bool has(const std::byte* host, uint64_t size_bytes) const {
    if (!known_) return true;
    const uint64_t offset = reinterpret_cast<uint64_t>(host) - first_;
    for (uint64_t page = offset / host_page_; page <= (offset + size_bytes - 1) / host_page_;
         ++page)
      if (page >= present_.size() || (present_[page] & 1) != 0) return true;
    return false;
  }
  bool has_none() const {
    return known_ && std::none_of(present_.begin(), present_.end(),
                                  [](unsigned char page) { return (page & 1) != 0; });
  }

 private:
  const uint64_t host_page_;
  bool asks_ = false;
  bool known_ = false;
  uint64_t first_ = 0;
  std::vector<unsigned char> present_;
};

// A line of /proc/self/maps.
struct Mapping {
  uint64_t begin = 0, end = 0, offset = 0, major = 0, minor = 0, inode = 0;
  char rights[8] = {};
  bool is_shared() const { return rights[3] == 's'; }
};

template <class Do>
void each_mapping(Do&& what) {
  const std::optional<std::string> maps = sys::read_file("/proc/self/maps", 64u << 20);
  for (const char* line = maps ? maps->c_str() : nullptr; line != nullptr && *line != '\0';) {
    Mapping mapping;
    if (std::sscanf(line,
                    "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %" SCNx64 ":%" SCNx64 " %" SCNu64,
                    &mapping.begin, &mapping.end, mapping.rights, &mapping.offset, &mapping.major,
                    &mapping.minor, &mapping.inode) == 7)
      what(mapping);
    line = std::strchr(line, '\n');
    if (line != nullptr) ++line;
  }
}

}  // namespace

void PrivateMemory::read() {
  spans_.clear();
  each_mapping([&](const Mapping& mapping) {
    if (mapping.inode != 0 || mapping.is_shared()) return;
    if (!spans_.empty() && spans_.back().end == mapping.begin) spans_.back().end = mapping.end;
    else spans_.push_back({mapping.begin, mapping.end});
  });
}

bool PrivateMemory::holds(const std::byte* at, uint64_t size_bytes) const {
  const auto begin = reinterpret_cast<uint64_t>(at);
  const auto after = std::upper_bound(spans_.begin(), spans_.end(), begin,
                                      [](uint64_t a, const Span& span) { return a < span.begin; });
  return after != spans_.begin() && begin + size_bytes <= std::prev(after)->end;
}

bool for_each_page(GuestMemory& memory, const emu::MappedRange& range, bool begins_zero,
                   std::vector<std::byte>& buffer,
                   const std::function<void(uint32_t, const std::byte*)>& visit) {
  Presence presence(begins_zero);
  buffer.resize(kPage);  // the same for all, so that it stays in the cache
  bool all_read = true;
  const uint64_t size = range.end - range.begin;
  for (uint64_t chunk = 0; chunk < size; chunk += kPresenceChunkBytes) {
    const uint64_t chunk_bytes = std::min(kPresenceChunkBytes, size - chunk);
    presence.look(range.host + chunk, chunk_bytes);
    if (presence.has_none()) continue;
    for (uint64_t at = 0; at < chunk_bytes; at += kPage) {
      const uint64_t bytes = std::min(kPage, chunk_bytes - at);
      std::byte* const page = buffer.data();
      if (bytes < kPage) std::memset(page, 0, kPage);
      if (!presence.has(range.host + chunk + at, bytes)) continue;
      if (!memory.read(GpuAddr{range.begin + chunk + at}, page, bytes)) {
        all_read = false;
        continue;
      }
      visit(static_cast<uint32_t>((chunk + at) / kPage), page);
    }
  }
  return all_read;
}

std::vector<AliasedRange> find_aliases(const std::vector<emu::MappedRange>& ranges) {
  struct Backing {
    uint64_t device = 0, inode = 0, offset = 0, size_bytes = 0, address = 0;
  };
  // What each range is of which file, as /proc/self/maps has it.
  std::vector<Backing> backings;
  each_mapping([&](const Mapping& mapping) {
    if (mapping.inode == 0 || !mapping.is_shared()) return;
    for (const emu::MappedRange& range : ranges) {
      const auto host = reinterpret_cast<uint64_t>(range.host);
      if (host < mapping.begin || host >= mapping.end) continue;
      backings.push_back({mapping.major << 32 | mapping.minor, mapping.inode,
                          mapping.offset + (host - mapping.begin), range.end - range.begin,
                          range.begin});
    }
  });
  std::sort(backings.begin(), backings.end(),
            [](const Backing& a, const Backing& b) { return a.address < b.address; });
  std::vector<AliasedRange> aliases;
  for (size_t i = 0; i < backings.size(); ++i) {
    const Backing& later = backings[i];
    for (size_t j = 0; j < i; ++j) {
      const Backing& earlier = backings[j];
      if (later.device != earlier.device || later.inode != earlier.inode ||
          later.offset < earlier.offset ||
          later.offset + later.size_bytes > earlier.offset + earlier.size_bytes)
        continue;
      aliases.push_back({later.address, earlier.address + (later.offset - earlier.offset)});
      break;
    }
  }
  return aliases;
}

}  // namespace wavetap::vgpu
