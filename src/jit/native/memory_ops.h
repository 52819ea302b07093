// The memory instructions that segments do themselves (memory_emitter.h); every other one is done by
// its handler.
#pragma once

#include <cstdint>
#include <optional>

#include "isa/inst.h"

namespace wavetap::jit {

struct MemoryOp {
  enum class Space : uint8_t { kGlobal, kLds };
  // Of the register, that an element of 1 or 2 bytes is in. A load into one half keeps the other, or
  // clears it: the device decides (emu::Dispatch::sram_ecc).
  enum class Part : uint8_t { kWhole, kLow, kHigh };

  // Atomic operations, of LDS: what becomes of the element (emu/exec/atomics.h).
  enum class Update : uint8_t {
    kNone,
    kAdd,
    kSub,
    kAnd,
    kOr,
    kXor,
    kSmin,
    kSmax,
    kUmin,
    kUmax,
    kSwap,
    kAddFloat,
  };

  Space space = Space::kGlobal;
  bool is_store = false;  // or an atomic operation
  Update update = Update::kNone;
  bool is_signed = false;
  Part part = Part::kWhole;
  uint32_t bytes = 4;     // of an element: 1, 2, or dwords
  uint32_t elements = 1;  // of a lane: ds_read2 and its like have two
  uint32_t scale = 1;     // of the instruction's offsets

  uint32_t rows() const { return bytes < 4 ? 1 : bytes / 4; }  // registers of an element
  // Registers that the instruction writes.
  uint32_t results(const isa::Inst& inst) const {
    return inst.dst.is(isa::OperandKind::kNone) ? 0 : elements * rows();
  }
};

std::optional<MemoryOp> compiled_memory_op(const isa::Inst& inst);

// Scalar loads: how many dwords; 0 when it is none that is compiled.
uint32_t compiled_scalar_load(const isa::Inst& inst);

}  // namespace wavetap::jit
