// Emitter: puts probes into a twin, instruction by instruction, so that no library of device code has to be found,
// linked or matched with a GPU.
#pragma once

#include <vector>

#include "pass/probes.h"
#include "pass/sites.h"
#include "pass/wave_code.h"

namespace wavetap::pass {

class Emitter {
 public:
  Emitter(llvm::Function& kernel, llvm::Argument& launch, const Target& target);

  // At the begin of the kernel, once: what all probes of a wave need. `with_apertures`: the kernel has
  // flat accesses.
  void begin_kernel(llvm::Instruction& before, bool with_apertures);
  void add_probe(const Place& place, uint32_t number);
  // Before every return: counts the work-items that end.
  void end_kernel();

 private:
  using Builder = WaveCode::Builder;

  llvm::Value* place_of_wave(Builder& b);
  void store_apertures(Builder& b);
  // The clock from here to the end of the block.
  void time_block(llvm::Instruction& from, llvm::Instruction& end, uint32_t number);
  llvm::Value* wanted(Builder& b, uint32_t bits);
  llvm::Instruction* keep_inside(const Place& place, llvm::Instruction* then,
                                 llvm::Value** address);

  llvm::Function& kernel_;
  llvm::Argument& launch_;
  WaveCode wave_;
  ProbeFunctions probes_;
  llvm::Type *i32_, *i64_;
  llvm::Value* constant_launch_ = nullptr;
  llvm::Value* wants_ = nullptr;
  llvm::Value* place_ = nullptr;
};

}  // namespace wavetap::pass
