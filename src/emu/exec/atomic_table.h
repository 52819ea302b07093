// The atomic operations on global memory as data: what flat_, global_ and buffer_ instructions of one
// name have in common, whatever their way to an address is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isa/inst.h"

namespace wavetap::emu {

// `data` and `result` point at a lane's entry of the first register; `stride` is the row length.
// `result` is null when nobody wants the old value; it may be where the operand is.
struct AtomicOp {
  using UpdateLanes = void (*)(std::byte* host, const uint32_t* offset, uint64_t mask,
                               const uint32_t* data, uint32_t* result);
  using UpdateOne = void (*)(std::byte* at, const uint32_t* data, uint32_t* result, size_t stride);

  uint32_t size_bytes = 0;  // in memory
  // All lanes of `mask` at host + offset[lane], all mapped and aligned, of a wave of 32 or 64. In
  // ascending order of lanes, as one by one; when all lanes have one address, they are one atomic
  // operation together.
  UpdateLanes update_lanes32 = nullptr;
  UpdateLanes update_lanes64 = nullptr;
  UpdateOne update_shared = nullptr;   // others may access it at the same time; aligned
  UpdateOne update_private = nullptr;  // LDS and scratch

  template <int L>
  UpdateLanes update_lanes() const {
    return L == 64 ? update_lanes64 : update_lanes32;
  }
};

// Null for what is no atomic operation on global memory.
const AtomicOp* find_atomic_op(isa::Op op);

}  // namespace wavetap::emu
