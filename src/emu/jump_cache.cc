#include "emu/jump_cache.h"

namespace wavetap::emu {

void jump(Wave& wave, uint64_t address) {
  if (wave.jumps != nullptr) {
    const JumpCache::Entry& entry = wave.jumps->entry(address);
    if (entry.pc == address) return enter(wave, *entry.place.code, entry.place.index);
  }
  wave.leave(address);
}

}  // namespace wavetap::emu
