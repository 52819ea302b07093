// LaneBuilder: what the functions of vector_ops.cc build an operation with, for one strip of lanes.
//
// A strip is a vector of `lanes` elements of LLVM's, wider or narrower than the host's registers as
// suits the code around it. Floating-point operations are the host's own. They agree with the
// engine's rules bit for bit except for NaNs, whose payloads hosts choose differently: a value in
// which a NaN could matter is put on `numbers`, and a strip where one of them is NaN is done by the
// handlers instead. The same happens where an operation itself has doubts. Before handlers have to, a
// strip is done once more carefully: operations then make NaNs, and what comes of zeros and infinities,
// themselves where they know how.
#pragma once

#include <cstdint>
#include <vector>

#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"

namespace wavetap::jit {

struct LaneBuilder {
  llvm::IRBuilder<>& ir;
  unsigned lanes;
  bool has_halves = false;  // the host has arithmetic of halves
  bool is_careful = false;
  llvm::Value* mask = nullptr;             // the operation's mask result, when it has one
  llvm::Value* first_lane = nullptr;       // i32: number of the strip's first lane
  std::vector<llvm::Value*> numbers = {};  // must not be NaN in any active lane
  std::vector<llvm::Value*> doubts = {};   // the result is not right in these lanes

  llvm::Type* vector_of(llvm::Type* element) const {
    return llvm::FixedVectorType::get(element, lanes);
  }
  llvm::Type* u32() const { return vector_of(ir.getInt32Ty()); }
  llvm::Type* u64() const { return vector_of(ir.getInt64Ty()); }
  llvm::Type* f32() const { return vector_of(ir.getFloatTy()); }
  llvm::Type* f64() const { return vector_of(ir.getDoubleTy()); }
  llvm::Type* u16() const { return vector_of(ir.getInt16Ty()); }
  llvm::Type* f16() const { return vector_of(ir.getHalfTy()); }
  llvm::Type* u16x2() const { return llvm::FixedVectorType::get(ir.getInt16Ty(), 2 * lanes); }
  llvm::Type* f16x2() const { return llvm::FixedVectorType::get(ir.getHalfTy(), 2 * lanes); }
  llvm::Value* splat(llvm::Value* scalar) const { return ir.CreateVectorSplat(lanes, scalar); }
  llvm::Value* splat(uint32_t value) const { return splat(ir.getInt32(value)); }
  llvm::Value* splat64(uint64_t value) const { return splat(ir.getInt64(value)); }
  llvm::Value* splat_f32(double value) const { return llvm::ConstantFP::get(f32(), value); }

  // Rows of low and of high dwords as one vector of 64-bit elements, and back.
  llvm::Value* join(llvm::Value* low, llvm::Value* high) const {
    std::vector<int> order;
    for (unsigned i = 0; i < lanes; ++i) {
      order.push_back(static_cast<int>(i));
      order.push_back(static_cast<int>(i + lanes));
    }
    return ir.CreateBitCast(ir.CreateShuffleVector(low, high, order), u64());
  }
  // The strip twice as long: `first`, then `second`.
  llvm::Value* append(llvm::Value* first, llvm::Value* second) const {
    std::vector<int> order;
    for (unsigned i = 0; i < 2 * lanes; ++i) order.push_back(static_cast<int>(i));
    return ir.CreateShuffleVector(first, second, order);
  }
  llvm::Value* part_of(llvm::Value* appended, bool second) const {
    std::vector<int> order;
    for (unsigned i = 0; i < lanes; ++i)
      order.push_back(static_cast<int>(i + (second ? lanes : 0)));
    return ir.CreateShuffleVector(appended, order);
  }
  llvm::Value* half_of(llvm::Value* wide, bool high) const {
    if (const llvm::ShuffleVectorInst* joined = find_join(wide))
      return joined->getOperand(high ? 1 : 0);
    if (!high)
      if (llvm::Value* low = narrowed(wide)) return low;
    llvm::Value* dwords =
        ir.CreateBitCast(wide, llvm::FixedVectorType::get(ir.getInt32Ty(), 2 * lanes));
    std::vector<int> order;
    for (unsigned i = 0; i < lanes; ++i) order.push_back(static_cast<int>(2 * i + (high ? 1 : 0)));
    return ir.CreateShuffleVector(dwords, order);
  }
  // The low half of a sum or product, made of those of its operands: often nobody reads the high one.
  // Null: it is something else.
  llvm::Value* narrowed(llvm::Value* wide) const {
    if (const auto* extended = llvm::dyn_cast<llvm::CastInst>(wide))
      if (extended->getOperand(0)->getType() == u32()) return extended->getOperand(0);
    if (llvm::Value* scalar = llvm::getSplatValue(wide))
      return splat(ir.CreateTrunc(scalar, ir.getInt32Ty()));
    const auto* made = llvm::dyn_cast<llvm::BinaryOperator>(wide);
    if (made == nullptr || (made->getOpcode() != llvm::Instruction::Add &&
                            made->getOpcode() != llvm::Instruction::Mul))
      return nullptr;
    return ir.CreateBinOp(made->getOpcode(), half_of(made->getOperand(0), false),
                          half_of(made->getOperand(1), false));
  }
  // The step of join() that has both halves; null: it was not made so.
  const llvm::ShuffleVectorInst* find_join(const llvm::Value* wide) const {
    const auto* cast = llvm::dyn_cast<llvm::BitCastInst>(wide);
    if (cast == nullptr) return nullptr;
    const auto* joined = llvm::dyn_cast<llvm::ShuffleVectorInst>(cast->getOperand(0));
    if (joined == nullptr || joined->getOperand(0)->getType() != u32()) return nullptr;
    const llvm::ArrayRef<int> order = joined->getShuffleMask();
    if (order.size() != size_t{2} * lanes) return nullptr;
    for (unsigned i = 0; i < 2 * lanes; ++i)
      if (order[i] != static_cast<int>(i / 2 + (i % 2 == 0 ? 0 : lanes))) return nullptr;
    return joined;
  }
};

}  // namespace wavetap::jit
