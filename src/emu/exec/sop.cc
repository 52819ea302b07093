// Scalar arithmetic: SOP1, SOP2, SOPK and SOPC instructions that compute. The ones that touch EXEC
// as a whole, the program counter, MODE or registers by index are in exec/sop_state.cc.
//
// Each operation is a plain function of its sources (and of SCC, which it may change); the
// templates below it fetch operands and store results. Pseudo-code in AMD's instruction set
// documents: "RDNA 2" and "Vega", chapter "Instructions". Where documents and hardware disagree
// (S_MAX: SCC only when the first source is strictly greater) the hardware's behaviour is what is
// written here.
#include <bit>
#include <cstdint>

#include "emu/exec.h"
#include "emu/exec/sop.h"
#include "emu/wave.h"

namespace wavetap::emu {
namespace {

using isa::Inst;
using isa::Op;
using isa::Operand;
using isa::OperandKind;

int32_t as_signed(uint32_t value) { return static_cast<int32_t>(value); }
int64_t as_signed(uint64_t value) { return static_cast<int64_t>(value); }

// --- Two 32-bit sources, 32-bit result.

// D = S0 + S1; SCC = carry.
uint32_t s_add_u32(uint32_t a, uint32_t b, bool& scc) {
  const uint32_t sum = a + b;
  scc = sum < a;
  return sum;
}
// D = S0 - S1; SCC = borrow.
uint32_t s_sub_u32(uint32_t a, uint32_t b, bool& scc) {
  scc = b > a;
  return a - b;
}
// D = S0 + S1; SCC = signed overflow.
uint32_t s_add_i32(uint32_t a, uint32_t b, bool& scc) {
  const uint32_t sum = a + b;
  scc = ((~(a ^ b) & (a ^ sum)) >> 31) != 0;
  return sum;
}
// D = S0 - S1; SCC = signed overflow.
uint32_t s_sub_i32(uint32_t a, uint32_t b, bool& scc) {
  const uint32_t difference = a - b;
  scc = (((a ^ b) & (a ^ difference)) >> 31) != 0;
  return difference;
}
// D = S0 + S1 + SCC; SCC = carry.
uint32_t s_addc_u32(uint32_t a, uint32_t b, bool& scc) {
  const uint64_t sum = uint64_t{a} + b + (scc ? 1 : 0);
  scc = sum >> 32 != 0;
  return static_cast<uint32_t>(sum);
}
// D = S0 - S1 - SCC; SCC = borrow.
uint32_t s_subb_u32(uint32_t a, uint32_t b, bool& scc) {
  const uint64_t subtrahend = uint64_t{b} + (scc ? 1 : 0);
  scc = subtrahend > a;
  return static_cast<uint32_t>(a - subtrahend);
}
// D = |S0 - S1|, the difference taken modulo 2^32; SCC = D != 0.
uint32_t s_absdiff_i32(uint32_t a, uint32_t b, bool& scc) {
  const uint32_t difference = a - b;
  const uint32_t result = as_signed(difference) < 0 ? 0 - difference : difference;
  scc = result != 0;
  return result;
}
// SCC = the first source was taken.
uint32_t s_min_i32(uint32_t a, uint32_t b, bool& scc) {
  return (scc = as_signed(a) < as_signed(b)) ? a : b;
}
uint32_t s_min_u32(uint32_t a, uint32_t b, bool& scc) { return (scc = a < b) ? a : b; }
uint32_t s_max_i32(uint32_t a, uint32_t b, bool& scc) {
  return (scc = as_signed(a) > as_signed(b)) ? a : b;
}
uint32_t s_max_u32(uint32_t a, uint32_t b, bool& scc) { return (scc = a > b) ? a : b; }
// D = SCC ? S0 : S1.
template <class T>
T s_cselect(T a, T b, bool& scc) {
  return scc ? a : b;
}
// Bitwise; SCC = D != 0.
template <class T>
T s_and(T a, T b, bool& scc) {
  const T d = a & b;
  scc = d != 0;
  return d;
}
template <class T>
T s_or(T a, T b, bool& scc) {
  const T d = a | b;
  scc = d != 0;
  return d;
}
template <class T>
T s_xor(T a, T b, bool& scc) {
  const T d = a ^ b;
  scc = d != 0;
  return d;
}
template <class T>
T s_andn2(T a, T b, bool& scc) {
  return s_and<T>(a, ~b, scc);
}
template <class T>
T s_orn2(T a, T b, bool& scc) {
  return s_or<T>(a, ~b, scc);
}
template <class T>
T s_nand(T a, T b, bool& scc) {
  const T d = ~(a & b);
  scc = d != 0;
  return d;
}
template <class T>
T s_nor(T a, T b, bool& scc) {
  const T d = ~(a | b);
  scc = d != 0;
  return d;
}
template <class T>
T s_xnor(T a, T b, bool& scc) {
  const T d = ~(a ^ b);
  scc = d != 0;
  return d;
}
// Shifts by the low bits of S1; SCC = D != 0.
template <class T>
T s_lshl(T a, uint32_t by, bool& scc) {
  const T d = a << (by & (sizeof(T) * 8 - 1));
  scc = d != 0;
  return d;
}
template <class T>
T s_lshr(T a, uint32_t by, bool& scc) {
  const T d = a >> (by & (sizeof(T) * 8 - 1));
  scc = d != 0;
  return d;
}
template <class T>
T s_ashr(T a, uint32_t by, bool& scc) {
  const T d = static_cast<T>(as_signed(a) >> (by & (sizeof(T) * 8 - 1)));
  scc = d != 0;
  return d;
}
// D = ((1 << S0) - 1) << S1. SCC unchanged.
template <class T>
T s_bfm(uint32_t width, uint32_t offset) {
  constexpr uint32_t kLast = sizeof(T) * 8 - 1;
  return static_cast<T>(((T{1} << (width & kLast)) - 1) << (offset & kLast));
}
// D = bits [offset, offset + width) of S0, S1 = width << 16 | offset; SCC = D != 0. A field that
// reaches beyond the top is cut there: the missing bits are zero, or copies of the sign.
template <class T>
T s_bfe_u(T a, uint32_t field, bool& scc) {
  constexpr uint32_t kBits = sizeof(T) * 8;
  const uint32_t width = field >> 16 & 0x7f;
  T d = a >> (field & (kBits - 1));
  if (width < kBits) d &= (T{1} << width) - 1;
  scc = d != 0;
  return d;
}
template <class T>
T s_bfe_i(T a, uint32_t field, bool& scc) {
  constexpr uint32_t kBits = sizeof(T) * 8;
  const uint32_t width = field >> 16 & 0x7f;
  T d = 0;
  if (width != 0) {
    d = static_cast<T>(as_signed(a) >> (field & (kBits - 1)));
    if (width < kBits)
      d = static_cast<T>(as_signed(static_cast<T>(d << (kBits - width))) >> (kBits - width));
  }
  scc = d != 0;
  return d;
}
uint32_t s_mul_i32(uint32_t a, uint32_t b, bool&) { return a * b; }
uint32_t s_mul_hi_u32(uint32_t a, uint32_t b, bool&) {
  return static_cast<uint32_t>((uint64_t{a} * b) >> 32);
}
uint32_t s_mul_hi_i32(uint32_t a, uint32_t b, bool&) {
  return static_cast<uint32_t>((int64_t{as_signed(a)} * as_signed(b)) >> 32);
}
// D = (S0 << N) + S1; SCC = the exact sum does not fit.
template <int kShift>
uint32_t s_lshl_add_u32(uint32_t a, uint32_t b, bool& scc) {
  const uint64_t sum = (uint64_t{a} << kShift) + b;
  scc = sum >> 32 != 0;
  return static_cast<uint32_t>(sum);
}
uint32_t s_pack_ll_b32_b16(uint32_t a, uint32_t b, bool&) { return (a & 0xffff) | b << 16; }
uint32_t s_pack_lh_b32_b16(uint32_t a, uint32_t b, bool&) {
  return (a & 0xffff) | (b & 0xffff0000);
}
uint32_t s_pack_hh_b32_b16(uint32_t a, uint32_t b, bool&) { return a >> 16 | (b & 0xffff0000); }
uint32_t s_pack_hl_b32_b16(uint32_t a, uint32_t b, bool&) { return a >> 16 | b << 16; }

// --- One source.

template <class T>
T s_mov(T a, bool&) {
  return a;
}
// SCC = D != 0.
template <class T>
T s_not(T a, bool& scc) {
  const T d = ~a;
  scc = d != 0;
  return d;
}
// Every bit of a quad is set when any is; SCC = D != 0.
template <class T>
T s_wqm(T a, bool& scc) {
  constexpr T kFirst = static_cast<T>(0x1111111111111111u);
  const T any = (a | a >> 1 | a >> 2 | a >> 3) & kFirst;
  const T d = any * 15;
  scc = d != 0;
  return d;
}
// One bit per quad, set when any of its four is; SCC = D != 0.
template <class T>
T s_quadmask(T a, bool& scc) {
  T d = 0;
  for (uint32_t quad = 0; quad < sizeof(T) * 2; ++quad)
    if ((a >> (quad * 4) & 15) != 0) d |= T{1} << quad;
  scc = d != 0;
  return d;
}
template <class T>
T s_brev(T a, bool&) {
  T d = 0;
  for (uint32_t bit = 0; bit < sizeof(T) * 8; ++bit)
    d |= (a >> bit & 1) << (sizeof(T) * 8 - 1 - bit);
  return d;
}
// Counts; SCC = D != 0.
template <class T>
uint32_t s_bcnt0(T a, bool& scc) {
  const auto d = static_cast<uint32_t>(std::popcount(static_cast<T>(~a)));
  scc = d != 0;
  return d;
}
template <class T>
uint32_t s_bcnt1(T a, bool& scc) {
  const auto d = static_cast<uint32_t>(std::popcount(a));
  scc = d != 0;
  return d;
}
// Position of the lowest one, -1 when there is none. s_ff0: of the lowest zero.
template <class T>
uint32_t s_ff1(T a, bool&) {
  return a == 0 ? ~0u : static_cast<uint32_t>(std::countr_zero(a));
}
template <class T>
uint32_t s_ff0(T a, bool& scc) {
  return s_ff1<T>(~a, scc);
}
// Zeros above the highest one, -1 when there is none.
template <class T>
uint32_t s_flbit_b(T a, bool&) {
  return a == 0 ? ~0u : static_cast<uint32_t>(std::countl_zero(a));
}
// Position, counted from the top, of the first bit unlike the sign; -1 when all are alike.
template <class T>
uint32_t s_flbit_i(T a, bool& scc) {
  return s_flbit_b<T>(as_signed(a) < 0 ? static_cast<T>(~a) : a, scc);
}
uint32_t s_sext_i32_i8(uint32_t a, bool&) { return static_cast<uint32_t>(static_cast<int8_t>(a)); }
uint32_t s_sext_i32_i16(uint32_t a, bool&) {
  return static_cast<uint32_t>(static_cast<int16_t>(a));
}
// The most negative number is its own absolute value; SCC = D != 0.
uint32_t s_abs_i32(uint32_t a, bool& scc) {
  scc = a != 0;
  return as_signed(a) < 0 ? 0 - a : a;
}
// Each bit twice.
uint64_t s_bitreplicate_b64_b32(uint32_t a, bool&) {
  uint64_t d = 0;
  for (uint32_t bit = 0; bit < 32; ++bit) d |= (a >> bit & 1) * (uint64_t{3} << (bit * 2));
  return d;
}

// --- Comparisons.

template <class T>
bool eq(T a, T b) {
  return a == b;
}
template <class T>
bool lg(T a, T b) {
  return a != b;
}
template <class T>
bool gt_u(T a, T b) {
  return a > b;
}
template <class T>
bool ge_u(T a, T b) {
  return a >= b;
}
template <class T>
bool lt_u(T a, T b) {
  return a < b;
}
template <class T>
bool le_u(T a, T b) {
  return a <= b;
}
bool gt_i(uint32_t a, uint32_t b) { return as_signed(a) > as_signed(b); }
bool ge_i(uint32_t a, uint32_t b) { return as_signed(a) >= as_signed(b); }
bool lt_i(uint32_t a, uint32_t b) { return as_signed(a) < as_signed(b); }
bool le_i(uint32_t a, uint32_t b) { return as_signed(a) <= as_signed(b); }

// --- Operand plumbing. T is the width of a source, D that of the result.

template <class T>
T read(const Wave& wave, const Operand& operand) {
  if constexpr (sizeof(T) == 8) return wave.read_s64(operand);
  else return wave.read_s32(operand);
}
template <class T>
void write(Wave& wave, const Operand& operand, T value) {
  if constexpr (sizeof(T) == 8) wave.write_s64(operand, value);
  else wave.write_s32(operand, value);
}

// Where a source comes from. Lowering picks the cheapest that fits, because nearly all instructions
// have plain registers and a constant at most.
struct Any {
  template <class T>
  static T read(const Wave& wave, const Operand& operand) {
    return emu::read<T>(wave, operand);
  }
};
struct Plain {
  template <class T>
  static T read(const Wave& wave, const Operand& operand) {
    if constexpr (sizeof(T) == 8) return wave.s64(operand.index);
    else return wave.s[operand.index];
  }
};
struct Constant {
  template <class T>
  static T read(const Wave&, const Operand& operand) {
    return static_cast<T>(operand.imm);
  }
};
bool is_plain(const Operand& operand) {
  return operand.kind == OperandKind::kScalar && operand.index + 1 < isa::slot::kScc &&
         operand.index != isa::slot::kNull;
}
bool is_constant(const Operand& operand) { return operand.kind == OperandKind::kImm; }

// SOP2: T wide except for the second source, which is U wide (shifts, bit fields).
template <class T, class U, T (*kFunction)(T, U, bool&), class A, class B>
void binary(Wave& wave, const Inst& inst) {
  const T a = A::template read<T>(wave, inst.src[0]);
  const U b = B::template read<U>(wave, inst.src[1]);
  write<T>(wave, inst.dst, kFunction(a, b, wave.scc));
}
template <class T, class U, T (*kFunction)(T, U, bool&)>
Handler pick(const Inst& inst) {
  if (is_plain(inst.src[0]) && is_plain(inst.src[1])) return binary<T, U, kFunction, Plain, Plain>;
  if (is_plain(inst.src[0]) && is_constant(inst.src[1]))
    return binary<T, U, kFunction, Plain, Constant>;
  return binary<T, U, kFunction, Any, Any>;
}
template <uint32_t (*kFunction)(uint32_t, uint32_t, bool&)>
Handler pick32(const Inst& inst) {
  return pick<uint32_t, uint32_t, kFunction>(inst);
}
template <uint64_t (*kFunction)(uint64_t, uint64_t, bool&)>
Handler pick64(const Inst& inst) {
  return pick<uint64_t, uint64_t, kFunction>(inst);
}
template <uint64_t (*kFunction)(uint64_t, uint32_t, bool&)>
Handler pick_shift(const Inst& inst) {
  return pick<uint64_t, uint32_t, kFunction>(inst);
}
template <class T>
void bit_field_mask(Wave& wave, const Inst& inst) {
  write<T>(wave, inst.dst, s_bfm<T>(wave.read_s32(inst.src[0]), wave.read_s32(inst.src[1])));
}
template <class D, class T, D (*kFunction)(T, bool&), class A = Any>
void unary(Wave& wave, const Inst& inst) {
  write<D>(wave, inst.dst, kFunction(A::template read<T>(wave, inst.src[0]), wave.scc));
}
template <class T>
Handler pick_move(const Inst& inst) {
  if (is_plain(inst.src[0])) return unary<T, T, s_mov<T>, Plain>;
  if (is_constant(inst.src[0])) return unary<T, T, s_mov<T>, Constant>;
  return unary<T, T, s_mov<T>>;
}
template <class T, bool (*kFunction)(T, T), class A, class B>
void compare_as(Wave& wave, const Inst& inst) {
  wave.scc =
      kFunction(A::template read<T>(wave, inst.src[0]), B::template read<T>(wave, inst.src[1]));
}
template <class T, bool (*kFunction)(T, T)>
Handler compare(const Inst& inst) {
  if (is_plain(inst.src[0]) && is_plain(inst.src[1])) return compare_as<T, kFunction, Plain, Plain>;
  if (is_plain(inst.src[0]) && is_constant(inst.src[1]))
    return compare_as<T, kFunction, Plain, Constant>;
  return compare_as<T, kFunction, Any, Any>;
}
// SCC = bit S1 of S0 equals kBit.
template <class T, bool kBit>
void bit_compare(Wave& wave, const Inst& inst) {
  const T value = read<T>(wave, inst.src[0]);
  const uint32_t bit = wave.read_s32(inst.src[1]) & (sizeof(T) * 8 - 1);
  wave.scc = ((value >> bit & 1) != 0) == kBit;
}
// D[S0] = kBit.
template <class T, bool kBit>
void bit_set(Wave& wave, const Inst& inst) {
  const T bit = T{1} << (wave.read_s32(inst.src[0]) & (sizeof(T) * 8 - 1));
  const T old = read<T>(wave, inst.dst);
  write<T>(wave, inst.dst, kBit ? old | bit : old & ~bit);
}
// if (SCC) D = S0.
template <class T>
void conditional_move(Wave& wave, const Inst& inst) {
  if (wave.scc) write<T>(wave, inst.dst, read<T>(wave, inst.src[0]));
}

// --- SOPK. The constant is sign-extended except for unsigned comparisons.

uint32_t signed_constant(const Inst& inst) { return static_cast<uint32_t>(inst.imm16); }

void s_movk_i32(Wave& wave, const Inst& inst) { wave.write_s32(inst.dst, signed_constant(inst)); }
void s_cmovk_i32(Wave& wave, const Inst& inst) {
  if (wave.scc) wave.write_s32(inst.dst, signed_constant(inst));
}
// D += K; SCC = signed overflow.
void s_addk_i32(Wave& wave, const Inst& inst) {
  wave.write_s32(inst.dst, s_add_i32(wave.read_s32(inst.dst), signed_constant(inst), wave.scc));
}
// D *= K.
void s_mulk_i32(Wave& wave, const Inst& inst) {
  wave.write_s32(inst.dst, wave.read_s32(inst.dst) * signed_constant(inst));
}
// The register compared is a source, whatever field it is encoded in.
const Operand& compared_register(const Inst& inst) {
  return inst.src[0].kind == OperandKind::kScalar ? inst.src[0] : inst.dst;
}
template <bool (*kFunction)(uint32_t, uint32_t)>
void compare_signed_constant(Wave& wave, const Inst& inst) {
  wave.scc = kFunction(wave.read_s32(compared_register(inst)), signed_constant(inst));
}
template <bool (*kFunction)(uint32_t, uint32_t)>
void compare_unsigned_constant(Wave& wave, const Inst& inst) {
  wave.scc = kFunction(wave.read_s32(compared_register(inst)), signed_constant(inst) & 0xffff);
}
// Fixed version marker; does nothing.
void s_version(Wave&, const Inst&) {}

using u32 = uint32_t;
using u64 = uint64_t;

Handler find_sop2(const Inst& inst) {
  switch (inst.op) {
    case Op::s_add_u32: return pick32<s_add_u32>(inst);
    case Op::s_sub_u32: return pick32<s_sub_u32>(inst);
    case Op::s_add_i32: return pick32<s_add_i32>(inst);
    case Op::s_sub_i32: return pick32<s_sub_i32>(inst);
    case Op::s_addc_u32: return pick32<s_addc_u32>(inst);
    case Op::s_subb_u32: return pick32<s_subb_u32>(inst);
    case Op::s_absdiff_i32: return pick32<s_absdiff_i32>(inst);
    case Op::s_min_i32: return pick32<s_min_i32>(inst);
    case Op::s_min_u32: return pick32<s_min_u32>(inst);
    case Op::s_max_i32: return pick32<s_max_i32>(inst);
    case Op::s_max_u32: return pick32<s_max_u32>(inst);
    case Op::s_cselect_b32: return pick32<s_cselect<u32>>(inst);
    case Op::s_cselect_b64: return pick64<s_cselect<u64>>(inst);
    case Op::s_and_b32: return pick32<s_and<u32>>(inst);
    case Op::s_and_b64: return pick64<s_and<u64>>(inst);
    case Op::s_or_b32: return pick32<s_or<u32>>(inst);
    case Op::s_or_b64: return pick64<s_or<u64>>(inst);
    case Op::s_xor_b32: return pick32<s_xor<u32>>(inst);
    case Op::s_xor_b64: return pick64<s_xor<u64>>(inst);
    case Op::s_andn2_b32: return pick32<s_andn2<u32>>(inst);
    case Op::s_andn2_b64: return pick64<s_andn2<u64>>(inst);
    case Op::s_orn2_b32: return pick32<s_orn2<u32>>(inst);
    case Op::s_orn2_b64: return pick64<s_orn2<u64>>(inst);
    case Op::s_nand_b32: return pick32<s_nand<u32>>(inst);
    case Op::s_nand_b64: return pick64<s_nand<u64>>(inst);
    case Op::s_nor_b32: return pick32<s_nor<u32>>(inst);
    case Op::s_nor_b64: return pick64<s_nor<u64>>(inst);
    case Op::s_xnor_b32: return pick32<s_xnor<u32>>(inst);
    case Op::s_xnor_b64: return pick64<s_xnor<u64>>(inst);
    case Op::s_lshl_b32: return pick32<s_lshl<u32>>(inst);
    case Op::s_lshl_b64: return pick_shift<s_lshl<u64>>(inst);
    case Op::s_lshr_b32: return pick32<s_lshr<u32>>(inst);
    case Op::s_lshr_b64: return pick_shift<s_lshr<u64>>(inst);
    case Op::s_ashr_i32: return pick32<s_ashr<u32>>(inst);
    case Op::s_ashr_i64: return pick_shift<s_ashr<u64>>(inst);
    case Op::s_bfm_b32: return bit_field_mask<u32>;
    case Op::s_bfm_b64: return bit_field_mask<u64>;
    case Op::s_bfe_u32: return pick32<s_bfe_u<u32>>(inst);
    case Op::s_bfe_i32: return pick32<s_bfe_i<u32>>(inst);
    case Op::s_bfe_u64: return pick_shift<s_bfe_u<u64>>(inst);
    case Op::s_bfe_i64: return pick_shift<s_bfe_i<u64>>(inst);
    case Op::s_mul_i32: return pick32<s_mul_i32>(inst);
    case Op::s_mul_hi_u32: return pick32<s_mul_hi_u32>(inst);
    case Op::s_mul_hi_i32: return pick32<s_mul_hi_i32>(inst);
    case Op::s_lshl1_add_u32: return pick32<s_lshl_add_u32<1>>(inst);
    case Op::s_lshl2_add_u32: return pick32<s_lshl_add_u32<2>>(inst);
    case Op::s_lshl3_add_u32: return pick32<s_lshl_add_u32<3>>(inst);
    case Op::s_lshl4_add_u32: return pick32<s_lshl_add_u32<4>>(inst);
    case Op::s_pack_ll_b32_b16: return pick32<s_pack_ll_b32_b16>(inst);
    case Op::s_pack_lh_b32_b16: return pick32<s_pack_lh_b32_b16>(inst);
    case Op::s_pack_hh_b32_b16: return pick32<s_pack_hh_b32_b16>(inst);
    case Op::s_pack_hl_b32_b16: return pick32<s_pack_hl_b32_b16>(inst);
    default: return nullptr;
  }
}

Handler find_sop1(const Inst& inst) {
  switch (inst.op) {
    case Op::s_mov_b32: return pick_move<u32>(inst);
    case Op::s_mov_b64: return pick_move<u64>(inst);
    case Op::s_cmov_b32: return conditional_move<u32>;
    case Op::s_cmov_b64: return conditional_move<u64>;
    case Op::s_not_b32: return unary<u32, u32, s_not<u32>>;
    case Op::s_not_b64: return unary<u64, u64, s_not<u64>>;
    case Op::s_wqm_b32: return unary<u32, u32, s_wqm<u32>>;
    case Op::s_wqm_b64: return unary<u64, u64, s_wqm<u64>>;
    case Op::s_quadmask_b32: return unary<u32, u32, s_quadmask<u32>>;
    case Op::s_quadmask_b64: return unary<u64, u64, s_quadmask<u64>>;
    case Op::s_brev_b32: return unary<u32, u32, s_brev<u32>>;
    case Op::s_brev_b64: return unary<u64, u64, s_brev<u64>>;
    case Op::s_bcnt0_i32_b32: return unary<u32, u32, s_bcnt0<u32>>;
    case Op::s_bcnt0_i32_b64: return unary<u32, u64, s_bcnt0<u64>>;
    case Op::s_bcnt1_i32_b32: return unary<u32, u32, s_bcnt1<u32>>;
    case Op::s_bcnt1_i32_b64: return unary<u32, u64, s_bcnt1<u64>>;
    case Op::s_ff0_i32_b32: return unary<u32, u32, s_ff0<u32>>;
    case Op::s_ff0_i32_b64: return unary<u32, u64, s_ff0<u64>>;
    case Op::s_ff1_i32_b32: return unary<u32, u32, s_ff1<u32>>;
    case Op::s_ff1_i32_b64: return unary<u32, u64, s_ff1<u64>>;
    case Op::s_flbit_i32_b32: return unary<u32, u32, s_flbit_b<u32>>;
    case Op::s_flbit_i32_b64: return unary<u32, u64, s_flbit_b<u64>>;
    case Op::s_flbit_i32: return unary<u32, u32, s_flbit_i<u32>>;
    case Op::s_flbit_i32_i64: return unary<u32, u64, s_flbit_i<u64>>;
    case Op::s_sext_i32_i8: return unary<u32, u32, s_sext_i32_i8>;
    case Op::s_sext_i32_i16: return unary<u32, u32, s_sext_i32_i16>;
    case Op::s_abs_i32: return unary<u32, u32, s_abs_i32>;
    case Op::s_bitset0_b32: return bit_set<u32, false>;
    case Op::s_bitset0_b64: return bit_set<u64, false>;
    case Op::s_bitset1_b32: return bit_set<u32, true>;
    case Op::s_bitset1_b64: return bit_set<u64, true>;
    case Op::s_bitreplicate_b64_b32: return unary<u64, u32, s_bitreplicate_b64_b32>;
    default: return nullptr;
  }
}

Handler find_sopc(const Inst& inst) {
  switch (inst.op) {
    case Op::s_cmp_eq_i32:
    case Op::s_cmp_eq_u32: return compare<u32, eq<u32>>(inst);
    case Op::s_cmp_lg_i32:
    case Op::s_cmp_lg_u32: return compare<u32, lg<u32>>(inst);
    case Op::s_cmp_gt_i32: return compare<u32, gt_i>(inst);
    case Op::s_cmp_ge_i32: return compare<u32, ge_i>(inst);
    case Op::s_cmp_lt_i32: return compare<u32, lt_i>(inst);
    case Op::s_cmp_le_i32: return compare<u32, le_i>(inst);
    case Op::s_cmp_gt_u32: return compare<u32, gt_u<u32>>(inst);
    case Op::s_cmp_ge_u32: return compare<u32, ge_u<u32>>(inst);
    case Op::s_cmp_lt_u32: return compare<u32, lt_u<u32>>(inst);
    case Op::s_cmp_le_u32: return compare<u32, le_u<u32>>(inst);
    case Op::s_cmp_eq_u64: return compare<u64, eq<u64>>(inst);
    case Op::s_cmp_lg_u64: return compare<u64, lg<u64>>(inst);
    case Op::s_bitcmp0_b32: return bit_compare<u32, false>;
    case Op::s_bitcmp1_b32: return bit_compare<u32, true>;
    case Op::s_bitcmp0_b64: return bit_compare<u64, false>;
    case Op::s_bitcmp1_b64: return bit_compare<u64, true>;
    default: return nullptr;
  }
}

Handler find_sopk(const Inst& inst) {
  switch (inst.op) {
    case Op::s_movk_i32: return s_movk_i32;
    case Op::s_cmovk_i32: return s_cmovk_i32;
    case Op::s_addk_i32: return s_addk_i32;
    case Op::s_mulk_i32: return s_mulk_i32;
    case Op::s_version: return s_version;
    case Op::s_cmpk_eq_i32: return compare_signed_constant<eq<u32>>;
    case Op::s_cmpk_lg_i32: return compare_signed_constant<lg<u32>>;
    case Op::s_cmpk_gt_i32: return compare_signed_constant<gt_i>;
    case Op::s_cmpk_ge_i32: return compare_signed_constant<ge_i>;
    case Op::s_cmpk_lt_i32: return compare_signed_constant<lt_i>;
    case Op::s_cmpk_le_i32: return compare_signed_constant<le_i>;
    case Op::s_cmpk_eq_u32: return compare_unsigned_constant<eq<u32>>;
    case Op::s_cmpk_lg_u32: return compare_unsigned_constant<lg<u32>>;
    case Op::s_cmpk_gt_u32: return compare_unsigned_constant<gt_u<u32>>;
    case Op::s_cmpk_ge_u32: return compare_unsigned_constant<ge_u<u32>>;
    case Op::s_cmpk_lt_u32: return compare_unsigned_constant<lt_u<u32>>;
    case Op::s_cmpk_le_u32: return compare_unsigned_constant<le_u<u32>>;
    default: return nullptr;
  }
}

}  // namespace

Handler find_sop(const isa::Inst& inst, Shape shape) {
  for (const Handler found : {find_sop2(inst), find_sop1(inst), find_sopc(inst), find_sopk(inst),
                              find_sop_state(inst, shape)})
    if (found != nullptr) return found;
  return nullptr;
}

}  // namespace wavetap::emu
