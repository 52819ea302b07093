// Initcheck: loads of what nobody has written. LDS today: it is not cleared when a workgroup starts, so
// what is there comes from whoever had it before.
//
// A bit for each byte says whether the workgroup has stored to it. An element that a lane loads is wrong
// when none of its bytes has been stored to; one that is written in part is a struct with padding, or
// several values in one load, and right.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "sanitize/check.h"

namespace wavetap::sanitize {

class Initcheck final : public Check {
 public:
  emu::Wants wants(const isa::Program& program, int32_t index) noexcept override;
  void workgroup_began(const emu::Workgroup& group, void*& state) noexcept override;
  void workgroup_ended(const emu::Workgroup& group, void*& state) noexcept override;
  void accessing(const emu::WatchPoint& at,
                 std::span<const emu::MemoryAccess> accesses) noexcept override;

 private:
  // A workgroup's LDS: a bit for each byte.
  using Written = std::vector<uint64_t>;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Written>> idle_;
};

}  // namespace wavetap::sanitize
