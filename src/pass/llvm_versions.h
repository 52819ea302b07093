// What LLVM 15 to 23 spell differently.
#pragma once

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instruction.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#if __has_include(<llvm/TargetParser/Triple.h>)
#include <llvm/TargetParser/Triple.h>
#else
#include <llvm/ADT/Triple.h>
#endif

namespace wavetap::pass {

inline llvm::Function* declare_intrinsic(llvm::Module& module, llvm::Intrinsic::ID id,
                                         llvm::ArrayRef<llvm::Type*> types) {
#if LLVM_VERSION_MAJOR >= 20
  return llvm::Intrinsic::getOrInsertDeclaration(&module, id, types);
#else
  return llvm::Intrinsic::getDeclaration(&module, id, types);
#endif
}

// A string in older ones, a Triple in newer ones.
inline bool is_amdgcn(const llvm::Module& module) {
  return llvm::Triple(module.getTargetTriple()).isAMDGCN();
}

inline void insert_before(llvm::Instruction& made, llvm::Instruction& at) {
#if LLVM_VERSION_MAJOR >= 20
  made.insertBefore(at.getIterator());
#else
  made.insertBefore(&at);
#endif
}

}  // namespace wavetap::pass
