#include "jit/native/block_emitter.h"

#include <cstddef>
#include <cstring>
#include <vector>

#include "emu/exec/cache_fence.h"
#include "emu/wave.h"
#include "jit/native/emit_parts.h"
#include "jit/native/lane_ops.h"
#include "jit/native/memory_emitter.h"
#include "jit/native/memory_ops.h"
#include "jit/native/segment_emitter.h"

namespace wavetap::jit {

using emu::Wave;
using isa::Inst;
using isa::Op;
using llvm::BasicBlock;
using llvm::Value;
namespace slot = isa::slot;

namespace {

// Whether a locked operation on the stack is the host's quickest fence.
#if defined(__x86_64__)
constexpr bool kFencesByLock = true;
#else
constexpr bool kFencesByLock = false;
#endif

// What compiled code relies on in a wave's mode, and which bits of the eight bytes it is in.
struct UsualMode {
  uint64_t value = 0;
  uint64_t relevant = 0;
};
UsualMode usual_mode() {
  using emu::FloatMode;
  constexpr size_t kBytes = sizeof(uint64_t);
  static_assert(sizeof(FloatMode) + 1 == kBytes &&
                offsetof(Wave, vgpr_index) == offsetof(Wave, mode) + sizeof(FloatMode));
  const FloatMode mode;
  uint8_t value[kBytes] = {};
  uint8_t relevant[kBytes];
  std::memcpy(value, &mode, sizeof mode);
  std::memset(relevant, 0xff, sizeof relevant);
  // They matter to NaNs only.
  for (const size_t at : {offsetof(FloatMode, ieee), offsetof(FloatMode, dx10_clamp)})
    value[at] = relevant[at] = 0;
  UsualMode usual;
  std::memcpy(&usual.value, value, kBytes);
  std::memcpy(&usual.relevant, relevant, kBytes);
  return usual;
}

}  // namespace

BlockEmitter::BlockEmitter(llvm::Module& module, const BlockRequest& request, const Plan& plan,
                           const HostVectors& vectors)
    : module_(module),
      request_(request),
      plan_(plan),
      vectors_(vectors),
      ir_(module.getContext()),
      function_(llvm::Function::Create(
          llvm::FunctionType::get(ir_.getVoidTy(), {ir_.getPtrTy(), ir_.getPtrTy()}, false),
          llvm::Function::ExternalLinkage, kEntryName, module)),
      wave_(function_->getArg(0)),
      first_inst_(function_->getArg(1)),
      scalars_(ir_, wave_),
      facts_(ir_, plan, request.wave64 ? 64 : 32) {
  function_->setDoesNotThrow();
}

Value* BlockEmitter::field(size_t offset) {
  return ir_.CreateConstGEP1_64(ir_.getInt8Ty(), wave_, offset);
}
Value* BlockEmitter::load_field(llvm::Type* type, size_t offset) {
  return ir_.CreateLoad(type, field(offset));
}
BasicBlock* BlockEmitter::new_block(const char* name) {
  return BasicBlock::Create(module_.getContext(), name, function_);
}

void BlockEmitter::emit() {
  runs_.assign(static_cast<size_t>(plan_.size()), nullptr);
  for (int32_t i = 0; i < plan_.size(); ++i)
    if (plan_.at(i).begins_run || i == 0) runs_[static_cast<size_t>(i)] = new_block("run");
  emit_entry();
  for (int32_t i = 0; i < plan_.size();) {
    const Planned& planned = plan_.at(i);
    if (planned.kind == Kind::kSkipped) {
      ++i;
      continue;
    }
    if (runs_[static_cast<size_t>(i)] != nullptr) begin_run(i);
    if (planned.segment < 0) {
      emit_inst(i++);
      continue;
    }
    int32_t end = i;
    while (end < plan_.size() && plan_.at(end).segment == planned.segment) ++end;
    SegmentEmitter segment(ir_, scalars_, request_, plan_, vectors_,
                           {wave_, first_inst_, handlers_, rows_, &facts_,
                            [this](Value* performed) { emit_leave(performed); },
                            [this](const Inst& inst) { emit_fence(inst); }});
    segment.emit(i, end);
    i = end;
  }
  if (ir_.GetInsertBlock()->getTerminator() == nullptr) {
    scalars_.flush();
    emit_leave(plan_.size(), plan_.first + plan_.size());
  }
}

void BlockEmitter::emit_entry() {
  BasicBlock* entry = new_block("entry");
  entry->moveBefore(&function_->getEntryBlock());
  BasicBlock* plain = new_block("plain");
  ir_.SetInsertPoint(entry);
  left_ = ir_.CreateAlloca(ir_.getInt64Ty());
  locked_ = ir_.CreateAlloca(ir_.getInt32Ty());
  handlers_ = load_field(ir_.getPtrTy(), offsetof(Wave, handlers));
  rows_ = load_field(ir_.getPtrTy(), offsetof(Wave, v));
  Value* done = load_field(ir_.getInt64Ty(), offsetof(Wave, done));
  limit_ = ir_.CreateSub(load_field(ir_.getInt64Ty(), offsetof(Wave, budget)), done);
  now_ = ir_.CreateAdd(load_field(ir_.getInt64Ty(), offsetof(Wave, executed)), done);
  now_ = ir_.CreateAdd(now_, load_field(ir_.getInt64Ty(), offsetof(Wave, extra)));
  facts_.begin(rows_, load_field(ir_.getPtrTy(), offsetof(Wave, compiled_state)), now_);
  const UsualMode usual = usual_mode();
  Value* mode = load_field(ir_.getInt64Ty(), offsetof(Wave, mode));
  Value* is_usual = ir_.CreateICmpEQ(ir_.CreateAnd(mode, ir_.getInt64(usual.relevant)),
                                     ir_.getInt64(usual.value));
  Value* has_room =
      ir_.CreateICmpSGE(limit_, ir_.getInt64(static_cast<uint64_t>(plan_.end_of_run(0))));
  ir_.CreateStore(limit_, left_);
  emit_usually(ir_, ir_.CreateAnd(is_usual, has_room), runs_[0], plain);

  ir_.SetInsertPoint(plain);
  if (plan_.at(0).ends_turn)
    emit_turn_end(0, [&] { emit_end(ir_.getInt64(1), /*is_stopped=*/true); });
  emit_handler_call(ir_, wave_, handlers_, first_inst_,
                    ir_.getInt64(static_cast<uint64_t>(plan_.first)), plan_.first);
  ir_.CreateRetVoid();
}

// What comes before ends here, or goes on into it. A slice without room for the run ends the code.
void BlockEmitter::begin_run(int32_t i) {
  BasicBlock* run = runs_[static_cast<size_t>(i)];
  if (i > 0 && ir_.GetInsertBlock()->getTerminator() == nullptr) {
    scalars_.flush();
    ir_.CreateBr(run);
  }
  scalars_.forget();
  ir_.SetInsertPoint(run);
  run_begin_ = i;
  run_end_ = plan_.end_of_run(i);
  const auto size = static_cast<uint64_t>(run_end_ - run_begin_);
  Value* left = ir_.CreateLoad(ir_.getInt64Ty(), left_);
  // At the first one that has been seen, unless branches lead there.
  if (i > 0 || plan_.at(i).begins_run) {
    BasicBlock* used_up = new_block("used_up");
    BasicBlock* goes_on = new_block("goes_on");
    emit_usually(ir_, ir_.CreateICmpSGE(left, ir_.getInt64(size)), goes_on, used_up);
    ir_.SetInsertPoint(used_up);
    ir_.CreateStore(ir_.getInt32(static_cast<uint32_t>(plan_.first + i)),
                    field(offsetof(Wave, pc)));
    emit_end(ir_.CreateSub(limit_, left));
    ir_.SetInsertPoint(goes_on);
  }
  ir_.CreateStore(ir_.CreateSub(left, ir_.getInt64(size)), left_);
  facts_.forget_others(written_rows(request_, plan_, run_begin_, run_end_));
  if (plan_.at(i).ends_turn) emit_turn_end(i, [&] { emit_leave(i + 1, -1, /*is_stopped=*/true); });
}

// As Wave::ends_turn() does it: an end is an instruction of its own. `leave` leaves the function there.
void BlockEmitter::emit_turn_end(int32_t i, const std::function<void()>& leave) {
  BasicBlock* ends = new_block("turn_ends");
  BasicBlock* goes_on = new_block("turn_goes_on");
  llvm::Type* byte = ir_.getInt8Ty();
  Value* left = load_field(byte, offsetof(Wave, turn_ends_left));
  Value* has_ended = load_field(byte, offsetof(Wave, has_ended_turn));
  Value* may_end = ir_.CreateICmpNE(left, ir_.getInt8(0));
  ir_.CreateCondBr(ir_.CreateAnd(may_end, ir_.CreateICmpEQ(has_ended, ir_.getInt8(0))), ends,
                   goes_on);
  ir_.SetInsertPoint(ends);
  const auto store = [&](Value* value, size_t offset) { ir_.CreateStore(value, field(offset)); };
  store(ir_.CreateSub(left, ir_.getInt8(1)), offsetof(Wave, turn_ends_left));
  store(ir_.getInt8(1), offsetof(Wave, has_ended_turn));
  store(ir_.getInt8(static_cast<uint8_t>(emu::WaveState::kTurnEnded)), offsetof(Wave, state));
  store(ir_.getInt64(0), offsetof(Wave, budget));
  store(ir_.getInt32(static_cast<uint32_t>(plan_.first + i)), offsetof(Wave, pc));
  leave();
  ir_.SetInsertPoint(goes_on);
  store(ir_.getInt8(0), offsetof(Wave, has_ended_turn));
}

void BlockEmitter::emit_inst(int32_t i) {
  switch (plan_.insts[static_cast<size_t>(i)].kind) {
    case Kind::kSkipped:
    case Kind::kNothing: return;
    case Kind::kFence: return emit_fence(inst(i));
    case Kind::kLeave: {
      scalars_.flush();
      return emit_leave(i, plan_.first + i);
    }
    case Kind::kScalar: return emit_scalar(ir_, scalars_, inst(i));
    case Kind::kLane:
      if (inst(i).dst.is(isa::OperandKind::kVgpr)) facts_.forget_all();
      return emit_lane_op(ir_, scalars_, rows_, request_.wave64, inst(i));
    case Kind::kBranch: return emit_branch(i);
    case Kind::kLast: return inst(i).op == Op::s_barrier ? emit_barrier(i) : emit_call(i, true);
    case Kind::kScalarLoad: return emit_scalar_load(i);
    case Kind::kVector:
    case Kind::kMemory:
    case Kind::kCall: return emit_call(i, false);
  }
}

// As the handlers' fence: compilers that build it do the same. LLVM would take an mfence, which later
// instructions wait for.
void BlockEmitter::emit_fence(const Inst& inst) {
  if (emu::is_workgroup_fence(inst.op)) {
    ir_.CreateFence(llvm::AtomicOrdering::Acquire);
    return;
  }
  constexpr auto kOrdering = llvm::AtomicOrdering::SequentiallyConsistent;
  if (!kFencesByLock) {
    ir_.CreateFence(kOrdering);
    return;
  }
  ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Or, locked_, ir_.getInt32(0), llvm::Align(4), kOrdering);
}

// As the handler does it; nobody watches.
void BlockEmitter::emit_barrier(int32_t i) {
  scalars_.flush();
  BasicBlock* waits = new_block("waits");
  BasicBlock* goes_on = new_block("goes_on");
  Value* has_others = load_field(ir_.getInt8Ty(), offsetof(Wave, has_others));
  emit_usually(ir_, ir_.CreateICmpNE(has_others, ir_.getInt8(0)), waits, goes_on);
  ir_.SetInsertPoint(waits);
  ir_.CreateStore(ir_.getInt8(static_cast<uint8_t>(emu::WaveState::kAtBarrier)),
                  field(offsetof(Wave, state)));
  ir_.CreateStore(ir_.getInt64(0), field(offsetof(Wave, budget)));
  emit_leave(i + 1, plan_.first + i + 1, /*is_stopped=*/true);
  ir_.SetInsertPoint(goes_on);
  emit_leave(i + 1, plan_.first + i + 1);
}

void BlockEmitter::emit_call(int32_t i, bool is_last) {
  scalars_.flush();
  const int32_t index = plan_.first + i;
  ir_.CreateStore(ir_.getInt32(static_cast<uint32_t>(index + 1)), field(offsetof(Wave, pc)));
  emit_handler_call(ir_, wave_, handlers_, first_inst_, ir_.getInt64(static_cast<uint64_t>(index)),
                    plan_.first);
  scalars_.forget();
  if (may_write_rows(inst(i))) facts_.forget_all();
  if (is_last) return emit_leave(i + 1, -1);
  BasicBlock* stopped = new_block("stopped");
  BasicBlock* next = new_block("next");
  Value* budget = load_field(ir_.getInt64Ty(), offsetof(Wave, budget));
  emit_rarely(ir_, ir_.CreateICmpEQ(budget, ir_.getInt64(0)), stopped, next);
  ir_.SetInsertPoint(stopped);
  emit_leave(i + 1, -1);
  ir_.SetInsertPoint(next);
}

// Dwords that the translation cache finds are read here; all else is the handler's.
void BlockEmitter::emit_scalar_load(int32_t i) {
  const Inst& load = inst(i);
  const uint32_t dwords = compiled_scalar_load(load);
  Value* address = ir_.CreateAdd(scalars_.get64(load.saddr.index),
                                 ir_.getInt64(static_cast<uint64_t>(int64_t{load.offset})));
  if (!load.soffset.is(isa::OperandKind::kNone))
    address = ir_.CreateAdd(address,
                            ir_.CreateZExt(scalars_.operand(load.soffset, 32), ir_.getInt64Ty()));
  address = ir_.CreateAnd(address, ir_.getInt64(~uint64_t{3}));
  const int32_t index = plan_.first + i;
  ir_.CreateStore(ir_.getInt32(static_cast<uint32_t>(index + 1)), field(offsetof(Wave, pc)));
  Value* host =
      emit_translate(ir_, wave_, address, ir_.getInt64(uint64_t{dwords} * 4), false, index);
  BasicBlock* quick = new_block("load");
  BasicBlock* slow = new_block("load_slowly");
  BasicBlock* stopped = new_block("stopped");
  BasicBlock* done = new_block("loaded");
  emit_usually(ir_, ir_.CreateICmpNE(host, ir_.getInt64(0)), quick, slow);

  // All are read before any is written, as they are in the handler.
  std::vector<Value*> read;
  ir_.SetInsertPoint(quick);
  Value* from = ir_.CreateIntToPtr(host, ir_.getPtrTy());
  for (uint32_t k = 0; k < dwords; ++k)
    read.push_back(ir_.CreateAlignedLoad(
        ir_.getInt32Ty(), ir_.CreateConstGEP1_64(ir_.getInt32Ty(), from, k), llvm::Align(1),
        /*isVolatile=*/true));
  ir_.CreateBr(done);

  ir_.SetInsertPoint(slow);
  ScalarFile here = scalars_;
  here.flush();
  emit_handler_call(ir_, wave_, handlers_, first_inst_, ir_.getInt64(static_cast<uint64_t>(index)),
                    plan_.first);
  here.forget();
  Value* budget = load_field(ir_.getInt64Ty(), offsetof(Wave, budget));
  std::vector<Value*> made;
  for (uint32_t k = 0; k < dwords; ++k) made.push_back(here.get32(load.dst.index + k));
  emit_rarely(ir_, ir_.CreateICmpEQ(budget, ir_.getInt64(0)), stopped, done);
  ir_.SetInsertPoint(stopped);
  emit_leave(i + 1, -1);

  ir_.SetInsertPoint(done);
  for (uint32_t k = 0; k < dwords; ++k) {
    llvm::PHINode* value = ir_.CreatePHI(ir_.getInt32Ty(), 2);
    value->addIncoming(read[k], quick);
    value->addIncoming(made[k], slow);
    scalars_.set32(load.dst.index + k, value);
  }
}

Value* BlockEmitter::branch_condition(const Inst& inst) {
  const bool wave64 = request_.wave64;
  const auto is_zero = [&](uint32_t at) {
    return ir_.CreateICmpEQ(scalars_.mask(at, wave64), ir_.getInt64(0));
  };
  switch (inst.op) {
    case Op::s_cbranch_scc0: return ir_.CreateNot(scalars_.scc());
    case Op::s_cbranch_scc1: return scalars_.scc();
    case Op::s_cbranch_vccz: return is_zero(slot::kVccLo);
    case Op::s_cbranch_vccnz: return ir_.CreateNot(is_zero(slot::kVccLo));
    case Op::s_cbranch_execz: return is_zero(slot::kExecLo);
    case Op::s_cbranch_execnz: return ir_.CreateNot(is_zero(slot::kExecLo));
    default: return ir_.getTrue();
  }
}

void BlockEmitter::emit_branch(int32_t i) {
  const Inst& branch = inst(i);
  BasicBlock* taken = new_block("taken");
  BasicBlock* next = branch.op == Op::s_branch ? nullptr : new_block("next");
  if (next == nullptr) ir_.CreateBr(taken);
  else ir_.CreateCondBr(branch_condition(branch), taken, next);

  ir_.SetInsertPoint(taken);
  ScalarFile at_branch = scalars_;
  at_branch.flush();
  const int32_t target = branch.target - plan_.first;
  if (plan_.has(target) && plan_.at(target).begins_run) {
    // What the run would have had after the branch is not performed.
    if (i + 1 < run_end_) {
      Value* left = ir_.CreateLoad(ir_.getInt64Ty(), left_);
      const auto rest = static_cast<uint64_t>(run_end_ - i - 1);
      ir_.CreateStore(ir_.CreateAdd(left, ir_.getInt64(rest)), left_);
    }
    ir_.CreateBr(runs_[static_cast<size_t>(target)]);
  } else {
    emit_leave(i + 1, branch.target);
  }
  if (next != nullptr) ir_.SetInsertPoint(next);
}

void BlockEmitter::emit_leave(int32_t performed, int32_t pc, bool is_stopped) {
  if (pc >= 0) ir_.CreateStore(ir_.getInt32(static_cast<uint32_t>(pc)), field(offsetof(Wave, pc)));
  emit_leave(ir_.getInt64(static_cast<uint64_t>(performed)), is_stopped);
}

void BlockEmitter::emit_leave(Value* performed, bool is_stopped) {
  Value* left = ir_.CreateLoad(ir_.getInt64Ty(), left_);
  Value* before = ir_.CreateSub(limit_, left);
  emit_end(ir_.CreateSub(ir_.CreateAdd(before, performed),
                         ir_.getInt64(static_cast<uint64_t>(run_end_))),
           is_stopped);
}

void BlockEmitter::emit_end(Value* performed, bool is_stopped) {
  facts_.end(ir_.CreateAdd(now_, performed));
  Value* more = ir_.CreateSub(performed, ir_.getInt64(1));
  Value* extra = load_field(ir_.getInt64Ty(), offsetof(Wave, extra));
  ir_.CreateStore(ir_.CreateAdd(extra, more), field(offsetof(Wave, extra)));
  if (is_stopped) {
    ir_.CreateRetVoid();
    return;
  }
  Value* budget = load_field(ir_.getInt64Ty(), offsetof(Wave, budget));
  Value* rest = ir_.CreateSub(budget, more);
  Value* stopped = ir_.CreateICmpEQ(budget, ir_.getInt64(0));
  ir_.CreateStore(ir_.CreateSelect(stopped, budget, rest), field(offsetof(Wave, budget)));
  ir_.CreateRetVoid();
}

}  // namespace wavetap::jit
