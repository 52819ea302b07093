// ExecRegions: where lanes that were taken off EXEC come back.
//
// `if` without `else`, as compilers write it: EXEC is saved and cut down (s_and_saveexec, or s_mov and v_cmpx),
// and on every way from there the saved lanes are put back (s_or). Between the two, lanes that were taken off
// neither read nor write: what they hold is as needed there as it is behind the end.
//
// What lies between is looked at instruction by instruction. Nothing may write the saved mask, give EXEC
// other lanes, read registers of lanes that are off, or lead to places that are not known.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "isa/program.h"

namespace wavetap::jit {

class ExecRegions {
 public:
  explicit ExecRegions(const isa::Program& program);

  // The instructions that put back what `index` takes off, one on every way that does not end the wave.
  // Null: it is not known that there are such.
  const std::vector<int32_t>* ends(int32_t index) const {
    const auto at = ends_.find(index);
    return at == ends_.end() ? nullptr : &at->second;
  }

 private:
  std::map<int32_t, std::vector<int32_t>> ends_;
};

}  // namespace wavetap::jit
