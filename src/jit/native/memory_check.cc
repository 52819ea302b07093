// The look at a segment's addresses before its first strip: memory_emitter.h.
#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "emu/dispatch.h"
#include "emu/wave.h"
#include "jit/native/memory_emitter.h"

namespace wavetap::jit {

using emu::Wave;
using isa::Inst;
using isa::OperandKind;
using llvm::Value;
using Space = MemoryOp::Space;

void MemoryEmitter::add(const Inst& inst, int32_t index, ScalarFile& scalars, AddressFacts& facts) {
  const MemoryOp op = *compiled_memory_op(inst);
  const bool has_base = op.space == Space::kGlobal && !inst.saddr.is(OperandKind::kNone);
  Value* base = has_base ? scalars.operand(inst.saddr, 64) : nullptr;
  const bool is_wide = op.space == Space::kGlobal && !has_base;
  const uint32_t reg = inst.vaddr.index;
  const AddressFacts::Node address = is_wide ? facts.pair(reg, reg + 1) : facts.row(reg);
  Access access{&inst, index, op, 0, {}};
  access.offset[0] = int64_t{inst.offset} * op.scale;
  access.offset[1] = int64_t{inst.offset1} * op.scale;
  const auto same = [&](const Group& group) {
    return group.space == op.space && group.is_store == op.is_store && group.address == address &&
           group.is_wide == is_wide && group.base == base;
  };
  const auto at = std::find_if(groups_.begin(), groups_.end(), same);
  access.group = static_cast<size_t>(at - groups_.begin());
  if (at == groups_.end())
    groups_.push_back(
        {op.space, op.is_store, address, is_wide, base, index, access.offset[0], access.offset[0]});
  Group& group = groups_[access.group];
  for (uint32_t i = 0; i < op.elements; ++i) {
    group.begin = std::min(group.begin, access.offset[i]);
    group.end = std::max(group.end, access.offset[i] + int64_t{op.bytes});
  }
  accesses_.push_back(access);
}

// What loads of half a register keep of the other one.
Value* MemoryEmitter::kept_bits() {
  Value* dispatch = load_field(ir_.getPtrTy(), offsetof(Wave, dispatch));
  Value* clears = ir_.CreateLoad(
      ir_.getInt8Ty(),
      ir_.CreateConstGEP1_64(ir_.getInt8Ty(), dispatch, offsetof(emu::Dispatch, sram_ecc)));
  return ir_.CreateSelect(ir_.CreateICmpNE(clears, ir_.getInt8(0)), ir_.getInt32(0),
                          ir_.getInt32(~0u));
}

Value* MemoryEmitter::check(FactSlots::Reader& facts, Value* exec, uint64_t all_lanes) {
  const auto is_half = [](const Access& access) {
    return !access.op.is_store && access.op.part != MemoryOp::Part::kWhole;
  };
  if (std::any_of(accesses_.begin(), accesses_.end(), is_half)) kept_ = kept_bits();
  Value* all = ir_.getTrue();
  for (Group& group : groups_)
    all = ir_.CreateAnd(
        all, check_group(group, facts.read(group.address, /*looks=*/true), exec, all_lanes));
  return all;
}

void MemoryEmitter::expect(FactSlots::Reader& reader, AddressFacts& facts, bool is_in_loop) {
  constexpr uint64_t kAhead = 4096;  // bytes: waves of some workgroups
  for (Group& group : groups_)
    if (group.space == Space::kGlobal && !group.is_store)
      group.growth = is_in_loop ? reader.growth(facts, group.address) : ir_.getInt64(kAhead);
}

std::set<FactRoot> MemoryEmitter::roots(const AddressFacts& facts) const {
  std::set<FactRoot> roots;
  for (const Group& group : groups_) facts.add_roots(group.address, roots);
  return roots;
}

Value* MemoryEmitter::check_group(Group& group, const Fact& fact, Value* exec, uint64_t all_lanes) {
  const auto number = [&](int64_t value) { return ir_.getInt64(static_cast<uint64_t>(value)); };
  Value* missing = ir_.CreateAnd(exec, ir_.CreateNot(fact.lanes));
  Value* is_good = ir_.CreateICmpEQ(missing, ir_.getInt64(0));
  group.lowest = ir_.CreateTrunc(fact.lowest, ir_.getInt32Ty());
  group.step = fact.step;
  Value* lowest = group.is_wide ? fact.lowest : ir_.CreateZExt(group.lowest, ir_.getInt64Ty());
  Value* size = ir_.CreateAdd(fact.span, number(group.end - group.begin));
  if (group.space == Space::kLds) {
    Value* bytes =
        ir_.CreateZExt(load_field(ir_.getInt32Ty(), offsetof(Wave, lds_bytes)), ir_.getInt64Ty());
    Value* end = ir_.CreateAdd(ir_.CreateAdd(lowest, fact.span), number(group.end));
    group.origin =
        ir_.CreateAdd(load_field(ir_.getInt64Ty(), offsetof(Wave, lds)), number(group.begin));
    // LDS can be read by whoever looks; elsewhere that could be a fault, or change something.
    Value* others = ir_.CreateAnd(ir_.CreateNot(fact.lanes), ir_.getInt64(all_lanes));
    if (!group.is_store) group.covers = ir_.CreateICmpEQ(others, ir_.getInt64(0));
    return ir_.CreateAnd(is_good, ir_.CreateICmpULE(end, bytes));
  }
  Value* address = ir_.CreateAdd(lowest, number(group.begin));
  if (group.base != nullptr) {
    // Lanes count from the base without sign, and do not wrap.
    is_good = ir_.CreateAnd(
        is_good, ir_.CreateICmpULE(ir_.CreateAdd(lowest, fact.span), ir_.getInt64(0xffffffff)));
    address = ir_.CreateAdd(address, group.base);
  }
  Value* host = emit_translate(ir_, wave_, address, size, group.is_store, group.index);
  group.origin = group.is_wide ? host : ir_.CreateSub(host, lowest);
  return ir_.CreateAnd(is_good, ir_.CreateICmpNE(host, ir_.getInt64(0)));
}

// --- Steps that are known when strips are written.

// Lanes in a row, or all at one place; of three dwords, which move one by one, also a dword apart. For more
// than two addresses that are loaded from only one choice: each has strips of its own.
std::vector<MemoryEmitter::Steps> MemoryEmitter::likely_steps() const {
  constexpr size_t kMostChoices = 4;
  std::vector<Steps> all = {{}};
  const auto loads = std::count_if(groups_.begin(), groups_.end(),
                                   [](const Group& group) { return !group.is_store; });
  for (size_t i = 0; i < groups_.size(); ++i) {
    const auto first = std::find_if(accesses_.begin(), accesses_.end(),
                                    [&](const Access& access) { return access.group == i; });
    const bool is_three = first->op.bytes == 12 && !groups_[i].is_store;
    std::vector<int64_t> steps = {is_three ? 4 : int64_t{first->op.bytes}};
    if (!groups_[i].is_store && (loads <= 2 || is_three)) steps.push_back(is_three ? 12 : 0);
    std::vector<Steps> longer;
    for (const int64_t step : steps)
      for (const Steps& before : all) {
        longer.push_back(before);
        longer.back().push_back(step);
      }
    all = std::move(longer);
    if (all.size() > kMostChoices) all.resize(kMostChoices);
  }
  const Steps any(groups_.size(), kAnyStep);
  if (all.back() != any) all.push_back(any);
  return all;
}

Value* MemoryEmitter::have(const Steps& steps) {
  Value* all = ir_.getTrue();
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] == kAnyStep) continue;
    Value* step = ir_.getInt64(static_cast<uint64_t>(steps[i]));
    all = ir_.CreateAnd(all, ir_.CreateICmpEQ(groups_[i].step, step));
  }
  return all;
}

void MemoryEmitter::assume(const Steps& steps) {
  for (size_t i = 0; i < groups_.size(); ++i)
    groups_[i].known_step = steps.empty() ? kAnyStep : steps[i];
}

}  // namespace wavetap::jit
