#include "jit/native/compile.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace wavetap::jit {

std::vector<std::byte> compile_plan(Host& host, const BlockRequest& request, const Plan& plan) {
  if (!host.trouble().empty()) return {};
  llvm::LLVMContext context;
  llvm::Module module("block", context);
  host.set_target(module);
  BlockEmitter(module, request, plan, host.vectors()).emit();
  return host.compile(module);
}

}  // namespace wavetap::jit
