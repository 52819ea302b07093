#include "jit/native/host.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <utility>

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/ExecutionEngine/RuntimeDyld.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Scalar.h"

extern "C" {
#if defined(__aarch64__)
void LLVMInitializeAArch64TargetInfo();
void LLVMInitializeAArch64Target();
void LLVMInitializeAArch64TargetMC();
void LLVMInitializeAArch64AsmPrinter();
#else
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
#endif
}

namespace wavetap::jit {
namespace {

void initialize_target() {
#if defined(__aarch64__)
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
#else
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
#endif
}

// Where LLVM's fatal errors go while it compiles: they would end the user's program.
thread_local std::jmp_buf* t_escape = nullptr;

void escape(void*, const char*, bool) {
  if (t_escape != nullptr) std::longjmp(*t_escape, 1);
}

// Features that code needs so that no operation becomes a call of the C library.
[[maybe_unused]] constexpr const char* kNeededX86[] = {"avx2", "fma", "f16c", "bmi2", "lzcnt"};

// What LLVM says this processor has, as it takes it.
std::string own_features() {
  std::vector<std::string> list;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    list.push_back(std::string(1, feature.second ? '+' : '-').append(feature.first().str()));
  std::sort(list.begin(), list.end());
  std::string text;
  for (const std::string& feature : list) text += (text.empty() ? "" : ",") + feature;
  return text;
}

}  // namespace

struct Host::Machine {
  std::unique_ptr<llvm::TargetMachine> target;
};

Host::Host(const char* processor) : machine_(std::make_unique<Machine>()) {
  initialize_target();
  llvm::install_fatal_error_handler(escape);
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) {
    trouble_ = error;
    return;
  }
  const std::string cpu = processor == nullptr ? llvm::sys::getHostCPUName().str() : processor;
  std::string features = processor == nullptr ? own_features() : "";
  // Features are often told by the processor's name only.
  const std::unique_ptr<llvm::MCSubtargetInfo> known(
      target->createMCSubtargetInfo(triple, cpu, features));
#if defined(__aarch64__)
  vectors_ = {.lanes = 4,
              .registers = 32,
              .has_halves = known->checkFeatures("+fullfp16"),
              .overwrites_addend = true};
#else
  for (const char* name : kNeededX86)
    if (!known->checkFeatures(std::string("+") + name))
      trouble_ = std::string("the processor has no ") + name;
  if (!trouble_.empty()) return;
  vectors_ = known->checkFeatures("+avx512f,+avx512vl,+avx512dq,+avx512bw")
                 ? HostVectors{.lanes = 16, .registers = 32}
                 : HostVectors{.lanes = 8, .registers = 16};
  vectors_.has_halves = vectors_.lanes == 16 && known->checkFeatures("+avx512fp16");
  if (vectors_.lanes == 16) features += features.empty() ? "-prefer-256-bit" : ",-prefer-256-bit";
#endif
  name_ = cpu + "," + features;
  llvm::TargetOptions options;
  options.EnableFastISel = false;
  machine_->target.reset(target->createTargetMachine(triple, cpu, features, options,
                                                     llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                     llvm::CodeGenOptLevel::Default, /*JIT=*/true));
  if (machine_->target == nullptr) trouble_ = "LLVM has no code generator for " + triple;
}

Host::~Host() { llvm::remove_fatal_error_handler(); }

void Host::set_target(llvm::Module& module) const {
  module.setTargetTriple(machine_->target->getTargetTriple().str());
  module.setDataLayout(machine_->target->createDataLayout());
}

std::vector<std::byte> Host::compile(llvm::Module& module) {
  // What a failing LLVM leaves behind is lost memory; it happens once, as the caller gives up then.
  llvm::SmallVector<char, 0> object;
  std::jmp_buf here;
  t_escape = &here;
  if (setjmp(here) != 0) {
    t_escape = nullptr;
    return {};
  }
  {
    llvm::raw_svector_ostream out(object);
    llvm::legacy::PassManager passes;
    // What the slice has left is kept on the stack as it is written down; registers do.
    passes.add(llvm::createSROAPass());
    passes.add(llvm::createEarlyCSEPass());
    const bool failed = machine_->target->addPassesToEmitFile(
        passes, out, nullptr, llvm::CodeGenFileType::ObjectFile, /*DisableVerify=*/true);
    if (!failed) passes.run(module);
  }
  t_escape = nullptr;
  const auto* bytes = reinterpret_cast<const std::byte*>(object.data());
  return {bytes, bytes + object.size()};
}

// --- Loading. One mapping holds an object's code and constants; nothing in it is written later.

class SectionMemory final : public llvm::RuntimeDyld::MemoryManager {
 public:
  explicit SectionMemory(NativeCode& code) : code_(code) {}

  uint8_t* allocateCodeSection(uintptr_t size, unsigned alignment, unsigned,
                               llvm::StringRef) override {
    return take(size, alignment);
  }
  uint8_t* allocateDataSection(uintptr_t size, unsigned alignment, unsigned, llvm::StringRef,
                               bool) override {
    return take(size, alignment);
  }
  bool needsToReserveAllocationSpace() override { return true; }
  void reserveAllocationSpace(uintptr_t code_size, llvm::Align code_align, uintptr_t data_size,
                              llvm::Align data_align, uintptr_t more_size,
                              llvm::Align more_align) override {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t wanted = code_size + code_align.value() + data_size + data_align.value() +
                          more_size + more_align.value() + kSlack;
    code_.size_bytes_ = (wanted + page - 1) / page * page;
    void* at = mmap(nullptr, code_.size_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                    -1, 0);
    code_.memory_ = at == MAP_FAILED ? nullptr : at;
  }
  void registerEHFrames(uint8_t*, uint64_t, size_t) override {}
  void deregisterEHFrames() override {}
  bool finalizeMemory(std::string*) override {
    if (code_.memory_ == nullptr) return true;
    auto* begin = static_cast<char*>(code_.memory_);
    if (mprotect(begin, code_.size_bytes_, PROT_READ | PROT_EXEC) != 0) return true;
    __builtin___clear_cache(begin, begin + code_.size_bytes_);
    return false;
  }

 private:
  static constexpr size_t kSlack = 256;  // for alignment between sections

  uint8_t* take(size_t size, size_t alignment) {
    used_ = (used_ + alignment - 1) / alignment * alignment;
    if (code_.memory_ == nullptr || used_ + size > code_.size_bytes_) return nullptr;
    uint8_t* at = static_cast<uint8_t*>(code_.memory_) + used_;
    used_ += size;
    return at;
  }

  NativeCode& code_;
  size_t used_ = 0;
};

namespace {

// Compiled code refers to nothing outside of it.
class NoSymbols final : public llvm::JITSymbolResolver {
 public:
  void lookup(const LookupSet& symbols, OnResolvedFunction resolved) override {
    if (symbols.empty()) return resolved(LookupResult{});
    resolved(llvm::make_error<llvm::StringError>("symbol", llvm::inconvertibleErrorCode()));
  }
  llvm::Expected<LookupSet> getResponsibilitySet(const LookupSet&) override { return LookupSet{}; }
};

}  // namespace

NativeCode::~NativeCode() {
  if (memory_ != nullptr) munmap(memory_, size_bytes_);
}

std::unique_ptr<NativeCode> NativeCode::load(std::span<const std::byte> object, const char* entry) {
  const llvm::StringRef bytes(reinterpret_cast<const char*>(object.data()), object.size());
  auto parsed = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "block"));
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return nullptr;
  }
  std::unique_ptr<NativeCode> code(new NativeCode());
  SectionMemory memory(*code);
  NoSymbols symbols;
  llvm::RuntimeDyld linker(memory, symbols);
  const auto info = linker.loadObject(**parsed);
  if (linker.hasError() || info == nullptr || code->memory_ == nullptr) return nullptr;
  linker.resolveRelocations();
  if (linker.hasError()) return nullptr;
  const llvm::JITEvaluatedSymbol found = linker.getSymbol(entry);
  if (!found || memory.finalizeMemory(nullptr)) return nullptr;
  code->entry_ = reinterpret_cast<void*>(found.getAddress());
  return code;
}

}  // namespace wavetap::jit
