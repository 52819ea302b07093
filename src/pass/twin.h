// Twin: a copy of a kernel, to be instrumented, that lies beside the original.
//
// Everything it calls is inlined into it, so that a call tree needs no second copy and each access keeps
// the chain of calls it came through (DILocation's inlinedAt). What cannot be inlined (recursion, calls
// through pointers, functions of other files) runs as it is, unseen, and is listed.
#pragma once

#include <llvm/IR/Function.h>

#include <string>
#include <vector>

namespace wavetap::pass {

struct Twin {
  llvm::Function* kernel = nullptr;
  llvm::Argument* launch = nullptr;  // address of the ProbeLaunch
  std::vector<std::string> unseen;
};

Twin make_twin(llvm::Function& original);

}  // namespace wavetap::pass
