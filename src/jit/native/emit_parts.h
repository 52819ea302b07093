// Pieces of code that blocks and segments share.
#pragma once

#include <cstdint>

#include "isa/inst.h"
#include "jit/native/scalar_file.h"

#include "llvm/IR/IRBuilder.h"

namespace wavetap::jit {

// Performs a scalar operation on the file.
void emit_scalar(llvm::IRBuilder<>& ir, ScalarFile& scalars, const isa::Inst& inst);

// Calls the handler of the instruction `index`, of which the block's first is `first`.
void emit_handler_call(llvm::IRBuilder<>& ir, llvm::Value* wave, llvm::Value* handlers,
                       llvm::Value* first_inst, llvm::Value* index, int32_t first);

// Bit i of `bits` for lane i, as LLVM's vectors have it.
llvm::Value* emit_lane_mask(llvm::IRBuilder<>& ir, llvm::Value* bits);
// The other way: an integer with as many bits as the mask has lanes.
llvm::Value* emit_mask_bits(llvm::IRBuilder<>& ir, llvm::Value* mask);

}  // namespace wavetap::jit
