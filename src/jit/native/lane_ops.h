// Operations between a lane and a scalar register: done where they stand, between segments, when
// every row is in the wave.
#pragma once

#include "isa/inst.h"
#include "jit/native/scalar_file.h"

#include "llvm/IR/IRBuilder.h"

namespace wavetap::jit {

bool is_compiled_lane_op(const isa::Inst& inst);

// `rows`: the wave's vector registers.
void emit_lane_op(llvm::IRBuilder<>& ir, ScalarFile& scalars, llvm::Value* rows, bool wave64,
                  const isa::Inst& inst);

}  // namespace wavetap::jit
