// compile_plan(): from a plan to an object file.
#pragma once

#include <cstddef>
#include <vector>

#include "jit/backend.h"
#include "jit/native/block_emitter.h"
#include "jit/native/host.h"
#include "jit/native/plan.h"

namespace wavetap::jit {

// Empty when the host is in trouble, or LLVM has failed.
std::vector<std::byte> compile_plan(Host& host, const BlockRequest& request, const Plan& plan);

}  // namespace wavetap::jit
