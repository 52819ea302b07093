#include "cachesim/access_stream.h"

#include <algorithm>
#include <bit>

#include "cachesim/cache.h"
#include "emu/wave.h"

namespace wavetap::cachesim {
namespace {

constexpr uint8_t kBypassL1 = 0x40;
constexpr uint8_t kBypassGl1 = 0x80;

uint64_t zigzag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

// Seven bits a byte, the lowest first; the last byte is below 0x80.
constexpr size_t kMaxPacked = 10;
uint8_t* put(uint8_t* at, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<uint8_t>(value | 0x80);
  *at++ = static_cast<uint8_t>(value);
  return at;
}
uint64_t get(const uint8_t*& at) {
  uint64_t value = *at++;
  if (value < 0x80) return value;
  value &= 0x7f;
  for (uint32_t shift = 7;; shift += 7) {
    const uint8_t byte = *at++;
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
}

// Sorted runs that overlap or touch become one.
size_t merge(SectorRun* runs, size_t count) {
  std::sort(runs, runs + count,
            [](const SectorRun& a, const SectorRun& b) { return a.first < b.first; });
  size_t kept = 0;
  for (size_t i = 1; i < count; ++i) {
    SectorRun& last = runs[kept];
    if (runs[i].first > last.first + last.count) {
      runs[++kept] = runs[i];
      continue;
    }
    const uint64_t end = std::max(last.first + last.count, runs[i].first + runs[i].count);
    last.count = static_cast<uint32_t>(end - last.first);
    last.bytes = std::min(last.bytes + runs[i].bytes, last.count * kSectorBytes);
  }
  return kept + 1;
}

}  // namespace

size_t find_runs(const uint64_t* address, uint64_t mask, uint32_t size_bytes, SectorRun* runs) {
  size_t count = 0;
  bool ordered = true;
  for (; mask != 0; mask &= mask - 1) {
    const uint64_t at = address[std::countr_zero(mask)];
    const uint64_t first = at / kSectorBytes;
    const uint64_t last = (at + size_bytes - 1) / kSectorBytes;
    if (count != 0) {
      SectorRun& run = runs[count - 1];
      const uint64_t end = run.first + run.count;
      if (first >= run.first && first <= end) {
        if (last >= end) run.count = static_cast<uint32_t>(last + 1 - run.first);
        run.bytes += size_bytes;
        continue;
      }
      ordered = ordered && first > end;
    }
    runs[count++] = {first, static_cast<uint32_t>(last + 1 - first), size_bytes};
  }
  for (size_t i = 0; i < count; ++i)
    runs[i].bytes = std::min(runs[i].bytes, runs[i].count * kSectorBytes);
  return ordered || count < 2 ? count : merge(runs, count);
}

TagWork tag_work(const uint64_t* address, uint64_t mask, uint32_t size_bytes, int lanes) {
  TagWork work;
  for (int first = 0; first < lanes; first += 16) {
    const uint64_t some = mask & (uint64_t{0xffff} << first);
    if (some == 0) continue;
    const uint64_t line = address[std::countr_zero(some)] / kSectorBytes;
    bool shared = true;
    emu::for_each_lane(some, [&](int lane) {
      shared = shared && address[lane] / kSectorBytes == line &&
               (address[lane] + size_bytes - 1) / kSectorBytes == line;
    });
    if (shared) {
      work.accesses += 4;
      ++work.tags;
      continue;
    }
    for (int quad = first; quad < first + 16; quad += 4) {
      const uint64_t four = mask & (uint64_t{0xf} << quad);
      if (four == 0) continue;
      work.accesses += 4;
      uint64_t lines[8];
      size_t count = 0;
      emu::for_each_lane(four, [&](int lane) {
        for (const uint64_t at : {address[lane], address[lane] + size_bytes - 1})
          if (std::find(lines, lines + count, at / kSectorBytes) == lines + count)
            lines[count++] = at / kSectorBytes;
      });
      work.tags += static_cast<uint32_t>(count);
    }
  }
  return work;
}

SectorRun whole_run(uint64_t first, uint32_t size_bytes, uint32_t lanes, bool is_row) {
  const uint64_t bytes = uint64_t{lanes} * size_bytes;
  const uint64_t sector = first / kSectorBytes;
  const uint64_t last = (first + (is_row ? bytes : size_bytes) - 1) / kSectorBytes;
  const auto count = static_cast<uint32_t>(last + 1 - sector);
  return {sector, count, static_cast<uint32_t>(std::min<uint64_t>(bytes, count * kSectorBytes))};
}

TagWork whole_tag_work(uint64_t first, uint32_t size_bytes, uint32_t lanes, bool is_row) {
  const auto sectors = [](uint64_t at, uint64_t bytes) {
    return static_cast<uint32_t>((at + bytes - 1) / kSectorBytes - at / kSectorBytes + 1);
  };
  TagWork work;
  if (!is_row) {
    const uint32_t each = sectors(first, size_bytes);
    const uint32_t turns = each == 1 ? lanes / 16 : lanes / 4;
    return {4 * turns, each * turns};
  }
  for (uint32_t lane = 0; lane < lanes; lane += 16) {
    const uint64_t at = first + uint64_t{lane} * size_bytes;
    if (sectors(at, 16 * size_bytes) == 1) {
      work.accesses += 4;
      ++work.tags;
      continue;
    }
    work.accesses += 16;
    for (uint32_t quad = 0; quad < 4; ++quad)
      work.tags += sectors(at + uint64_t{quad} * 4 * size_bytes, 4 * size_bytes);
  }
  return work;
}

void AccessStream::add(Request request, bool bypass_l1, bool bypass_gl1, uint32_t site,
                       std::span<const SectorRun> runs) {
  const size_t most = 1 + kMaxPacked * (2 + 3 * runs.size());
  if (bytes_.size() - size_ < most) bytes_.resize(2 * bytes_.size() + most);
  uint8_t* at = bytes_.data() + size_;
  *at++ = static_cast<uint8_t>(static_cast<uint8_t>(request) | (bypass_l1 ? kBypassL1 : 0) |
                               (bypass_gl1 ? kBypassGl1 : 0));
  at = put(at, site);
  at = put(at, runs.size());
  for (const SectorRun& run : runs) {
    at = put(at, zigzag(static_cast<int64_t>(run.first - last_written_)));
    at = put(at, run.count);
    if (request == Request::kStore || request == Request::kAtomic) at = put(at, run.bytes);
    last_written_ = run.first;
  }
  size_ = static_cast<size_t>(at - bytes_.data());
}

bool AccessStream::next(Item& item) {
  if (at_ == size_) return false;
  const uint8_t* at = bytes_.data() + at_;
  const uint8_t head = *at++;
  item.request = static_cast<Request>(head & 0x3f);
  item.bypass_l1 = (head & kBypassL1) != 0;
  item.bypass_gl1 = (head & kBypassGl1) != 0;
  item.site = static_cast<uint32_t>(get(at));
  item.run_count = get(at);
  const bool has_bytes = item.request == Request::kStore || item.request == Request::kAtomic;
  for (size_t i = 0; i < item.run_count; ++i) {
    SectorRun& run = item.runs[i];
    run.first = last_read_ + static_cast<uint64_t>(unzigzag(get(at)));
    run.count = static_cast<uint32_t>(get(at));
    run.bytes = has_bytes ? static_cast<uint32_t>(get(at)) : 0;
    last_read_ = run.first;
  }
  at_ = static_cast<size_t>(at - bytes_.data());
  return true;
}

}  // namespace wavetap::cachesim
