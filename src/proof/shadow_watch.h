// Shadow: the watcher that computes a reference beside a dispatch.
//
// While the original kernel runs, each of its floating-point numbers has a shadow: the same number in
// fp64, and a bound of the original's rounding errors. Shadows follow the numbers through registers,
// LDS, scratch and memory. What was read from memory that nobody computed is exact; so is every whole
// number. Where the reference cannot follow (16-bit arithmetic, matrix instructions, parts of
// registers), the numbers have none, and nor has what is made of them.
#pragma once

#include <optional>
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
  Cell at(uint64_t address, uint32_t bits) const { return memory_.find(address, bits); }
  // The first operation that the reference did not follow; "": none.
  const std::string& not_followed() const { return not_followed_; }

 private:
  struct Group;

  static void finish(const emu::WatchPoint& at, Group& group);
  ShadowMemory& memory_of(Group& group, const emu::WatchPoint& at, emu::Space space);
  void store(Group& group, const emu::WatchPoint& at, const emu::MemoryAccess& access);
  void load(Group& group, const emu::WatchPoint& at, const emu::MemoryAccess& access);
  void update(Group& group, const emu::WatchPoint& at, const emu::MemoryAccess& access);

  ShadowMemory memory_;
  std::string not_followed_;
};

}  // namespace wavetap::proof
