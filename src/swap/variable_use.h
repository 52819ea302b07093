// Which writable variables of its code object a kernel can reach, without decoding it.
//
// Device code forms an address from the program counter: s_getpc_b64, then s_add_u32 with a literal that is
// the distance to what is meant, "symbol@rel32@lo+4". So a literal L at address P means P + L - 4, and every
// dword of the code is looked at as if it were such a literal. What lands in a variable uses it; what lands
// at a function calls it, and that is looked at as well. What lands in writable memory that is no variable
// (a table of addresses, the GOT), and calls of what is not known, may use any variable.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codeobj/code_object.h"

namespace wavetap::swap {

// What a program has no name for: the identity of a translation unit, which every compilation makes anew,
// and the empty members behind threadIdx.x, which HIP's headers leave in code that is not optimised.
inline bool is_internal(std::string_view name) {
  return name.starts_with("__hip_cuid_") || name.starts_with("_ZN17__HIP_Coordinates");
}

// Of the whole code object, sorted.
std::vector<codeobj::CodeSymbol> writable_variables(const codeobj::CodeObject& object);

// Those of them that the kernel may use.
std::vector<std::string> variables_used(const codeobj::CodeObject& object,
                                        const codeobj::Kernel& kernel,
                                        const std::vector<codeobj::CodeSymbol>& variables);

}  // namespace wavetap::swap
