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

// Branches whose one way is hardly ever taken: what is there lies behind everything else, and has no
// registers that the other way could use.
void emit_usually(llvm::IRBuilder<>& ir, llvm::Value* condition, llvm::BasicBlock* usual,
                  llvm::BasicBlock* otherwise);
void emit_rarely(llvm::IRBuilder<>& ir, llvm::Value* condition, llvm::BasicBlock* rare,
                 llvm::BasicBlock* otherwise);
// `times` times the one way to each time the other.
void emit_mostly(llvm::IRBuilder<>& ir, llvm::Value* condition, uint32_t times,
                 llvm::BasicBlock* most, llvm::BasicBlock* otherwise);

// Bit i of `bits` for lane i, as LLVM's vectors have it.
llvm::Value* emit_lane_mask(llvm::IRBuilder<>& ir, llvm::Value* bits);
// The other way: an integer with as many bits as the mask has lanes.
llvm::Value* emit_mask_bits(llvm::IRBuilder<>& ir, llvm::Value* mask);

}  // namespace wavetap::jit
