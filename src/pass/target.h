// What the pass has to know of the GPU that a kernel is compiled for: how many lanes a wave has, and which clock there is.
//
// Clang says it at every function. Triton says it to the code generator alone, which comes after us; but the constants by which
// device libraries know the GPU (__oclc_…) are in its modules, until the optimiser finds that nobody reads them.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include <cstdint>

namespace wavetap::pass {

struct Target {
  uint32_t major = 0;      // of gfx1030 10; 0: not known
  uint32_t wave_size = 0;  // 0: not known

  bool is_known() const { return major != 0 && wave_size != 0; }
};

// "gfx90a", "gfx1030", "gfx9-4-generic": 9, 10, 9; 0 for anything else.
uint32_t major_of(llvm::StringRef cpu);

// What the constants of a module say, for functions that say nothing themselves. To be asked before anything is optimised.
Target target_of_constants(const llvm::Module& module);

// `otherwise`: what was found in the module's constants. WAVETAP_PASS_TARGET=gfxNNNN comes last.
Target target_of(const llvm::Function& kernel, const Target& otherwise);

}  // namespace wavetap::pass
