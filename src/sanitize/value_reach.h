// What becomes of a value that a load brings: whether it reaches memory, an address or a branch.
//
// Initcheck follows what is written in part from here (register_flow.h). Racecheck asks it of a plain load that races with atomics: a program that only looks (the first guess of a
// compare-and-swap, a prefetch) is not wrong, one that acts on the value is. The code is followed from the load
// on, on all ways, without running it: a register that is made of the value counts as the value; so does what is
// reloaded from where it was spilled to scratch. What goes into a compare-and-swap is checked there and ends here.
//
// Errs on the side of "it does": in a call, and where registers are indexed.
#pragma once

#include <vector>

#include "isa/program.h"

namespace wavetap::sanitize {

// Of the load that is instruction `index`.
bool value_matters(const isa::Program& program, int32_t index);

// Loads that may bring what nobody has written: those whose values reach an address or a branch, or are stored as they are,
// and what has to be watched to see what becomes of them.
struct FollowedLoads {
  std::vector<bool> loads;    // by instruction; empty: there are none
  std::vector<bool> touches;  // it reads or writes a register that may hold such a value
};
// Loads of several registers alone, or, where `all` is said or the program itself stores parts of registers or undefined ones,
// of one register and less as well. Programs that call functions are followed whole. Nothing is followed in those that index registers, nor in
// very long ones.
FollowedLoads find_followed_loads(const isa::Program& program, bool all);

}  // namespace wavetap::sanitize
