// Fpcheck: where floating-point values go bad. Not who has a NaN, but where it was born: an instruction
// whose result is NaN although no operand is; infinity and denormals alike; and conversions whose value
// does not fit.
//
// Before an instruction its operands are looked at, after it its result, lane by lane. What type they have
// says the operation's name (fp_operation.h). The steps between v_div_scale and v_div_fixup, which compilers
// make of a division, pass through NaN and infinity on purpose; they are known by what flows into
// v_div_fixup, and only that one is judged.
#pragma once

#include <cstdint>
#include <vector>

#include "sanitize/check.h"

namespace wavetap::sanitize {

class Fpcheck final : public Check {
 public:
  emu::Wants wants(const isa::Program& program, int32_t index) noexcept override;
  void workgroup_began(const emu::Workgroup& group, void*& state) noexcept override;
  void workgroup_ended(const emu::Workgroup& group, void*& state) noexcept override;
  void before(const emu::WatchPoint& at) noexcept override;
  void after(const emu::WatchPoint& at) noexcept override;

 private:
  struct Group;

  // By instruction of the program that wants() is asked about.
  std::vector<bool> division_steps_;
};

}  // namespace wavetap::sanitize
