// A look at the lanes of one or two registers: emit_scan() of address_facts.h.
//
// A function of the module, as it is needed in many places and seldom runs.
#include <vector>

#include "jit/native/address_facts.h"
#include "jit/native/emit_parts.h"

#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

namespace wavetap::jit {

using llvm::BasicBlock;
using llvm::Value;

namespace {

constexpr uint64_t kMostSpan = 0x7fffffff;
constexpr uint64_t kNoSpan = ~uint64_t{0};
constexpr uint64_t kFarthestScannedStep = 1024;

class ScanFunction {
 public:
  ScanFunction(llvm::Module& module, const char* name, bool is_pair, unsigned wave_lanes)
      : ir_(module.getContext()), is_pair_(is_pair), count_(wave_lanes / kAddressGroup) {
    llvm::Type* pointer = ir_.getPtrTy();
    llvm::Type* number = ir_.getInt64Ty();
    result_ = llvm::StructType::get(number, number, number);
    auto* type = llvm::FunctionType::get(result_, {pointer, pointer, number}, false);
    function_ = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, module);
    function_->setDoesNotThrow();
    function_->addFnAttr(llvm::Attribute::NoInline);
    exec_ = function_->getArg(2);
    BasicBlock* entry = block("entry");
    BasicBlock* full = block("full");
    BasicBlock* some = block("some");
    ir_.SetInsertPoint(entry);
    const uint64_t all = wave_lanes == 64 ? ~uint64_t{0} : 0xffffffff;
    ir_.CreateCondBr(ir_.CreateICmpEQ(exec_, ir_.getInt64(all)), full, some);
    ir_.SetInsertPoint(full);
    emit_for_all();
    ir_.SetInsertPoint(some);
    emit_for_some();
  }
  llvm::Function* get() const { return function_; }

 private:
  // The first lane that counts and how far the next one is behind it.
  struct Pattern {
    Value* first;
    Value* high;
    Value* step;
    Value* far_step;  // 64 bits
    Value* is_near;
    Value* distance;  // of each lane of a group from its first
  };
  // Lane by lane, from all groups.
  struct Range {
    Value* least;
    Value* most;
    Value* off_high;  // differences in upper halves
  };

  BasicBlock* block(const char* name) {
    return BasicBlock::Create(ir_.getContext(), name, function_);
  }
  Value* splat(Value* value) { return ir_.CreateVectorSplat(kAddressGroup, value); }
  Value* zero() { return splat(ir_.getInt32(0)); }
  Value* row(unsigned argument, unsigned group) {
    Value* at = ir_.CreateConstGEP1_64(ir_.getInt32Ty(), function_->getArg(argument),
                                       uint64_t{group} * kAddressGroup);
    return ir_.CreateAlignedLoad(llvm::FixedVectorType::get(ir_.getInt32Ty(), kAddressGroup), at,
                                 llvm::Align(64));
  }
  Value* lane(unsigned argument, Value* number) {
    return ir_.CreateLoad(ir_.getInt32Ty(),
                          ir_.CreateGEP(ir_.getInt32Ty(), function_->getArg(argument), number));
  }
  Value* is_zero(Value* vector) {
    return ir_.CreateICmpEQ(ir_.CreateOrReduce(vector), ir_.getInt32(0));
  }
  Value* wide(Value* value) {
    return is_pair_ ? ir_.CreateZExt(value, ir_.getInt64Ty())
                    : ir_.CreateSExt(value, ir_.getInt64Ty());
  }
  Value* less(Value* a, Value* b) {
    return ir_.CreateBinaryIntrinsic(is_pair_ ? llvm::Intrinsic::umin : llvm::Intrinsic::smin, a,
                                     b);
  }
  Value* more(Value* a, Value* b) {
    return ir_.CreateBinaryIntrinsic(is_pair_ ? llvm::Intrinsic::umax : llvm::Intrinsic::smax, a,
                                     b);
  }
  Pattern pattern(Value* first_lane, Value* second_lane);
  Value* off_pattern(const Pattern& of, unsigned group);
  void add(Range& range, Value* low, Value* off_high);
  void finish(const Pattern& of, const Range& range, Value* step);
  void finish(const Pattern& of, Value* lowest, Value* span, Value* step, Value* holds);
  void emit_for_all();
  void emit_in_steps(const Pattern& of, Value* off_high);
  void emit_for_some();

  llvm::IRBuilder<> ir_;
  const bool is_pair_;
  const unsigned count_;
  llvm::StructType* result_;
  llvm::Function* function_;
  Value* exec_;
};

ScanFunction::Pattern ScanFunction::pattern(Value* first_lane, Value* second_lane) {
  Pattern of;
  of.first = lane(0, first_lane);
  of.high = is_pair_ ? lane(1, first_lane) : ir_.getInt32(0);
  of.step = ir_.CreateSub(lane(0, second_lane), of.first);
  of.far_step = ir_.CreateSExt(of.step, ir_.getInt64Ty());
  of.is_near = ir_.CreateICmpULT(ir_.CreateAdd(of.far_step, ir_.getInt64(kFarthestScannedStep)),
                                 ir_.getInt64(2 * kFarthestScannedStep));
  std::vector<llvm::Constant*> numbers;
  for (unsigned i = 0; i < kAddressGroup; ++i) numbers.push_back(ir_.getInt32(i));
  of.distance = ir_.CreateMul(splat(of.step), llvm::ConstantVector::get(numbers));
  return of;
}

Value* ScanFunction::off_pattern(const Pattern& of, unsigned group) {
  Value* low = row(0, group);
  Value* begin = splat(ir_.CreateExtractElement(low, uint64_t{0}));
  return ir_.CreateXor(low, ir_.CreateAdd(begin, of.distance));
}

void ScanFunction::add(Range& range, Value* low, Value* off_high) {
  range.least = less(range.least, low);
  range.most = more(range.most, low);
  range.off_high = ir_.CreateOr(range.off_high, off_high);
}

void ScanFunction::finish(const Pattern& of, const Range& range, Value* step) {
  Value* lowest = wide(ir_.CreateIntMinReduce(range.least, /*IsSigned=*/!is_pair_));
  Value* span = ir_.CreateSub(wide(ir_.CreateIntMaxReduce(range.most, !is_pair_)), lowest);
  Value* holds = ir_.CreateICmpULE(span, ir_.getInt64(kMostSpan));
  if (is_pair_) holds = ir_.CreateAnd(holds, is_zero(range.off_high));
  finish(of, lowest, span, step, holds);
}

void ScanFunction::finish(const Pattern& of, Value* lowest, Value* span, Value* step,
                          Value* holds) {
  if (is_pair_)
    lowest = ir_.CreateOr(lowest, ir_.CreateShl(ir_.CreateZExt(of.high, ir_.getInt64Ty()), 32));
  // Three results are as many as hosts have registers for.
  Value* const fields[] = {lowest, ir_.CreateSelect(holds, span, ir_.getInt64(kNoSpan)), step};
  Value* result = llvm::PoisonValue::get(result_);
  for (unsigned k = 0; k < 3; ++k) result = ir_.CreateInsertValue(result, fields[k], k);
  ir_.CreateRet(result);
}

// Where the first group has no pattern the others are not asked for it, and where all have it the range
// comes from their first lanes.
void ScanFunction::emit_for_all() {
  BasicBlock* others = block("other_groups");
  BasicBlock* in_steps = block("in_steps");
  BasicBlock* any = block("any");
  const Pattern of = pattern(ir_.getInt64(0), ir_.getInt64(1));
  Value* has_step = ir_.CreateAnd(is_zero(off_pattern(of, 0)), of.is_near);
  ir_.CreateCondBr(has_step, others, any);

  ir_.SetInsertPoint(others);
  Value* off = off_pattern(of, 1);
  for (unsigned i = 2; i < count_; ++i) off = ir_.CreateOr(off, off_pattern(of, i));
  ir_.CreateCondBr(is_zero(off), in_steps, any);

  const auto off_high = [&](unsigned i) {
    return is_pair_ ? ir_.CreateXor(row(1, i), splat(of.high)) : zero();
  };
  ir_.SetInsertPoint(in_steps);
  Value* off_highs = off_high(0);
  for (unsigned i = 1; i < count_; ++i) off_highs = ir_.CreateOr(off_highs, off_high(i));
  emit_in_steps(of, off_highs);

  ir_.SetInsertPoint(any);
  Range range{splat(of.first), splat(of.first), zero()};
  for (unsigned i = 0; i < count_; ++i) add(range, row(0, i), off_high(i));
  finish(of, range, ir_.getInt64(kNoStep));
}

// 32 bits may wrap, as facts do; of 64 the lower half must not.
void ScanFunction::emit_in_steps(const Pattern& of, Value* off_high) {
  Value* least = of.first;
  Value* most = of.first;
  for (unsigned i = 1; i < count_; ++i) {
    Value* begin = lane(0, ir_.getInt64(uint64_t{i} * kAddressGroup));
    least = less(least, begin);
    most = more(most, begin);
  }
  Value* to_last = ir_.CreateMul(of.far_step, ir_.getInt64(kAddressGroup - 1));
  Value* before = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, to_last, ir_.getInt64(0));
  Value* behind = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, to_last, ir_.getInt64(0));
  Value* lowest = ir_.CreateAdd(wide(least), before);
  Value* highest = ir_.CreateAdd(wide(most), behind);
  Value* span = ir_.CreateSub(highest, lowest);
  Value* holds = ir_.CreateICmpULE(span, ir_.getInt64(kMostSpan));
  if (is_pair_) {
    Value* fits = ir_.CreateAnd(ir_.CreateICmpSGE(lowest, ir_.getInt64(0)),
                                ir_.CreateICmpULE(highest, ir_.getInt64(0xffffffff)));
    holds = ir_.CreateAnd(holds, ir_.CreateAnd(fits, is_zero(off_high)));
  }
  finish(of, lowest, span, of.far_step, holds);
}

// Lanes that are off do not count; the first active one stands for them.
void ScanFunction::emit_for_some() {
  const uint64_t last = uint64_t{count_} * kAddressGroup - 1;
  Value* found = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, exec_, ir_.getFalse());
  Value* first_lane = ir_.CreateAnd(found, ir_.getInt64(last));
  Value* second_lane =
      ir_.CreateAnd(ir_.CreateAdd(first_lane, ir_.getInt64(1)), ir_.getInt64(last));
  const Pattern of = pattern(first_lane, second_lane);
  Value* off = zero();
  Range range{splat(of.first), splat(of.first), zero()};
  for (unsigned i = 0; i < count_; ++i) {
    Value* bits = ir_.CreateTrunc(ir_.CreateLShr(exec_, uint64_t{i} * kAddressGroup),
                                  ir_.getIntNTy(kAddressGroup));
    Value* mask = emit_lane_mask(ir_, bits);
    off = ir_.CreateOr(off, ir_.CreateSelect(mask, off_pattern(of, i), zero()));
    Value* high = is_pair_ ? ir_.CreateXor(row(1, i), splat(of.high)) : zero();
    add(range, ir_.CreateSelect(mask, row(0, i), splat(of.first)),
        ir_.CreateSelect(mask, high, zero()));
  }
  Value* has_step = ir_.CreateAnd(is_zero(off), of.is_near);
  finish(of, range, ir_.CreateSelect(has_step, of.far_step, ir_.getInt64(kNoStep)));
}

}  // namespace

Fact emit_scan(llvm::IRBuilder<>& ir, Value* low, Value* high, Value* exec, unsigned wave_lanes) {
  llvm::Module& module = *ir.GetInsertBlock()->getModule();
  const bool is_pair = high != nullptr;
  const char* name = is_pair ? "scan_pair" : "scan_row";
  llvm::Function* function = module.getFunction(name);
  if (function == nullptr) function = ScanFunction(module, name, is_pair, wave_lanes).get();
  Value* found = ir.CreateCall(function, {low, is_pair ? high : low, exec});
  const auto field = [&](unsigned k) { return ir.CreateExtractValue(found, k); };
  Value* holds = ir.CreateICmpNE(field(1), ir.getInt64(kNoSpan));
  return {field(0), field(1), field(2), ir.CreateSelect(holds, exec, ir.getInt64(0))};
}

}  // namespace wavetap::jit
