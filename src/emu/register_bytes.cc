#include "emu/register_bytes.h"

#include "emu/exec/element.h"

namespace wavetap::emu {

using isa::Op;
using isa::Sel;

namespace {

template <class T>
constexpr uint8_t element_bytes() {
  if (T::kBytes >= 4) return kAllBytes;
  return static_cast<uint8_t>(((1 << T::kBytes) - 1) << T::kDataByte);
}

}  // namespace

uint8_t bytes_of(Sel sel, uint8_t unselected) {
  switch (sel) {
    case Sel::kDword: return unselected;
    case Sel::kWord0: return kLowBytes;
    case Sel::kWord1: return kHighBytes;
    default:
      return static_cast<uint8_t>(1 << (static_cast<int>(sel) - static_cast<int>(Sel::kByte0)));
  }
}

uint8_t stored_bytes(Op op) {
  switch (op) {
// clang-format off
#define WT_STORE(name, ...)        \
  case Op::flat_store_##name:      \
  case Op::global_store_##name:    \
  case Op::scratch_store_##name:   \
  case Op::buffer_store_##name: return element_bytes<__VA_ARGS__>();
// clang-format on
#define WT_D16_STORE WT_STORE
#include "emu/exec/mem_forms.inc"
    case Op::ds_write_b8: return 0x1;
    case Op::ds_write_b8_d16_hi: return 0x4;
    case Op::ds_write_b16: return kLowBytes;
    case Op::ds_write_b16_d16_hi:
    case Op::buffer_store_format_d16_hi_x: return kHighBytes;
    default: return kAllBytes;
  }
}

uint8_t loaded_bytes(Op op) {
  switch (op) {
// clang-format off
#define WT_D16_LOAD(name, type, which) \
  case Op::flat_load_##name:           \
  case Op::global_load_##name:         \
  case Op::scratch_load_##name:        \
  case Op::buffer_load_##name: return half_bytes(which == Half::kHigh);
// clang-format on
#include "emu/exec/mem_forms.inc"
    case Op::ds_read_u8_d16:
    case Op::ds_read_i8_d16:
    case Op::ds_read_u16_d16: return kLowBytes;
    case Op::ds_read_u8_d16_hi:
    case Op::ds_read_i8_d16_hi:
    case Op::ds_read_u16_d16_hi:
    case Op::buffer_load_format_d16_hi_x: return kHighBytes;
    default: return kAllBytes;
  }
}

bool has_odd_component(Op op) {
  switch (op) {
    case Op::buffer_load_format_d16_x:
    case Op::buffer_load_format_d16_xyz:
    case Op::buffer_store_format_d16_x:
    case Op::buffer_store_format_d16_xyz:
    case Op::tbuffer_load_format_d16_x:
    case Op::tbuffer_load_format_d16_xyz:
    case Op::tbuffer_store_format_d16_x:
    case Op::tbuffer_store_format_d16_xyz: return true;
    default: return false;
  }
}

uint8_t written_m0(Op op) {
  switch (op) {
    case Op::s_set_gpr_idx_idx: return 0x1;   // 7:0, the index
    case Op::s_set_gpr_idx_mode: return 0x2;  // 15:12, which operands
    case Op::s_set_gpr_idx_on: return 0x3;    // both
    default: return kAllBytes;
  }
}

uint8_t source_bytes(Op op, const VopFacts::Source& source, const isa::Operand& operand) {
  switch (op) {
    case Op::v_cvt_f32_ubyte0: return bytes_of(operand.sel, 0x1);
    case Op::v_cvt_f32_ubyte1: return operand.sel == Sel::kDword ? 0x2 : kAllBytes;
    case Op::v_cvt_f32_ubyte2: return operand.sel == Sel::kDword ? 0x4 : kAllBytes;
    case Op::v_cvt_f32_ubyte3: return operand.sel == Sel::kDword ? 0x8 : kAllBytes;
    default: break;
  }
  switch (source.pack) {
    case Pack::kHalves: return half_bytes(operand.op_sel) | half_bytes(operand.op_sel_hi);
    case Pack::kMixed: return operand.op_sel_hi ? half_bytes(operand.op_sel) : kAllBytes;
    case Pack::kWholeHalves:
    case Pack::kDwords:
    case Pack::kSignFree: return kAllBytes;
    case Pack::kNone: break;
  }
  return bytes_of(operand.sel, source.bits == 16 ? kLowBytes : kAllBytes);
}

}  // namespace wavetap::emu
