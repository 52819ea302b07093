#include "jit/native/memory_emitter.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "emu/wave.h"
#include "jit/native/emit_parts.h"

#include "llvm/IR/Intrinsics.h"

namespace wavetap::jit {

using emu::Wave;
using isa::Inst;
using isa::OperandKind;
using llvm::BasicBlock;
using llvm::Value;
using Space = MemoryOp::Space;

namespace {

llvm::Type* quad_type(llvm::IRBuilder<>& ir) {
  return llvm::FixedVectorType::get(ir.getInt32Ty(), 4);
}

// Elements of four lanes as memory has them into registers of four lanes, or back.
std::vector<Value*> turn(llvm::IRBuilder<>& ir, const std::vector<Value*>& quads, bool to_memory) {
  const auto pick = [&](Value* a, Value* b, int i, int j, int k, int l) {
    return ir.CreateShuffleVector(a, b, {i, j, k, l});
  };
  const size_t count = quads.size();
  if (count == 2 && to_memory)
    return {pick(quads[0], quads[1], 0, 4, 1, 5), pick(quads[0], quads[1], 2, 6, 3, 7)};
  if (count == 2)
    return {pick(quads[0], quads[1], 0, 2, 4, 6), pick(quads[0], quads[1], 1, 3, 5, 7)};
  if (count == 4) {
    Value* low01 = pick(quads[0], quads[1], 0, 4, 1, 5);
    Value* high01 = pick(quads[0], quads[1], 2, 6, 3, 7);
    Value* low23 = pick(quads[2], quads[3], 0, 4, 1, 5);
    Value* high23 = pick(quads[2], quads[3], 2, 6, 3, 7);
    return {pick(low01, low23, 0, 1, 4, 5), pick(low01, low23, 2, 3, 6, 7),
            pick(high01, high23, 0, 1, 4, 5), pick(high01, high23, 2, 3, 6, 7)};
  }
  std::vector<Value*> turned(count, llvm::PoisonValue::get(quad_type(ir)));
  for (unsigned lane = 0; lane < 4; ++lane) {
    for (unsigned row = 0; row < count; ++row) {
      const auto place = static_cast<unsigned>(lane * count + row);  // in memory
      Value* from = to_memory ? ir.CreateExtractElement(quads[row], uint64_t{lane})
                              : ir.CreateExtractElement(quads[place / 4], uint64_t{place % 4});
      Value*& to = turned[to_memory ? place / 4 : row];
      to = ir.CreateInsertElement(to, from, uint64_t{to_memory ? place % 4 : lane});
    }
  }
  return turned;
}

// Vectors of the same size, as many as a power of two, one after the other.
Value* join(llvm::IRBuilder<>& ir, std::vector<Value*> parts) {
  while (parts.size() > 1) {
    std::vector<Value*> half;
    for (size_t i = 0; i < parts.size(); i += 2) {
      const auto* type = llvm::cast<llvm::FixedVectorType>(parts[i]->getType());
      std::vector<int> order;
      for (unsigned k = 0; k < 2 * type->getNumElements(); ++k)
        order.push_back(static_cast<int>(k));
      half.push_back(ir.CreateShuffleVector(parts[i], parts[i + 1], order));
    }
    parts = std::move(half);
  }
  return parts[0];
}

// Four lanes of each row.
std::vector<Value*> quads_at(llvm::IRBuilder<>& ir, const std::vector<Value*>& rows,
                             unsigned lane) {
  const int first = static_cast<int>(lane);
  std::vector<Value*> quads;
  for (Value* row : rows)
    quads.push_back(ir.CreateShuffleVector(row, {first, first + 1, first + 2, first + 3}));
  return quads;
}

// Three dwords move one by one, so that lanes which are a dword apart are three rows.
bool slides(const MemoryOp& op, int64_t step) { return op.bytes == 12 && step == 4; }

}  // namespace

BasicBlock* MemoryEmitter::new_block(const char* name) {
  return BasicBlock::Create(ir_.getContext(), name, ir_.GetInsertBlock()->getParent());
}
Value* MemoryEmitter::load_field(llvm::Type* type, size_t offset) {
  return ir_.CreateLoad(type, ir_.CreateConstGEP1_64(ir_.getInt8Ty(), wave_, offset));
}

// --- Inside a strip.

void MemoryEmitter::begin_strip(const LaneBuilder& lanes, Value* active) {
  lanes_ = &lanes;
  for (Group& group : groups_) {
    group.flag.clear();
    group.first.clear();
  }
  active_ = active;
  is_whole_ = ir_.CreateICmpEQ(active, llvm::Constant::getAllOnesValue(active->getType()));
}

const MemoryEmitter::Access& MemoryEmitter::find(const Inst& inst) const {
  return *std::find_if(accesses_.begin(), accesses_.end(),
                       [&](const Access& access) { return access.inst == &inst; });
}

// A fault of the host's is reported for the instruction before pc. LDS does not vanish.
void MemoryEmitter::note_place(const Access& access) {
  if (access.op.space == Space::kLds) return;
  ir_.CreateStore(ir_.getInt32(static_cast<uint32_t>(access.index + 1)),
                  ir_.CreateConstGEP1_64(ir_.getInt8Ty(), wave_, offsetof(Wave, pc)));
}

Value* MemoryEmitter::has_step(Group& group, uint32_t step) {
  Value*& flag = group.flag[step];
  if (flag == nullptr) {
    Value* reads_all = group.covers == nullptr ? is_whole_ : ir_.CreateOr(is_whole_, group.covers);
    Value* has = ir_.CreateAnd(reads_all, ir_.CreateICmpEQ(group.step, ir_.getInt64(step)));
    flag = ir_.CreateZExt(has, ir_.getInt32Ty());
  }
  return ir_.CreateICmpNE(flag, ir_.getInt32(0));
}

// What is added to the group's origin. Addresses without an upper half do not wrap: check_group().
Value* MemoryEmitter::distance(const Group& group, Value* low) {
  if (!group.is_wide) return low;
  const bool is_one = low->getType()->isIntegerTy();
  return ir_.CreateSub(low, is_one ? group.lowest : lanes_->splat(group.lowest));
}
// One of `low`. What was loaded for the strip is loaded once more: that is quicker than to take it out.
Value* MemoryEmitter::lane_of(Value* low, unsigned lane) {
  auto* load = llvm::dyn_cast<llvm::LoadInst>(low);
  if (load == nullptr) return ir_.CreateExtractElement(low, uint64_t{lane});
  return ir_.CreateLoad(ir_.getInt32Ty(),
                        ir_.CreateConstGEP1_64(ir_.getInt32Ty(), load->getPointerOperand(), lane));
}

// Of the element of a lane whose address register is `low`, `more` bytes on.
Value* MemoryEmitter::pointer(const Access& access, Value* low, uint32_t element, uint32_t more) {
  const Group& group = groups_[access.group];
  const int64_t offset = access.offset[element] + more - group.begin;
  Value* base = ir_.CreateIntToPtr(
      ir_.CreateAdd(group.origin, ir_.getInt64(static_cast<uint64_t>(offset))), ir_.getPtrTy());
  Value* from_origin = ir_.CreateZExt(distance(group, low), ir_.getInt64Ty());
  return ir_.CreateGEP(ir_.getInt8Ty(), base, from_origin);
}
// Before branches, so that all accesses of the strip have it.
void MemoryEmitter::find_first(Group& group) {
  Value*& first = group.first[low_];
  if (first != nullptr) return;
  Value* of_first = distance(group, lane_of(low_, 0));
  first = ir_.CreateAdd(group.origin, ir_.CreateZExt(of_first, ir_.getInt64Ty()));
}
Value* MemoryEmitter::first_pointer(const Access& access, uint32_t element) {
  const Group& group = groups_[access.group];
  Value* first = ir_.CreateIntToPtr(group.first.at(low_), ir_.getPtrTy());
  const int64_t offset = access.offset[element] - group.begin;
  return ir_.CreateConstGEP1_64(ir_.getInt8Ty(), first, static_cast<uint64_t>(offset));
}

// The strip's; lanes that are off have one that does no harm.
Value* MemoryEmitter::addresses(const Group& group) {
  return ir_.CreateSelect(emit_lane_mask(ir_, active_), low_, lanes_->splat(group.lowest));
}

// Every access is volatile: none is merged with another, left out, or taken apart. Elements of 8 and
// 16 bytes move whole, as handlers move them (emu/exec/element.h).
Value* MemoryEmitter::read(llvm::Type* type, Value* at) {
  return ir_.CreateAlignedLoad(type, at, llvm::Align(1), /*isVolatile=*/true);
}
void MemoryEmitter::put(Value* value, Value* at) {
  ir_.CreateAlignedStore(value, at, llvm::Align(1), /*isVolatile=*/true);
}
Value* MemoryEmitter::extend(const Access& access, Value* value, llvm::Type* type) {
  return access.op.is_signed ? ir_.CreateSExt(value, type) : ir_.CreateZExt(value, type);
}

// A register of which one half is loaded, as handlers make it (emu/exec/element.h).
Value* MemoryEmitter::put_half(const Access& access, Value* bits, Value* old) {
  const bool is_high = access.op.part == MemoryOp::Part::kHigh;
  Value* rest = ir_.CreateAnd(kept_, ir_.getInt32(is_high ? 0xffffu : 0xffff0000u));
  Value* half = is_high ? ir_.CreateShl(bits, lanes_->splat(16u))
                        : ir_.CreateAnd(bits, lanes_->splat(0xffffu));
  return ir_.CreateOr(ir_.CreateAnd(old, lanes_->splat(rest)), half);
}

std::vector<Value*> MemoryEmitter::load_row(const Access& access, uint32_t element) {
  Value* at = first_pointer(access, element);
  if (access.op.bytes <= 4) {
    llvm::Type* type = lanes_->vector_of(ir_.getIntNTy(8 * access.op.bytes));
    return {extend(access, read(type, at), lanes_->u32())};
  }
  const unsigned rows = access.op.rows();
  std::vector<std::vector<Value*>> parts(rows);  // of each row, four lanes each
  for (unsigned lane = 0; lane < lanes_->lanes; lane += 4) {
    std::vector<Value*> quads;
    for (unsigned i = 0; i < rows; ++i)
      quads.push_back(read(quad_type(ir_), ir_.CreateConstGEP1_64(ir_.getInt32Ty(), at,
                                                                  uint64_t{lane} * rows + 4 * i)));
    const std::vector<Value*> turned = turn(ir_, quads, /*to_memory=*/false);
    for (unsigned row = 0; row < rows; ++row) parts[row].push_back(turned[row]);
  }
  std::vector<Value*> result;
  for (const std::vector<Value*>& part : parts) result.push_back(join(ir_, part));
  return result;
}

// A lane's element, as the registers have it.
std::vector<Value*> MemoryEmitter::load_one(const Access& access, Value* at) {
  const uint32_t bytes = access.op.bytes;
  if (bytes <= 4) return {read(ir_.getIntNTy(8 * bytes), at)};
  std::vector<Value*> result;
  if (bytes == 12) {
    for (uint32_t i = 0; i < 3; ++i)
      result.push_back(read(ir_.getInt32Ty(), ir_.CreateConstGEP1_64(ir_.getInt32Ty(), at, i)));
    return result;
  }
  llvm::Type* type = bytes == 8 ? static_cast<llvm::Type*>(ir_.getInt64Ty()) : quad_type(ir_);
  Value* whole = read(type, at);
  Value* dwords = ir_.CreateBitCast(whole, llvm::FixedVectorType::get(ir_.getInt32Ty(), bytes / 4));
  for (uint32_t i = 0; i < bytes / 4; ++i)
    result.push_back(ir_.CreateExtractElement(dwords, uint64_t{i}));
  return result;
}

std::vector<Value*> MemoryEmitter::load_same(const Access& access, uint32_t element) {
  std::vector<Value*> result;
  for (Value* value : load_one(access, first_pointer(access, element)))
    result.push_back(lanes_->splat(extend(access, value, ir_.getInt32Ty())));
  return result;
}

// Elements of three dwords, each a dword behind the one before: a row for each dword.
std::vector<Value*> MemoryEmitter::load_sliding(const Access& access, uint32_t element) {
  Value* at = first_pointer(access, element);
  std::vector<Value*> result;
  for (uint32_t i = 0; i < access.op.rows(); ++i)
    result.push_back(read(lanes_->u32(), ir_.CreateConstGEP1_64(ir_.getInt32Ty(), at, i)));
  return result;
}

// Elements of 8 and 16 bytes, four lanes at a time as memory would have them in a row.
std::vector<Value*> MemoryEmitter::load_whole_lanes(const Access& access, uint32_t element) {
  Value* at = addresses(groups_[access.group]);
  const unsigned rows = access.op.rows();
  std::vector<std::vector<Value*>> parts(rows);
  const auto whole = [&](unsigned lane, llvm::Type* type) {
    Value* low = lane_of(at, lane);
    return read(type, pointer(access, low, element, 0));
  };
  llvm::Type* pair = llvm::FixedVectorType::get(ir_.getInt64Ty(), 2);
  for (unsigned lane = 0; lane < lanes_->lanes; lane += 4) {
    std::vector<Value*> quads;
    for (unsigned i = 0; i < rows; ++i) {
      if (rows == 4) {
        quads.push_back(whole(lane + i, quad_type(ir_)));
        continue;
      }
      Value* two = llvm::PoisonValue::get(pair);
      for (unsigned k = 0; k < 2; ++k)
        two = ir_.CreateInsertElement(two, whole(lane + 2 * i + k, ir_.getInt64Ty()), uint64_t{k});
      quads.push_back(ir_.CreateBitCast(two, quad_type(ir_)));
    }
    const std::vector<Value*> turned = turn(ir_, quads, /*to_memory=*/false);
    for (unsigned row = 0; row < rows; ++row) parts[row].push_back(turned[row]);
  }
  std::vector<Value*> result;
  for (const std::vector<Value*>& part : parts) result.push_back(join(ir_, part));
  return result;
}

std::vector<Value*> MemoryEmitter::load_lanes(const Access& access, uint32_t element) {
  if (access.op.bytes == 8 || access.op.bytes == 16) return load_whole_lanes(access, element);
  Value* at = addresses(groups_[access.group]);
  llvm::Type* type = ir_.getIntNTy(8 * std::min(access.op.bytes, 4u));
  std::vector<Value*> result(access.op.rows(), llvm::PoisonValue::get(lanes_->vector_of(type)));
  for (unsigned lane = 0; lane < lanes_->lanes; ++lane) {
    Value* low = lane_of(at, lane);
    const std::vector<Value*> loaded = load_one(access, pointer(access, low, element, 0));
    for (size_t row = 0; row < result.size(); ++row)
      result[row] = ir_.CreateInsertElement(result[row], loaded[row], uint64_t{lane});
  }
  for (Value*& row : result) row = extend(access, row, lanes_->u32());
  return result;
}

// All elements of an instruction.
std::vector<Value*> MemoryEmitter::load_all(const Access& access, LoadOne one) {
  std::vector<Value*> rows;
  for (uint32_t element = 0; element < access.op.elements; ++element)
    for (Value* row : (this->*one)(access, element)) rows.push_back(row);
  return rows;
}

std::vector<Value*> MemoryEmitter::load_known(const Access& access) {
  const int64_t step = groups_[access.group].known_step;
  if (step == 0) return load_all(access, &MemoryEmitter::load_same);
  if (step == access.op.bytes) return load_all(access, &MemoryEmitter::load_row);
  return load_all(
      access, slides(access.op, step) ? &MemoryEmitter::load_sliding : &MemoryEmitter::load_lanes);
}

std::vector<Value*> MemoryEmitter::load_unknown(const Access& access) {
  Group& group = groups_[access.group];
  BasicBlock* in_row = new_block("load_row");
  BasicBlock* other = new_block("load_other");
  BasicBlock* same = new_block("load_same");
  BasicBlock* by_lane = new_block("load_lanes");
  BasicBlock* done = new_block("loaded");
  Value* is_in_row = has_step(group, access.op.bytes);
  Value* is_same = has_step(group, 0);
  ir_.CreateCondBr(is_in_row, in_row, other);
  ir_.SetInsertPoint(other);
  ir_.CreateCondBr(is_same, same, by_lane);
  const auto all = [&](BasicBlock* block, LoadOne one) {
    ir_.SetInsertPoint(block);
    std::vector<Value*> rows = load_all(access, one);
    ir_.CreateBr(done);
    return rows;
  };
  const std::vector<Value*> found[] = {all(in_row, &MemoryEmitter::load_row),
                                       all(same, &MemoryEmitter::load_same),
                                       all(by_lane, &MemoryEmitter::load_lanes)};
  ir_.SetInsertPoint(done);
  std::vector<Value*> result;
  for (size_t row = 0; row < found[0].size(); ++row) {
    llvm::PHINode* value = ir_.CreatePHI(lanes_->u32(), 3);
    value->addIncoming(found[0][row], in_row);
    value->addIncoming(found[1][row], same);
    value->addIncoming(found[2][row], by_lane);
    result.push_back(value);
  }
  return result;
}

// What the next round loads. No address is too wrong to be prefetched.
void MemoryEmitter::prefetch(const Access& access) {
  constexpr uint64_t kLine = 64;
  const Group& group = groups_[access.group];
  if (group.growth == nullptr || group.known_step != access.op.bytes) return;
  Value* next = ir_.CreateGEP(ir_.getInt8Ty(), first_pointer(access, 0), group.growth);
  for (uint64_t at = 0; at < uint64_t{lanes_->lanes} * access.op.bytes; at += kLine)
    ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {ir_.getPtrTy()},
                        {ir_.CreateConstGEP1_64(ir_.getInt8Ty(), next, at), ir_.getInt32(0),
                         ir_.getInt32(3), ir_.getInt32(1)});
}

std::vector<Value*> MemoryEmitter::load(const Inst& inst, Value* low, Value* old) {
  const Access& access = find(inst);
  low_ = low;
  Group& group = groups_[access.group];
  note_place(access);
  find_first(group);
  prefetch(access);
  const bool is_known = group.known_step != kAnyStep;
  std::vector<Value*> result = is_known ? load_known(access) : load_unknown(access);
  if (access.op.part != MemoryOp::Part::kWhole) result[0] = put_half(access, result[0], old);
  return result;
}

void MemoryEmitter::store_row(const Access& access, uint32_t element,
                              const std::vector<Value*>& rows) {
  Value* at = first_pointer(access, element);
  if (access.op.bytes <= 4) {
    llvm::Type* type = lanes_->vector_of(ir_.getIntNTy(8 * access.op.bytes));
    return put(ir_.CreateTrunc(rows[0], type), at);
  }
  const auto count = static_cast<unsigned>(rows.size());
  for (unsigned lane = 0; lane < lanes_->lanes; lane += 4) {
    const std::vector<Value*> turned = turn(ir_, quads_at(ir_, rows, lane), /*to_memory=*/true);
    for (unsigned i = 0; i < count; ++i)
      put(turned[i], ir_.CreateConstGEP1_64(ir_.getInt32Ty(), at, uint64_t{lane} * count + 4 * i));
  }
}

// Elements of 8 and 16 bytes as memory has them, two or one in a vector; nothing for others.
std::vector<Value*> MemoryEmitter::whole_elements(const Access& access,
                                                  const std::vector<Value*>& rows) {
  std::vector<Value*> result;
  if (access.op.bytes != 8 && access.op.bytes != 16) return result;
  llvm::Type* pair = llvm::FixedVectorType::get(ir_.getInt64Ty(), 2);
  for (unsigned lane = 0; lane < lanes_->lanes; lane += 4)
    for (Value* quad : turn(ir_, quads_at(ir_, rows, lane), /*to_memory=*/true))
      result.push_back(access.op.bytes == 8 ? ir_.CreateBitCast(quad, pair) : quad);
  return result;
}

// Lowest lane first: where lanes store to the same place, the highest one's value stays.
void MemoryEmitter::store_lanes(const Access& access, uint32_t element,
                                const std::vector<Value*>& rows) {
  const uint32_t bytes = access.op.bytes;
  llvm::Type* type = ir_.getIntNTy(8 * std::min(bytes, 4u));
  const std::vector<Value*> whole = whole_elements(access, rows);
  const auto one = [&](unsigned lane) {
    Value* low = lane_of(low_, lane);
    if (!whole.empty()) {
      Value* own =
          bytes == 16 ? whole[lane] : ir_.CreateExtractElement(whole[lane / 2], uint64_t{lane % 2});
      return put(own, pointer(access, low, element, 0));
    }
    for (uint32_t i = 0; i < rows.size(); ++i)
      put(ir_.CreateTrunc(ir_.CreateExtractElement(rows[i], uint64_t{lane}), type),
          pointer(access, low, element, 4 * i));
  };
  BasicBlock* all = new_block("store_all_lanes");
  BasicBlock* some = new_block("store_some_lanes");
  BasicBlock* done = new_block("stored_lanes");
  ir_.CreateCondBr(is_whole_, all, some);
  ir_.SetInsertPoint(all);
  for (unsigned lane = 0; lane < lanes_->lanes; ++lane) one(lane);
  ir_.CreateBr(done);
  ir_.SetInsertPoint(some);
  for (unsigned lane = 0; lane < lanes_->lanes; ++lane) {
    BasicBlock* set = new_block("store_lane");
    BasicBlock* next = new_block("next_lane");
    Value* bit = ir_.CreateTrunc(ir_.CreateLShr(active_, uint64_t{lane}), ir_.getInt1Ty());
    ir_.CreateCondBr(bit, set, next);
    ir_.SetInsertPoint(set);
    one(lane);
    ir_.CreateBr(next);
    ir_.SetInsertPoint(next);
  }
  ir_.CreateBr(done);
  ir_.SetInsertPoint(done);
}

void MemoryEmitter::store(const Inst& inst, uint32_t element, Value* low,
                          std::vector<Value*> rows) {
  const Access& access = find(inst);
  low_ = low;
  note_place(access);
  find_first(groups_[access.group]);
  if (access.op.part == MemoryOp::Part::kHigh)
    rows[0] = ir_.CreateLShr(rows[0], lanes_->splat(16u));
  if (groups_[access.group].known_step == access.op.bytes) return store_row(access, element, rows);
  BasicBlock* in_row = new_block("store_row");
  BasicBlock* by_lane = new_block("store_lanes");
  BasicBlock* done = new_block("store_done");
  ir_.CreateCondBr(has_step(groups_[access.group], access.op.bytes), in_row, by_lane);
  ir_.SetInsertPoint(in_row);
  store_row(access, element, rows);
  ir_.CreateBr(done);
  ir_.SetInsertPoint(by_lane);
  store_lanes(access, element, rows);
  ir_.CreateBr(done);
  ir_.SetInsertPoint(done);
}

}  // namespace wavetap::jit
