// Instructions that write back or invalidate caches. The engine has no caches; what is left of them is
// their place in the memory model, a fence between the accesses of a wave.
#pragma once

#include "isa/inst.h"

namespace wavetap::emu {

constexpr bool is_cache_fence(isa::Op op) {
  using isa::Op;
  switch (op) {
    case Op::buffer_wbinvl1:
    case Op::buffer_wbinvl1_vol:
    case Op::buffer_wbl2:
    case Op::buffer_inv:
    case Op::buffer_invl2:
    case Op::buffer_gl0_inv:
    case Op::buffer_gl1_inv: return true;
    default: return false;
  }
}

}  // namespace wavetap::emu
