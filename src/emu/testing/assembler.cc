// An ELF relocatable is made in memory by LLVM's assembler and its .text section cut out. Going
// through the object writer, rather than encoding instruction by instruction, is what resolves
// labels.
#include "emu/testing/assembler.h"

#include <elf.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>

#include <llvm/ADT/SmallString.h>
#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCObjectWriter.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmParser();
}

namespace wavetap::emu {
namespace {

const llvm::Target* amdgpu_target() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();
  });
  std::string error;
  return llvm::TargetRegistry::lookupTarget("amdgcn-amd-amdhsa", error);
}

std::vector<std::byte> text_section(llvm::StringRef object) {
  Elf64_Ehdr header;
  if (object.size() < sizeof header) return {};
  std::memcpy(&header, object.data(), sizeof header);
  const auto section = [&](size_t index) {
    Elf64_Shdr s;
    std::memcpy(&s, object.data() + header.e_shoff + index * sizeof s, sizeof s);
    return s;
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr s = section(i);
    if (std::strcmp(object.data() + names.sh_offset + s.sh_name, ".text") != 0) continue;
    const auto* bytes = reinterpret_cast<const std::byte*>(object.data() + s.sh_offset);
    return {bytes, bytes + s.sh_size};
  }
  return {};
}

}  // namespace

std::vector<std::byte> assemble(const std::string& text, amd::GfxTarget target, bool wave64) {
  const llvm::Triple triple("amdgcn-amd-amdhsa");
  const llvm::Target* llvm_target = amdgpu_target();
  if (llvm_target == nullptr) return {};
  std::string features;
  if (target.has_wave32())
    features = wave64 ? "-wavefrontsize32,+wavefrontsize64" : "+wavefrontsize32,-wavefrontsize64";
  // gfx11's 16-bit operands are written the way gfx9 writes them.
  if (target.major >= 11) features += ",-real-true16";

  const llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers(llvm_target->createMCRegInfo(triple.str()));
  std::unique_ptr<llvm::MCAsmInfo> asm_info(
      llvm_target->createMCAsmInfo(*registers, triple.str(), options));
  std::unique_ptr<llvm::MCInstrInfo> instructions(llvm_target->createMCInstrInfo());
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      llvm_target->createMCSubtargetInfo(triple.str(), amd::to_string(target), features));

  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text + "\n", "test"),
                             llvm::SMLoc());
  llvm::MCContext context(triple, asm_info.get(), registers.get(), subtarget.get(), &sources,
                          &options);
  std::unique_ptr<llvm::MCObjectFileInfo> object_info(
      llvm_target->createMCObjectFileInfo(context, /*PIC=*/true));
  context.setObjectFileInfo(object_info.get());

  llvm::SmallString<4096> object;
  llvm::raw_svector_ostream out(object);
  std::unique_ptr<llvm::MCAsmBackend> backend(
      llvm_target->createMCAsmBackend(*subtarget, *registers, options));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(out);
  std::unique_ptr<llvm::MCCodeEmitter> emitter(
      llvm_target->createMCCodeEmitter(*instructions, context));
  std::unique_ptr<llvm::MCStreamer> streamer(llvm_target->createMCObjectStreamer(
      triple, context, std::move(backend), std::move(writer), std::move(emitter), *subtarget));
  streamer->initSections(/*NoExecStack=*/false, *subtarget);

  std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(sources, context, *streamer, *asm_info));
  std::unique_ptr<llvm::MCTargetAsmParser> target_parser(
      llvm_target->createMCAsmParser(*subtarget, *parser, *instructions, options));
  parser->setTargetParser(*target_parser);
  if (parser->Run(/*NoInitialTextSection=*/true)) {
    std::fprintf(stderr, "does not assemble for %s: %s\n", amd::to_string(target).c_str(),
                 text.c_str());
    return {};
  }
  return text_section(object);
}

}  // namespace wavetap::emu
