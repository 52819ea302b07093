#include "pass/wave_code.h"

#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "format/probe_ring.h"
#include "pass/llvm_versions.h"

namespace wavetap::pass {
namespace {

using llvm::Intrinsic::ID;

// s_getreg_b32 of `bits` bits of SHADER_CYCLES.
constexpr uint32_t kShaderCycles = 29;
constexpr uint32_t shader_cycles(uint32_t bits) { return kShaderCycles | (bits - 1) << 11; }

}  // namespace

WaveCode::WaveCode(llvm::Function& kernel, const Target& target)
    : module_(*kernel.getParent()),
      context_(kernel.getContext()),
      wave_size_(target.wave_size),
      clock_bits_(format::probe_clock(target.major).bits),
      i32_(llvm::Type::getInt32Ty(context_)),
      i64_(llvm::Type::getInt64Ty(context_)) {}

llvm::Value* WaveCode::call(Builder& b, unsigned intrinsic,
                            llvm::ArrayRef<llvm::Value*> arguments) {
  const ID id = static_cast<ID>(intrinsic);
  // Some take any type in newer compilers.
  llvm::SmallVector<llvm::Type*, 1> types;
  if (llvm::Intrinsic::isOverloaded(id)) types.push_back(arguments[0]->getType());
  return b.CreateCall(declare_intrinsic(module_, id, types), arguments);
}

llvm::Value* WaveCode::ballot(Builder& b, llvm::Value* condition) {
  llvm::Type* const type = wave_size_ == 64 ? i64_ : i32_;
  llvm::Function* const function =
      declare_intrinsic(module_, llvm::Intrinsic::amdgcn_ballot, {type});
  return b.CreateZExt(b.CreateCall(function, {condition}), i64_);
}

llvm::Value* WaveCode::first_lane(Builder& b, llvm::Value* wide) {
  llvm::Value* const low =
      call(b, llvm::Intrinsic::amdgcn_readfirstlane, {b.CreateTrunc(wide, i32_)});
  llvm::Value* const high =
      call(b, llvm::Intrinsic::amdgcn_readfirstlane, {b.CreateTrunc(b.CreateLShr(wide, 32), i32_)});
  return b.CreateOr(b.CreateZExt(low, i64_), b.CreateShl(b.CreateZExt(high, i64_), 32));
}

llvm::Value* WaveCode::read_lane(Builder& b, llvm::Value* wide, llvm::Value* lane) {
  llvm::Value* const low =
      call(b, llvm::Intrinsic::amdgcn_readlane, {b.CreateTrunc(wide, i32_), lane});
  llvm::Value* const high = call(b, llvm::Intrinsic::amdgcn_readlane,
                                 {b.CreateTrunc(b.CreateLShr(wide, 32), i32_), lane});
  return b.CreateOr(b.CreateZExt(low, i64_), b.CreateShl(b.CreateZExt(high, i64_), 32));
}

llvm::Value* WaveCode::lanes_below(Builder& b, llvm::Value* mask) {
  llvm::Value* count =
      call(b, llvm::Intrinsic::amdgcn_mbcnt_lo, {b.CreateTrunc(mask, i32_), b.getInt32(0)});
  if (wave_size_ == 64)
    count = call(b, llvm::Intrinsic::amdgcn_mbcnt_hi,
                 {b.CreateTrunc(b.CreateLShr(mask, 32), i32_), count});
  return count;
}

llvm::Value* WaveCode::count_lanes(Builder& b, llvm::Value* mask) {
  return b.CreateIntrinsic(llvm::Intrinsic::ctpop, {i64_}, {mask});
}

llvm::Value* WaveCode::first_of(Builder& b, llvm::Value* mask) {
  return b.CreateIntrinsic(llvm::Intrinsic::cttz, {i64_}, {mask, b.getFalse()});
}

Lanes WaveCode::lanes(Builder& b) {
  Lanes found;
  found.mask = ballot(b, b.getTrue());
  found.first = b.CreateTrunc(
      b.CreateIntrinsic(llvm::Intrinsic::cttz, {i64_}, {found.mask, b.getTrue()}), i32_);
  found.lane = lanes_below(b, b.getInt64(UINT64_MAX));
  return found;
}

llvm::Value* WaveCode::field(Builder& b, llvm::Value* launch, size_t offset, llvm::Type* type) {
  llvm::Value* const at = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), launch, offset);
  llvm::LoadInst* const load = b.CreateAlignedLoad(type, at, llvm::Align(type == i64_ ? 8 : 4));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  return load;
}

llvm::Value* WaveCode::global(Builder& b, llvm::Value* address) {
  return b.CreateIntToPtr(address, llvm::PointerType::get(context_, kGlobalSpace));
}

llvm::Value* WaveCode::clock(Builder& b) {
  if (clock_bits_ == 64) return call(b, llvm::Intrinsic::amdgcn_s_memtime, {});
  llvm::Value* const low =
      call(b, llvm::Intrinsic::amdgcn_s_getreg, {b.getInt32(shader_cycles(clock_bits_))});
  return b.CreateZExt(low, i64_);
}

llvm::Value* WaveCode::since(Builder& b, llvm::Value* begin, llvm::Value* end) {
  llvm::Value* const ticks = b.CreateSub(end, begin);
  return clock_bits_ == 64 ? ticks
                           : b.CreateAnd(ticks, b.getInt64((uint64_t{1} << clock_bits_) - 1));
}

}  // namespace wavetap::pass
