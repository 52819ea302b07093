#include "pass/twin.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <map>
#include <set>

#include "format/probe_ring.h"
#include "pass/llvm_versions.h"
#include "pass/sites.h"
#include "pass/wave_code.h"

namespace wavetap::pass {
namespace {

// A kernel larger than this would take the compiler minutes.
constexpr size_t kMostInstructions = 200'000;

// Promises about the original that the twin breaks: it writes to memory of ours, and asks for ids of
// workgroups and work-items that the original may do without. The compiler notes since version 19 what
// a kernel does without before it runs us, and would leave out what we ask for without a word.
void drop_promises(llvm::Function& kernel) {
  for (const char* name :
       {"amdgpu-no-workgroup-id-x", "amdgpu-no-workgroup-id-y", "amdgpu-no-workgroup-id-z",
        "amdgpu-no-workitem-id-x", "amdgpu-no-workitem-id-y", "amdgpu-no-workitem-id-z",
        "amdgpu-waves-per-eu"})
    kernel.removeFnAttr(name);
  for (const char* name : {"argmemonly", "inaccessiblememonly", "inaccessiblemem_or_argmemonly",
                           "readnone", "readonly", "writeonly", "memory", "nosync", "nofree"}) {
    const llvm::Attribute::AttrKind kind = llvm::Attribute::getAttrKindFromName(name);
    if (kind != llvm::Attribute::None) kernel.removeFnAttr(kind);
  }
  for (const char* name : {"kernel_arg_addr_space", "kernel_arg_access_qual", "kernel_arg_type",
                           "kernel_arg_base_type", "kernel_arg_type_qual", "kernel_arg_name"})
    kernel.setMetadata(name, nullptr);
}

llvm::Function* copy(llvm::Function& original, llvm::ValueToValueMapTy& map) {
  llvm::Module& module = *original.getParent();
  std::vector<llvm::Type*> types;
  for (const llvm::Argument& argument : original.args()) types.push_back(argument.getType());
  types.push_back(llvm::PointerType::get(module.getContext(), kGlobalSpace));
  auto* const type = llvm::FunctionType::get(original.getReturnType(), types, false);
  llvm::Function* const twin =
      llvm::Function::Create(type, original.getLinkage(), original.getAddressSpace(),
                             original.getName() + format::kTwinSuffix, &module);
  auto to = twin->arg_begin();
  for (llvm::Argument& argument : original.args()) {
    to->setName(argument.getName());
    map[&argument] = &*to++;
  }
  to->setName("wavetap");
  llvm::SmallVector<llvm::ReturnInst*, 8> returns;
  llvm::CloneFunctionInto(twin, &original, map, llvm::CloneFunctionChangeType::LocalChangesOnly,
                          returns);
  // Kernels of HIP are protected. Compilers whose kernels are not (Triton) look for the one kernel of a module by
  // the text of its definition, which a protected one does not have.
  twin->setVisibility(original.hasDefaultVisibility() && !original.hasLocalLinkage()
                          ? llvm::GlobalValue::ProtectedVisibility
                          : original.getVisibility());
  twin->setDSOLocal(original.isDSOLocal() || twin->hasProtectedVisibility());
  twin->setUnnamedAddr(original.getUnnamedAddr());
  if (const llvm::Comdat* const comdat = original.getComdat())
    twin->setComdat(module.getOrInsertComdat(twin->getName()));
  return twin;
}

// LDS that two kernels use is laid out otherwise than that of one: the twin gets its own.
void copy_lds(llvm::Function& twin) {
  std::map<llvm::GlobalVariable*, llvm::GlobalVariable*> copies;
  for (llvm::Instruction& at : llvm::instructions(twin)) {
    for (llvm::Use& use : at.operands()) {
      auto* const variable = llvm::dyn_cast<llvm::GlobalVariable>(use.get()->stripPointerCasts());
      if (variable == nullptr || variable->getAddressSpace() != kLdsSpace ||
          !variable->hasLocalLinkage())
        continue;
      llvm::GlobalVariable*& made = copies[variable];
      if (made == nullptr) {
        made = new llvm::GlobalVariable(
            *twin.getParent(), variable->getValueType(), variable->isConstant(),
            variable->getLinkage(),
            variable->hasInitializer() ? variable->getInitializer() : nullptr,
            variable->getName() + format::kTwinSuffix, variable, variable->getThreadLocalMode(),
            kLdsSpace);
        made->copyAttributesFrom(variable);
      }
    }
  }
  // Constant expressions are shared by all functions; those of the twin become instructions.
  for (const auto& [variable, made] : copies) {
    llvm::SmallVector<llvm::Constant*, 8> users;
    bool changed = true;
    while (changed) {
      changed = false;
      for (llvm::User* user : llvm::SmallVector<llvm::User*, 16>(variable->users())) {
        if (auto* const at = llvm::dyn_cast<llvm::Instruction>(user)) {
          if (at->getFunction() == &twin) at->replaceUsesOfWith(variable, made);
          continue;
        }
        auto* const expression = llvm::dyn_cast<llvm::ConstantExpr>(user);
        if (expression == nullptr) continue;
        for (llvm::User* outer : llvm::SmallVector<llvm::User*, 16>(expression->users())) {
          auto* const at = llvm::dyn_cast<llvm::Instruction>(outer);
          if (at == nullptr || at->getFunction() != &twin || llvm::isa<llvm::PHINode>(at)) continue;
          llvm::Instruction* const instruction = expression->getAsInstruction();
          insert_before(*instruction, *at);
          instruction->setDebugLoc(at->getDebugLoc());
          at->replaceUsesOfWith(expression, instruction);
          changed = true;
        }
      }
    }
  }
}

bool is_recursive(const llvm::Function& function) {
  std::set<const llvm::Function*> seen;
  std::vector<const llvm::Function*> open = {&function};
  while (!open.empty()) {
    const llvm::Function* const at = open.back();
    open.pop_back();
    for (const llvm::Instruction& instruction : llvm::instructions(*at)) {
      const auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      const llvm::Function* const called = call == nullptr ? nullptr : call->getCalledFunction();
      if (called == nullptr || called->isDeclaration()) continue;
      if (called == &function) return true;
      if (seen.insert(called).second) open.push_back(called);
    }
  }
  return false;
}

// Why a call stays as it is; "" when it may be inlined.
std::string obstacle(const llvm::CallBase& call, size_t instructions) {
  if (call.isInlineAsm()) return "inline assembler";
  const llvm::Function* const called = call.getCalledFunction();
  if (called == nullptr) return "a call through a pointer";
  if (called->isDeclaration()) return "calls " + called->getName().str() + ", of another file";
  if (is_recursive(*called)) return "calls " + called->getName().str() + ", which calls itself";
  if (instructions > kMostInstructions) return "calls " + called->getName().str() + ": too large";
  return "";
}

bool is_plain_call(const llvm::CallBase& call) {
  if (llvm::isa<llvm::IntrinsicInst>(call)) return false;
  const llvm::Function* const called = call.getCalledFunction();
  return called == nullptr || !called->isIntrinsic();
}

void inline_calls(llvm::Function& twin, std::vector<std::string>& unseen) {
  std::set<const llvm::Instruction*> left;
  for (bool changed = true; changed;) {
    changed = false;
    for (llvm::Instruction& at : llvm::instructions(twin)) {
      auto* const call = llvm::dyn_cast<llvm::CallBase>(&at);
      if (call == nullptr || !is_plain_call(*call) || left.count(call) != 0) continue;
      std::string why = obstacle(*call, twin.getInstructionCount());
      if (why.empty()) {
        llvm::InlineFunctionInfo info;
        const llvm::InlineResult result = llvm::InlineFunction(*call, info);
        if (result.isSuccess()) {
          changed = true;
          break;  // the instructions are others now
        }
        why = "calls " + call->getCalledFunction()->getName().str() + ": " +
              result.getFailureReason();
      }
      left.insert(call);
      if (!is_message(*call)) unseen.push_back(std::move(why));
    }
  }
}

}  // namespace

Twin make_twin(llvm::Function& original) {
  Twin twin;
  llvm::ValueToValueMapTy map;
  twin.kernel = copy(original, map);
  twin.launch = twin.kernel->getArg(static_cast<unsigned>(twin.kernel->arg_size()) - 1);
  drop_promises(*twin.kernel);
  inline_calls(*twin.kernel, twin.unseen);
  copy_lds(*twin.kernel);
  // So that how often each edge is taken follows from how often the blocks are entered.
  llvm::SplitAllCriticalEdges(*twin.kernel);
  return twin;
}

}  // namespace wavetap::pass
