// Lift: from LLVM's MCInst to Inst. Private to isa/.
//
// LLVM says which registers an instruction names; the fields that LLVM interprets for printing
// (constants, op_sel of targets whose 16-bit registers it does not model) are taken from the
// encoding itself.
#pragma once

#include <cstdint>
#include <span>

#include "isa/constants.h"
#include "isa/inst.h"
#include "isa/mc.h"

namespace wavetap::isa {

// The encoded bytes: up to five dwords (an image instruction with many addresses).
struct Encoded {
  uint32_t dword[5] = {};
  unsigned size_bytes = 0;

  uint32_t literal() const { return size_bytes >= 4 ? dword[size_bytes / 4 - 1] : 0; }
};

// Halves of 16-bit VGPR operands that the encoding names by a register number of 128 and above and
// that had to be cleared for LLVM to accept it (gfx11). See decoder.cc.
struct TrueSixteen {
  bool dst_high = false;
  bool vsrc1_high = false;
};

class Lift {
 public:
  Lift(Mc& mc, const llvm::MCInst& mi, const OpcodeInfo& info, const Encoded& encoded, Inst& out)
      : mc_(mc), mi_(mi), info_(info), encoded_(encoded), out_(out) {}

  // Fills `out`. For a VOPD pair, `out_y` gets the second half. False: not representable.
  bool run(TrueSixteen true16, Inst& out_y);

 private:
  // lift.cc
  Operand operand_at(int position) const;
  Operand source_at(int position, uint32_t field) const;
  Operand named(Name name) const;
  int64_t imm(Name name) const;  // 0 when absent
  uint32_t modifiers(Name name) const { return static_cast<uint32_t>(imm(name)); }
  Operand mask_operand(uint16_t slot) const;
  void cache_policy();

  // lift_scalar.cc
  void sop();
  void sopk();
  void sopp();
  void smem();

  // lift_vector.cc
  void vop();
  bool vopd(Inst& out_y);
  void vopd_half(Inst& half, Op op, int dst, int first, int last, uint32_t field);
  void vop_sources();
  void vop_implicit_vcc();
  void sdwa();
  void dpp();
  void permlane();
  void matrix();
  void half_result(TrueSixteen true16);
  uint32_t vop_field(int source) const;

  // lift_memory.cc
  void ds();
  void flat();
  void mubuf();

  // lift_image.cc
  void image();
  void image_addresses(int major);

  Mc& mc_;
  const llvm::MCInst& mi_;
  const OpcodeInfo& info_;
  const Encoded& encoded_;
  Inst& out_;
};

}  // namespace wavetap::isa
