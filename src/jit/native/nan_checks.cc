#include "jit/native/nan_checks.h"

#include <set>
#include <utility>

#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

namespace wavetap::jit {

using llvm::Instruction;
using llvm::Value;

namespace {

// A NaN in any operand's lane makes that lane of the result NaN.
bool hands_on(const Instruction& inst) {
  switch (inst.getOpcode()) {
    case Instruction::FAdd:
    case Instruction::FSub:
    case Instruction::FMul:
    case Instruction::FDiv:
    case Instruction::FNeg:
    case Instruction::FPExt:
    case Instruction::FPTrunc: return true;
    case Instruction::Call: {
      const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&inst);
      if (intrinsic == nullptr) return false;
      const llvm::Intrinsic::ID id = intrinsic->getIntrinsicID();
      return id == llvm::Intrinsic::fma || id == llvm::Intrinsic::fabs ||
             id == llvm::Intrinsic::sqrt;
    }
    default: return false;
  }
}

unsigned lanes_of(const Value* value) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return type == nullptr ? 0 : type->getNumElements();
}

// Whether lane i of a shuffle is element `first` + i of its operands, for all lanes.
bool takes_from(const llvm::ShuffleVectorInst& shuffle, unsigned first) {
  const llvm::ArrayRef<int> order = shuffle.getShuffleMask();
  for (unsigned i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<int>(first + i)) return false;
  return true;
}

// Follows values back to those which make them NaN.
class Search {
 public:
  explicit Search(unsigned lanes) : lanes_(lanes) {}

  // `half`: which half of a value twice as wide (LaneBuilder::append) is meant.
  void follow_operands(Value* value, unsigned half) {
    const auto* inst = llvm::dyn_cast<Instruction>(value);
    if (inst == nullptr) return;
    const bool is_double = lanes_of(value) == 2 * lanes_;
    if (const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(inst)) {
      Value* first = shuffle->getOperand(0);
      if (is_double) {
        if (lanes_of(first) == lanes_ && takes_from(*shuffle, 0))
          reach(shuffle->getOperand(half), 0);
      } else if (lanes_of(first) == 2 * lanes_) {
        for (const unsigned other : {0u, 1u})
          if (takes_from(*shuffle, other * lanes_)) reach(first, other);
      }
      return;
    }
    // Of the same bits another name; elements of the same size.
    const bool is_cast = inst->getOpcode() == Instruction::BitCast &&
                         lanes_of(inst->getOperand(0)) == lanes_of(value);
    if (!is_cast && !hands_on(*inst)) return;
    for (const llvm::Use& operand : inst->operands())
      if (lanes_of(operand.get()) == lanes_of(value)) reach(operand.get(), half);
  }
  bool has_reached(Value* value) const { return reached_.contains({value, 0}); }

 private:
  void reach(Value* value, unsigned half) {
    if (reached_.insert({value, half}).second) follow_operands(value, half);
  }

  const unsigned lanes_;
  std::set<std::pair<Value*, unsigned>> reached_;
};

constexpr uint32_t kDefaultNan = 0x7fc00000;
constexpr uint32_t kQuietBit = 0x00400000;

}  // namespace

Value* follow_nan_rule(LaneBuilder& lanes, const VectorOp& op, Value* const* sources,
                       Value* result) {
  llvm::IRBuilder<>& ir = lanes.ir;
  Value* given = lanes.splat(kDefaultNan);
  for (size_t k = VectorOp::kMaxSources; k-- > 0;) {
    if (op.source[k] != Type::kF32 && op.source[k] != Type::kOldF32) continue;
    Value* quieted = ir.CreateOr(ir.CreateBitCast(sources[k], lanes.u32()), lanes.splat(kQuietBit));
    given = ir.CreateSelect(ir.CreateFCmpUNO(sources[k], sources[k]), quieted, given);
  }
  Value* bits = ir.CreateBitCast(result, lanes.u32());
  return ir.CreateBitCast(ir.CreateSelect(ir.CreateFCmpUNO(result, result), given, bits),
                          lanes.f32());
}

void leave_out_implied(std::vector<Value*>& numbers, unsigned lanes) {
  if (numbers.size() < 2) return;
  Search search(lanes);
  // Two halves in a lane are asked one by one.
  const auto is_single = [&](const Value* number) { return lanes_of(number) == lanes; };
  for (Value* number : numbers)
    if (is_single(number)) search.follow_operands(number, 0);
  std::erase_if(numbers,
                [&](Value* number) { return is_single(number) && search.has_reached(number); });
}

}  // namespace wavetap::jit
