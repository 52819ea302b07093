// A look into the worker's translation cache, as Wave::translate() does it.
//
// One function of the module: it is needed in many places and is no longer inline than called.
#include <cstddef>

#include "emu/wave.h"
#include "jit/native/memory_emitter.h"

#include "llvm/IR/Module.h"

namespace wavetap::jit {

using emu::MappedRange;
using emu::Tlb;
using emu::Wave;
using llvm::BasicBlock;
using llvm::Value;

namespace {

// Where Memory keeps what Memory::epoch() returns.
class EpochPlace final : public emu::Memory {
 public:
  emu::MappedRange lookup(GpuAddr) noexcept override { return {}; }
  size_t offset() const {
    const auto* memory = static_cast<const emu::Memory*>(this);
    return static_cast<size_t>(reinterpret_cast<const char*>(&epoch_) -
                               reinterpret_cast<const char*>(memory));
  }
};

constexpr const char* kName = "translate";

// i64 translate(ptr wave, i64 address, i64 size, i64 place of the right in MappedRange)
llvm::Function* make_translate(llvm::Module& module) {
  llvm::IRBuilder<> ir(module.getContext());
  llvm::Type* u64 = ir.getInt64Ty();
  auto* type = llvm::FunctionType::get(u64, {ir.getPtrTy(), u64, u64, u64}, false);
  auto* made = llvm::Function::Create(type, llvm::Function::InternalLinkage, kName, module);
  made->setDoesNotThrow();
  made->addFnAttr(llvm::Attribute::NoInline);
  Value* wave = made->getArg(0);
  Value* address = made->getArg(1);
  const auto block = [&](const char* name) {
    return BasicBlock::Create(module.getContext(), name, made);
  };
  const auto at = [&](Value* base, size_t offset) {
    return ir.CreateConstGEP1_64(ir.getInt8Ty(), base, offset);
  };
  BasicBlock* entry = block("entry");
  BasicBlock* loop = block("loop");
  BasicBlock* inside = block("inside");
  BasicBlock* hit = block("hit");
  BasicBlock* next = block("next");
  BasicBlock* miss = block("miss");

  ir.SetInsertPoint(entry);
  Value* tlb = ir.CreateLoad(ir.getPtrTy(), at(wave, offsetof(Wave, tlb)));
  Value* dispatch = ir.CreateLoad(ir.getPtrTy(), at(wave, offsetof(Wave, dispatch)));
  Value* memory = ir.CreateLoad(ir.getPtrTy(), at(dispatch, offsetof(emu::Dispatch, memory)));
  llvm::LoadInst* epoch =
      ir.CreateAlignedLoad(u64, at(memory, EpochPlace().offset()), llvm::Align(8));
  epoch->setAtomic(llvm::AtomicOrdering::Monotonic);
  Value* known = ir.CreateLoad(u64, at(tlb, offsetof(Tlb, epoch)));
  ir.CreateCondBr(ir.CreateICmpEQ(epoch, known), loop, miss);

  ir.SetInsertPoint(loop);
  llvm::PHINode* range = ir.CreatePHI(ir.getPtrTy(), 2);
  range->addIncoming(at(tlb, offsetof(Tlb, entry)), entry);
  Value* begin = ir.CreateLoad(u64, at(range, offsetof(MappedRange, begin)));
  Value* end = ir.CreateLoad(u64, at(range, offsetof(MappedRange, end)));
  Value* distance = ir.CreateSub(address, begin);
  ir.CreateCondBr(ir.CreateICmpULT(distance, ir.CreateSub(end, begin)), inside, next);

  ir.SetInsertPoint(inside);
  Value* right =
      ir.CreateLoad(ir.getInt8Ty(), ir.CreateGEP(ir.getInt8Ty(), range, made->getArg(3)));
  Value* fits = ir.CreateICmpUGE(ir.CreateSub(end, address), made->getArg(2));
  ir.CreateCondBr(ir.CreateAnd(fits, ir.CreateICmpNE(right, ir.getInt8(0))), hit, next);

  ir.SetInsertPoint(hit);
  Value* host = ir.CreateLoad(u64, at(range, offsetof(MappedRange, host)));
  ir.CreateRet(ir.CreateAdd(host, distance));

  ir.SetInsertPoint(next);
  Value* following = at(range, sizeof(MappedRange));
  range->addIncoming(following, next);
  Value* last = at(tlb, offsetof(Tlb, entry) + Tlb::kEntries * sizeof(MappedRange));
  ir.CreateCondBr(ir.CreateICmpNE(following, last), loop, miss);

  ir.SetInsertPoint(miss);
  ir.CreateRet(ir.getInt64(0));
  return made;
}

}  // namespace

Value* emit_translate(llvm::IRBuilder<>& ir, Value* wave, Value* address, Value* size, bool write) {
  llvm::Module& module = *ir.GetInsertBlock()->getModule();
  llvm::Function* function = module.getFunction(kName);
  if (function == nullptr) function = make_translate(module);
  const size_t right = write ? offsetof(MappedRange, writable) : offsetof(MappedRange, readable);
  return ir.CreateCall(function, {wave, address, size, ir.getInt64(right)});
}

}  // namespace wavetap::jit
