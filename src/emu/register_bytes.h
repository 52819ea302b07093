// Which bytes of its registers an operation uses, where that is not all of them. Bit i is byte i.
#pragma once

#include <cstdint>

#include "emu/exec/vop_row.h"
#include "isa/inst.h"

namespace wavetap::emu {

inline constexpr uint8_t kAllBytes = 0xf;
inline constexpr uint8_t kLowBytes = 0x3;
inline constexpr uint8_t kHighBytes = 0xc;

constexpr uint8_t half_bytes(bool high) { return high ? kHighBytes : kLowBytes; }

// The bytes of a register that a select names; `unselected` when it names none.
uint8_t bytes_of(isa::Sel sel, uint8_t unselected);

// Of the data of a store.
uint8_t stored_bytes(isa::Op op);

// Of the result of a load, without SRAM ECC.
uint8_t loaded_bytes(isa::Op op);

// An odd number of 16-bit components: the last register has one in its low half.
bool has_odd_component(isa::Op op);

// Of M0, by the scalar operations that write it.
uint8_t written_m0(isa::Op op);

// Of its register, by a source of a vector operation; 64-bit and wider sources read all.
uint8_t source_bytes(isa::Op op, const VopFacts::Source& source, const isa::Operand& operand);

}  // namespace wavetap::emu
