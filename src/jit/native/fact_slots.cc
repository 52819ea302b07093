// The scalar side of address_facts.h: facts as values, kept in slots.
#include <algorithm>

#include "emu/compiler.h"
#include "jit/native/address_facts.h"
#include "jit/native/emit_parts.h"

namespace wavetap::jit {

using llvm::Value;
using Form = AddressFacts::Kind;

namespace {

constexpr unsigned kFields = 4;
constexpr uint64_t kMostSpan = 0x7fffffff;
constexpr int64_t kMostFactor = 1 << 20;

Value* low_half(llvm::IRBuilder<>& ir, Value* value) {
  return ir.CreateAnd(value, ir.getInt64(0xffffffff));
}
Value* signed_half(llvm::IRBuilder<>& ir, Value* value) {
  return ir.CreateSExt(ir.CreateTrunc(value, ir.getInt32Ty()), ir.getInt64Ty());
}
// What has become too far is none; none stays none.
Value* near_step(llvm::IRBuilder<>& ir, Value* step) {
  Value* moved = ir.CreateAdd(step, ir.getInt64(kFarthestStep));
  return ir.CreateSelect(ir.CreateICmpULT(moved, ir.getInt64(2 * kFarthestStep)), step,
                         ir.getInt64(kNoStep));
}

// In front of the registers: until when it is good, which places are in use, which of them by two registers, by
// which registers, and the facts.
constexpr size_t kStamp = 0;
constexpr size_t kInUse = 8;
constexpr size_t kPairs = 16;
constexpr size_t kOwners = 24;
constexpr uint32_t kPlaces = 64;
constexpr size_t kFacts = 320;
static_assert(kOwners + kPlaces * sizeof(uint32_t) <= kFacts);
static_assert(kFacts + kPlaces * kFields * sizeof(uint64_t) + emu::kGuessBytes <=
              emu::kCompiledStateBytes);

uint32_t owner_of(const FactRoot& root) { return root.low | (root.is_pair() ? 0x10000u : 0); }

}  // namespace

FactSlots::FactSlots(llvm::IRBuilder<>& ir, const Plan& plan, unsigned wave_lanes)
    : ir_(ir), roots_(plan.roots.begin(), plan.roots.end()), wave_lanes_(wave_lanes) {
  for (const FactRoot& root : roots_) {
    const uint32_t place = root.low % kPlaces;
    const bool has_place =
        (own_ >> place & 1) == 0 && (!root.is_pair() || root.high == root.low + 1);
    place_.push_back(has_place ? static_cast<int>(place) : -1);
    if (has_place) own_ |= uint64_t{1} << place;
    if (has_place && root.is_pair()) own_pairs_ |= uint64_t{1} << place;
  }
}

Value* FactSlots::state(size_t offset) {
  return ir_.CreateConstGEP1_64(ir_.getInt8Ty(), state_, offset);
}

Value* FactSlots::field(size_t slot, unsigned k) {
  if (place_[slot] >= 0)
    return state(kFacts + (static_cast<size_t>(place_[slot]) * kFields + k) * sizeof(uint64_t));
  return ir_.CreateConstGEP1_64(ir_.getInt64Ty(), memory_, slot * kFields + k);
}

void FactSlots::begin(Value* rows, Value* state_of_wave, Value* now) {
  rows_ = rows;
  state_ = state_of_wave;
  memory_ = ir_.CreateAlloca(llvm::ArrayType::get(ir_.getInt64Ty(), roots_.size() * kFields));
  Value* is_good = ir_.CreateICmpEQ(ir_.CreateLoad(ir_.getInt64Ty(), state(kStamp)), now);
  Value* in_use =
      ir_.CreateSelect(is_good, ir_.CreateLoad(ir_.getInt64Ty(), state(kInUse)), ir_.getInt64(0));
  others_ = ir_.CreateAlloca(ir_.getInt64Ty());
  pairs_ = ir_.CreateLoad(ir_.getInt64Ty(), state(kPairs));
  ir_.CreateStore(ir_.CreateAnd(in_use, ir_.getInt64(~own_)), others_);
  for (size_t slot = 0; slot < roots_.size(); ++slot) {
    Value* lanes = ir_.getInt64(0);
    if (place_[slot] >= 0) {
      const auto place = static_cast<uint32_t>(place_[slot]);
      Value* owner = state(kOwners + place * sizeof(uint32_t));
      Value* own = ir_.getInt32(owner_of(roots_[slot]));
      Value* is_used = ir_.CreateICmpNE(ir_.CreateAnd(in_use, ir_.getInt64(uint64_t{1} << place)),
                                        ir_.getInt64(0));
      Value* is_own = ir_.CreateICmpEQ(ir_.CreateLoad(ir_.getInt32Ty(), owner), own);
      lanes = ir_.CreateSelect(ir_.CreateAnd(is_used, is_own),
                               ir_.CreateLoad(ir_.getInt64Ty(), field(slot, 3)), lanes);
      ir_.CreateStore(own, owner);
    }
    ir_.CreateStore(lanes, field(slot, 3));
  }
}

// Own roots are followed; what others know of registers that change is lost.
void FactSlots::forget_others(const WrittenRows& written) {
  uint64_t changed = written.may_be_any ? ~uint64_t{0} : 0;
  uint64_t changed_pairs = 0;  // whose upper half it may be
  for (const uint32_t reg : written.rows) {
    changed |= uint64_t{1} << reg % kPlaces;
    changed_pairs |= uint64_t{1} << (reg + kPlaces - 1) % kPlaces;
  }
  Value* lost = ir_.CreateAnd(pairs_, ir_.getInt64(changed_pairs));
  lost = ir_.CreateOr(lost, ir_.getInt64(changed));
  Value* others = ir_.CreateLoad(ir_.getInt64Ty(), others_);
  ir_.CreateStore(ir_.CreateAnd(others, ir_.CreateNot(lost)), others_);
}

// What others know is left to those who come later, as far as it is still true.
void FactSlots::end(Value* now) {
  Value* others = ir_.CreateLoad(ir_.getInt64Ty(), others_);
  ir_.CreateStore(ir_.CreateOr(others, ir_.getInt64(own_)), state(kInUse));
  Value* other_pairs = ir_.CreateAnd(pairs_, ir_.getInt64(~own_));
  ir_.CreateStore(ir_.CreateOr(other_pairs, ir_.getInt64(own_pairs_)), state(kPairs));
  ir_.CreateStore(now, state(kStamp));
}

void FactSlots::forget_all() {
  for (size_t slot = 0; slot < roots_.size(); ++slot)
    ir_.CreateStore(ir_.getInt64(0), field(slot, 3));
}

size_t FactSlots::slot_of(const FactRoot& root) const {
  return static_cast<size_t>(std::find(roots_.begin(), roots_.end(), root) - roots_.begin());
}

Value* FactSlots::is_about_others(const std::set<FactRoot>& roots, Value* exec) {
  Value* others = ir_.getInt64(0);
  for (const FactRoot& root : roots) {
    Value* lanes = ir_.CreateLoad(ir_.getInt64Ty(), field(slot_of(root), 3));
    Value* is_none = ir_.CreateICmpEQ(lanes, ir_.getInt64(0));
    Value* difference = ir_.CreateSelect(is_none, lanes, ir_.CreateXor(lanes, exec));
    others = ir_.CreateOr(others, difference);
  }
  return ir_.CreateICmpNE(others, ir_.getInt64(0));
}

void FactSlots::forget(const std::set<FactRoot>& roots) {
  for (const FactRoot& root : roots) ir_.CreateStore(ir_.getInt64(0), field(slot_of(root), 3));
}

// What a changed root is behind the segment. One that comes from roots without slots is not known.
AddressFacts::Node FactSlots::node_after(AddressFacts& facts, const FactRoot& root) const {
  const std::set<FactRoot> needed = facts.roots_after(root);
  const bool are_known = std::all_of(needed.begin(), needed.end(), [&](const FactRoot& of) {
    return std::find(roots_.begin(), roots_.end(), of) != roots_.end();
  });
  if (!are_known) return AddressFacts::kUnknown;
  return root.is_pair() ? facts.pair(root.low, root.high) : facts.row(root.low);
}

void FactSlots::update(AddressFacts& facts, Reader& reader, Value* exec) {
  struct Changed {
    size_t slot;
    const Fact* fact;
  };
  std::vector<Changed> all;
  for (size_t slot = 0; slot < roots_.size(); ++slot) {
    const FactRoot& root = roots_[slot];
    if (!facts.is_changed(root.low) && !(root.is_pair() && facts.is_changed(root.high))) continue;
    const AddressFacts::Node node = node_after(facts, root);
    // What an address grows by is looked at, once.
    const bool looks = facts.roots_after(root).contains(root);
    const bool is_known = node != AddressFacts::kUnknown;
    all.push_back({slot, is_known ? &reader.read(node, looks) : nullptr});
  }
  for (const Changed& changed : all) {
    if (changed.fact == nullptr) {
      ir_.CreateStore(ir_.getInt64(0), field(changed.slot, 3));
      continue;
    }
    ir_.CreateStore(changed.fact->lowest, field(changed.slot, 0));
    ir_.CreateStore(changed.fact->span, field(changed.slot, 1));
    ir_.CreateStore(changed.fact->step, field(changed.slot, 2));
    ir_.CreateStore(ir_.CreateAnd(changed.fact->lanes, exec), field(changed.slot, 3));
  }
}

// --- Reading.

Fact FactSlots::Reader::read_root(const FactRoot& root, bool looks) {
  llvm::IRBuilder<>& ir = slots_.ir_;
  const size_t slot = slots_.slot_of(root);
  const auto load = [&](unsigned k) {
    // Whatever is in a slot that is true of no lane, it is a number.
    return ir.CreateFreeze(ir.CreateLoad(ir.getInt64Ty(), slots_.field(slot, k)));
  };
  const Fact kept{load(0), load(1), load(2), load(3)};
  if (!looks) return kept;
  llvm::Function* function = ir.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = ir.GetInsertBlock();
  llvm::BasicBlock* look = llvm::BasicBlock::Create(ir.getContext(), "look_at_lanes", function);
  llvm::BasicBlock* known = llvm::BasicBlock::Create(ir.getContext(), "known", function);
  Value* missing = ir.CreateAnd(exec_, ir.CreateNot(kept.lanes));
  emit_mostly(ir, ir.CreateICmpEQ(missing, ir.getInt64(0)), 4, known, look);
  ir.SetInsertPoint(look);
  const auto row = [&](uint32_t reg) {
    return ir.CreateConstGEP1_64(ir.getInt32Ty(), slots_.rows_, uint64_t{reg} * slots_.wave_lanes_);
  };
  const Fact found = emit_scan(ir, row(root.low), root.is_pair() ? row(root.high) : nullptr, exec_,
                               slots_.wave_lanes_);
  Value* const fields[] = {found.lowest, found.span, found.step, found.lanes};
  for (unsigned k = 0; k < kFields; ++k) ir.CreateStore(fields[k], slots_.field(slot, k));
  ir.CreateBr(known);
  ir.SetInsertPoint(known);
  const auto either = [&](Value* old, Value* now) {
    llvm::PHINode* value = ir.CreatePHI(ir.getInt64Ty(), 2);
    value->addIncoming(old, before);
    value->addIncoming(now, look);
    return value;
  };
  return {either(kept.lowest, found.lowest), either(kept.span, found.span),
          either(kept.step, found.step), either(kept.lanes, found.lanes)};
}

// True of no lane where it does not hold.
Fact FactSlots::Reader::limited(Fact fact, Value* holds) {
  llvm::IRBuilder<>& ir = slots_.ir_;
  fact.lanes = ir.CreateSelect(holds, fact.lanes, ir.getInt64(0));
  return fact;
}

const Fact& FactSlots::Reader::read(AddressFacts::Node node, bool looks) {
  const auto looked = looked_.find(node);
  if (looked != looked_.end()) return looked->second;
  std::map<AddressFacts::Node, Fact>& all = looks ? looked_ : known_;
  const auto found = all.find(node);
  if (found != all.end()) return found->second;

  llvm::IRBuilder<>& ir = slots_.ir_;
  const AddressFacts::Expression& of = facts_.at(node);
  if (of.kind == Form::kRoot) return all[node] = read_root(of.root, looks);
  if (of.kind == Form::kUniform) {
    Value* value = ir.CreateZExt(of.value, ir.getInt64Ty());
    return all[node] = {value, ir.getInt64(0), ir.getInt64(0), ir.getInt64(~uint64_t{0})};
  }
  const Fact a = read(of.a, looks);
  const Fact b = of.b == AddressFacts::kUnknown ? Fact{} : read(of.b, looks);
  return all[node] = derived(of, a, b);
}

Value* FactSlots::Reader::growth_of_root(AddressFacts& facts, AddressFacts::Node node) {
  llvm::IRBuilder<>& ir = slots_.ir_;
  const FactRoot root = facts.at(node).root;
  if (!facts.roots_after(root).contains(root)) return nullptr;
  const AddressFacts::Node after = slots_.node_after(facts, root);
  if (after == AddressFacts::kUnknown) return nullptr;
  Value* lowest = read(after, /*looks=*/true).lowest;
  Value* growth = ir.CreateSub(lowest, read(node, /*looks=*/true).lowest);
  return root.is_pair() ? growth : signed_half(ir, growth);
}

Value* FactSlots::Reader::growth(AddressFacts& facts, AddressFacts::Node node) {
  llvm::IRBuilder<>& ir = slots_.ir_;
  const AddressFacts::Expression of = facts.at(node);
  if (of.kind == Form::kRoot) return growth_of_root(facts, node);
  if (of.kind == Form::kUniform) return nullptr;
  Value* a = growth(facts, of.a);
  Value* b = of.b == AddressFacts::kUnknown ? nullptr : growth(facts, of.b);
  switch (of.kind) {
    case Form::kAdd:
      if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
      return ir.CreateAdd(a, b);
    case Form::kSub: return b == nullptr ? a : nullptr;
    case Form::kTimes:
      return a == nullptr ? a : ir.CreateMul(a, low_half(ir, read(of.b, /*looks=*/true).lowest));
    case Form::kShift: return a == nullptr ? a : ir.CreateShl(a, of.by);
    default: return a;
  }
}

// What is known of a sum, a product …, from what is known of its parts.
Fact FactSlots::Reader::derived(const AddressFacts::Expression& of, const Fact& a, const Fact& b) {
  llvm::IRBuilder<>& ir = slots_.ir_;
  const auto within = [&](Value* span) { return ir.CreateICmpULE(span, ir.getInt64(kMostSpan)); };
  const auto both = [&] { return ir.CreateAnd(a.lanes, b.lanes); };
  Fact made;
  switch (of.kind) {
    case Form::kAdd:
      made = {ir.CreateAdd(a.lowest, b.lowest), ir.CreateAdd(a.span, b.span),
              near_step(ir, ir.CreateAdd(a.step, b.step)), both()};
      made = limited(made, within(made.span));
      break;
    case Form::kSub:
      made = {ir.CreateSub(ir.CreateSub(a.lowest, b.lowest), b.span), ir.CreateAdd(a.span, b.span),
              ir.CreateSelect(ir.CreateICmpEQ(b.step, ir.getInt64(kNoStep)), b.step,
                              near_step(ir, ir.CreateSub(a.step, b.step))),
              both()};
      made = limited(made, within(made.span));
      break;
    case Form::kTimes: {
      Value* factor = low_half(ir, b.lowest);
      made = {ir.CreateMul(a.lowest, factor), ir.CreateMul(a.span, factor),
              near_step(ir, ir.CreateMul(a.step, factor)), both()};
      made = limited(made, ir.CreateAnd(within(made.span),
                                        ir.CreateICmpULE(factor, ir.getInt64(kMostFactor))));
      break;
    }
    case Form::kShift:
      made = {ir.CreateShl(a.lowest, of.by), ir.CreateShl(a.span, of.by),
              near_step(ir, ir.CreateShl(a.step, of.by)), a.lanes};
      made = limited(made, within(made.span));
      break;
    case Form::kSigned: {
      Value* lowest = signed_half(ir, a.lowest);
      made = {lowest, a.span, a.step, a.lanes};
      Value* highest = ir.CreateAdd(lowest, a.span);
      made = limited(made, ir.CreateICmpSLE(highest, ir.getInt64(0x7fffffff)));
      break;
    }
    default: {  // kJoined: a high half that all lanes share
      Value* lowest = low_half(ir, a.lowest);
      made = {ir.CreateAdd(lowest, ir.CreateShl(b.lowest, 32)), a.span, a.step, both()};
      Value* fits = ir.CreateICmpULE(ir.CreateAdd(lowest, a.span), ir.getInt64(0xffffffff));
      made = limited(made, ir.CreateAnd(fits, ir.CreateICmpEQ(b.span, ir.getInt64(0))));
      break;
    }
  }
  return made;
}

}  // namespace wavetap::jit
