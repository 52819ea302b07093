// Liveness: which registers somebody may still read.
//
// A result that is overwritten before anybody reads it, or never read at all, need not be stored: handlers
// do not know that, compiled code does. It is looked at for the whole program, as code ends at barriers
// and slices and others go on there.
//
// Lanes. An instruction writes lanes of EXEC. A register counts as overwritten only where all lanes that
// are on here will be on there: EXEC may gain lanes on the way, but where it may lose one, what is
// read at all behind that place counts as read. Unless it is known where lost lanes come back
// (exec_regions.h): they need what is read behind that.
//
// What is not understood reads everything: computed jumps, calls, registers by index, instructions of
// families that are not followed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emu/lower.h"
#include "isa/program.h"
#include "jit/backend.h"

namespace wavetap::jit {

class Liveness {
 public:
  explicit Liveness(const isa::Program& program);

  // Before instruction `index` and each behind it; behind the last one there is one more.
  std::span<const LiveRegisters> from(int32_t index) const {
    return std::span(live_).subspan(static_cast<size_t>(index));
  }

  // Of waves that start at the first instruction, all lanes on.
  std::vector<emu::RowRange> rows_read_at_start() const;

 private:
  std::vector<LiveRegisters> live_;
};

}  // namespace wavetap::jit
