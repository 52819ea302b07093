// Which values need not be asked whether they are NaN.
#pragma once

#include <vector>

#include "llvm/IR/Value.h"

namespace wavetap::jit {

// Takes out of `numbers`, of a strip of so many lanes, those which make another one of them NaN in every lane where
// they are: sums, products and so on hand NaNs on, so that asking for the last result is enough.
void leave_out_implied(std::vector<llvm::Value*>& numbers, unsigned lanes);

}  // namespace wavetap::jit
