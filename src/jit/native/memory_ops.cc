#include "jit/native/memory_ops.h"

namespace wavetap::jit {
namespace {

using isa::Inst;
using isa::Op;
using isa::Operand;
using isa::OperandKind;
using Space = MemoryOp::Space;

constexpr MemoryOp load(uint32_t bytes, bool is_signed = false) {
  MemoryOp op;
  op.bytes = bytes;
  op.is_signed = is_signed;
  return op;
}
constexpr MemoryOp store(uint32_t bytes) {
  MemoryOp op = load(bytes);
  op.is_store = true;
  return op;
}
constexpr MemoryOp low_half(MemoryOp op) {
  op.part = MemoryOp::Part::kLow;
  return op;
}
constexpr MemoryOp high_half(MemoryOp op) {
  op.part = MemoryOp::Part::kHigh;
  return op;
}
constexpr MemoryOp lds(MemoryOp op) {
  op.space = Space::kLds;
  return op;
}
constexpr MemoryOp lds2(MemoryOp op, uint32_t scale) {
  op.space = Space::kLds;
  op.elements = 2;
  op.scale = scale;
  return op;
}

std::optional<MemoryOp> row_of(Op op) {
  switch (op) {
// clang-format off
#define WT_BOTH(name, row) case Op::global_##name: case Op::flat_##name: return row;
    WT_BOTH(load_dword, load(4))     WT_BOTH(load_dwordx2, load(8))
    WT_BOTH(load_dwordx3, load(12))  WT_BOTH(load_dwordx4, load(16))
    WT_BOTH(load_ubyte, load(1))     WT_BOTH(load_sbyte, load(1, true))
    WT_BOTH(load_ushort, load(2))    WT_BOTH(load_sshort, load(2, true))
    WT_BOTH(store_dword, store(4))    WT_BOTH(store_dwordx2, store(8))
    WT_BOTH(store_dwordx3, store(12)) WT_BOTH(store_dwordx4, store(16))
    WT_BOTH(store_byte, store(1))     WT_BOTH(store_short, store(2))
    WT_BOTH(load_ubyte_d16, low_half(load(1)))       WT_BOTH(load_ubyte_d16_hi, high_half(load(1)))
    WT_BOTH(load_sbyte_d16, low_half(load(1, true))) WT_BOTH(load_sbyte_d16_hi, high_half(load(1, true)))
    WT_BOTH(load_short_d16, low_half(load(2)))       WT_BOTH(load_short_d16_hi, high_half(load(2)))
    WT_BOTH(store_byte_d16_hi, high_half(store(1)))  WT_BOTH(store_short_d16_hi, high_half(store(2)))
#undef WT_BOTH
    case Op::ds_read_b32: return lds(load(4));
    case Op::ds_read_b64: return lds(load(8));
    case Op::ds_read_b96: return lds(load(12));
    case Op::ds_read_b128: return lds(load(16));
    case Op::ds_read_u8: return lds(load(1));
    case Op::ds_read_i8: return lds(load(1, true));
    case Op::ds_read_u16: return lds(load(2));
    case Op::ds_read_i16: return lds(load(2, true));
    case Op::ds_read_u8_d16: return lds(low_half(load(1)));
    case Op::ds_read_u8_d16_hi: return lds(high_half(load(1)));
    case Op::ds_read_i8_d16: return lds(low_half(load(1, true)));
    case Op::ds_read_i8_d16_hi: return lds(high_half(load(1, true)));
    case Op::ds_read_u16_d16: return lds(low_half(load(2)));
    case Op::ds_read_u16_d16_hi: return lds(high_half(load(2)));
    case Op::ds_write_b8_d16_hi: return lds(high_half(store(1)));
    case Op::ds_write_b16_d16_hi: return lds(high_half(store(2)));
    case Op::ds_write_b8: return lds(store(1));
    case Op::ds_write_b16: return lds(store(2));
    case Op::ds_write_b32: return lds(store(4));
    case Op::ds_write_b64: return lds(store(8));
    case Op::ds_write_b96: return lds(store(12));
    case Op::ds_write_b128: return lds(store(16));
    case Op::ds_read2_b32: return lds2(load(4), 4);
    case Op::ds_read2_b64: return lds2(load(8), 8);
    case Op::ds_read2st64_b32: return lds2(load(4), 4 * 64);
    case Op::ds_read2st64_b64: return lds2(load(8), 8 * 64);
    case Op::ds_write2_b32: return lds2(store(4), 4);
    case Op::ds_write2_b64: return lds2(store(8), 8);
    case Op::ds_write2st64_b32: return lds2(store(4), 4 * 64);
    case Op::ds_write2st64_b64: return lds2(store(8), 8 * 64);
    // clang-format on
    default: return std::nullopt;
  }
}

using Update = MemoryOp::Update;

constexpr MemoryOp change(Update update, uint32_t bytes) {
  MemoryOp op = lds(store(bytes));
  op.update = update;
  return op;
}

std::optional<MemoryOp> update_row_of(Op op) {
  switch (op) {
// clang-format off
#define WT_UPDATE(name, type, update, bytes) \
  case Op::ds_##name##_##type: case Op::ds_##name##_rtn_##type: return change(Update::update, bytes);
    WT_UPDATE(add, u32, kAdd, 4)   WT_UPDATE(add, u64, kAdd, 8)
    WT_UPDATE(sub, u32, kSub, 4)   WT_UPDATE(sub, u64, kSub, 8)
    WT_UPDATE(and, b32, kAnd, 4)   WT_UPDATE(and, b64, kAnd, 8)
    WT_UPDATE(or, b32, kOr, 4)     WT_UPDATE(or, b64, kOr, 8)
    WT_UPDATE(xor, b32, kXor, 4)   WT_UPDATE(xor, b64, kXor, 8)
    WT_UPDATE(min, i32, kSmin, 4)  WT_UPDATE(min, i64, kSmin, 8)
    WT_UPDATE(max, i32, kSmax, 4)  WT_UPDATE(max, i64, kSmax, 8)
    WT_UPDATE(min, u32, kUmin, 4)  WT_UPDATE(min, u64, kUmin, 8)
    WT_UPDATE(max, u32, kUmax, 4)  WT_UPDATE(max, u64, kUmax, 8)
    WT_UPDATE(add, f32, kAddFloat, 4)
#undef WT_UPDATE
        // clang-format on
        case Op::ds_wrxchg_rtn_b32 : return change(Update::kSwap, 4);
    case Op::ds_wrxchg_rtn_b64: return change(Update::kSwap, 8);
    default: return std::nullopt;
  }
}

// Two neighbouring registers that are plain storage.
bool is_plain_pair(const Operand& operand) {
  return operand.is(OperandKind::kScalar) && operand.index + 1 < isa::slot::kNull;
}

}  // namespace

std::optional<MemoryOp> compiled_memory_op(const Inst& inst) {
  if (inst.lds || inst.gds || inst.tfe || inst.scale_offset) return std::nullopt;
  std::optional<MemoryOp> op = row_of(inst.op);
  if (!op.has_value()) op = update_row_of(inst.op);
  if (!op.has_value() || !inst.vaddr.is(OperandKind::kVgpr)) return std::nullopt;
  if (op->space == Space::kGlobal && !inst.saddr.is(OperandKind::kNone) &&
      !is_plain_pair(inst.saddr))
    return std::nullopt;
  if (!op->is_store) return inst.dst.is(OperandKind::kVgpr) ? op : std::nullopt;
  for (uint32_t i = 0; i < op->elements; ++i)
    if (!inst.src[i].is(OperandKind::kVgpr)) return std::nullopt;
  if (inst.dst.is(OperandKind::kAgpr)) return std::nullopt;
  return op;
}

uint32_t compiled_scalar_load(const Inst& inst) {
  uint32_t dwords = 0;
  switch (inst.op) {
    case Op::s_load_dword: dwords = 1; break;
    case Op::s_load_dwordx2: dwords = 2; break;
    case Op::s_load_dwordx4: dwords = 4; break;
    case Op::s_load_dwordx8: dwords = 8; break;
    case Op::s_load_dwordx16: dwords = 16; break;
    default: return 0;
  }
  if (!is_plain_pair(inst.saddr) || !inst.dst.is(OperandKind::kScalar)) return 0;
  if (inst.dst.index + dwords > isa::slot::kNull) return 0;
  if (inst.soffset.is(OperandKind::kScalar) && inst.soffset.index > isa::slot::kNull) return 0;
  return dwords;
}

}  // namespace wavetap::jit
