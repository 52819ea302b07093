// as_triton MODULE.ll TARGET OUT [--no-lines]: compiles a kernel the way Triton's AMD back end does, and writes OUT.llir (what
// it looks the kernel up in) and OUT.s (what it assembles and links).
//
// What matters to a plugin is kept: the target is told to the code generator alone and not to the kernel; the pipeline is
// default<O3> without a target machine; the plugin comes from LLVM_PASS_PLUGIN_PATH and is registered before the analyses; then
// every function that may be is inlined, and the code leaves as text.
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

namespace {

[[noreturn]] void fail(const std::string& what) {
  llvm::errs() << "as_triton: " << what << "\n";
  std::exit(1);
}

std::unique_ptr<llvm::TargetMachine> machine_for(const llvm::Module& module, const char* target) {
  std::string error;
  const llvm::Target* const found =
      llvm::TargetRegistry::lookupTarget(module.getTargetTriple(), error);
  if (found == nullptr) fail(error);
  return std::unique_ptr<llvm::TargetMachine>(
      found->createTargetMachine(module.getTargetTriple(), target, "", {}, llvm::Reloc::PIC_,
                                 std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

void optimise(llvm::Module& module) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(nullptr);
  if (const char* const path = std::getenv("LLVM_PASS_PLUGIN_PATH")) {
    auto plugin = llvm::PassPlugin::Load(path);
    if (!plugin) fail(llvm::toString(plugin.takeError()));
    plugin->registerPassBuilderCallbacks(builder);
  }
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

void write_code(llvm::Module& module, const char* target, const std::string& path) {
  for (llvm::Function& function : module)
    if (!function.hasFnAttribute(llvm::Attribute::NoInline))
      function.addFnAttr(llvm::Attribute::AlwaysInline);
  llvm::legacy::PassManager prepare;
  prepare.add(llvm::createAlwaysInlinerLegacyPass());
  prepare.add(llvm::createVerifierPass());
  prepare.run(module);
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  if (error) fail(path + ": " + error.message());
  const std::unique_ptr<llvm::TargetMachine> machine = machine_for(module, target);
  llvm::legacy::PassManager emit;
  if (machine->addPassesToEmitFile(emit, out, nullptr, llvm::CodeGenFileType::AssemblyFile))
    fail("no assembly for this target");
  emit.run(module);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTarget();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmPrinter();
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const std::unique_ptr<llvm::Module> module = llvm::parseIRFile(argv[1], problem, context);
  if (module == nullptr) fail(problem.getMessage().str());
  if (argc > 4) llvm::StripDebugInfo(*module);
  module->setDataLayout(machine_for(*module, argv[2])->createDataLayout());
  optimise(*module);
  const std::string out = argv[3];
  std::error_code error;
  llvm::raw_fd_ostream text(out + ".llir", error);
  if (error) fail(out + ": " + error.message());
  text << *module;
  text.close();
  write_code(*module, argv[2], out + ".s");
}
