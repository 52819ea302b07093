#include "emu/exec/scratch_access.h"

#include <algorithm>

namespace wavetap::emu {

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

}  // namespace wavetap::emu
