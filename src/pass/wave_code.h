// WaveCode: pieces of device code that a wave needs to act as one: which lanes are active, the first lane's value
// in all of them, fields of the launch block, the clock.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstddef>

#include "pass/target.h"

namespace wavetap::pass {

inline constexpr unsigned kGlobalSpace = 1;
inline constexpr unsigned kLdsSpace = 3;
inline constexpr unsigned kConstantSpace = 4;
inline constexpr unsigned kScratchSpace = 5;

// The active lanes of a wave.
struct Lanes {
  llvm::Value* mask;   // i64
  llvm::Value* first;  // i32, the first active lane
  llvm::Value* lane;   // i32, this one

  llvm::Value* is_first(llvm::IRBuilder<>& b) const { return b.CreateICmpEQ(lane, first); }
};

class WaveCode {
 public:
  using Builder = llvm::IRBuilder<>;

  WaveCode(llvm::Function& kernel, const Target& target);

  llvm::Value* call(Builder& b, unsigned intrinsic, llvm::ArrayRef<llvm::Value*> arguments);
  llvm::Value* ballot(Builder& b, llvm::Value* condition);
  // Of 64 bits: the value of the first active lane, or of lane `lane`, in all of them.
  llvm::Value* first_lane(Builder& b, llvm::Value* wide);
  llvm::Value* read_lane(Builder& b, llvm::Value* wide, llvm::Value* lane);
  // How many lanes of the mask come before this one.
  llvm::Value* lanes_below(Builder& b, llvm::Value* mask);
  llvm::Value* count_lanes(Builder& b, llvm::Value* mask);
  // The first lane of the mask, of 64 bits; 64 when there is none.
  llvm::Value* first_of(Builder& b, llvm::Value* mask);
  Lanes lanes(Builder& b);
  // A field of the launch block that does not change.
  llvm::Value* field(Builder& b, llvm::Value* launch, size_t offset, llvm::Type* type);
  llvm::Value* global(Builder& b, llvm::Value* address);

  // The GPU's clock; since() is how far it has come from one reading to another.
  llvm::Value* clock(Builder& b);
  llvm::Value* since(Builder& b, llvm::Value* begin, llvm::Value* end);

  llvm::Module& module() { return module_; }
  llvm::LLVMContext& context() { return context_; }
  llvm::Type* i32() { return i32_; }
  llvm::Type* i64() { return i64_; }
  uint32_t wave_size() const { return wave_size_; }

 private:
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  uint32_t wave_size_;
  uint32_t clock_bits_ = 64;  // 64: s_memtime, else the register SHADER_CYCLES
  llvm::Type *i32_, *i64_;
};

}  // namespace wavetap::pass
