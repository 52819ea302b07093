#include "jit/native/address_facts.h"

#include "jit/native/vector_ops.h"

namespace wavetap::jit {

using isa::Inst;
using isa::Op;
using isa::Operand;
using isa::OperandKind;

namespace {

constexpr uint32_t kMostShift = 8;

// Registers are taken and written as they are.
bool has_no_modifiers(const Inst& inst) {
  if (inst.clamp || inst.omod != 0 || inst.sdwa || inst.dpp != isa::Dpp::kNone ||
      inst.dst_preserve || inst.dst.sel != isa::Sel::kDword || inst.vopd_first)
    return false;
  for (const Operand& operand : inst.src)
    if (operand.sel != isa::Sel::kDword || operand.sext || operand.neg || operand.abs) return false;
  return true;
}

bool is_constant(const Operand& operand, uint64_t most) {
  return operand.is(OperandKind::kImm) && operand.imm <= most;
}

}  // namespace

uint32_t AddressFacts::version(uint32_t reg) const {
  const auto at = version_.find(reg);
  return at == version_.end() ? 0 : at->second;
}

AddressFacts::Node AddressFacts::make(const Expression& expression) {
  nodes_.push_back(expression);
  return static_cast<Node>(nodes_.size() - 1);
}

AddressFacts::Node AddressFacts::row(uint32_t reg) {
  const auto at = row_.find(reg);
  if (at != row_.end()) return at->second;
  return row_[reg] = make({.kind = Kind::kRoot, .root = {reg}});
}

AddressFacts::Node AddressFacts::pair(uint32_t low, uint32_t high) {
  const auto at = pair_.find({low, high});
  if (at != pair_.end()) return at->second;
  if (!is_changed(low) && !is_changed(high))
    return pair_[{low, high}] = make({.kind = Kind::kRoot, .root = {low, high}});
  const Node a = row(low);
  const Node b = row(high);
  if (a == kUnknown || b == kUnknown) return kUnknown;
  return pair_[{low, high}] = make({.kind = Kind::kJoined, .a = a, .b = b});
}

AddressFacts::Node AddressFacts::add(Node a, Node b) {
  if (a == kUnknown || b == kUnknown) return kUnknown;
  return make({.kind = Kind::kAdd, .a = a, .b = b});
}

AddressFacts::Node AddressFacts::shifted(Node a, const Operand& by) {
  if (a == kUnknown || !is_constant(by, kMostShift)) return kUnknown;
  return make({.kind = Kind::kShift, .a = a, .by = static_cast<uint32_t>(by.imm)});
}

AddressFacts::Node AddressFacts::times(Node a, Node b) {
  if (a == kUnknown || b == kUnknown) return kUnknown;
  if (at(a).kind == Kind::kUniform) std::swap(a, b);
  return at(b).kind == Kind::kUniform ? make({.kind = Kind::kTimes, .a = a, .b = b}) : kUnknown;
}

void AddressFacts::forget(uint32_t reg) {
  ++version_[reg];
  row_[reg] = kUnknown;
  std::erase_if(pair_, [&](const auto& entry) {
    return entry.first.first == reg || entry.first.second == reg;
  });
}

void AddressFacts::add_roots(Node node, std::set<FactRoot>& roots) const {
  if (node == kUnknown) return;
  const Expression& expression = at(node);
  if (expression.kind == Kind::kRoot) roots.insert(expression.root);
  add_roots(expression.a, roots);
  add_roots(expression.b, roots);
}

std::set<FactRoot> AddressFacts::roots_after(const FactRoot& root) {
  std::set<FactRoot> roots;
  if (is_changed(root.low) || (root.is_pair() && is_changed(root.high)))
    add_roots(root.is_pair() ? pair(root.low, root.high) : row(root.low), roots);
  return roots;
}

// --- Operations.

AddressFacts::Source AddressFacts::source(const Inst& inst, size_t k, const Scalar& scalar) {
  const Operand& operand = inst.src[k];
  Source made;
  if (!operand.is(OperandKind::kVgpr)) {
    made.node = make({.kind = Kind::kUniform, .value = scalar(operand)});
    return made;
  }
  made.is_row = true;
  made.reg = operand.index;
  made.version = version(operand.index);
  made.node = row(operand.index);
  for (const auto& [regs, node] : pair_)
    if (regs.first == operand.index)
      made.pairs.push_back({regs.second, version(regs.second), node});
  return made;
}

// 64 bits of a low half, as it was at its time, and of a high one as it is now; and how good that is.
std::pair<AddressFacts::Node, int> AddressFacts::join(const Source& low, const Source& high) {
  if (low.is_row && high.is_row) {
    for (const Source::Pair& pair : low.pairs)
      if (pair.high == high.reg && pair.version == high.version && pair.node != kUnknown)
        return {pair.node, 3};
    if (low.version == 0 && high.version == 0)
      return {make({.kind = Kind::kRoot, .root = {low.reg, high.reg}}), 2};
  }
  if (low.node == kUnknown || high.node == kUnknown) return {kUnknown, 0};
  return {make({.kind = Kind::kJoined, .a = low.node, .b = high.node}),
          low.is_row || high.is_row ? 1 : 3};
}

// Of operations with 32-bit results.
AddressFacts::Node AddressFacts::low_result(const Inst& inst, const Source* s) {
  const auto minus = [&](Node a, Node b) {
    if (a == kUnknown || b == kUnknown) return kUnknown;
    return make({.kind = Kind::kSub, .a = a, .b = b});
  };
  switch (inst.op) {
    case Op::v_mov_b32: return s[0].node;
    case Op::v_add_u32:
    case Op::v_add_i32:
    case Op::v_add_co_u32: return add(s[0].node, s[1].node);
    case Op::v_sub_u32:
    case Op::v_sub_i32:
    case Op::v_sub_co_u32: return minus(s[0].node, s[1].node);
    case Op::v_subrev_u32:
    case Op::v_subrev_co_u32: return minus(s[1].node, s[0].node);
    case Op::v_lshlrev_b32: return shifted(s[1].node, inst.src[0]);
    case Op::v_lshl_add_u32: return add(shifted(s[0].node, inst.src[1]), s[2].node);
    case Op::v_add_lshl_u32: return shifted(add(s[0].node, s[1].node), inst.src[2]);
    case Op::v_add3_u32: return add(add(s[0].node, s[1].node), s[2].node);
    case Op::v_mul_lo_u32: return times(s[0].node, s[1].node);
    default: return kUnknown;
  }
}

AddressFacts::Node AddressFacts::wide_source(const Inst& inst, size_t k, const Scalar& scalar) {
  const Operand& operand = inst.src[k];
  if (operand.is(OperandKind::kVgpr)) return pair(operand.index, operand.index + 1u);
  if (!operand.is(OperandKind::kScalar)) return kUnknown;
  Operand half = operand;
  const Node low = make({.kind = Kind::kUniform, .value = scalar(half)});
  ++half.index;
  return make({.kind = Kind::kJoined,
               .a = low,
               .b = make({.kind = Kind::kUniform, .value = scalar(half)})});
}

// The upper half of a sum whose lower half made the carry.
void AddressFacts::follow_carry(const Inst& inst, const Source* s) {
  const auto found = carry_.find(mask_source(inst, 2));
  if (found == carry_.end()) return forget(inst.dst.index);
  const Carry carry = found->second;
  const std::pair<Node, int> straight[2] = {join(carry.source[0], s[0]),
                                            join(carry.source[1], s[1])};
  const std::pair<Node, int> crossed[2] = {join(carry.source[0], s[1]),
                                           join(carry.source[1], s[0])};
  const auto worth = [](const std::pair<Node, int>* of) {
    return of[0].second == 0 || of[1].second == 0 ? 0 : of[0].second + of[1].second;
  };
  const auto* best = worth(crossed) > worth(straight) ? crossed : straight;
  const Node sum = worth(best) == 0 ? kUnknown : add(best[0].first, best[1].first);
  forget(inst.dst.index);
  if (sum == kUnknown || carry.version != version(carry.sum) || carry.sum == inst.dst.index) return;
  pair_[{carry.sum, inst.dst.index}] = sum;
  row_[carry.sum] = sum;
}

void AddressFacts::follow(const Inst& inst, const Scalar& scalar) {
  const VectorOp& op = *compiled_vector_op(inst);
  Source s[VectorOp::kMaxSources];
  Node wide = kUnknown;
  Node low = kUnknown;
  const MaskSlots slots = mask_slots(inst);
  if (!has_no_modifiers(inst)) {
    if (op.result != Type::kNone) forget(inst.dst.index);
    if (is_wide(op.result)) forget(inst.dst.index + 1u);
    if (slots.has_mask) carry_.erase(slots.mask);
    return;
  }
  const bool is_plain = op.result == Type::kU32;
  for (size_t k = 0; is_plain && k < VectorOp::kMaxSources; ++k)
    if (op.source[k] == Type::kU32) s[k] = source(inst, k, scalar);
  if (inst.op == Op::v_addc_co_u32) {
    follow_carry(inst, s);
    if (slots.has_mask) carry_.erase(slots.mask);
    return;
  }
  if (is_plain) low = low_result(inst, s);
  switch (inst.op) {
    case Op::v_lshlrev_b64: wide = shifted(wide_source(inst, 1, scalar), inst.src[0]); break;
    case Op::v_lshl_add_u64:
      wide = add(shifted(wide_source(inst, 0, scalar), inst.src[1]), wide_source(inst, 2, scalar));
      break;
    case Op::v_mov_b64: wide = wide_source(inst, 0, scalar); break;
    case Op::v_mad_u64_u32:  // its lower half
      if (inst.src[2].is(OperandKind::kVgpr))
        low = add(times(source(inst, 0, scalar).node, source(inst, 1, scalar).node),
                  row(inst.src[2].index));
      break;
    case Op::v_ashrrev_i32:
      if (is_constant(inst.src[0], 31) && inst.src[0].imm == 31 && s[1].is_row &&
          s[1].reg != inst.dst.index && s[1].node != kUnknown)
        wide = make({.kind = Kind::kSigned, .a = s[1].node});
      break;
    default: break;
  }
  const Source carry[2] = {s[0], s[1]};
  if (op.result != Type::kNone) {
    forget(inst.dst.index);
    if (is_wide(op.result)) forget(inst.dst.index + 1u);
  }
  if (slots.has_mask) carry_.erase(slots.mask);
  if (inst.op == Op::v_ashrrev_i32 && wide != kUnknown) {
    pair_[{s[1].reg, inst.dst.index}] = wide;
  } else if (wide != kUnknown) {
    pair_[{inst.dst.index, inst.dst.index + 1u}] = wide;
    row_[inst.dst.index] = wide;
  } else if (low != kUnknown) {
    row_[inst.dst.index] = low;
  }
  if (inst.op == Op::v_add_co_u32 && slots.has_mask)
    carry_[slots.mask] = {inst.dst.index, version(inst.dst.index), {carry[0], carry[1]}};
}

}  // namespace wavetap::jit
