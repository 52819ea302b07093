// A look into the worker's translation cache, as Wave::translate() does it.
//
// Most instructions find their addresses where they found them before: that entry is looked at first,
// in place. All of them are looked at by one function of the module.
#include <bit>
#include <cstddef>
#include <cstdint>

#include "emu/compiler.h"
#include "emu/wave.h"
#include "jit/native/emit_parts.h"
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

Value* at(llvm::IRBuilder<>& ir, Value* base, size_t offset) {
  return ir.CreateConstGEP1_64(ir.getInt8Ty(), base, offset);
}
// A pointer that nobody changes while a block runs.
Value* load_constant(llvm::IRBuilder<>& ir, Value* from) {
  llvm::LoadInst* load = ir.CreateLoad(ir.getPtrTy(), from);
  load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                    llvm::MDNode::get(ir.getContext(), std::nullopt));
  return load;
}
Value* tlb_of(llvm::IRBuilder<>& ir, Value* wave) {
  return load_constant(ir, at(ir, wave, offsetof(Wave, tlb)));
}
// Whether the cache knows what the memory has now.
Value* is_current(llvm::IRBuilder<>& ir, Value* wave, Value* tlb) {
  Value* dispatch = load_constant(ir, at(ir, wave, offsetof(Wave, dispatch)));
  Value* memory = load_constant(ir, at(ir, dispatch, offsetof(emu::Dispatch, memory)));
  llvm::LoadInst* epoch =
      ir.CreateAlignedLoad(ir.getInt64Ty(), at(ir, memory, EpochPlace().offset()), llvm::Align(8));
  epoch->setAtomic(llvm::AtomicOrdering::Monotonic);
  return ir.CreateICmpEQ(epoch, ir.CreateLoad(ir.getInt64Ty(), at(ir, tlb, offsetof(Tlb, epoch))));
}

Value* entry_at(llvm::IRBuilder<>& ir, Value* tlb, Value* number) {
  Value* distance = ir.CreateMul(number, ir.getInt64(sizeof(MappedRange)));
  return ir.CreateGEP(ir.getInt8Ty(), at(ir, tlb, offsetof(Tlb, entry)), distance);
}

struct Request {
  Value* address;
  Value* size;
  Value* right;  // its place in MappedRange
};
struct Look {
  Value* is_hit;
  Value* host;
};
Look look_at(llvm::IRBuilder<>& ir, Value* range, const Request& request) {
  const auto load = [&](size_t offset) {
    return ir.CreateLoad(ir.getInt64Ty(), at(ir, range, offset));
  };
  Value* begin = load(offsetof(MappedRange, begin));
  Value* bytes = ir.CreateSub(load(offsetof(MappedRange, end)), begin);
  Value* distance = ir.CreateSub(request.address, begin);
  Value* right = ir.CreateLoad(ir.getInt8Ty(), ir.CreateGEP(ir.getInt8Ty(), range, request.right));
  Value* is_hit = ir.CreateICmpULT(distance, bytes);
  is_hit = ir.CreateAnd(is_hit, ir.CreateICmpUGE(ir.CreateSub(bytes, distance), request.size));
  is_hit = ir.CreateAnd(is_hit, ir.CreateICmpNE(right, ir.getInt8(0)));
  return {is_hit, ir.CreateAdd(load(offsetof(MappedRange, host)), distance)};
}

// i64 translate(ptr wave, i64 address, i64 size, i64 place of the right in MappedRange, ptr guess)
llvm::Function* make_translate(llvm::Module& module) {
  llvm::IRBuilder<> ir(module.getContext());
  llvm::Type* u64 = ir.getInt64Ty();
  auto* type = llvm::FunctionType::get(u64, {ir.getPtrTy(), u64, u64, u64, ir.getPtrTy()}, false);
  auto* made = llvm::Function::Create(type, llvm::Function::InternalLinkage, kName, module);
  made->setDoesNotThrow();
  made->addFnAttr(llvm::Attribute::NoInline);
  made->addFnAttr(llvm::Attribute::Cold);
  Value* wave = made->getArg(0);
  const Request request{made->getArg(1), made->getArg(2), made->getArg(3)};
  const auto block = [&](const char* name) {
    return BasicBlock::Create(module.getContext(), name, made);
  };
  BasicBlock* entry = block("entry");
  BasicBlock* loop = block("loop");
  BasicBlock* hit = block("hit");
  BasicBlock* next = block("next");
  BasicBlock* miss = block("miss");

  ir.SetInsertPoint(entry);
  Value* tlb = tlb_of(ir, wave);
  ir.CreateCondBr(is_current(ir, wave, tlb), loop, miss);

  ir.SetInsertPoint(loop);
  llvm::PHINode* number = ir.CreatePHI(u64, 2);
  number->addIncoming(ir.getInt64(0), entry);
  const Look look = look_at(ir, entry_at(ir, tlb, number), request);
  ir.CreateCondBr(look.is_hit, hit, next);

  ir.SetInsertPoint(hit);
  ir.CreateStore(ir.CreateTrunc(number, ir.getInt8Ty()), made->getArg(4));
  ir.CreateRet(look.host);

  ir.SetInsertPoint(next);
  Value* following = ir.CreateAdd(number, ir.getInt64(1));
  number->addIncoming(following, next);
  ir.CreateCondBr(ir.CreateICmpNE(following, ir.getInt64(Tlb::kEntries)), loop, miss);

  ir.SetInsertPoint(miss);
  ir.CreateRet(ir.getInt64(0));
  return made;
}

}  // namespace

Value* emit_translate(llvm::IRBuilder<>& ir, Value* wave, Value* address, Value* size, bool write,
                      int32_t index) {
  llvm::Module& module = *ir.GetInsertBlock()->getModule();
  llvm::Function* function = module.getFunction(kName);
  if (function == nullptr) function = make_translate(module);
  const auto block = [&](const char* name) {
    return BasicBlock::Create(module.getContext(), name, ir.GetInsertBlock()->getParent());
  };
  BasicBlock* guessed = block("guessed");
  BasicBlock* search = block("search");
  BasicBlock* done = block("translated");
  const Request request{
      address, size,
      ir.getInt64(write ? offsetof(MappedRange, writable) : offsetof(MappedRange, readable))};
  Value* tlb = tlb_of(ir, wave);
  // Right in front of the registers. What others have left there names an entry all the same.
  const int64_t place = static_cast<uint32_t>(index) % emu::kGuessBytes;
  Value* rows = load_constant(ir, at(ir, wave, offsetof(Wave, v)));
  Value* guess = ir.CreateConstGEP1_64(ir.getInt8Ty(), rows,
                                       static_cast<uint64_t>(place - int64_t{emu::kGuessBytes}));
  static_assert(std::has_single_bit(uint32_t{Tlb::kEntries}));
  Value* number = ir.CreateAnd(ir.CreateZExt(ir.CreateLoad(ir.getInt8Ty(), guess), ir.getInt64Ty()),
                               ir.getInt64(Tlb::kEntries - 1));
  const Look look = look_at(ir, entry_at(ir, tlb, number), request);
  Value* is_hit = ir.CreateAnd(is_current(ir, wave, tlb), look.is_hit);
  emit_usually(ir, is_hit, guessed, search);
  ir.SetInsertPoint(guessed);
  ir.CreateBr(done);
  ir.SetInsertPoint(search);
  Value* found = ir.CreateCall(function, {wave, address, size, request.right, guess});
  ir.CreateBr(done);
  ir.SetInsertPoint(done);
  llvm::PHINode* host = ir.CreatePHI(ir.getInt64Ty(), 2);
  host->addIncoming(look.host, guessed);
  host->addIncoming(found, search);
  return host;
}

}  // namespace wavetap::jit
