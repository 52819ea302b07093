#include "emu/exec/mem_access.h"

namespace wavetap::emu {

bool copy_global(Wave& wave, uint64_t address, std::byte* data, uint32_t size_bytes, bool write,
                 int lane) {
  // The first byte brings its range into the cache, or faults.
  if (wave.translate(address, 1, write, lane) == nullptr) return false;
  if (std::byte* host = cached(wave, address, size_bytes, write)) {
    std::memcpy(write ? host : data, write ? data : host, size_bytes);
    return true;
  }
  // The access leaves the range: look at every byte before moving the first.
  std::byte* host[16];
  for (uint32_t i = 0; i < size_bytes; ++i) {
    host[i] = wave.translate(address + i, 1, write, lane);
    if (host[i] == nullptr) return false;
  }
  for (uint32_t i = 0; i < size_bytes; ++i)
    (write ? *host[i] : data[i]) = write ? data[i] : *host[i];
  return true;
}

bool check_scratch(Wave& wave, uint32_t offset, uint32_t size_bytes, bool write, int lane) {
  const uint32_t limit = wave.scratch_bytes_per_lane;
  if (offset <= limit && limit - offset >= size_bytes) return true;
  wave.raise(FaultKind::kApertureViolation, GpuAddr{kPrivateAperture + offset}, write, lane,
             "past the lane's scratch");
  return false;
}

bool copy_scratch(Wave& wave, uint32_t offset, std::byte* data, uint32_t size_bytes, bool write,
                  int lane) {
  if (!check_scratch(wave, offset, size_bytes, write, lane)) return false;
  for (uint32_t done = 0; done < size_bytes;) {
    const uint32_t part = std::min(size_bytes - done, 4 - (offset + done) % 4);
    std::byte* host = wave.scratch + wave.scratch_offset(offset + done, lane);
    std::memcpy(write ? host : data + done, write ? data + done : host, part);
    done += part;
  }
  return true;
}

namespace {

constexpr uint32_t kLineBytes = 64;
constexpr int kMaxWaveLanes = 64;

// Distinct 64-byte lines under the lanes' elements.
uint32_t count_lines(const uint64_t* at, uint64_t mask, uint32_t size_bytes) {
  uint64_t lines[2 * kMaxWaveLanes];
  int count = 0;
  for_each_lane(mask, [&](int lane) {
    const uint64_t first = at[lane] / kLineBytes;
    const uint64_t last = (at[lane] + size_bytes - 1) / kLineBytes;
    lines[count++] = first;
    if (last != first) lines[count++] = last;
  });
  std::sort(lines, lines + count);
  return static_cast<uint32_t>(std::unique(lines, lines + count) - lines);
}

// Extra cycles: a bank serves one dword per cycle; lanes that read the same dword share it.
uint32_t count_conflicts(const uint32_t* at, uint64_t mask, uint32_t size_bytes) {
  constexpr int kBanks = 32;
  uint32_t dwords[4 * kMaxWaveLanes];
  int count = 0;
  for_each_lane(mask, [&](int lane) {
    for (uint32_t byte = 0; byte < size_bytes; byte += 4) dwords[count++] = (at[lane] + byte) / 4;
  });
  std::sort(dwords, dwords + count);
  count = static_cast<int>(std::unique(dwords, dwords + count) - dwords);
  uint32_t load[kBanks] = {};
  uint32_t worst = 0;
  for (int i = 0; i < count; ++i) worst = std::max(worst, ++load[dwords[i] % kBanks]);
  const uint32_t ideal = (static_cast<uint32_t>(count) + kBanks - 1) / kBanks;
  return worst > ideal ? worst - ideal : 0;
}

}  // namespace

void count_global(Wave& wave, const uint64_t* at, uint64_t mask, uint32_t size_bytes,
                  Access access) {
  Counters& counters = *wave.counters;
  const uint64_t bytes = uint64_t(std::popcount(mask)) * size_bytes;
  switch (access) {
    case Access::kLoad: counters.bytes_global_load += bytes; break;
    case Access::kStore: counters.bytes_global_store += bytes; break;
    case Access::kAtomic: counters.bytes_global_atomic += bytes; break;
  }
  if (mask == 0) return;
  counters.cache_lines += count_lines(at, mask, size_bytes);
  counters.cache_lines_ideal += (bytes + kLineBytes - 1) / kLineBytes;
}

void count_scratch(Wave& wave, uint64_t mask, uint32_t size_bytes) {
  wave.counters->bytes_scratch += uint64_t(std::popcount(mask)) * size_bytes;
}

void count_lds(Wave& wave, const uint32_t* at, uint64_t mask, uint32_t size_bytes) {
  wave.counters->bytes_lds += uint64_t(std::popcount(mask)) * size_bytes;
  wave.counters->lds_bank_conflicts += count_conflicts(at, mask, size_bytes);
}

}  // namespace wavetap::emu
