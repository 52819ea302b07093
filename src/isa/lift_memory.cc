// DS, FLAT (flat, global, scratch), MUBUF and MTBUF.

#include <string_view>

#include "isa/lift.h"

#include "llvm/MC/MCInst.h"

namespace wavetap::isa {
namespace {

int32_t sign_extend(uint32_t value, int bits) {
  const int shift = 32 - bits;
  return static_cast<int32_t>(value << shift) >> shift;
}

}  // namespace

void Lift::ds() {
  out_.dst = named(Name::vdst);
  out_.vaddr = named(Name::addr);
  out_.src[0] = named(Name::data0);
  out_.src[1] = named(Name::data1);
  if (info_.has(Name::offset0)) {
    out_.offset = static_cast<uint8_t>(imm(Name::offset0));
    out_.offset1 = static_cast<uint8_t>(imm(Name::offset1));
  } else {
    out_.offset = static_cast<uint16_t>(imm(Name::offset));
  }
  out_.gds = imm(Name::gds) != 0 || std::string_view(op_name(out_.op)).starts_with("ds_gws");
}

void Lift::flat() {
  out_.dst = named(Name::vdst);
  out_.src[0] = named(Name::vdata);
  out_.vaddr = named(Name::vaddr);
  out_.saddr = named(Name::saddr);
  out_.lds = info_.lds;
  // 13 bits on gfx9 and gfx11, 12 on gfx10; flat_ takes only the non-negative half of the range.
  const int bits = mc_.target().major == 10 ? 12 : 13;
  const auto raw = static_cast<uint32_t>(imm(Name::offset));
  out_.offset = info_.flat_segment ? static_cast<int32_t>(raw & ((1u << (bits - 1)) - 1))
                                   : sign_extend(raw, bits);
  cache_policy();
}

void Lift::mubuf() {
  const Operand data = named(Name::vdata);
  if (info_.defs > 0) {
    out_.dst = data;
    if (info_.atomic_return) out_.src[0] = named(Name::vdata_in);
  } else {
    out_.src[0] = data;
  }
  out_.vaddr = named(Name::vaddr);
  out_.saddr = named(Name::srsrc);
  if (const int position = info_.position(Name::soffset); position >= 0)
    out_.soffset = source_at(position, encoded_.dword[1] >> 24);
  out_.offset = static_cast<int32_t>(imm(Name::offset) & 0xfff);
  out_.offen = info_.offen;
  out_.idxen = info_.idxen;
  out_.addr64 = info_.addr64;
  out_.lds = info_.lds;
  out_.tfe = info_.tfe;
  out_.format = static_cast<uint8_t>(imm(Name::format));
  cache_policy();
}

}  // namespace wavetap::isa
