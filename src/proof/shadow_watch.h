// Shadow: the watcher that computes a reference beside a dispatch.
//
// While the original kernel runs, each of its floating-point numbers has a shadow: the same number in
// fp64, and a bound of the original's rounding errors. Shadows follow the numbers through registers,
// LDS, scratch and memory. What was read from memory that nobody computed is exact; so is every whole
// number. Where the reference cannot follow, the numbers have none, and nor has what is made of them; which
// operations those were is counted, and so are those that take the bits of a number for something else.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "emu/watch.h"
#include "proof/shadow_registers.h"

namespace wavetap::proof {

// For a dispatch that runs on one thread.
class ShadowWatch final : public emu::Watcher {
 public:
  emu::Wants wants(const isa::Program& program, int32_t index) noexcept override;
  void workgroup_began(const emu::Workgroup& group, void*& state) noexcept override;
  void workgroup_ended(const emu::Workgroup& group, void*& state) noexcept override;
  void uses_registers(const emu::WatchPoint& at,
                      std::span<const emu::RegisterUse> uses) noexcept override;
  void accessing(const emu::WatchPoint& at,
                 std::span<const emu::MemoryAccess> accesses) noexcept override;
  void accessed(const emu::WatchPoint& at,
                std::span<const emu::MemoryAccess> accesses) noexcept override;
  void after(const emu::WatchPoint& at) noexcept override;

  // What is known of the word at an address that has these bits.
  WordCells at(uint64_t address, uint32_t bits) const { return memory_.find(address, bits); }
  // Of 16 bits.
  Cell half_at(uint64_t address, uint32_t bits) const { return memory_.find_half(address, bits); }
  // Operations that the reference did not follow, and how often waves executed them.
  using Counts = std::map<std::string, uint64_t>;
  const Counts& not_followed() const { return not_followed_; }
  // Operations that made bits of numbers, for which the reference has the original's bits: a shift of
  // a float, say.
  const Counts& taken_apart() const { return taken_apart_; }

 private:
  struct Group;

  void finish(const emu::WatchPoint& at, Group& group);
  ShadowMemory& memory_of(Group& group, const emu::WatchPoint& at, emu::Space space);
  void store(Group& group, const emu::WatchPoint& at, const emu::MemoryAccess& access);
  void load(Group& group, const emu::WatchPoint& at, const emu::MemoryAccess& access);
  void update(Group& group, const emu::WatchPoint& at, const emu::MemoryAccess& access);
  static void give_back(Group& group, const emu::WatchPoint& at, const emu::MemoryAccess& access);

  void lose(const emu::WatchPoint& at, const emu::MemoryAccess& access, ShadowMemory& memory);

  ShadowMemory memory_;
  Counts not_followed_, taken_apart_;
};

}  // namespace wavetap::proof
