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

// Invalidates the cache nearest to a wave, which is all that waves of one workgroup need to see each other's
// stores. They run on one thread of the host: what is left is that later accesses come after earlier loads.
// What orders a wave and other workgroups invalidates the next cache as well.
constexpr bool is_workgroup_fence(isa::Op op) { return op == isa::Op::buffer_gl0_inv; }

}  // namespace wavetap::emu
