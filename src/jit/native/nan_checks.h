// Which values need not be asked whether they are NaN, and which NaN a result is.
#pragma once

#include <vector>

#include "jit/native/vector_op.h"

#include "llvm/IR/Value.h"

namespace wavetap::jit {

// Takes out of `numbers`, of a strip of so many lanes, those which make another one of them NaN in every lane where
// they are: sums, products and so on hand NaNs on, so that asking for the last result is enough.
void leave_out_implied(std::vector<llvm::Value*>& numbers, unsigned lanes);

// The engine's NaN rule (emu/exec/float_ops.h): a NaN in the result of an operation on singles is its
// first NaN operand, quieted, or the default one.
llvm::Value* follow_nan_rule(LaneBuilder& lanes, const VectorOp& op, llvm::Value* const* sources,
                             llvm::Value* result);

}  // namespace wavetap::jit
