// Spins: waves that wait for memory to change, and wait for ever. A part of synccheck.
//
// A wave that reads the same value from the same address again and again, with the same instruction, waits for somebody. When it
// has done so very often it is told of at once, with what the others do: the dispatch may never end, and nobody could be told of
// it then. When the dispatch ends after all, it was no livelock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "sanitize/check.h"

namespace wavetap::sanitize {

// What one wave reads again and again.
struct Spin {
  uint64_t pc = 0;
  uint64_t address = 0;
  uint64_t lanes = 0;
  uint32_t value = 0;
  uint32_t count = 0;
};

// Of one dispatch at a time.
class Spins {
 public:
  using Tell = std::function<void(const Finding& finding)>;
  // Reads in a row. A turn of every other wave that can run lies between two of them.
  static constexpr uint32_t kMany = 1 << 16;
  explicit Spins(uint32_t many = kMany) : many_(many) {}

  // Called inside a slice (emu/watch.h).
  void set_tell(Tell tell) { tell_ = std::move(tell); }

  // Whether whoever waits may wait with this instruction.
  static bool may_wait(const isa::Inst& inst);

  void dispatch_began(const emu::Launch& launch);
  void workgroup_began();
  void workgroup_ended();
  // Of may_wait(), when its data has moved. `map` names the memory.
  void accessed(const emu::WatchPoint& at, std::span<const emu::MemoryAccess> accesses, Spin& spin,
                const MemoryMap* map);

 private:
  void report(const emu::WatchPoint& at, const emu::MemoryAccess& access, const Spin& spin,
              const MemoryMap* map);
  std::string others_of(const emu::Wave& wave) const;

  const uint32_t many_;
  Tell tell_;
  std::mutex mutex_;
  uint64_t group_count_ = 0;
  uint64_t groups_begun_ = 0;
  uint64_t groups_ended_ = 0;
  std::map<uint64_t, uint64_t> waiting_;  // address, to how many waves were told of
};

}  // namespace wavetap::sanitize
