// Implementation of testing/vop_check.h.
#include "emu/testing/vop_check.h"

#include <bit>
#include <map>

namespace wavetap::emu {
namespace {

using isa::Inst;
using isa::Operand;
using isa::OperandKind;
using isa::Sel;

uint64_t flush_part(uint64_t value, int bits) {
  const uint64_t exponent = bits == 64   ? 0x7ffull << 52
                            : bits == 32 ? 0xffull << 23
                                         : 0x1full << 10;
  return (value & exponent) == 0 ? value & uint64_t{1} << (bits - 1) : value;
}
// Flushes denormals of a value of the type, part by part.
uint64_t flushed(const ValueType& type, uint64_t value) {
  if (!type.is_float) return value;
  if (!type.is_packed) return flush_part(value, type.bits);
  const int half = type.part_bits;
  return flush_part(value & ((uint64_t{1} << half) - 1), half) | flush_part(value >> half, half)
                                                                     << half;
}
const ValueType& f16_type() {
  static const ValueType type("f16");
  return type;
}
const ValueType& f32_type() {
  static const ValueType type("f32");
  return type;
}

std::vector<std::string> split(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// The lane DPP reads for `lane`; -1: none.
int dpp_lane(const Inst& inst, int lane, int lanes) {
  if (inst.dpp == isa::Dpp::kDpp8)
    return lane / 8 * 8 + static_cast<int>(inst.dpp8 >> lane % 8 * 3 & 7);
  const int c = inst.dpp_ctrl, row = lane / 16 * 16, n = c & 15;
  if (c <= 0xff) return lane / 4 * 4 + (c >> lane % 4 * 2 & 3);
  if (c >= 0x101 && c <= 0x10f) return lane % 16 + n <= 15 ? lane + n : -1;
  if (c >= 0x111 && c <= 0x11f) return lane % 16 >= n ? lane - n : -1;
  if (c >= 0x121 && c <= 0x12f) return row + (lane % 16 + 16 - n) % 16;
  if (c == 0x130) return lane == lanes - 1 ? -1 : lane + 1;
  if (c == 0x134) return lane == lanes - 1 ? 0 : lane + 1;
  if (c == 0x138) return lane == 0 ? -1 : lane - 1;
  if (c == 0x13c) return lane == 0 ? lanes - 1 : lane - 1;
  if (c == 0x140) return row + 15 - lane % 16;
  if (c == 0x141) return lane / 8 * 8 + 7 - lane % 8;
  if (c == 0x142) return row == 0 ? -1 : row - 1;
  if (c == 0x143) return lane < 32 ? -1 : 31;
  if (c >= 0x150 && c <= 0x15f) return row + n;
  if (c >= 0x160 && c <= 0x16f) return row + (lane % 16 ^ n);
  return -1;
}

uint64_t part_of(uint64_t value, Sel sel, bool sext) {
  int shift = 0, bits = 32;
  switch (sel) {
    case Sel::kDword: return value;
    case Sel::kByte0: shift = 0, bits = 8; break;
    case Sel::kByte1: shift = 8, bits = 8; break;
    case Sel::kByte2: shift = 16, bits = 8; break;
    case Sel::kByte3: shift = 24, bits = 8; break;
    case Sel::kWord0: shift = 0, bits = 16; break;
    case Sel::kWord1: shift = 16, bits = 16; break;
  }
  uint64_t part = value >> shift & ((uint64_t{1} << bits) - 1);
  if (sext && (part >> (bits - 1) & 1) != 0) part |= 0xffffffffull << bits & 0xffffffff;
  return part;
}

}  // namespace

const std::vector<uint64_t>& edge_values(const std::string& type) {
  static const std::map<std::string, std::vector<uint64_t>>* const lists = [] {
    auto* made = new std::map<std::string, std::vector<uint64_t>>;
    (*made)["f32"] = {0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0xbf000000,
                      0x3fc00000, 0x40200000, 0xc0200000, 0x3effffff, 0x3f7fffff, 0x00800000,
                      0x80800000, 0x007fffff, 0x807fffff, 0x00000001, 0x80000001, 0x7f7fffff,
                      0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00001, 0xffc12345, 0x7f800001,
                      0xffa00000, 0x4f000000, 0xcf000000, 0x4f800000, 0x477fe000, 0x477ff000,
                      0x40490fdb, 0x437f8000, 0x33000000, 0x33000001, 0x387fc000, 0x7e800000,
                      0x43800001};
    (*made)["f64"] = {
        0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000,
        0x3fe0000000000000, 0xbfe0000000000000, 0x4004000000000000, 0xc004000000000000,
        0x3fdfffffffffffff, 0x0010000000000000, 0x800fffffffffffff, 0x0000000000000001,
        0x8000000000000001, 0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000,
        0xfff0000000000000, 0x7ff8000000000001, 0xfff8000012345678, 0x7ff0000000000001,
        0xfff4000000000000, 0x41e0000000000000, 0xc1e0000000000000, 0x41f0000000000000,
        0x41dfffffffc00000, 0x400921fb54442d18, 0x47efffffe0000000, 0x47efffffefffffff,
        0x3810000000000000, 0x36a0000000000000, 0x7fd0000000000000};
    (*made)["f16"] = {0x0000, 0x8000, 0x3c00, 0xbc00, 0x3800, 0xb800, 0x3e00, 0x4100,
                      0xc100, 0x37ff, 0x3bff, 0x0400, 0x8400, 0x03ff, 0x83ff, 0x0001,
                      0x8001, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e01, 0xfe55, 0x7c01,
                      0xfd00, 0x7800, 0x4248, 0x3555, 0x0200, 0x5bff};
    (*made)["32"] = {0,          1,          2,          0xffffffff, 0x80000000, 0x7fffffff,
                     0x80000001, 31,         32,         33,         0xffff,     0x8000,
                     0x7fff,     0x10000,    0x00ffffff, 0x00800000, 0x01000000, 0x7f,
                     0x80,       0xff,       0x01010101, 0x80808080, 0xffff0000, 0x12345678,
                     0x0c0b0a09, 0x7fff8000, 0x80007fff};
    (*made)["16"] = {0,  1,    2,     0xffff, 0x8000, 0x7fff, 0x8001, 15,    16,
                     17, 0xff, 0x100, 0x80,   0x7f,   0x5555, 0xaaaa, 0xfffe};
    (*made)["64"] = {
        0,          1,  ~0ull, 0x8000000000000000, 0x7fffffffffffffff, 0xffffffff, 0x100000000,
        0x80000000, 63, 64,    0x123456789abcdef0, 0xffffffff00000000};
    return made;
  }();
  if (const auto found = lists->find(type); found != lists->end()) return found->second;
  const bool is_packed = type.starts_with("pk") || type == "mix";
  const bool is_wide = type.ends_with("64") || type == "pkf32" || type == "pkb32";
  const bool is_narrow = !is_packed && (type == "b8" || type.ends_with("16"));
  return lists->at(is_wide ? "64" : is_narrow ? "16" : "32");
}

ValueType::ValueType(const std::string& name)
    : is_packed(name.starts_with("pk")),
      is_mix(name == "mix"),
      is_float(name[0] == 'f' || name == "pkf16" || name == "pkf32"),
      edges(&edge_values(name)) {
  if (name == "b8") bits = 8;
  else if (name.ends_with("64") || name == "pkf32" || name == "pkb32") bits = 64;
  else if (!is_packed && name.ends_with("16")) bits = 16;
  part_bits = is_packed ? bits / 2 : bits;
  uses_f32_mode = name == "f32" || name == "pkf32";
  if (is_packed) part_edges = &edge_values((is_float ? "f" : "u") + std::to_string(part_bits));
}

VopCheck::VopCheck(const Shape& shape)
    : machine(TestMachine::Options{
          .target = shape.target, .wave64 = shape.wave64, .vgprs = 40, .agprs = 8}),
      shape_(shape) {}

uint64_t VopCheck::ordinary_value(const ValueType& type) {
  const uint64_t bits = random_();
  if (type.is_float && type.part_bits == 64)
    return (bits & 0x807fffffffffffff) + 0x3fc0000000000000;
  if (type.is_float && type.part_bits == 16) return (bits & 0x83ff83ff) | 0x3c003800;
  // Also for the mixed ones, whose upper half is then an ordinary f16 too.
  return (bits & 0x83ffffff83ffffff) + 0x3c0000003c000000;
}

uint64_t VopCheck::operand_value(const Operand& operand, int lane) const {
  const int lanes = shape_.wave64 ? 64 : 32;
  switch (operand.kind) {
    case OperandKind::kImm: return operand.imm;
    case OperandKind::kVgpr: {
      const uint64_t low =
          before_[operand.index * static_cast<size_t>(lanes) + static_cast<size_t>(lane)];
      if (operand.dwords < 2) return low;
      return low | uint64_t{before_[(operand.index + 1u) * static_cast<size_t>(lanes) +
                                    static_cast<size_t>(lane)]}
                       << 32;
    }
    case OperandKind::kScalar:
      return scalars_before_[operand.index] |
             (operand.dwords > 1 ? uint64_t{scalars_before_[operand.index + 1]} << 32 : 0);
    default: return 0;
  }
}

uint64_t VopCheck::modified_source(const Inst& inst, int k, const ValueType& type, int lane,
                                   bool& writable) const {
  const int lanes = shape_.wave64 ? 64 : 32;
  const Operand& operand = inst.src[k];
  uint64_t value = 0;
  if (k == 0 && inst.dpp != isa::Dpp::kNone) {
    const int from = dpp_lane(inst, lane, lanes);
    const uint32_t exec_half = from < 32 ? isa::slot::kExecLo : isa::slot::kExecHi;
    const bool valid =
        from >= 0 && (inst.fetch_inactive || (scalars_before_[exec_half] >> from % 32 & 1) != 0);
    if (valid) value = operand_value(operand, from);
    else if (!inst.bound_ctrl && inst.dpp == isa::Dpp::kDpp16) writable = false;
    if (inst.dpp == isa::Dpp::kDpp16 &&
        ((inst.row_mask >> lane / 16 & 1) == 0 || (inst.bank_mask >> lane % 16 / 4 & 1) == 0))
      writable = false;
  } else {
    value = operand_value(operand, lane);
  }
  const FloatMode& mode = machine.wave.mode;
  if (type.is_mix) {
    if (operand.op_sel_hi) {
      uint16_t half = static_cast<uint16_t>(operand.op_sel ? value >> 16 : value);
      if ((mode.denorm_f16_f64 & 1) == 0) half = static_cast<uint16_t>(flushed(f16_type(), half));
      const double wide = reference_f16(half);
      value = std::isnan(wide)
                  ? uint64_t{half & 0x8000u} << 16 | 0x7f800000u | uint64_t{half & 0x3ffu} << 13
                  : std::bit_cast<uint32_t>(static_cast<float>(wide));
    } else if ((mode.denorm_f32 & 1) == 0) {
      value = flushed(f32_type(), value);
    }
    if (operand.abs) value &= 0x7fffffff;
    if (operand.neg) value ^= 0x80000000;
    return value;
  }
  if (type.is_packed) {
    const int half_bits = type.part_bits;
    const uint64_t half_mask = (uint64_t{1} << half_bits) - 1;
    const bool in_place =
        inst.op == isa::Op::v_pk_fmac_f16 || inst.op == isa::Op::v_dot2c_f32_f16 ||
        inst.op == isa::Op::v_dot2c_i32_i16 || inst.op == isa::Op::v_dot2_f16_f16 ||
        inst.op == isa::Op::v_dot2_bf16_bf16;
    uint64_t lower =
        in_place || !operand.op_sel ? value & half_mask : value >> half_bits & half_mask;
    uint64_t upper =
        in_place || operand.op_sel_hi ? value >> half_bits & half_mask : value & half_mask;
    const uint64_t sign = uint64_t{1} << (half_bits - 1);
    if (in_place && operand.abs) lower &= ~sign, upper &= ~sign;
    if (operand.neg) lower ^= uint64_t{1} << (half_bits - 1);
    if (in_place ? operand.neg : operand.abs) upper ^= uint64_t{1} << (half_bits - 1);
    value = lower | upper << half_bits;
  } else {
    const int bits = type.bits;
    if (bits != 64) value = part_of(value & 0xffffffff, operand.sel, operand.sext);
    if (bits == 16) value &= 0xffff;
    if (bits == 8) value &= 0xff;
    const uint64_t sign = bits == 8 ? 0 : uint64_t{1} << (bits - 1);
    const bool sign_is_choice =
        inst.op == isa::Op::v_dot4_i32_iu8 || inst.op == isa::Op::v_dot8_i32_iu4;
    if (operand.abs && !sign_is_choice) value &= ~sign;
    if (operand.neg && !sign_is_choice) value ^= sign;
  }
  if (type.is_float && ((type.uses_f32_mode ? mode.denorm_f32 : mode.denorm_f16_f64) & 1) == 0)
    value = flushed(type, value);
  return value;
}

uint64_t VopCheck::finished_result(const Inst& inst, const ValueType& type, uint64_t value) const {
  const FloatMode& mode = machine.wave.mode;
  if (!type.is_float) return value;
  const bool keeps = ((type.uses_f32_mode ? mode.denorm_f32 : mode.denorm_f16_f64) & 2) != 0;
  if (!keeps) value = flushed(type, value);
  const auto each = [&](auto&& fn) -> uint64_t {
    if (!type.is_packed) return fn(value, type);
    const int half = type.part_bits;
    const ValueType& part = half == 16 ? f16_type() : f32_type();
    return fn(value & ((uint64_t{1} << half) - 1), part) | fn(value >> half, part) << half;
  };
  const auto as_double = [](uint64_t bits, const ValueType& t) {
    return t.bits == 16   ? reference_f16(static_cast<uint16_t>(bits))
           : t.bits == 32 ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)))
                          : std::bit_cast<double>(bits);
  };
  const auto as_bits = [](double number, const ValueType& t) -> uint64_t {
    return t.bits == 16   ? reference_to_f16(number)
           : t.bits == 32 ? std::bit_cast<uint32_t>(static_cast<float>(number))
                          : std::bit_cast<uint64_t>(number);
  };
  if (inst.omod != 0 && !mode.ieee && !keeps)
    value = each([&](uint64_t bits, const ValueType& t) -> uint64_t {
      const double number = as_double(bits, t);
      if (std::isnan(number)) return bits;
      const double scaled = number * (inst.omod == 1 ? 2 : inst.omod == 2 ? 4 : 0.5);
      const uint64_t result = flushed(t, as_bits(scaled, t));
      return scaled == 0 ? 0 : result;
    });
  if (inst.clamp)
    value = each([&](uint64_t bits, const ValueType& t) -> uint64_t {
      const double number = as_double(bits, t);
      if (std::isnan(number)) return mode.dx10_clamp ? 0 : bits;
      return number <= 0 ? 0 : as_bits(number > 1 ? 1 : number, t);
    });
  return value;
}

uint32_t VopCheck::merged(const Inst& inst, int bits, uint64_t value, uint32_t old) const {
  const uint32_t low = static_cast<uint32_t>(value);
  int shift = 0, width = 32;
  switch (inst.dst.sel) {
    case Sel::kDword: return bits < 32 ? low & ((1u << bits) - 1) : low;
    case Sel::kByte0: shift = 0, width = 8; break;
    case Sel::kByte1: shift = 8, width = 8; break;
    case Sel::kByte2: shift = 16, width = 8; break;
    case Sel::kByte3: shift = 24, width = 8; break;
    case Sel::kWord0: shift = 0, width = 16; break;
    case Sel::kWord1: shift = 16, width = 16; break;
  }
  const uint32_t mask = (width == 8 ? 0xffu : 0xffffu) << shift;
  const uint32_t placed = (low << shift) & mask;
  if (inst.dst_preserve) return placed | (old & ~mask);
  if (!inst.dst_sext) return placed;
  const bool negative = (low >> (width - 1) & 1) != 0;
  const uint32_t above = static_cast<uint32_t>(~uint64_t{0} << (shift + width));
  return placed | (negative ? above : 0);
}

bool VopCheck::check(const Inst& inst, int rounds, uint64_t exec) {
  const auto found = vop_reference().find(isa::op_name(inst.op));
  if (found == vop_reference().end()) return false;
  const ReferenceOp& reference = found->second;
  const Handler handler = find(inst, shape_);
  EXPECT_NE(handler, nullptr) << found->first;
  if (handler == nullptr) return true;

  const std::vector<std::string> types = split(reference.types);
  const ValueType result_type(types[0]);
  const bool reads_old = reference.types.find("old") != std::string::npos;
  std::vector<ValueType> sources;
  bool has_mask_source = false, has_mask_result = false;
  for (size_t i = 1; i < types.size(); ++i) {
    if (types[i] == "mask") has_mask_source = true;
    else if (types[i] == "+bit") has_mask_result = true;
    else if (types[i] != "old") sources.emplace_back(types[i]);
  }
  const bool is_compare = types[0] == "bit";
  const bool is_cmpx = found->first.starts_with("v_cmpx");
  const bool saturates = inst.clamp && !result_type.is_float && reference.saturating != nullptr;
  const int lanes = shape_.wave64 ? 64 : 32;
  Wave& wave = machine.wave;
  const size_t row_count = 40u * static_cast<size_t>(lanes);

  for (int round = 0; round < rounds; ++round) {
    // Operands: every pair of edge values first, then random picks; a third of them random bits.
    for (size_t i = 0; i < row_count; i += 2) {
      const uint64_t both = random_();
      wave.v[i] = static_cast<uint32_t>(both);
      wave.v[i + 1] = static_cast<uint32_t>(both >> 32);
    }
    for (int lane = 0; lane < lanes; ++lane) {
      size_t n = static_cast<size_t>(round * lanes + lane);
      for (size_t k = 0; k < sources.size(); ++k) {
        const Operand& operand = inst.src[k];
        if (operand.kind != OperandKind::kVgpr) continue;
        const ValueType& type = sources[k];
        const bool has_parts = type.is_packed || type.is_mix;
        uint64_t value = random_();
        if (sources.size() > 2 || has_parts ? random_() % 3 != 0 : n < type.edges->size() * 40) {
          if (has_parts) {
            const ValueType& mixed = operand.op_sel_hi ? f16_type() : f32_type();
            const auto& list = type.is_mix ? *mixed.edges : *type.part_edges;
            const int shift = type.is_mix ? mixed.bits : type.part_bits;
            value = list[random_() % list.size()] | list[random_() % list.size()] << shift;
          } else {
            const auto& list = *type.edges;
            value = sources.size() > 2 ? list[random_() % list.size()] : list[n % list.size()];
            n /= list.size();
            // The unselected half stays random.
            if (type.bits == 16) {
              const uint64_t other = random_() & 0xffff;
              value = operand.sel == Sel::kWord1 ? value << 16 | other : value | other << 16;
            }
          }
        } else if (type.is_float && type.part_bits == 32 && !has_parts && random_() % 2 == 0) {
          value = (value & 0x83ffffff) + 0x3c000000;  // near one
        } else if (type.is_float && type.part_bits == 64 && random_() % 2 == 0) {
          value = (value & 0x807fffffffffffff) + 0x3fc0000000000000;
        }
        if (ordinary && (type.is_float || type.is_mix)) value = ordinary_value(type);
        machine.set_v(operand.index, lane, static_cast<uint32_t>(value));
        if (operand.dwords > 1)
          machine.set_v(operand.index + 1u, lane, static_cast<uint32_t>(value >> 32));
      }
      if (types.size() > 1 && reads_old && random_() % 2 == 0) {
        const auto& list = *result_type.edges;
        machine.set_v(inst.dst.index, lane, static_cast<uint32_t>(list[random_() % list.size()]));
        if (ordinary && result_type.is_float)
          machine.set_v(inst.dst.index, lane, static_cast<uint32_t>(ordinary_value(result_type)));
      }
    }
    for (uint32_t at = 0; at < 64; ++at)
      machine.set_s(at, static_cast<uint32_t>(ordinary ? ordinary_value(f32_type()) : random_()));
    machine.set_vcc(random_());
    machine.set_exec(exec);
    before_.assign(wave.v, wave.v + row_count);
    std::copy(std::begin(wave.s), std::end(wave.s), scalars_before_.begin());

    handler(wave, inst);

    uint64_t expected_mask = 0;
    const uint64_t mask_source =
        !has_mask_source ? 0
        : inst.src[sources.size()].kind == OperandKind::kNone
            ? scalars_before_[isa::slot::kVccLo] | uint64_t{scalars_before_[isa::slot::kVccHi]}
                                                       << 32
            : scalars_before_[inst.src[sources.size()].index] |
                  uint64_t{scalars_before_[inst.src[sources.size()].index + 1]} << 32;
    expected_ = before_;
    std::vector<uint32_t>& expected = expected_;
    for (int lane = 0; lane < lanes; ++lane) {
      bool writable = (exec >> lane & 1) != 0;
      ReferenceLane in;
      in.lane = lane;
      in.ieee = wave.mode.ieee;
      in.fp16_overflow = wave.mode.fp16_overflow;
      in.mask = (mask_source >> lane & 1) != 0;
      for (size_t k = 0; k < sources.size(); ++k)
        in.s[k] = modified_source(inst, static_cast<int>(k), sources[k], lane, writable);
      in.old = inst.dst.kind == OperandKind::kVgpr ? operand_value(inst.dst, lane) : 0;
      if (!inst.sdwa && inst.dst.sel == Sel::kWord1) in.old >>= 16;
      if (reads_old && result_type.is_float &&
          ((result_type.uses_f32_mode ? wave.mode.denorm_f32 : wave.mode.denorm_f16_f64) & 1) == 0)
        in.old = flushed(result_type, result_type.bits == 16 ? in.old & 0xffff : in.old);
      if (!writable) continue;
      const ReferenceResult result = saturates ? reference.saturating(in) : reference.run(in);
      if (result.bit) expected_mask |= uint64_t{1} << lane;
      if (is_compare) continue;
      const uint64_t value = finished_result(inst, result_type, result.value);
      const size_t at = inst.dst.index * static_cast<size_t>(lanes) + static_cast<size_t>(lane);
      const int bits = result_type.bits;
      expected[at] =
          bits == 64 ? static_cast<uint32_t>(value) : merged(inst, bits, value, before_[at]);
      if (bits == 64)
        expected[at + static_cast<size_t>(lanes)] = static_cast<uint32_t>(value >> 32);

      // Tolerance, where the hardware has one: distances of codes, within the same sign.
      if (reference.ulp == 0) continue;
      const uint64_t got =
          bits == 64 ? wave.v[at] | uint64_t{wave.v[at + static_cast<size_t>(lanes)]} << 32
                     : wave.v[at];
      const uint64_t want =
          bits == 64 ? expected[at] | uint64_t{expected[at + static_cast<size_t>(lanes)]} << 32
                     : expected[at];
      const uint64_t distance = got > want ? got - want : want - got;
      const bool is_nan = bits == 16   ? (want & 0x7fff) > 0x7c00
                          : bits == 32 ? (want & 0x7fffffff) > 0x7f800000
                                       : false;
      if (distance <= static_cast<uint64_t>(reference.ulp) && !is_nan) {
        expected[at] = wave.v[at];
        if (bits == 64)
          expected[at + static_cast<size_t>(lanes)] = wave.v[at + static_cast<size_t>(lanes)];
      }
      // Around the zeros of sine and cosine the reference itself has an absolute error.
      const bool is_wave = found->first.starts_with("v_sin") || found->first.starts_with("v_cos");
      if (is_wave && bits == 32 &&
          std::fabs(std::bit_cast<float>(static_cast<uint32_t>(got)) -
                    std::bit_cast<float>(static_cast<uint32_t>(want))) < 0x1p-40f)
        expected[at] = wave.v[at];
      if (is_wave && bits == 16 && (want & 0x7fff) == 0 && (got ^ want) == 0x8000)
        expected[at] = wave.v[at];
    }

    const auto describe = [&](int lane) {
      std::ostringstream text;
      text << found->first << " on " << shape_name(shape_) << ", lane " << lane << std::hex;
      for (size_t k = 0; k < sources.size(); ++k) {
        bool writable = true;
        text << ", src" << k << " 0x" << operand_value(inst.src[k], lane) << " as 0x"
             << modified_source(inst, static_cast<int>(k), sources[k], lane, writable);
      }
      text << ", old 0x"
           << (inst.dst.kind == OperandKind::kVgpr ? operand_value(inst.dst, lane) : 0);
      return text.str();
    };
    for (size_t i = 0; i < row_count; ++i)
      if (wave.v[i] != expected[i]) {
        ADD_FAILURE() << describe(static_cast<int>(i) % lanes) << std::hex << ": v" << std::dec
                      << i / static_cast<size_t>(lanes) << std::hex << " is 0x" << wave.v[i]
                      << ", expected 0x" << expected[i] << (inst.sdwa ? ", sdwa" : "")
                      << (inst.clamp ? ", clamp" : "") << ", omod " << int{inst.omod};
        return true;
      }
    const auto mask_at = [&](uint32_t slot) {
      return wave.lanes == 64 ? wave.s64(slot) : wave.s[slot];
    };
    if (is_compare || has_mask_result) {
      const Operand& to = inst.dst2.kind == OperandKind::kScalar ? inst.dst2 : inst.dst;
      if (to.kind == OperandKind::kScalar) {
        EXPECT_EQ(mask_at(to.index), expected_mask)
            << describe(std::countr_zero(mask_at(to.index) ^ expected_mask));
        if (mask_at(to.index) != expected_mask) return true;
      }
      if (is_cmpx) {
        EXPECT_EQ(wave.exec(), expected_mask)
            << describe(std::countr_zero(wave.exec() ^ expected_mask));
        if (wave.exec() != expected_mask) return true;
      }
    }
    // Nothing else changes: scalars apart from the mask result and EXEC of v_cmpx.
    for (uint32_t at = 0; at < isa::slot::kCount; ++at) {
      const Operand& to = inst.dst2.kind == OperandKind::kScalar ? inst.dst2 : inst.dst;
      const bool is_result = to.kind == OperandKind::kScalar && at >= to.index &&
                             at < to.index + (wave.lanes == 64 ? 2u : 1u);
      const bool is_exec = is_cmpx && (at == isa::slot::kExecLo || at == isa::slot::kExecHi);
      if (is_result || is_exec) continue;
      if (wave.s[at] != scalars_before_[at])
        ADD_FAILURE() << found->first << " changes scalar " << at;
    }
    machine.set_exec(exec);
  }
  return true;
}

}  // namespace wavetap::emu
