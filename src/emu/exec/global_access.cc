#include "emu/exec/global_access.h"

namespace wavetap::emu {

bool copy_global(Wave& wave, uint64_t address, std::byte* data, uint32_t size_bytes, bool write,
                 int lane) {
  // The first byte brings its range into the cache, or faults.
  if (wave.translate(address, 1, write, lane) == nullptr) return false;
  if (std::byte* host = cached(wave, address, size_bytes, write)) {
    copy_element(write ? host : data, write ? data : host, size_bytes);
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

#define WT_EXTERN
#include "emu/exec/global_moves.inc"

}  // namespace wavetap::emu
