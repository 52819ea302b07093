// Where elements are (AMD's Matrix Instruction Calculator): an input of M rows, K columns and some blocks
// is spread over 64 lanes, E = M * K * blocks / 64 elements each. Lane l has row l % M. With several
// blocks, l / M is the block and k runs over the lane's elements; with one, l / M is a group of E
// consecutive k. Of f64 4x4x4 alone, l / 4 % 4 is the block and l / 16 is k.
#include "proof/shadow_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "emu/exec/float_ops.h"

namespace wavetap::proof {
namespace {

using emu::RegisterFile;
using emu::Wave;
using isa::Inst;
using isa::Op;
using isa::Operand;
using isa::OperandKind;

constexpr int kLanes = 64;

enum class Element : uint8_t { kF16, kBf16, kF32, kF64 };

struct Shape {
  int side = 0, depth = 0, blocks = 0;
  Element element = Element::kF32;

  int per_lane() const { return side * depth * blocks / kLanes; }
};

// From the name: v_mfma_f32_32x32x4bf16_1k. Sides of 0: none of these.
Shape shape_of(const Inst& inst) {
  std::string_view name = isa::op_name(inst.op);
  if (!name.starts_with("v_mfma_f")) return {};
  const bool is_double = name.starts_with("v_mfma_f64_");
  name.remove_prefix(std::strlen("v_mfma_f32_"));
  const size_t first = name.find('x'), second = name.rfind('x');
  if (first == std::string_view::npos || second <= first) return {};
  Shape shape;
  shape.side = std::atoi(name.data());
  char* end = nullptr;
  shape.depth = static_cast<int>(std::strtol(name.data() + second + 1, &end, 10));
  const std::string_view type = end;
  if (type == "f32") shape.element = Element::kF32;
  else if (type == "f16") shape.element = Element::kF16;
  else if (type == "bf16" || type == "bf16_1k") shape.element = Element::kBf16;
  else if (type == "f64") shape.element = Element::kF64;
  else return {};
  shape.blocks = inst.dst.dwords * kLanes / (is_double ? 2 : 1) / (shape.side * shape.side);
  return shape.blocks > 0 ? shape : Shape{};
}

struct Term {
  double value = 0, bound = 0;
  CellKind lost = CellKind::kExact;
};

Term term_of(const Cell& cell, double actual, CellKind kind) {
  if (cell.is_lost()) return {actual, 0, cell.kind};
  return cell.kind == kind ? Term{cell.value, cell.bound} : Term{actual, 0};
}

uint32_t bits_at(const Wave& wave, RegisterFile file, uint32_t reg, int lane) {
  const uint32_t count = file == RegisterFile::kAgpr ? wave.agpr_count : wave.vgpr_count;
  if (reg >= count) return 0;
  return (file == RegisterFile::kAgpr
              ? wave.a
              : wave.v)[size_t{reg} * wave.lanes + static_cast<size_t>(lane)];
}

RegisterFile file_of(const Operand& operand) {
  return operand.is(OperandKind::kAgpr) ? RegisterFile::kAgpr : RegisterFile::kVgpr;
}

// gfx90a takes small numbers of 16 bits for zero, and leaves none of its own.
bool is_flushing(const Wave& wave, Element element) {
  const amd::GfxTarget target = wave.program->target();
  const bool is_gfx90a = target.major == 9 && target.minor == 0 && target.stepping == 10;
  return is_gfx90a && (element == Element::kF16 || element == Element::kBf16);
}

class Reader {
 public:
  Reader(const Wave& wave, const ShadowRegisters& registers, const Shape& shape)
      : wave_(wave), registers_(registers), shape_(shape) {}

  // Element `index` of a lane of A or B.
  Term input(const Operand& operand, int index, int lane) const {
    const RegisterFile file = file_of(operand);
    const auto at = static_cast<uint32_t>(index);
    switch (shape_.element) {
      case Element::kF64: return pair(file, operand.index + 2 * at, lane);
      case Element::kF32: return single(file, operand.index + at, lane);
      case Element::kF16:
      case Element::kBf16: break;
    }
    const uint32_t reg = operand.index + at / 2;
    const bool is_high = at % 2 != 0;
    const uint32_t word = bits_at(wave_, file, reg, lane);
    const uint32_t bits = is_high ? word >> 16 : word & 0xffff;
    const Cell cell = registers_.vector(file, reg, lane).half(is_high);
    const bool is_half = shape_.element == Element::kF16;
    const auto actual =
        static_cast<double>(is_half ? emu::half_to_float(bits) : emu::bf16_to_float(bits));
    // What has fewer digits than others: its size is what is lost.
    const double least = is_half ? 0x1p-14 : 0x1p-126;
    const bool is_zero = is_flushing(wave_, shape_.element) && std::fabs(actual) < least;
    if (!is_half && cell.kind == CellKind::kF16) return {actual, 0, CellKind::kUnknown};
    Term made = term_of(cell, is_zero ? 0 : actual, CellKind::kF16);
    if (is_zero && cell.kind == CellKind::kF16) made.bound += std::fabs(actual);
    return made;
  }

  Term accumulator(const Operand& operand, uint32_t reg, int lane) const {
    const bool is_double = shape_.element == Element::kF64;
    if (operand.is(OperandKind::kImm)) {
      const auto bits = static_cast<uint32_t>(operand.imm);
      return {is_double ? std::bit_cast<double>(operand.imm)
                        : static_cast<double>(std::bit_cast<float>(bits)),
              0};
    }
    const RegisterFile file = file_of(operand);
    return is_double ? pair(file, operand.index + 2 * reg, lane)
                     : single(file, operand.index + reg, lane);
  }

 private:
  Term single(RegisterFile file, uint32_t reg, int lane) const {
    const auto actual = static_cast<double>(std::bit_cast<float>(bits_at(wave_, file, reg, lane)));
    return term_of(registers_.vector(file, reg, lane).whole(), actual, CellKind::kF32);
  }
  Term pair(RegisterFile file, uint32_t reg, int lane) const {
    const uint64_t bits =
        bits_at(wave_, file, reg, lane) | uint64_t{bits_at(wave_, file, reg + 1, lane)} << 32;
    const Cell high = registers_.vector(file, reg + 1, lane).whole();
    const Cell low = registers_.vector(file, reg, lane).whole();
    const bool is_one = high.kind == CellKind::kF64High || high.is_lost();
    return term_of(high.is_lost()            ? high
                   : is_one || low.is_lost() ? low
                                             : Cell{},
                   std::bit_cast<double>(bits), CellKind::kF64);
  }

  const Wave& wave_;
  const ShadowRegisters& registers_;
  const Shape shape_;
};

struct Place {
  int element = 0, lane = 0;
};

// Of k of a row of A (a column of B).
Place input_place(const Shape& shape, int block, int k, int row) {
  if (shape.element == Element::kF64 && shape.side == 4) return {0, 16 * k + 4 * block + row};
  if (shape.blocks > 1) return {k, shape.side * block + row};
  const int per_lane = shape.per_lane();
  return {k % per_lane, k / per_lane * shape.side + row};
}

Place result_place(const Shape& shape, int block, int i, int j) {
  if (shape.element == Element::kF64)
    return shape.side == 4 ? Place{0, 16 * i + 4 * block + j} : Place{i / 4, 16 * (i % 4) + j};
  if (shape.side == 4) return {i, 4 * block + j};
  if (shape.side == 16) return {4 * block + i % 4, 16 * (i / 4) + j};
  return {16 * block + 4 * (i / 8) + i % 4, 32 * (i / 4 % 2) + j};
}

// BLGP: the lane that stands in for a lane of B.
int lane_of_b(uint8_t blgp, int lane) {
  if (blgp == 1) return lane % 32;
  if (blgp == 2) return 32 + lane % 32;
  if (blgp == 3) return (lane + 16) % kLanes;
  if (blgp >= 4) return 16 * (blgp - 4) + lane % 16;
  return lane;
}

// A sum of products as it grows. In whichever order they are added, each addition loses at most a unit of
// what there is so far.
struct Sum {
  double value = 0, bound = 0, size = 0;
  CellKind lost = CellKind::kExact;

  void add(const Term& number, double factor, double factor_bound) {
    value += number.value * factor;
    size += std::fabs(number.value * factor);
    bound += std::fabs(factor) * number.bound + std::fabs(number.value) * factor_bound +
             number.bound * factor_bound;
    if (lost != CellKind::kOverflow && number.lost != CellKind::kExact) lost = number.lost;
  }
};

}  // namespace

bool ShadowMatrix::find(const Wave& wave, const ShadowRegisters& registers, const Inst& inst) {
  clear();
  const Shape shape = shape_of(inst);
  if (shape.side == 0 || wave.lanes != kLanes || wave.vgpr_index != 0) return false;
  is_double_ = shape.element == Element::kF64;
  if (is_double_ && inst.blgp != 0) return false;  // signs, on other targets
  file_ = file_of(inst.dst);
  first_ = inst.dst.index;
  count_ = inst.dst.dwords;
  const Reader reader(wave, registers, shape);
  std::vector<Term> a(static_cast<size_t>(shape.per_lane() * kLanes)), b(a.size());
  for (int element = 0; element < shape.per_lane(); ++element)
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto at = static_cast<size_t>(element * kLanes + lane);
      a[at] = reader.input(inst.src[0], element, lane);
      b[at] = reader.input(inst.src[1], element, lane_of_b(inst.blgp, lane));
    }
  const auto value = [](const std::vector<Term>& from, Place place) -> const Term& {
    return from[static_cast<size_t>(place.element * kLanes + place.lane)];
  };
  // Products of f32 and f64 are rounded with the sum, those of 16 bits are exact.
  const double unit = is_double_ ? 0x1p-53 : 0x1p-24;
  const double tiny = is_double_ ? 0x1p-1022 : 0x1p-126;
  const int group = (1 << inst.cbsz) - 1;
  cells_.resize(size_t{count_} / (is_double_ ? 2 : 1) * kLanes);
  for (int block = 0; block < shape.blocks; ++block) {
    const int block_of_a = ((block & ~group) | (inst.abid & group)) & (shape.blocks - 1);
    for (int i = 0; i < shape.side; ++i)
      for (int j = 0; j < shape.side; ++j) {
        const Place at = result_place(shape, block, i, j);
        Sum sum;
        sum.add(reader.accumulator(inst.src[2], static_cast<uint32_t>(at.element), at.lane), 1, 0);
        for (int k = 0; k < shape.depth; ++k) {
          const Term& x = value(a, input_place(shape, block_of_a, k, i));
          const Term& y = value(b, input_place(shape, block, k, j));
          sum.add(x, y.value, y.bound);
          if (sum.lost == CellKind::kExact) sum.lost = y.lost;
        }
        Cell& cell = cells_[static_cast<size_t>(at.element * kLanes + at.lane)];
        if (sum.lost != CellKind::kExact) cell = {0, 0, sum.lost};
        else
          cell = {sum.value, sum.bound + (shape.depth + 1) * (unit * (sum.size + sum.bound) + tiny),
                  is_double_ ? CellKind::kF64 : CellKind::kF32};
      }
  }
  return true;
}

WordCells ShadowMatrix::result(const Wave& wave, uint32_t reg, int lane) const {
  const uint32_t number = (reg - first_) / (is_double_ ? 2 : 1);
  Cell cell = cells_[size_t{number} * kLanes + static_cast<size_t>(lane)];
  if (cell.is_lost()) return WordCells::of(cell);
  const uint32_t at = first_ + number * (is_double_ ? 2 : 1);
  const uint32_t low = bits_at(wave, file_, at, lane);
  const double actual =
      is_double_ ? std::bit_cast<double>(low | uint64_t{bits_at(wave, file_, at + 1, lane)} << 32)
                 : static_cast<double>(std::bit_cast<float>(low));
  // An infinity of finite numbers was too large for its type; others came with the inputs.
  if (!std::isfinite(actual))
    return std::isfinite(cell.value) ? WordCells::of({0, 0, CellKind::kOverflow}) : WordCells{};
  if (!std::isfinite(cell.value) || !std::isfinite(cell.bound)) return {};
  if (is_double_ && (reg - first_) % 2 != 0) cell.kind = CellKind::kF64High;
  return WordCells::of(cell);
}

}  // namespace wavetap::proof
