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
constexpr uint64_t kFarthestScannedStep = 1024;

class ScanFunction {
 public:
  ScanFunction(llvm::Module& module, const char* name, bool is_pair, unsigned wave_lanes)
      : ir_(module.getContext()), is_pair_(is_pair), count_(wave_lanes / kAddressGroup) {
    llvm::Type* pointer = ir_.getPtrTy();
    auto* type = llvm::FunctionType::get(ir_.getVoidTy(),
                                         {pointer, pointer, ir_.getInt64Ty(), pointer}, false);
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
    emit(false);
    ir_.SetInsertPoint(some);
    emit(true);
  }
  llvm::Function* get() const { return function_; }

 private:
  BasicBlock* block(const char* name) {
    return BasicBlock::Create(ir_.getContext(), name, function_);
  }
  Value* splat(Value* value) { return ir_.CreateVectorSplat(kAddressGroup, value); }
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
  void emit(bool is_masked);

  llvm::IRBuilder<> ir_;
  const bool is_pair_;
  const unsigned count_;
  llvm::Function* function_;
  Value* exec_;
};

// Lanes that are off do not count; the first active one stands for them.
void ScanFunction::emit(bool is_masked) {
  const uint64_t last = uint64_t{count_} * kAddressGroup - 1;
  Value* first_lane = ir_.getInt64(0);
  Value* second_lane = ir_.getInt64(1);
  if (is_masked) {
    Value* found = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, exec_, ir_.getFalse());
    first_lane = ir_.CreateAnd(found, ir_.getInt64(last));
    second_lane = ir_.CreateAnd(ir_.CreateAdd(first_lane, ir_.getInt64(1)), ir_.getInt64(last));
  }
  Value* first = lane(0, first_lane);
  Value* step = ir_.CreateSub(lane(0, second_lane), first);
  std::vector<llvm::Constant*> numbers;
  for (unsigned i = 0; i < kAddressGroup; ++i) numbers.push_back(ir_.getInt32(i));
  Value* distance = ir_.CreateMul(splat(step), llvm::ConstantVector::get(numbers));
  Value* high = is_pair_ ? lane(1, first_lane) : ir_.getInt32(0);
  Value* zero = llvm::Constant::getNullValue(distance->getType());
  Value* off_pattern = zero;
  Value* off_high = zero;
  Value* least = splat(first);
  Value* most = splat(first);
  for (unsigned i = 0; i < count_; ++i) {
    Value* low = row(0, i);
    Value* begin = splat(ir_.CreateExtractElement(low, uint64_t{0}));
    Value* difference = ir_.CreateXor(low, ir_.CreateAdd(begin, distance));
    Value* of_high = is_pair_ ? ir_.CreateXor(row(1, i), splat(high)) : zero;
    if (is_masked) {
      Value* bits = ir_.CreateTrunc(ir_.CreateLShr(exec_, uint64_t{i} * kAddressGroup),
                                    ir_.getIntNTy(kAddressGroup));
      Value* mask = emit_lane_mask(ir_, bits);
      difference = ir_.CreateSelect(mask, difference, zero);
      of_high = ir_.CreateSelect(mask, of_high, zero);
      low = ir_.CreateSelect(mask, low, splat(first));
    }
    off_pattern = ir_.CreateOr(off_pattern, difference);
    off_high = ir_.CreateOr(off_high, of_high);
    least = ir_.CreateBinaryIntrinsic(is_pair_ ? llvm::Intrinsic::umin : llvm::Intrinsic::smin,
                                      least, low);
    most = ir_.CreateBinaryIntrinsic(is_pair_ ? llvm::Intrinsic::umax : llvm::Intrinsic::smax, most,
                                     low);
  }
  const auto wide = [&](Value* value) {
    return is_pair_ ? ir_.CreateZExt(value, ir_.getInt64Ty())
                    : ir_.CreateSExt(value, ir_.getInt64Ty());
  };
  Value* lowest = wide(ir_.CreateIntMinReduce(least, /*IsSigned=*/!is_pair_));
  Value* span = ir_.CreateSub(wide(ir_.CreateIntMaxReduce(most, !is_pair_)), lowest);
  Value* far_step = ir_.CreateSExt(step, ir_.getInt64Ty());
  Value* is_near = ir_.CreateICmpULT(ir_.CreateAdd(far_step, ir_.getInt64(kFarthestScannedStep)),
                                     ir_.getInt64(2 * kFarthestScannedStep));
  Value* has_step = ir_.CreateAnd(is_zero(off_pattern), is_near);
  if (is_pair_)
    lowest = ir_.CreateOr(lowest, ir_.CreateShl(ir_.CreateZExt(high, ir_.getInt64Ty()), 32));
  Value* holds = ir_.CreateICmpULE(span, ir_.getInt64(kMostSpan));
  if (is_pair_) holds = ir_.CreateAnd(holds, is_zero(off_high));
  Value* const fields[] = {lowest, span,
                           ir_.CreateSelect(has_step, far_step, ir_.getInt64(kNoStep)),
                           ir_.CreateSelect(holds, exec_, ir_.getInt64(0))};
  for (unsigned k = 0; k < 4; ++k)
    ir_.CreateStore(fields[k], ir_.CreateConstGEP1_64(ir_.getInt64Ty(), function_->getArg(3), k));
  ir_.CreateRetVoid();
}

}  // namespace

void emit_scan(llvm::IRBuilder<>& ir, Value* low, Value* high, Value* exec, Value* slot,
               unsigned wave_lanes) {
  llvm::Module& module = *ir.GetInsertBlock()->getModule();
  const bool is_pair = high != nullptr;
  const char* name = is_pair ? "scan_pair" : "scan_row";
  llvm::Function* function = module.getFunction(name);
  if (function == nullptr) function = ScanFunction(module, name, is_pair, wave_lanes).get();
  ir.CreateCall(function, {low, is_pair ? high : low, exec, slot});
}

}  // namespace wavetap::jit
