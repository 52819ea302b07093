#include "pass/emit.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "format/probe_ring.h"

namespace wavetap::pass {
namespace {

using format::ProbeLaunch;
using format::SiteKind;
using llvm::Intrinsic::ID;

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

void call_inlined(llvm::IRBuilder<>& b, llvm::Function* probe,
                  llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::InlineFunctionInfo info;
  llvm::InlineFunction(*b.CreateCall(probe, arguments), info);
}

}  // namespace

Emitter::Emitter(llvm::Function& kernel, llvm::Argument& launch, const Target& target)
    : kernel_(kernel),
      launch_(launch),
      wave_(kernel, target),
      probes_(kernel, wave_),
      i32_(wave_.i32()),
      i64_(wave_.i64()) {}

void Emitter::begin_kernel(llvm::Instruction& before, bool with_apertures) {
  Builder b(&before);
  b.SetCurrentDebugLocation({});
  constant_launch_ = b.CreateAddrSpaceCast(
      &launch_, llvm::PointerType::get(wave_.context(), kConstantSpace), "wavetap.launch");
  wants_ = wave_.field(b, constant_launch_, offsetof(ProbeLaunch, wants), i32_);
  place_ = place_of_wave(b);
  if (with_apertures) store_apertures(b);
}

// Word 1 of its records: the workgroup's number, and the wave's in it.
llvm::Value* Emitter::place_of_wave(Builder& b) {
  const ID group_ids[] = {llvm::Intrinsic::amdgcn_workgroup_id_x,
                          llvm::Intrinsic::amdgcn_workgroup_id_y,
                          llvm::Intrinsic::amdgcn_workgroup_id_z};
  const ID item_ids[] = {llvm::Intrinsic::amdgcn_workitem_id_x,
                         llvm::Intrinsic::amdgcn_workitem_id_y,
                         llvm::Intrinsic::amdgcn_workitem_id_z};
  llvm::Value *group[3], *item[3], *size[2];
  for (int i = 0; i < 3; ++i) group[i] = wave_.call(b, group_ids[i], {});
  for (int i = 0; i < 3; ++i) item[i] = wave_.call(b, item_ids[i], {});
  // A workgroup at the end of the grid may be smaller.
  for (unsigned i = 0; i < 2; ++i) {
    llvm::Value* const whole =
        wave_.field(b, constant_launch_, offsetof(ProbeLaunch, workgroup_size) + i * 4, i32_);
    llvm::Value* const grid =
        wave_.field(b, constant_launch_, offsetof(ProbeLaunch, grid_size) + i * 4, i32_);
    llvm::Value* const left = b.CreateSub(grid, b.CreateMul(group[i], whole));
    size[i] = b.CreateSelect(b.CreateICmpULT(left, whole), left, whole);
  }
  const auto groups = [&](unsigned i) {
    return wave_.field(b, constant_launch_, offsetof(ProbeLaunch, workgroups) + i * 4, i32_);
  };
  llvm::Value* const number = b.CreateAdd(
      group[0], b.CreateMul(groups(0), b.CreateAdd(group[1], b.CreateMul(groups(1), group[2]))));
  llvm::Value* const flat = b.CreateAdd(
      item[0], b.CreateMul(size[0], b.CreateAdd(item[1], b.CreateMul(size[1], item[2]))));
  llvm::Value* const wave = wave_.call(b, llvm::Intrinsic::amdgcn_readfirstlane,
                                       {b.CreateLShr(flat, wave_.wave_size() == 64 ? 6 : 5)});
  return b.CreateOr(b.CreateZExt(number, i64_),
                    b.CreateShl(b.CreateZExt(wave, i64_), format::kWaveShift), "wavetap.place");
}

// Written by every wave, with the same value.
void Emitter::store_apertures(Builder& b) {
  for (const auto& [space, offset] :
       {std::pair<unsigned, size_t>{kLdsSpace, offsetof(ProbeLaunch, lds_aperture)},
        {kScratchSpace, offsetof(ProbeLaunch, scratch_aperture)}}) {
    // No constant, which would be folded: null means another thing in these spaces.
    llvm::Value* const some = b.CreateOr(b.CreateAnd(wants_, b.getInt32(0x40)), b.getInt32(64));
    llvm::Value* const near =
        b.CreateIntToPtr(some, llvm::PointerType::get(wave_.context(), space));
    llvm::Value* const far =
        b.CreateAddrSpaceCast(near, llvm::PointerType::get(wave_.context(), 0));
    llvm::Value* const upper = b.CreateTrunc(b.CreateLShr(b.CreatePtrToInt(far, i64_), 32), i32_);
    b.CreateAlignedStore(upper, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), &launch_, offset),
                         llvm::Align(4));
  }
}

llvm::Value* Emitter::wanted(Builder& b, uint32_t bits) {
  return b.CreateICmpNE(b.CreateAnd(wants_, b.getInt32(bits)), b.getInt32(0));
}

void Emitter::time_block(llvm::Instruction& from, llvm::Instruction& end, uint32_t number) {
  Builder b(&from);
  llvm::BasicBlock* const before = from.getParent();
  llvm::Instruction* const then =
      llvm::SplitBlockAndInsertIfThen(wanted(b, format::kProbeTicks), &from, false);
  b.SetInsertPoint(then);
  b.SetCurrentDebugLocation(from.getDebugLoc());
  llvm::Value* const clock = wave_.clock(b);
  b.SetInsertPoint(&*from.getParent()->begin());
  llvm::PHINode* const begin = b.CreatePHI(i64_, 2);
  begin->addIncoming(b.getInt64(0), before);
  begin->addIncoming(clock, then->getParent());

  b.SetInsertPoint(&end);
  llvm::Instruction* const last =
      llvm::SplitBlockAndInsertIfThen(wanted(b, format::kProbeTicks), &end, false);
  b.SetInsertPoint(last);
  b.SetCurrentDebugLocation(end.getDebugLoc());
  llvm::Value* const ticks = wave_.since(b, begin, wave_.clock(b));
  call_inlined(b, probes_.ticks(), {constant_launch_, b.getInt32(number), ticks});
}

// For an access through a buffer: goes on with the lanes whose element is inside it.
llvm::Instruction* Emitter::keep_inside(const Place& place, llvm::Instruction* then,
                                        llvm::Value** address) {
  Builder b(then);
  b.SetCurrentDebugLocation(place.at->getDebugLoc());
  llvm::Value* const offset = b.CreateAdd(b.CreateZExtOrTrunc(place.offsets[0], i64_),
                                          b.CreateZExtOrTrunc(place.offsets[1], i64_));
  llvm::Value* const end = b.CreateAdd(offset, b.getInt64(place.site.bytes));
  llvm::Value* const inside = b.CreateICmpULE(end, b.CreateZExtOrTrunc(place.records, i64_));
  *address = b.CreateAdd(b.CreatePtrToInt(place.value, i64_), offset);
  return llvm::SplitBlockAndInsertIfThen(inside, then, false);
}

void Emitter::add_probe(const Place& place, uint32_t number) {
  Builder b(place.at);
  const SiteKind kind = place.site.kind;
  const uint32_t bits = wants_of(kind);
  llvm::Instruction* const end = place.at->getParent()->getTerminator();
  llvm::Instruction* then = llvm::SplitBlockAndInsertIfThen(
      wanted(b, bits | bits << format::kProbeCountShift), place.at, false);
  llvm::Value* address = place.value;
  if (place.records != nullptr) then = keep_inside(place, then, &address);
  b.SetInsertPoint(then);
  b.SetCurrentDebugLocation(place.at->getDebugLoc());
  llvm::Value* const header = b.getInt32(number | record_of(kind) << format::kKindShift);
  llvm::SmallVector<llvm::Value*, 5> arguments = {constant_launch_, place_, header,
                                                  b.getInt32(bits)};
  llvm::Function* probe = probes_.point();
  if (place.value != nullptr) {
    probe = probes_.lanes();
    llvm::Value* value = address->getType()->isPointerTy() ? b.CreatePtrToInt(address, i64_)
                                                           : b.CreateZExtOrTrunc(address, i64_);
    // The kind of a message travels above its value, of 32 bits.
    if (place.message != nullptr)
      value = b.CreateOr(b.CreateAnd(value, b.getInt64(UINT32_MAX)),
                         b.CreateShl(b.CreateZExtOrTrunc(place.message, i64_), 32));
    arguments.push_back(value);
  }
  call_inlined(b, probe, arguments);
  if (kind == SiteKind::kBlock && !llvm::isa<llvm::UnreachableInst>(end))
    time_block(*place.at, *end, number);
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
    call_inlined(b, probes_.end(), {constant_launch_, &launch_});
  }
  probes_.erase_unused();
}

}  // namespace wavetap::pass
