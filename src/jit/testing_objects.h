// What LLVM made of a module, remembered from one run of the tests to the next.
//
// Nearly all the time of this folder's tests is LLVM's, which has no memory: the same module, for the
// same processor, by the same code generator with the same options is the same object file. So every
// block is translated anew, and only where its module has not been met before it is compiled; of those
// that have been, some are compiled all the same and must be what they were.
//
// Test-only; the objects are in the build folder, in jit_objects/.
#pragma once

#include <cstddef>
#include <vector>

#include "jit/backend.h"
#include "jit/native/host.h"
#include "jit/native/plan.h"

namespace wavetap::jit {

// As compile_plan().
std::vector<std::byte> compile_or_remember(Host& host, const BlockRequest& request,
                                           const Plan& plan);

}  // namespace wavetap::jit
