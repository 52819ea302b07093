// Operations that are long series (transcendental_parts.h), several at a time.
//
// Each step of a series waits for the one before, and a series has more of them than the host looks ahead.
// Compilers put such operations next to each other as they are slow on GPUs as well; so the steps of those
// that do not depend on each other are put side by side.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "jit/native/segment_emitter.h"

namespace wavetap::jit {

using isa::Inst;
using isa::Op;

namespace {

// As many as the host's registers have room for.
constexpr size_t kMostAtOnce = 4;
// How far apart they may be.
constexpr size_t kFarthest = 4;

using Steps = std::vector<llvm::Instruction*>;

// What has been written since `last`, which was the last one of its block then.
Steps steps_after(llvm::BasicBlock* block, llvm::Instruction* last) {
  Steps steps;
  auto at = last == nullptr ? block->begin() : std::next(last->getIterator());
  for (; at != block->end(); ++at) steps.push_back(&*at);
  return steps;
}

}  // namespace

bool SegmentEmitter::is_series(const Operation& operation) {
  if (operation.is_memory) return false;
  switch (operation.inst->op) {
    case Op::v_rsq_f32:
    case Op::v_exp_f32:
    case Op::v_log_f32:
    case Op::v_sin_f32:
    case Op::v_cos_f32: return true;
    default: return false;
  }
}

// Where a group of them ends that begins there: `begin` itself, where there is none. What lies between
// them depends on none of them.
size_t SegmentEmitter::end_of_series(size_t begin) const {
  if (!is_series(operations_[begin])) return begin;
  std::vector<uint32_t> made = rows_written(operations_[begin]);
  const auto is_made = [&](uint32_t reg) {
    return std::find(made.begin(), made.end(), reg) != made.end();
  };
  size_t end = begin;
  size_t count = 1;
  for (size_t i = begin + 1; i < operations_.size() && i <= end + kFarthest; ++i) {
    const Operation& next = operations_[i];
    if (next.is_memory || next.is_paired || count == kMostAtOnce) break;
    const std::vector<uint32_t> read = rows_read(next);
    if (std::any_of(read.begin(), read.end(), is_made)) break;
    if (!is_series(next)) continue;
    for (const uint32_t reg : rows_written(next)) made.push_back(reg);
    end = i;
    ++count;
  }
  return end == begin ? begin : end + 1;
}

void SegmentEmitter::emit_series(size_t begin, size_t end) {
  llvm::BasicBlock* block = ir_.GetInsertBlock();
  std::map<const llvm::Value*, double> places;
  std::vector<std::pair<double, llvm::Instruction*>> order;
  for (size_t i = begin; i < end; ++i) {
    llvm::Instruction* last = block->empty() ? nullptr : &block->back();
    write(emit_operation(operations_[i]));
    const Steps steps = steps_after(block, last);
    for (size_t k = 0; k < steps.size(); ++k) {
      // What lies between them comes as early as it can.
      double place = 0;
      if (is_series(operations_[i]))
        place = static_cast<double>(k + 1) / static_cast<double>(steps.size());
      for (const llvm::Use& use : steps[k]->operands())
        if (const auto made = places.find(use.get()); made != places.end())
          place = std::max(place, made->second);
      places[steps[k]] = place;
      order.emplace_back(place, steps[k]);
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [place, step] : order) step->moveBefore(*block, block->end());
  gather_doubts();
}

}  // namespace wavetap::jit
