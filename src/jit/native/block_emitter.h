// BlockEmitter: from a Plan to a function of LLVM's, `void block(Wave*, const Inst*)`.
//
//   entry   the wave's modes are the usual ones, and its slice has room for the first run? Else the
//           first instruction's handler is called, and that is all.
//   runs    the instructions of each (plan.h), one after another. A run begins by looking whether the
//           slice has room for all of it. A branch goes to another run, or leaves.
//   leave   what was performed is taken off the slice's budget.
//
// Between two calls of handlers, scalars are kept in ScalarFile and vector registers inside segments
// (segment_emitter.h); everything is back in the wave before something else can look at it. The code
// contains no address but distances inside Wave, Inst and the table of handlers: it can be kept in a
// file and be loaded anywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "jit/backend.h"
#include "jit/native/address_facts.h"
#include "jit/native/host.h"
#include "jit/native/plan.h"
#include "jit/native/scalar_file.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace wavetap::jit {

inline constexpr const char* kEntryName = "block";

class BlockEmitter {
 public:
  BlockEmitter(llvm::Module& module, const BlockRequest& request, const Plan& plan,
               const HostVectors& vectors);

  void emit();

 private:
  const isa::Inst& inst(int32_t i) const { return request_.insts[plan_.first + i]; }
  llvm::Value* field(size_t offset);
  llvm::Value* load_field(llvm::Type* type, size_t offset);
  llvm::BasicBlock* new_block(const char* name);

  void emit_entry();
  void begin_run(int32_t i);
  void emit_turn_end(int32_t i, const std::function<void()>& leave);
  void emit_inst(int32_t i);
  void emit_fence(const isa::Inst& inst);
  void emit_barrier(int32_t i);
  void emit_call(int32_t i, bool is_last);
  void emit_branch(int32_t i);
  void emit_scalar_load(int32_t i);
  // pc < 0: it is in the wave already. `is_stopped`: the budget has become 0, as all code knows there.
  void emit_leave(int32_t performed, int32_t pc, bool is_stopped = false);
  // Of the plan's instructions up to here.
  void emit_leave(llvm::Value* performed, bool is_stopped = false);
  void emit_end(llvm::Value* performed, bool is_stopped = false);
  llvm::Value* branch_condition(const isa::Inst& inst);

  llvm::Module& module_;
  const BlockRequest& request_;
  const Plan& plan_;
  const HostVectors vectors_;
  llvm::IRBuilder<> ir_;
  llvm::Function* function_;
  llvm::Value* wave_;
  llvm::Value* first_inst_;
  llvm::Value* handlers_ = nullptr;
  llvm::Value* rows_ = nullptr;
  llvm::Value* now_ = nullptr;           // i64: instructions the wave has performed before
  llvm::Value* limit_ = nullptr;         // instructions that the slice had left
  llvm::Value* left_ = nullptr;          // where the code keeps how many it has left after this run
  llvm::Value* locked_ = nullptr;        // on the stack, for emit_fence()
  std::vector<llvm::BasicBlock*> runs_;  // by their first instruction
  int32_t run_begin_ = 0;
  int32_t run_end_ = 0;
  ScalarFile scalars_;
  FactSlots facts_;
};

}  // namespace wavetap::jit
