#include "emu/lower.h"

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <mutex>
#include <utility>

#include "emu/lds_reuse.h"
#include "emu/watching.h"
#include "emu/wave.h"

namespace wavetap::emu {
namespace {

using isa::Family;
using isa::Inst;
using isa::Operand;
using isa::OperandKind;

// --- Handlers for what must not run.

void illegal_instruction(Wave& wave, const Inst&) { wave.raise(FaultKind::kIllegalInstruction); }

void unimplemented_instruction(Wave& wave, const Inst& inst) {
  wave.raise(FaultKind::kUnimplemented, isa::op_name(inst.op));
}

// The second half of a VOPD pair: the first half's handler has done both.
void second_half(Wave&, const Inst&) {}

// Ran past the last instruction of the Program: execution simply continues behind it.
void run_off(Wave& wave, const Inst&) { wave.leave(wave.program->end().value); }

// --- Where waves wait for each other (lds_reuse.h).

void end_turn_first(Wave& wave, const Inst& inst) {
  if (wave.ends_turn()) return;
  wave.handlers[wave.pc - 1](wave, inst);
}

// --- Register checks.

template <class F>
void for_each_operand(const Inst& inst, F&& f) {
  for (const Operand* operand : {&inst.dst, &inst.dst2, &inst.src[0], &inst.src[1], &inst.src[2],
                                 &inst.src[3], &inst.vaddr, &inst.saddr, &inst.soffset})
    f(*operand);
}

bool fits(const Operand& operand, RegisterLimits limits) {
  const uint32_t end = uint32_t{operand.index} + operand.dwords;
  switch (operand.kind) {
    case OperandKind::kVgpr: return operand.index < limits.vgprs && end <= limits.vgprs;
    case OperandKind::kAgpr: return operand.index < limits.agprs && end <= limits.agprs;
    case OperandKind::kScalar: return operand.index < isa::slot::kCount && end <= isa::slot::kCount;
    default: return true;
  }
}

bool all_fit(const Inst& inst, RegisterLimits limits) {
  bool fit = true;
  for_each_operand(inst, [&](const Operand& operand) { fit = fit && fits(operand, limits); });
  for (uint32_t i = 0; i < inst.nsa_count; ++i) fit = fit && inst.nsa[i] < limits.vgprs;
  return fit;
}

void register_out_of_range(Wave& wave, const Inst& inst) {
  const RegisterLimits limits{wave.vgpr_count, wave.agpr_count};
  char detail[96] = "register out of range";
  // A VOPD pair is refused when either half is; the second half stands behind the first.
  for (const Inst* half = &inst; half != nullptr; half = half->vopd_first ? half + 1 : nullptr)
    for_each_operand(*half, [&](const Operand& operand) {
      if (fits(operand, limits)) return;
      const bool is_vgpr = operand.kind == OperandKind::kVgpr;
      if (operand.kind == OperandKind::kScalar) return;
      std::snprintf(detail, sizeof detail, "%s uses %c%u; the kernel descriptor grants %u",
                    isa::op_name(inst.op), is_vgpr ? 'v' : 'a', operand.index + operand.dwords - 1u,
                    is_vgpr ? limits.vgprs : limits.agprs);
    });
  wave.raise(FaultKind::kBadDescriptor, detail);
}

// A VGPR's number that reaches into the AGPRs: two names of one register, which compiled code does not know, so
// that this is no handler of the instruction's own.
void reach_into_agprs(Wave& wave, const Inst& inst) {
  find_handler(inst, wave.code->shape())(wave, inst);
}

Handler lower(const isa::Program& program, int32_t index, Shape shape, RegisterLimits limits) {
  const Inst& inst = program.insts()[index];
  if (inst.op == isa::Op::kInvalid || inst.family == Family::kInvalid) return illegal_instruction;
  if (index > 0 && program.insts()[index - 1].vopd_first) return second_half;
  if (inst.target > program.size()) return illegal_instruction;
  if (!all_fit(inst, limits)) {
    const RegisterLimits file{.vgprs = limits.file_vgprs, .agprs = limits.agprs};
    return all_fit(inst, file) && find_handler(inst, shape) != nullptr ? reach_into_agprs
                                                                       : register_out_of_range;
  }
  if (inst.vopd_first) {
    if (index + 1 >= program.size()) return illegal_instruction;
    if (!all_fit(program.insts()[index + 1], limits)) return register_out_of_range;
  }
  const Handler found = find_handler(inst, shape);
  return found != nullptr ? found : unimplemented_instruction;
}

}  // namespace

Handler find_handler(const isa::Inst& inst, Shape shape) {
  switch (inst.family) {
    case Family::kSop: return find_sop(inst, shape);
    case Family::kSopp: return find_sopp(inst, shape);
    case Family::kSmem: return find_smem(inst, shape);
    case Family::kVop:
      // Encodings do not separate these; the names do.
      for (const auto find : {find_cross_lane, find_vop, find_vop3p, find_matrix})
        if (const Handler found = find(inst, shape)) return found;
      return nullptr;
    case Family::kVopc: return find_vopc(inst, shape);
    case Family::kMatrix: return find_matrix(inst, shape);
    case Family::kVopd: return find_vopd(inst, shape);
    case Family::kDs: return find_ds(inst, shape);
    case Family::kFlat: return find_flat(inst, shape);
    case Family::kMubuf: return find_mubuf(inst, shape);
    case Family::kImage: return find_image(inst, shape);
    case Family::kInvalid:
    case Family::kExport: return nullptr;
  }
  return nullptr;
}

LoweredCode::LoweredCode(std::shared_ptr<const isa::Program> program, const Lowering& lowering,
                         std::span<Watcher* const> watchers)
    : program_(std::move(program)), lowering_(lowering), turn_ends_(find_turn_ends(*program_)) {
  const Shape shape{program_->target(), program_->wave64(), lowering.sram_ecc};
  const int32_t count = program_->size();
  steps_.reserve(static_cast<size_t>(count) + 1);
  counts_.reserve(static_cast<size_t>(count) + 1);
  for (int32_t i = 0; i < count; ++i) {
    const Inst& inst = program_->insts()[i];
    steps_.push_back({lower(*program_, i, shape, lowering.registers), &inst});
    counts_.push_back(steps_.back().run == second_half
                          ? StepCount{.type = StepCount::kNothing, .cycles = 0}
                          : classify(inst, shape));
  }
  steps_.push_back({run_off, &end_});
  counts_.push_back({.type = StepCount::kNothing, .cycles = 0});
  if (!watchers.empty()) ask(watchers);
  handlers_.reserve(steps_.size());
  for (const Step& step : steps_) handlers_.push_back(step.run);
  for (int32_t i = 0; watchers.empty() && i < count; ++i)
    if (ends_turn(i)) steps_[static_cast<size_t>(i)].run = end_turn_first;
  if (lowering.counts_heat)
    heat_ = std::make_unique<std::atomic<uint32_t>[]>(static_cast<size_t>(count) + 1);
}

void LoweredCode::publish(int32_t index, Handler compiled,
                          std::shared_ptr<const void> owner) const {
  {
    const std::lock_guard lock(published_mutex_);
    published_.push_back({index, std::move(owner)});
  }
  __atomic_store_n(&steps_[static_cast<size_t>(index)].run, compiled, __ATOMIC_RELEASE);
}

bool LoweredCode::is_published(int32_t index) const {
  const std::lock_guard lock(published_mutex_);
  return std::any_of(published_.begin(), published_.end(),
                     [&](const Published& p) { return p.index == index; });
}

void LoweredCode::say_rows_read_at_start(std::vector<RowRange> ranges) const {
  const std::lock_guard lock(published_mutex_);
  if (said_rows_read_ != nullptr) return;
  said_rows_read_ = std::make_unique<const std::vector<RowRange>>(std::move(ranges));
  rows_read_at_start_.store(said_rows_read_.get(), std::memory_order_release);
}

void LoweredCode::ask(std::span<Watcher* const> watchers) {
  const auto count = static_cast<size_t>(program_->size());
  watched_.resize(count + 1);
  tags_.resize(count * watchers.size());
  for (size_t who = 0; who < watchers.size(); ++who) {
    const std::lock_guard lock(watchers[who]->asking());
    for (size_t i = 0; i < count; ++i) {
      if (steps_[i].run == second_half) continue;
      WatchedStep& step = watched_[i];
      const Wants wants = watchers[who]->wants(*program_, static_cast<int32_t>(i));
      const auto add = [&](bool wanted, uint8_t& set) {
        if (wanted) set = static_cast<uint8_t>(set | 1u << who);
      };
      add(wants.before, step.before);
      add(wants.uses_registers, step.uses_registers);
      add(wants.accessing, step.accessing);
      add(wants.accessed, step.accessed);
      add(wants.after, step.after);
      add(wants.accessing && wants.screens, step.screens);
      add(wants.rows_suffice, step.rows_suffice);
      tags_[i * watchers.size() + who] = wants.tag;
      if (!wants.accessing || !wants.screens) continue;
      step.screener = watchers[who];
      step.tag = wants.tag;
      step.watcher = static_cast<uint8_t>(who);
      step.leaves_out_lds = wants.leaves_out_lds;
    }
  }
  for (size_t i = 0; i < count; ++i) {
    WatchedStep& step = watched_[i];
    const uint32_t others = step.uses_registers | step.accessed | step.after;
    if ((others | step.before | step.accessing) == 0) continue;
    step.run = steps_[i].run;
    step.tags = &tags_[i * watchers.size()];
    step.pc = program_->pc_of(static_cast<int32_t>(i));
    if (step.screens != 0) step.span = plan_span(program_->insts()[i]);
    if (step.accessing != 1u << step.watcher) step.screener = nullptr;
    steps_[i].run = others == 0 && step.accessing == 0 ? run_watched_before
                    : others != 0 || step.before != 0  ? run_watched
                    : step.screens != 0                ? screened_step(step, program_->wave64())
                                                       : run_watched_accessing;
  }
}

void enter(Wave& wave, const LoweredCode& code, int32_t index) {
  wave.program = &code.program();
  wave.code = &code;
  wave.steps = code.steps();
  wave.handlers = code.handlers();
  wave.heat = code.heat();
  wave.counts = code.counts();
  wave.watched = code.watched();
  wave.pc = index;
  wave.slice_begin = -1;
}

}  // namespace wavetap::emu
