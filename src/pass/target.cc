#include "pass/target.h"

#include <llvm/IR/Constants.h>

#include <cstdlib>
#include <optional>

namespace wavetap::pass {
namespace {

constexpr uint32_t kFirstMajorOfWave32 = 10;

uint32_t usual_wave_size(uint32_t major) {
  return major == 0 ? 0 : major >= kFirstMajorOfWave32 ? 32 : 64;
}

std::optional<uint64_t> constant(const llvm::Module& module, const char* name) {
  const llvm::GlobalVariable* const variable = module.getNamedGlobal(name);
  if (variable == nullptr || !variable->hasInitializer()) return std::nullopt;
  const auto* const value = llvm::dyn_cast<llvm::ConstantInt>(variable->getInitializer());
  if (value == nullptr) return std::nullopt;
  return value->getZExtValue();
}

}  // namespace

uint32_t major_of(llvm::StringRef cpu) {
  if (cpu.substr(0, 3) != "gfx") return 0;
  const size_t dash = cpu.find('-');
  // Of a whole name the last two say which of a family.
  const llvm::StringRef digits = dash != llvm::StringRef::npos ? cpu.slice(3, dash)
                                 : cpu.size() >= 6             ? cpu.slice(3, cpu.size() - 2)
                                                               : llvm::StringRef();
  uint32_t major = 0;
  return digits.getAsInteger(10, major) ? 0 : major;
}

Target target_of_constants(const llvm::Module& module) {
  Target target;
  // 10300 for gfx1030, 9010 for gfx90a.
  if (const auto version = constant(module, "__oclc_ISA_version"))
    target.major = static_cast<uint32_t>(*version / 1000);
  if (const auto is_wave64 = constant(module, "__oclc_wavefrontsize64"))
    target.wave_size = *is_wave64 != 0 ? 64 : 32;
  else target.wave_size = usual_wave_size(target.major);
  return target;
}

Target target_of(const llvm::Function& kernel, const Target& otherwise) {
  Target target;
  target.major = major_of(kernel.getFnAttribute("target-cpu").getValueAsString());
  target.wave_size = usual_wave_size(target.major);
  if (target.major == 0) target = otherwise;
  if (target.major == 0)
    if (const char* const asked = std::getenv("WAVETAP_PASS_TARGET")) {
      target.major = major_of(asked);
      target.wave_size = usual_wave_size(target.major);
    }
  const llvm::StringRef features = kernel.getFnAttribute("target-features").getValueAsString();
  if (features.find("+wavefrontsize64") != llvm::StringRef::npos) target.wave_size = 64;
  else if (features.find("+wavefrontsize32") != llvm::StringRef::npos) target.wave_size = 32;
  return target;
}

}  // namespace wavetap::pass
