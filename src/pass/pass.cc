// The compiler pass: beside every kernel of a module a twin that tells what it does, and a table of the places
// it tells about. Loaded by `clang -fpass-plugin=…`, through wavetap-hipcc; runs last, so that what is
// instrumented is what the machine will execute.
//
// The original is not touched. It stays bit for bit what it would be without the pass; which of the two
// runs is decided at each dispatch (src/agent/probe_policy.cc).
//
// WAVETAP_PASS_KERNELS=SUBSTRING[,SUBSTRING…] instruments only kernels with such a name; WAVETAP_PASS_TARGET=gfxNNNN says what
// GPU it is where the module does not (target.h).
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#if __has_include(<llvm/Plugins/PassPlugin.h>)
#include <llvm/Plugins/PassPlugin.h>
#else
#include <llvm/Passes/PassPlugin.h>
#endif
#include <llvm/Support/raw_ostream.h>

#include <cstdlib>
#include <memory>

#include "format/probe_ring.h"
#include "format/site_table.h"
#include "pass/emit.h"
#include "pass/llvm_versions.h"
#include "pass/sites.h"
#include "pass/target.h"
#include "pass/twin.h"

namespace wavetap::pass {
namespace {

bool is_chosen(const llvm::Function& kernel) {
  const char* const list = std::getenv("WAVETAP_PASS_KERNELS");
  if (list == nullptr || *list == '\0') return true;
  llvm::SmallVector<llvm::StringRef, 4> parts;
  llvm::StringRef(list).split(parts, ',', -1, false);
  for (const llvm::StringRef part : parts)
    if (kernel.getName().find(part) != llvm::StringRef::npos) return true;
  return false;
}

format::SiteKernel instrument(llvm::Function& original, const Target& target) {
  Twin twin = make_twin(original);
  format::SiteKernel described;
  described.name = original.getName().str();
  described.wave_size = target.wave_size;
  std::vector<Place> places = find_places(*twin.kernel, twin.unseen);
  const size_t most = size_t{1} << format::kSiteBits;
  if (places.size() > most) {
    twin.unseen.push_back(std::to_string(places.size() - most) +
                          " places beyond the first million");
    places.resize(most);
  }
  Emitter emitter(*twin.kernel, *twin.launch, target);
  bool is_flat = false;
  for (const Place& place : places)
    is_flat |= place.site.kind == format::SiteKind::kMemory &&
               place.site.space == format::SiteSpace::kFlat;
  emitter.begin_kernel(*places.front().at, is_flat);
  for (uint32_t i = 0; i < places.size(); ++i) {
    emitter.add_probe(places[i], i);
    described.sites.push_back(std::move(places[i].site));
  }
  emitter.end_kernel();
  for (const Place& place : places)
    if (place.replaces) place.at->eraseFromParent();
  described.unseen = std::move(twin.unseen);
  return described;
}

// A section that is not loaded, so that nothing of the program moves.
void add_section(llvm::Module& module, const std::string& table) {
  std::string text = std::string(".pushsection ") + format::kSiteSection + ",\"\",@progbits\n";
  size_t at = 0;
  while (at < table.size()) {
    const size_t end = table.find('\n', at) + 1;
    text += ".ascii \"";
    for (const char c : table.substr(at, end - at)) {
      if (c == '\n') text += "\\n";
      else if (c == '"' || c == '\\') text += std::string("\\") + c;
      else text += c;
    }
    text += "\"\n";
    at = end;
  }
  module.appendModuleInlineAsm(text + ".popsection\n");
}

// Messages mean something in the twin alone. Those that are calls of a function nobody has go.
void remove_messages(llvm::Module& module) {
  llvm::Function* const function = module.getFunction("wavetap_message");
  if (function == nullptr || !function->isDeclaration()) return;
  while (!function->use_empty()) {
    auto* const call = llvm::dyn_cast<llvm::CallBase>(function->user_back());
    if (call == nullptr) return;
    call->eraseFromParent();
  }
  function->eraseFromParent();
}

// Runs first, while the constants are there that say what GPU it is.
struct NoteTargetPass : llvm::PassInfoMixin<NoteTargetPass> {
  std::shared_ptr<Target> noted;

  explicit NoteTargetPass(std::shared_ptr<Target> target) : noted(std::move(target)) {}
  static bool isRequired() { return true; }

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    if (is_amdgcn(module)) *noted = target_of_constants(module);
    return llvm::PreservedAnalyses::all();
  }
};

struct WavetapPass : llvm::PassInfoMixin<WavetapPass> {
  std::shared_ptr<Target> noted;

  explicit WavetapPass(std::shared_ptr<Target> target) : noted(std::move(target)) {}
  static bool isRequired() { return true; }  // also at -O0

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    if (!is_amdgcn(module)) return llvm::PreservedAnalyses::all();
    std::vector<llvm::Function*> kernels;
    for (llvm::Function& function : module)
      if (function.getCallingConv() == llvm::CallingConv::AMDGPU_KERNEL &&
          !function.isDeclaration() && is_chosen(function))
        kernels.push_back(&function);
    std::vector<format::SiteKernel> described;
    for (llvm::Function* kernel : kernels) {
      const Target target = target_of(*kernel, *noted);
      if (target.is_known()) described.push_back(instrument(*kernel, target));
      else
        llvm::errs() << "wavetap: warning: " << kernel->getName()
                     << ": nothing says what GPU it is for, so it cannot be probed; set "
                        "WAVETAP_PASS_TARGET=gfxNNNN\n";
    }
    if (!described.empty()) add_section(module, format::write_site_table(described));
    remove_messages(module);
    return llvm::PreservedAnalyses::none();
  }
};

}  // namespace
}  // namespace wavetap::pass

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  return {
      LLVM_PLUGIN_API_VERSION, "wavetap", WAVETAP_VERSION, [](llvm::PassBuilder& builder) {
        const auto target = std::make_shared<wavetap::pass::Target>();
        // Newer compilers pass a third argument to the second.
        builder.registerPipelineStartEPCallback([target](llvm::ModulePassManager& passes, auto...) {
          passes.addPass(wavetap::pass::NoteTargetPass(target));
        });
        builder.registerOptimizerLastEPCallback([target](llvm::ModulePassManager& passes, auto...) {
          passes.addPass(wavetap::pass::WavetapPass(target));
        });
      }};
}
