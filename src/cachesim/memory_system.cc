#include "cachesim/memory_system.h"

#include <algorithm>
#include <bit>

namespace wavetap::cachesim {
namespace {

// Neighbouring lines of this many bytes are in one L2 channel.
constexpr uint32_t kChannelBytes = 256;
constexpr uint32_t kL3Ways = 16;
constexpr uint32_t kGl1Ways = 4;
constexpr uint32_t kScalarWays = 4;
constexpr uint32_t kHalfSector = kSectorBytes / 2;

}  // namespace

MemorySystem::MemorySystem(const Geometry& geometry, Start start)
    : g_(geometry),
      start_(start),
      l1_sectors_(std::min(geometry.l1_line / kSectorBytes, kMaxSectors)),
      l2_sectors_(std::min(geometry.l2_line / kSectorBytes, kMaxSectors)),
      l2_unit_(std::max(geometry.l2_sector / kSectorBytes, 1u)),
      l2_channels_(geometry.l2_channels),
      channel_lines_(std::max(kChannelBytes / geometry.l2_line, 1u)),
      cus_per_xcc_(geometry.cus_per_xcc),
      cus_per_array_(std::max(geometry.cus_per_array, 1u)) {
  for (uint32_t cu = 0; cu < g_.cus(); ++cu) l1_.emplace_back(g_.l1_bytes / g_.l1_line, g_.l1_ways);
  const uint32_t scalar_caches = (g_.cus() + g_.cus_per_scalar_cache - 1) / g_.cus_per_scalar_cache;
  for (uint32_t i = 0; i < scalar_caches; ++i)
    scalar_.emplace_back(g_.scalar_bytes / kSectorBytes, kScalarWays);
  if (g_.cus_per_array != 0) {
    const uint32_t arrays = (g_.cus() + g_.cus_per_array - 1) / g_.cus_per_array;
    for (uint32_t i = 0; i < arrays; ++i) gl1_.emplace_back(g_.gl1_bytes / g_.l2_line, kGl1Ways);
  }
  const uint32_t channels = g_.xccs * g_.l2_channels;
  for (uint32_t i = 0; i < channels; ++i)
    l2_.emplace_back(g_.l2_bytes / g_.l2_channels / g_.l2_line, g_.l2_ways);
  channel_requests_.resize(channels);
  if (g_.l3_bytes != 0) l3_ = Cache(g_.l3_bytes / g_.l2_line, kL3Ways);
}

void MemorySystem::begin() {
  for (std::vector<Cache>* level : {&l1_, &scalar_, &gl1_})
    for (Cache& cache : *level) cache.clear();
  if (start_ == Start::kCold) {
    for (Cache& cache : l2_) cache.clear();
    l3_.clear();
  }
  std::fill(channel_requests_.begin(), channel_requests_.end(), 0);
  was_read_.clear();
  dirty_whole_ = dirty_parts_ = 0;
}

MemorySystem::L2Place MemorySystem::place_of(uint64_t line) const {
  const uint64_t stripe = line / channel_lines_;
  return {static_cast<uint32_t>(stripe % l2_channels_),
          stripe / l2_channels_ * channel_lines_ + line % channel_lines_};
}

void MemorySystem::fabric_read(uint64_t first, uint32_t count, MemoryCounters& c) {
  const uint32_t bytes = count * kSectorBytes;
  const uint32_t requests = std::max((bytes + g_.fabric_read - 1) / g_.fabric_read, 1u);
  c.fabric_reads += requests;
  c.fabric_read_bytes += bytes;
  if (bytes >= 128 && g_.fabric_read >= 128) c.fabric_reads_128b += requests;
  if (l3_.exists()) {
    ++c.l3_reads;
    if (l3_.read(first / l2_sectors_)) return;
    ++c.l3_read_misses;
  }
  dram_read(first, count, c);
}

// `count` sectors of one line.
void MemorySystem::dram_read(uint64_t first, uint32_t count, MemoryCounters& c) {
  c.dram_read_bytes += uint64_t{count} * kSectorBytes;
  const uint64_t sectors = ((uint64_t{1} << count) - 1) << first % 64;
  uint64_t& known = was_read_[first / 64];
  c.dram_again_bytes += uint64_t(std::popcount(known & sectors)) * kSectorBytes;
  known |= sectors;
}

// Fetches the sectors that the line lacks, in whole units of what a miss asks for.
void MemorySystem::fetch(CacheLine& line, uint64_t base, uint32_t first, uint32_t count,
                         MemoryCounters& c) {
  const uint32_t begin = first / l2_unit_ * l2_unit_;
  const uint32_t end =
      std::min<uint32_t>((first + count + l2_unit_ - 1) / l2_unit_ * l2_unit_, l2_sectors_);
  uint32_t run = 0;
  for (uint32_t sector = begin; sector <= end; ++sector) {
    if (sector < end && (line.valid >> sector & 1) == 0) {
      line.valid = static_cast<uint8_t>(line.valid | 1u << sector);
      ++run;
    } else if (run != 0) {
      fabric_read(base + sector - run, run, c);
      run = 0;
    }
  }
}

void MemorySystem::write_back(CacheLine& line, MemoryCounters& c) {
  for (uint32_t sector = 0; sector < l2_sectors_; ++sector) {
    const uint32_t bytes = line.dirty[sector];
    if (bytes == 0) continue;
    const bool whole = bytes > kHalfSector;
    (whole ? dirty_whole_ : dirty_parts_) -= 1;
    ++c.fabric_writes;
    c.fabric_writes_64b += whole ? 1 : 0;
    c.fabric_write_bytes += whole ? kSectorBytes : kHalfSector;
    if (l3_.exists()) l3_.read(line.line());
  }
}

void MemorySystem::make_dirty(uint32_t xcc, CacheLine& line, uint32_t sector, uint32_t bytes) {
  uint8_t& dirty = line.dirty[sector];
  const uint32_t before = dirty;
  if (before == 0 && start_ == Start::kWarm) dirty_lines_.push_back({&line, xcc});
  dirty = static_cast<uint8_t>(std::min(before + bytes, kSectorBytes));
  if (before == 0) (dirty > kHalfSector ? dirty_whole_ : dirty_parts_) += 1;
  else if (before <= kHalfSector && dirty > kHalfSector) --dirty_parts_, ++dirty_whole_;
  if (dirty == kSectorBytes) line.valid = static_cast<uint8_t>(line.valid | 1u << sector);
}

void MemorySystem::l2_read(uint32_t xcc, uint64_t first, uint32_t count, MemoryCounters& c,
                           SiteCounts& site) {
  const uint64_t number = first / l2_sectors_;
  const auto offset = static_cast<uint32_t>(first % l2_sectors_);
  const L2Place place = place_of(number);
  const size_t slot = size_t{xcc} * g_.l2_channels + place.channel;
  ++channel_requests_[slot];
  ++c.l2_reads;
  c.l2_bytes += uint64_t{count} * kSectorBytes;
  const auto wanted = static_cast<uint8_t>(((1u << count) - 1) << offset);
  CacheLine* line = l2_[slot].find(number, place.set);
  if (line != nullptr && (line->valid & wanted) == wanted) {
    ++c.l2_hits;
    return;
  }
  ++c.l2_misses;
  ++site.l2_misses;
  if (line == nullptr)
    line = l2_[slot].insert(number, place.set, [&](CacheLine& old) { write_back(old, c); });
  CacheLine nowhere;
  fetch(line != nullptr ? *line : nowhere, number * l2_sectors_, offset, count, c);
}

void MemorySystem::l2_write(uint32_t xcc, uint64_t sector, uint32_t bytes, bool fetches,
                            MemoryCounters& c, SiteCounts& site) {
  const uint64_t number = sector / l2_sectors_;
  const auto offset = static_cast<uint32_t>(sector % l2_sectors_);
  const L2Place place = place_of(number);
  const size_t slot = size_t{xcc} * g_.l2_channels + place.channel;
  ++channel_requests_[slot];
  c.l2_bytes += kSectorBytes;
  CacheLine* line = l2_[slot].find(number, place.set);
  // Where lines are fetched by sectors, they are there by sectors.
  const bool is_there =
      line != nullptr &&
      (g_.l2_sector >= g_.l2_line || (line->valid >> offset & 1) != 0 || line->dirty[offset] != 0);
  ++(is_there ? c.l2_hits : c.l2_misses);
  if (!is_there) ++site.l2_misses;
  if (line == nullptr)
    line = l2_[slot].insert(number, place.set, [&](CacheLine& old) { write_back(old, c); });
  if (line == nullptr) return;
  if (fetches && (line->valid >> offset & 1) == 0) fetch(*line, number * l2_sectors_, offset, 1, c);
  make_dirty(xcc, *line, offset, bytes);
}

void MemorySystem::read_below(uint32_t cu, uint64_t first, uint32_t count, bool bypass_gl1,
                              MemoryCounters& c, SiteCounts& site) {
  if (g_.cus_per_array != 0) {
    ++c.gl1_reads;
    if (!bypass_gl1 && gl1_[cu / cus_per_array_].read(first / l2_sectors_)) return;
    ++c.gl1_read_misses;
    // It fetches whole lines.
    first = first / l2_sectors_ * l2_sectors_;
    count = l2_sectors_;
  }
  // A request asks for one unit of the L2 at most.
  while (count != 0) {
    const auto room = static_cast<uint32_t>(l2_unit_ - first % l2_unit_);
    const uint32_t part = std::min(count, room);
    l2_read(xcc_of(cu), first, part, c, site);
    first += part;
    count -= part;
  }
}

void MemorySystem::load(uint32_t cu, const AccessStream::Item& item, MemoryCounters& c,
                        SiteCounts& site) {
  Cache& l1 = l1_[cu];
  for (size_t i = 0; i < item.run_count; ++i) {
    const SectorRun& run = item.runs[i];
    const uint64_t last = (run.first + run.count - 1) / l1_sectors_;
    uint64_t missing = 0;  // sectors that wait to be asked for together
    uint32_t missing_count = 0;
    const auto ask = [&] {
      if (missing_count != 0) read_below(cu, missing, missing_count, item.bypass_gl1, c, site);
      missing_count = 0;
    };
    for (uint64_t line = run.first / l1_sectors_; line <= last; ++line) {
      ++c.l1_reads;
      if (!item.bypass_l1 && l1.read(line)) continue;
      ++c.l1_read_misses;
      ++site.l1_misses;
      ++c.l1_to_l2_reads;
      c.l1_to_l2_bytes += g_.l1_line;
      const uint64_t first = line * l1_sectors_;
      const bool follows = missing_count != 0 && first == missing + missing_count &&
                           first / l2_sectors_ == missing / l2_sectors_;
      if (!follows) {
        ask();
        missing = first;
      }
      missing_count += l1_sectors_;
    }
    ask();
  }
}

void MemorySystem::store(uint32_t cu, const AccessStream::Item& item, MemoryCounters& c,
                         SiteCounts& site) {
  const bool atomic = item.request == Request::kAtomic;
  for (size_t i = 0; i < item.run_count; ++i) {
    const SectorRun& run = item.runs[i];
    for (uint32_t s = 0; s < run.count; ++s) {
      // Evenly, where the bytes are not known by sector.
      const uint32_t bytes = std::max(run.bytes / run.count, 1u);
      ++(atomic ? c.l1_to_l2_atomics : c.l1_to_l2_writes);
      ++(atomic ? c.l2_atomics : c.l2_writes);
      ++c.l1_writes;
      c.l1_to_l2_bytes += kSectorBytes;
      l2_write(xcc_of(cu), run.first + s, bytes, atomic, c, site);
    }
  }
}

void MemorySystem::scalar_load(uint32_t cu, const AccessStream::Item& item, MemoryCounters& c,
                               SiteCounts& site) {
  for (size_t i = 0; i < item.run_count; ++i) {
    const SectorRun& run = item.runs[i];
    for (uint32_t s = 0; s < run.count; ++s) {
      if (scalar_[cu / g_.cus_per_scalar_cache].read(run.first + s)) continue;
      ++c.scalar_read_misses;
      ++site.l1_misses;
      read_below(cu, run.first + s, 1, false, c, site);
    }
  }
}

void MemorySystem::access(uint32_t cu, const AccessStream::Item& item, MemoryCounters& c,
                          SiteCounts& site) {
  switch (item.request) {
    case Request::kLoad: load(cu, item, c, site); break;
    case Request::kStore:
    case Request::kAtomic: store(cu, item, c, site); break;
    case Request::kScalarLoad: scalar_load(cu, item, c, site); break;
    case Request::kScalarStore:
      for (size_t i = 0; i < item.run_count; ++i)
        for (uint32_t s = 0; s < item.runs[i].count; ++s) {
          ++c.l2_writes;
          l2_write(xcc_of(cu), item.runs[i].first + s, 4, false, c, site);
        }
      break;
    case Request::kInvalidateGl1:
      if (g_.cus_per_array != 0) gl1_[cu / cus_per_array_].clear();
      [[fallthrough]];
    case Request::kInvalidateL1: l1_[cu].clear(); break;
  }
}

void MemorySystem::fetch_instructions(uint64_t lines, uint64_t caches, uint64_t xccs,
                                      MemoryCounters& c) {
  const uint64_t requests = lines * caches;
  const uint64_t cold = std::min(requests, (lines + l2_sectors_ - 1) / l2_sectors_ * xccs);
  c.instruction_read_misses += requests;
  c.l2_reads += requests;
  c.l2_misses += cold;
  c.l2_hits += requests - cold;
  c.l2_bytes += requests * kSectorBytes;
  const uint64_t bytes = lines * xccs * kSectorBytes;
  c.fabric_reads += (bytes + g_.fabric_read - 1) / g_.fabric_read;
  if (g_.fabric_read >= 128) c.fabric_reads_128b += (bytes + g_.fabric_read - 1) / g_.fabric_read;
  c.fabric_read_bytes += bytes;
  c.dram_read_bytes += lines * kSectorBytes;
}

// Everything dirty has been written back: it stays, here and in the Infinity Cache, but in no other L2.
void MemorySystem::clean() {
  for (const DirtyLine& dirty : dirty_lines_) {
    CacheLine& line = *dirty.line;
    if (std::all_of(line.dirty, line.dirty + kMaxSectors, [](uint8_t d) { return d == 0; }))
      continue;
    std::fill(line.dirty, line.dirty + kMaxSectors, uint8_t{0});
    const uint64_t number = line.line();
    const L2Place place = place_of(number);
    for (uint32_t xcc = 0; xcc < g_.xccs; ++xcc)
      if (xcc != dirty.xcc)
        l2_[size_t{xcc} * g_.l2_channels + place.channel].drop(number, place.set);
    if (l3_.exists()) l3_.read(number);
  }
  dirty_lines_.clear();
}

void MemorySystem::finish(MemoryCounters& c) {
  c.fabric_writes += dirty_whole_ + dirty_parts_;
  c.fabric_writes_64b += dirty_whole_;
  c.fabric_write_bytes += dirty_whole_ * kSectorBytes + dirty_parts_ * kHalfSector;
  dirty_whole_ = dirty_parts_ = 0;
  clean();
  c.dram_write_bytes = c.fabric_write_bytes;
  c.l2_busiest_channel = channel_requests_.empty() ? 0
                                                   : *std::max_element(channel_requests_.begin(),
                                                                       channel_requests_.end());
}

}  // namespace wavetap::cachesim
