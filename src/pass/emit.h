// Emitter: the device code of probes, written instruction by instruction, so that no library of device
// code has to be found, linked or matched with a GPU.
//
// A probe is wave-wide: the lanes that are active work together, and the first of them reserves space and
// writes what concerns the wave. Lanes that are not active are left alone, so a probe is right wherever
// the instruction it stands before is. format/probe_ring.h has the protocol.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "format/probe_ring.h"
#include "pass/sites.h"

namespace wavetap::pass {

class Emitter {
 public:
  Emitter(llvm::Function& kernel, llvm::Argument& launch, uint32_t wave_size);

  // At the begin of the kernel, once: what all probes of a wave need. `with_apertures`: the kernel has
  // flat accesses.
  void begin_kernel(llvm::Instruction& before, bool with_apertures);
  void add_probe(const Place& place, uint32_t number);
  // Before every return: counts the work-items that end.
  void end_kernel();

 private:
  using Builder = llvm::IRBuilder<>;
  struct Lanes {
    llvm::Value* mask;   // i64
    llvm::Value* first;  // i32, the first active lane
    llvm::Value* lane;   // i32, this one
  };

  llvm::Value* call(Builder& b, unsigned intrinsic, llvm::ArrayRef<llvm::Value*> arguments);
  llvm::Value* ballot(Builder& b, llvm::Value* condition);
  llvm::Value* first_lane(Builder& b, llvm::Value* wide);
  llvm::Value* read_lane(Builder& b, llvm::Value* wide, llvm::Value* lane);
  llvm::Value* lanes_below(Builder& b, llvm::Value* mask);
  Lanes lanes(Builder& b);
  llvm::Value* field(Builder& b, llvm::Value* launch, size_t offset, llvm::Type* type);
  llvm::Value* global(Builder& b, llvm::Value* address);
  void store_word(Builder& b, llvm::Value* launch, llvm::Value* index, uint32_t word,
                  llvm::Value* value);
  // Appends code that reserves; the position in bytes, all ones when there is no room.
  llvm::Value* reserve(Builder& b, llvm::Value* launch, const Lanes& lanes, llvm::Value* words);
  void count(Builder& b, llvm::Value* launch, const Lanes& lanes, llvm::Value* header);

  // void (launch, place, header)
  llvm::Function* make_point();
  // void (launch, place, header, value)
  llvm::Function* make_lanes();
  llvm::Function* declare(const char* name, llvm::ArrayRef<llvm::Type*> types);

  llvm::Function& kernel_;
  llvm::Argument& launch_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  uint32_t wave_size_;
  llvm::Type *i32_, *i64_;
  llvm::Value* constant_launch_ = nullptr;
  llvm::Value* wants_ = nullptr;
  llvm::Value* place_ = nullptr;
  llvm::Function* point_ = nullptr;
  llvm::Function* lanes_ = nullptr;
};

}  // namespace wavetap::pass
