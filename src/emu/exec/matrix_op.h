// MatrixOp: what the finders of matrix instructions find. The finders may exist several times, built
// for different host instruction sets; this header is what they have in common.
#pragma once

#include <cstdint>

#include "emu/exec.h"

namespace wavetap::emu {

// How an operation is done, and how many multiplications and additions it is.
struct MatrixOp {
  Handler run = nullptr;
  uint32_t flops = 0;
};

}  // namespace wavetap::emu
