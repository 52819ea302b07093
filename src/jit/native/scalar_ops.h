// The scalar operations that are compiled; every other one is done by its handler.
#pragma once

#include <cstdint>

#include "isa/inst.h"

#include "llvm/IR/IRBuilder.h"

namespace wavetap::jit {

struct ScalarOp {
  // What becomes of SCC.
  enum class Scc : uint8_t { kKept, kNonZero, kBuilt };
  // Where the second operand comes from, and what else is special.
  enum class Form : uint8_t {
    kSources,    // src[0], src[1]
    kConstant,   // SOPK: the register (src[0], or dst when there is none) and imm16
    kSaveExec,   // D = EXEC; EXEC = f(src[0], EXEC)
    kWriteExec,  // EXEC = D = f(src[0], EXEC)
  };
  using Build = llvm::Value* (*)(llvm::IRBuilder<>& ir, llvm::Value* a, llvm::Value* b,
                                 llvm::Value*& scc);

  isa::Op op = isa::Op::kInvalid;
  Build build = nullptr;  // null result: SCC only
  uint8_t result_bits = 32;
  uint8_t source_bits[2] = {32, 32};  // 0: none
  Scc scc = Scc::kKept;
  Form form = Form::kSources;
  bool reads_scc = false;
};

// The operation of `inst`, when its operands are such that it is compiled.
const ScalarOp* compiled_scalar_op(const isa::Inst& inst);

}  // namespace wavetap::jit
