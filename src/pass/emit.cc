#include "pass/emit.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace wavetap::pass {
namespace {

using format::ProbeLaunch;
using format::ProbeRing;
using format::SiteKind;
using llvm::Intrinsic::ID;

constexpr unsigned kGlobalSpace = 1;
constexpr unsigned kConstantSpace = 4;

uint32_t wants_of(SiteKind kind) {
  switch (kind) {
    case SiteKind::kBlock: return format::kProbeBlocks;
    case SiteKind::kMemory: return format::kProbeMemory;
    case SiteKind::kBarrier: return format::kProbeBarriers;
    case SiteKind::kMessage: return format::kProbeMessages;
  }
  return 0;
}

uint32_t record_of(SiteKind kind) {
  switch (kind) {
    case SiteKind::kBlock: return format::kBlockRecord;
    case SiteKind::kMemory: return format::kMemoryRecord;
    case SiteKind::kBarrier: return format::kBarrierRecord;
    case SiteKind::kMessage: return format::kMessageRecord;
  }
  return 0;
}

llvm::BasicBlock* block(llvm::Function* in, const char* name) {
  return llvm::BasicBlock::Create(in->getContext(), name, in);
}

}  // namespace

Emitter::Emitter(llvm::Function& kernel, llvm::Argument& launch, uint32_t wave_size)
    : kernel_(kernel),
      launch_(launch),
      module_(*kernel.getParent()),
      context_(kernel.getContext()),
      wave_size_(wave_size),
      i32_(llvm::Type::getInt32Ty(context_)),
      i64_(llvm::Type::getInt64Ty(context_)) {}

// ---- words of the wave ---------------------------------------------------------------------------

llvm::Value* Emitter::call(Builder& b, unsigned intrinsic, llvm::ArrayRef<llvm::Value*> arguments) {
  const ID id = static_cast<ID>(intrinsic);
  // Some take any type in newer compilers.
  llvm::SmallVector<llvm::Type*, 1> types;
  if (llvm::Intrinsic::isOverloaded(id)) types.push_back(arguments[0]->getType());
  return b.CreateCall(llvm::Intrinsic::getDeclaration(&module_, id, types), arguments);
}

llvm::Value* Emitter::ballot(Builder& b, llvm::Value* condition) {
  llvm::Type* const type = wave_size_ == 64 ? i64_ : i32_;
  llvm::Function* const function =
      llvm::Intrinsic::getDeclaration(&module_, llvm::Intrinsic::amdgcn_ballot, {type});
  return b.CreateZExt(b.CreateCall(function, {condition}), i64_);
}

// The value of the first active lane, in all of them.
llvm::Value* Emitter::first_lane(Builder& b, llvm::Value* wide) {
  llvm::Value* const low =
      call(b, llvm::Intrinsic::amdgcn_readfirstlane, {b.CreateTrunc(wide, i32_)});
  llvm::Value* const high =
      call(b, llvm::Intrinsic::amdgcn_readfirstlane, {b.CreateTrunc(b.CreateLShr(wide, 32), i32_)});
  return b.CreateOr(b.CreateZExt(low, i64_), b.CreateShl(b.CreateZExt(high, i64_), 32));
}

llvm::Value* Emitter::read_lane(Builder& b, llvm::Value* wide, llvm::Value* lane) {
  llvm::Value* const low =
      call(b, llvm::Intrinsic::amdgcn_readlane, {b.CreateTrunc(wide, i32_), lane});
  llvm::Value* const high = call(b, llvm::Intrinsic::amdgcn_readlane,
                                 {b.CreateTrunc(b.CreateLShr(wide, 32), i32_), lane});
  return b.CreateOr(b.CreateZExt(low, i64_), b.CreateShl(b.CreateZExt(high, i64_), 32));
}

// How many lanes of the mask come before this one.
llvm::Value* Emitter::lanes_below(Builder& b, llvm::Value* mask) {
  llvm::Value* count =
      call(b, llvm::Intrinsic::amdgcn_mbcnt_lo, {b.CreateTrunc(mask, i32_), b.getInt32(0)});
  if (wave_size_ == 64)
    count = call(b, llvm::Intrinsic::amdgcn_mbcnt_hi,
                 {b.CreateTrunc(b.CreateLShr(mask, 32), i32_), count});
  return count;
}

Emitter::Lanes Emitter::lanes(Builder& b) {
  Lanes found;
  found.mask = ballot(b, b.getTrue());
  found.first = b.CreateTrunc(
      b.CreateIntrinsic(llvm::Intrinsic::cttz, {i64_}, {found.mask, b.getTrue()}), i32_);
  found.lane = lanes_below(b, b.getInt64(UINT64_MAX));
  return found;
}

// ---- memory ---------------------------------------------------------------------------------------

// A field of the launch block that does not change.
llvm::Value* Emitter::field(Builder& b, llvm::Value* launch, size_t offset, llvm::Type* type) {
  llvm::Value* const at = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), launch, offset);
  llvm::LoadInst* const load = b.CreateAlignedLoad(type, at, llvm::Align(type == i64_ ? 8 : 4));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  return load;
}

llvm::Value* Emitter::global(Builder& b, llvm::Value* address) {
  return b.CreateIntToPtr(address, llvm::PointerType::get(context_, kGlobalSpace));
}

void Emitter::store_word(Builder& b, llvm::Value* launch, llvm::Value* index, uint32_t word,
                         llvm::Value* value) {
  llvm::Value* const mask = field(b, launch, offsetof(ProbeLaunch, word_mask), i64_);
  llvm::Value* const words = field(b, launch, offsetof(ProbeLaunch, words), i64_);
  llvm::Value* const at = b.CreateAnd(b.CreateAdd(index, b.getInt64(word)), mask);
  b.CreateAlignedStore(value, global(b, b.CreateAdd(words, b.CreateShl(at, 3))), llvm::Align(8));
}

llvm::Value* Emitter::reserve(Builder& b, llvm::Value* launch, const Lanes& lanes,
                              llvm::Value* words) {
  llvm::Function* const in = b.GetInsertBlock()->getParent();
  llvm::BasicBlock *const look = block(in, "look"), *const take = block(in, "take"),
                          *const lose = block(in, "lose"), *const join = block(in, "reserved");
  llvm::BasicBlock* const from = b.GetInsertBlock();
  llvm::Value* const ring = field(b, launch, offsetof(ProbeLaunch, ring), i64_);
  llvm::Value* const usable = field(b, launch, offsetof(ProbeLaunch, usable_bytes), i64_);
  llvm::Value* const bytes = b.CreateZExt(b.CreateShl(words, 3), i64_);
  b.CreateCondBr(b.CreateICmpEQ(lanes.lane, lanes.first), look, join);

  b.SetInsertPoint(look);
  const auto ring_field = [&](size_t offset) {
    return global(b, b.CreateAdd(ring, b.getInt64(offset)));
  };
  const auto load = [&](size_t offset) {
    llvm::LoadInst* const value = b.CreateAlignedLoad(i64_, ring_field(offset), llvm::Align(8));
    value->setAtomic(llvm::AtomicOrdering::Monotonic);
    return value;
  };
  const auto add = [&](size_t offset, llvm::Value* value) {
    return b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, ring_field(offset), value, llvm::Align(8),
                             llvm::AtomicOrdering::Monotonic);
  };
  llvm::Value* const tail = load(offsetof(ProbeRing, tail));
  llvm::Value* const head = load(offsetof(ProbeRing, head));
  llvm::Value* const used = b.CreateAdd(b.CreateSub(head, tail), bytes);
  b.CreateCondBr(b.CreateICmpUGT(used, usable), lose, take);

  b.SetInsertPoint(lose);
  add(offsetof(ProbeRing, lost), b.getInt64(1));
  b.CreateBr(join);

  b.SetInsertPoint(take);
  llvm::Value* const taken = add(offsetof(ProbeRing, head), bytes);
  b.CreateBr(join);

  b.SetInsertPoint(join);
  llvm::PHINode* const position = b.CreatePHI(i64_, 3);
  position->addIncoming(b.getInt64(UINT64_MAX), from);
  position->addIncoming(b.getInt64(UINT64_MAX), lose);
  position->addIncoming(taken, take);
  return first_lane(b, position);
}

// ---- the two probes -------------------------------------------------------------------------------

llvm::Function* Emitter::declare(const char* name, llvm::ArrayRef<llvm::Type*> types) {
  auto* const type = llvm::FunctionType::get(llvm::Type::getVoidTy(context_), types, false);
  llvm::Function* const made =
      llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, &module_);
  for (const char* attribute : {"target-cpu", "target-features"})
    if (kernel_.hasFnAttribute(attribute)) made->addFnAttr(kernel_.getFnAttribute(attribute));
  made->addFnAttr(llvm::Attribute::Convergent);
  made->addFnAttr(llvm::Attribute::NoUnwind);
  return made;
}

// With kProbeCounts a probe only counts.
void Emitter::count(Builder& b, llvm::Value* launch, const Lanes& lanes, llvm::Value* header) {
  llvm::Function* const in = b.GetInsertBlock()->getParent();
  llvm::BasicBlock *const first = block(in, "count"), *const done = block(in, "counted");
  llvm::Value* const counts = field(b, launch, offsetof(ProbeLaunch, counts), i64_);
  b.CreateCondBr(b.CreateICmpEQ(lanes.lane, lanes.first), first, done);
  b.SetInsertPoint(first);
  llvm::Value* const site =
      b.CreateAnd(b.CreateZExt(header, i64_), b.getInt64((1u << format::kSiteBits) - 1));
  llvm::Value* const at = b.CreateAdd(counts, b.CreateShl(site, 4));
  llvm::Value* const number = b.CreateIntrinsic(llvm::Intrinsic::ctpop, {i64_}, {lanes.mask});
  for (const auto& [offset, value] :
       {std::pair<uint64_t, llvm::Value*>{0, b.getInt64(1)}, {8, number}})
    b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, global(b, b.CreateAdd(at, b.getInt64(offset))),
                      value, llvm::Align(8), llvm::AtomicOrdering::Monotonic);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
}

llvm::Function* Emitter::make_point() {
  llvm::Type* const pointer = llvm::PointerType::get(context_, kConstantSpace);
  llvm::Function* const probe = declare("__wavetap_point", {pointer, i64_, i32_});
  llvm::Value *const launch = probe->getArg(0), *const place = probe->getArg(1),
                     *const header = probe->getArg(2);
  Builder b(block(probe, "entry"));
  const Lanes active = lanes(b);
  llvm::BasicBlock *const counting = block(probe, "counting"),
                          *const recording = block(probe, "recording"),
                          *const write = block(probe, "write"),
                          *const first = block(probe, "first"), *const done = block(probe, "done");
  llvm::Value* const wants = field(b, launch, offsetof(ProbeLaunch, wants), i32_);
  b.CreateCondBr(b.CreateICmpSLT(wants, b.getInt32(0)), counting, recording);
  b.SetInsertPoint(counting);
  count(b, launch, active, header);

  b.SetInsertPoint(recording);
  llvm::Value* const position = reserve(b, launch, active, b.getInt32(format::kPointWords));
  b.CreateCondBr(b.CreateICmpEQ(position, b.getInt64(UINT64_MAX)), done, write);
  b.SetInsertPoint(write);
  b.CreateCondBr(b.CreateICmpEQ(active.lane, active.first), first, done);
  b.SetInsertPoint(first);
  llvm::Value* const index = b.CreateLShr(position, 3);
  store_word(b, launch, index, 1, place);
  store_word(b, launch, index, 2, active.mask);
  llvm::Value* const dispatch =
      b.CreateZExt(field(b, launch, offsetof(ProbeLaunch, dispatch), i32_), i64_);
  llvm::Value* const low = b.CreateOr(
      b.CreateZExt(header, i64_), b.getInt64(uint64_t{format::kPointWords} << format::kWordsShift));
  b.CreateFence(llvm::AtomicOrdering::Release);
  store_word(b, launch, index, 0, b.CreateOr(low, b.CreateShl(dispatch, 32)));
  b.CreateBr(done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  return probe;
}

llvm::Function* Emitter::make_lanes() {
  llvm::Type* const pointer = llvm::PointerType::get(context_, kConstantSpace);
  llvm::Function* const probe = declare("__wavetap_lanes", {pointer, i64_, i32_, i64_});
  llvm::Value *const launch = probe->getArg(0), *const place = probe->getArg(1),
                     *const header = probe->getArg(2), *const value = probe->getArg(3);
  Builder b(block(probe, "entry"));
  const Lanes active = lanes(b);
  llvm::BasicBlock *const counting = block(probe, "counting"),
                          *const recording = block(probe, "recording"),
                          *const write = block(probe, "write"), *const list = block(probe, "list"),
                          *const written = block(probe, "written"),
                          *const first = block(probe, "first"), *const base = block(probe, "base"),
                          *const finish = block(probe, "finish"),
                          *const last = block(probe, "last"), *const done = block(probe, "done");
  llvm::Value* const wants = field(b, launch, offsetof(ProbeLaunch, wants), i32_);
  b.CreateCondBr(b.CreateICmpSLT(wants, b.getInt32(0)), counting, recording);
  b.SetInsertPoint(counting);
  count(b, launch, active, header);

  // value = base + stride * (lane - first), in all active lanes?
  b.SetInsertPoint(recording);
  llvm::Value* const from = first_lane(b, value);
  llvm::Value* const others = b.CreateAnd(active.mask, b.CreateSub(active.mask, b.getInt64(1)));
  llvm::Value* const has_second = b.CreateICmpNE(others, b.getInt64(0));
  llvm::Value* const second = b.CreateSelect(
      has_second,
      b.CreateTrunc(b.CreateIntrinsic(llvm::Intrinsic::cttz, {i64_}, {others, b.getFalse()}), i32_),
      active.first);
  llvm::Value* const step = b.CreateTrunc(b.CreateSub(read_lane(b, value, second), from), i32_);
  llvm::Value* const gap =
      b.CreateSelect(has_second, b.CreateSub(second, active.first), b.getInt32(1));
  llvm::Value* const stride = b.CreateSDiv(step, gap);
  const uint32_t spare = 32 - format::kStrideBits;
  llvm::Value* const fits = b.CreateICmpEQ(b.CreateAShr(b.CreateShl(stride, spare), spare), stride);
  llvm::Value* const distance = b.CreateMul(
      b.CreateSExt(stride, i64_), b.CreateSExt(b.CreateSub(active.lane, active.first), i64_));
  llvm::Value* const differs = ballot(b, b.CreateICmpNE(b.CreateAdd(from, distance), value));
  llvm::Value* const affine = b.CreateAnd(b.CreateICmpEQ(differs, b.getInt64(0)), fits);
  llvm::Value* const number =
      b.CreateTrunc(b.CreateIntrinsic(llvm::Intrinsic::ctpop, {i64_}, {active.mask}), i32_);
  llvm::Value* const words = b.CreateSelect(affine, b.getInt32(format::kAffineWords),
                                            b.CreateAdd(number, b.getInt32(format::kPointWords)));
  llvm::Value* const position = reserve(b, launch, active, words);
  b.CreateCondBr(b.CreateICmpEQ(position, b.getInt64(UINT64_MAX)), done, write);

  b.SetInsertPoint(write);
  llvm::Value* const index = b.CreateLShr(position, 3);
  b.CreateCondBr(affine, written, list);
  b.SetInsertPoint(list);
  llvm::Value* const mine = b.CreateZExt(lanes_below(b, active.mask), i64_);
  store_word(b, launch, b.CreateAdd(index, mine), format::kPointWords, value);
  b.CreateBr(written);

  b.SetInsertPoint(written);
  b.CreateCondBr(b.CreateICmpEQ(active.lane, active.first), first, finish);
  b.SetInsertPoint(first);
  llvm::Value* const shown = b.CreateSelect(
      affine, b.CreateShl(b.CreateSExt(stride, i64_), format::kStrideShift), b.getInt64(0));
  store_word(b, launch, index, 1, b.CreateOr(place, shown));
  store_word(b, launch, index, 2, active.mask);
  b.CreateCondBr(affine, base, finish);
  b.SetInsertPoint(base);
  store_word(b, launch, index, format::kPointWords, from);
  b.CreateBr(finish);

  // Everything that any lane has written comes before word 0.
  b.SetInsertPoint(finish);
  b.CreateFence(llvm::AtomicOrdering::Release);
  b.CreateCondBr(b.CreateICmpEQ(active.lane, active.first), last, done);
  b.SetInsertPoint(last);
  llvm::Value* const dispatch =
      b.CreateZExt(field(b, launch, offsetof(ProbeLaunch, dispatch), i32_), i64_);
  llvm::Value* const kind =
      b.CreateSelect(affine, b.getInt32(0), b.getInt32(format::kListOfKind << format::kKindShift));
  llvm::Value* const low =
      b.CreateOr(b.CreateAdd(header, kind), b.CreateShl(words, format::kWordsShift));
  store_word(b, launch, index, 0, b.CreateOr(b.CreateZExt(low, i64_), b.CreateShl(dispatch, 32)));
  b.CreateBr(done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  return probe;
}

// ---- the kernel -----------------------------------------------------------------------------------

void Emitter::begin_kernel(llvm::Instruction& before, bool with_apertures) {
  point_ = make_point();
  lanes_ = make_lanes();
  Builder b(&before);
  b.SetCurrentDebugLocation({});
  constant_launch_ = b.CreateAddrSpaceCast(
      &launch_, llvm::PointerType::get(context_, kConstantSpace), "wavetap.launch");
  wants_ = field(b, constant_launch_, offsetof(ProbeLaunch, wants), i32_);
  const ID group_ids[] = {llvm::Intrinsic::amdgcn_workgroup_id_x,
                          llvm::Intrinsic::amdgcn_workgroup_id_y,
                          llvm::Intrinsic::amdgcn_workgroup_id_z};
  const ID item_ids[] = {llvm::Intrinsic::amdgcn_workitem_id_x,
                         llvm::Intrinsic::amdgcn_workitem_id_y,
                         llvm::Intrinsic::amdgcn_workitem_id_z};
  llvm::Value *group[3], *item[3], *size[2];
  for (int i = 0; i < 3; ++i) group[i] = call(b, group_ids[i], {});
  for (int i = 0; i < 3; ++i) item[i] = call(b, item_ids[i], {});
  // A workgroup at the end of the grid may be smaller.
  for (unsigned i = 0; i < 2; ++i) {
    llvm::Value* const whole =
        field(b, constant_launch_, offsetof(ProbeLaunch, workgroup_size) + i * 4, i32_);
    llvm::Value* const grid =
        field(b, constant_launch_, offsetof(ProbeLaunch, grid_size) + i * 4, i32_);
    llvm::Value* const left = b.CreateSub(grid, b.CreateMul(group[i], whole));
    size[i] = b.CreateSelect(b.CreateICmpULT(left, whole), left, whole);
  }
  const auto groups = [&](unsigned i) {
    return field(b, constant_launch_, offsetof(ProbeLaunch, workgroups) + i * 4, i32_);
  };
  llvm::Value* const number = b.CreateAdd(
      group[0], b.CreateMul(groups(0), b.CreateAdd(group[1], b.CreateMul(groups(1), group[2]))));
  llvm::Value* const flat = b.CreateAdd(
      item[0], b.CreateMul(size[0], b.CreateAdd(item[1], b.CreateMul(size[1], item[2]))));
  llvm::Value* const wave = call(b, llvm::Intrinsic::amdgcn_readfirstlane,
                                 {b.CreateLShr(flat, wave_size_ == 64 ? 6 : 5)});
  place_ = b.CreateOr(b.CreateZExt(number, i64_),
                      b.CreateShl(b.CreateZExt(wave, i64_), format::kWaveShift), "wavetap.place");
  if (!with_apertures) return;
  // Written by every wave, with the same value.
  for (const auto& [space, offset] :
       {std::pair<unsigned, size_t>{3, offsetof(ProbeLaunch, lds_aperture)},
        {5, offsetof(ProbeLaunch, scratch_aperture)}}) {
    // No constant, which would be folded: null means another thing in these spaces.
    llvm::Value* const some = b.CreateOr(b.CreateAnd(wants_, b.getInt32(0x40)), b.getInt32(64));
    llvm::Value* const near = b.CreateIntToPtr(some, llvm::PointerType::get(context_, space));
    llvm::Value* const far = b.CreateAddrSpaceCast(near, llvm::PointerType::get(context_, 0));
    llvm::Value* const upper = b.CreateTrunc(b.CreateLShr(b.CreatePtrToInt(far, i64_), 32), i32_);
    b.CreateAlignedStore(upper, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), &launch_, offset),
                         llvm::Align(4));
  }
}

void Emitter::add_probe(const Place& place, uint32_t number) {
  Builder b(place.at);
  const SiteKind kind = place.site.kind;
  llvm::Value* const wanted =
      b.CreateICmpNE(b.CreateAnd(wants_, b.getInt32(wants_of(kind))), b.getInt32(0));
  llvm::Instruction* const then = llvm::SplitBlockAndInsertIfThen(wanted, place.at, false);
  b.SetInsertPoint(then);
  b.SetCurrentDebugLocation(place.at->getDebugLoc());
  llvm::Value* const header = b.getInt32(number | record_of(kind) << format::kKindShift);
  llvm::SmallVector<llvm::Value*, 4> arguments = {constant_launch_, place_, header};
  llvm::Function* probe = point_;
  if (place.value != nullptr) {
    probe = lanes_;
    llvm::Value* value = place.value->getType()->isPointerTy()
                             ? b.CreatePtrToInt(place.value, i64_)
                             : b.CreateZExtOrTrunc(place.value, i64_);
    // The kind of a message travels above its value, of 32 bits.
    if (place.message != nullptr)
      value = b.CreateOr(b.CreateAnd(value, b.getInt64(UINT32_MAX)),
                         b.CreateShl(b.CreateZExtOrTrunc(place.message, i64_), 32));
    arguments.push_back(value);
  }
  llvm::CallInst* const made = b.CreateCall(probe, arguments);
  llvm::InlineFunctionInfo info;
  llvm::InlineFunction(*made, info);
}

void Emitter::end_kernel() {
  llvm::SmallVector<llvm::Instruction*, 8> ends;
  for (llvm::Instruction& at : llvm::instructions(kernel_)) {
    const auto* const intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&at);
    if (llvm::isa<llvm::ReturnInst>(at) ||
        (intrinsic != nullptr && intrinsic->getIntrinsicID() == llvm::Intrinsic::amdgcn_endpgm))
      ends.push_back(&at);
  }
  for (llvm::Instruction* end : ends) {
    Builder b(end);
    b.SetCurrentDebugLocation(end->getDebugLoc());
    const Lanes active = lanes(b);
    llvm::Value* const number = b.CreateIntrinsic(llvm::Intrinsic::ctpop, {i64_}, {active.mask});
    llvm::Instruction* const then =
        llvm::SplitBlockAndInsertIfThen(b.CreateICmpEQ(active.lane, active.first), end, false);
    b.SetInsertPoint(then);
    b.CreateAtomicRMW(
        llvm::AtomicRMWInst::Add,
        b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), &launch_, offsetof(ProbeLaunch, lanes_done)),
        number, llvm::Align(8), llvm::AtomicOrdering::Release);
  }
  for (llvm::Function* probe : {point_, lanes_})
    if (probe != nullptr && probe->use_empty()) probe->eraseFromParent();
}

}  // namespace wavetap::pass
