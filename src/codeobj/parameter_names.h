// What a function's parameters are called, from a code object's debug information (-g).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codeobj/elf.h"

namespace wavetap::codeobj {

// Of the function whose code, as linked, begins there, in order; "" for one without a name. Empty when the
// function is not described.
std::vector<std::string> parameter_names(const ElfView& elf, uint64_t entry_address);

}  // namespace wavetap::codeobj
