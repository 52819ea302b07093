// Which bits of a result are undefined when some bits of its sources are. Values of less than a register, and
// structs that are loaded with one instruction, are taken apart by shifts, masks and permutations: what is left
// of them may be defined though the register was not.
#pragma once

#include <cstdint>

#include "isa/inst.h"

namespace wavetap::sanitize {

// Of the sources of an operation, up to 64 bits each. The values of undefined bits mean nothing.
struct SourceBits {
  uint64_t undefined[3] = {};
  uint64_t value[3] = {};
};

// False: the operation is not one of those that are known here.
bool find_undefined_bits(isa::Op op, const SourceBits& of, uint64_t* result);

// Whether the operation hands on bits of its sources as they are: moves, shifts, masks, permutations.
bool hands_on_bits(isa::Op op);

}  // namespace wavetap::sanitize
