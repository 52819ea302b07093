// Which instructions of a plan are done together, strip by strip: segment_emitter.h says why, and
// what that asks of them.
#include <algorithm>
#include <bitset>
#include <cstddef>
#include <set>
#include <vector>

#include "jit/native/address_facts.h"
#include "jit/native/memory_emitter.h"
#include "jit/native/memory_ops.h"
#include "jit/native/plan.h"
#include "jit/native/scalar_ops.h"
#include "jit/native/vector_ops.h"

namespace wavetap::jit {
namespace {

using isa::Inst;
using isa::Operand;
using isa::OperandKind;
namespace slot = isa::slot;

// Results of a segment may have to be kept until all are known to be right: as many as the host's
// registers hold when strips are narrow. With memory most are not kept, and what is done before strips
// counts more.
constexpr size_t kMostResults = 22;
constexpr size_t kMostResultsWithMemory = 64;

using Slots = std::bitset<slot::kCount + 2>;

void add(Slots& slots, const Operand& operand, uint32_t dwords) {
  if (!operand.is(OperandKind::kScalar)) return;
  for (uint32_t i = 0; i < dwords; ++i) slots.set(operand.index + i);
}

struct ScalarUse {
  Slots reads;  // as scalars, not as masks of lanes
  Slots writes;
};
ScalarUse scalar_use(const Inst& inst) {
  ScalarUse use;
  const ScalarOp& op = *compiled_scalar_op(inst);
  for (int k = 0; k < 2; ++k) add(use.reads, inst.src[k], op.source_bits[k] / 32u);
  if (op.form == ScalarOp::Form::kConstant) add(use.reads, inst.dst, 1);
  if (op.result_bits != 0) add(use.writes, inst.dst, op.result_bits / 32u);
  if (op.form == ScalarOp::Form::kSaveExec || op.form == ScalarOp::Form::kWriteExec)
    use.writes.set(slot::kExecLo).set(slot::kExecHi);
  return use;
}

// What a segment has come to while instructions are added to it.
struct Segment {
  bool wave64 = true;
  Slots masks = {};       // written lane by lane
  Slots mask_bases = {};  // the first slot of each
  std::bitset<512> results = {};
  unsigned group = 1;  // lanes that exchange values
  bool has_memory = false;
  AddressFacts facts = {};
  bool loads[2] = {};      // from memory, by MemoryOp::Space
  bool is_closed = false;  // EXEC has changed, or something was stored

  bool takes_scalar(const Inst& inst) const {
    const ScalarUse use = scalar_use(inst);
    const Slots all = use.reads | use.writes;
    if (all.test(slot::kExecLo) || all.test(slot::kExecHi)) return false;
    return (all & masks).none();
  }
  // What is done before all strips. A fence parts what is loaded before it from what comes behind.
  bool takes_other(Kind kind, const Inst& inst) const {
    if (kind == Kind::kNothing) return true;
    if (is_closed) return false;
    return (kind == Kind::kFence && !has_memory) || (kind == Kind::kScalar && takes_scalar(inst));
  }
  bool takes_vector(const Inst& inst) const {
    const VectorOp& op = *compiled_vector_op(inst);
    // Accesses to memory limit how many lanes are done together.
    if (has_memory && lane_pattern(inst).group > kAddressGroup) return false;
    Slots reads;
    for (size_t k = 0; k < VectorOp::kMaxSources; ++k) {
      if (op.source[k] != Type::kMask) add(reads, inst.src[k], is_wide(op.source[k]) ? 2 : 1);
      else if (!is_whole(mask_source(inst, k))) return false;
    }
    const MaskSlots written = mask_slots(inst);
    if (written.has_mask && !is_whole(written.mask)) return false;
    return (reads & masks).none() && has_room(2);
  }
  // What addresses are like is known before the first strip; the rest is in memory_emitter.h.
  bool takes_memory(const Inst& inst) {
    if (group > kAddressGroup) return false;
    const MemoryOp op = *compiled_memory_op(inst);
    if (address_of(inst) == AddressFacts::kUnknown) return false;
    Slots base;
    add(base, inst.saddr, 2);
    if ((base & masks).any()) return false;
    if (op.is_store) return op.elements == 1 && !loads[static_cast<size_t>(op.space)];
    return has_room(op.elements * op.rows());
  }
  bool has_room(size_t more) const {
    return results.count() + more <= (has_memory ? kMostResultsWithMemory : kMostResults);
  }
  AddressFacts::Node address_of(const Inst& inst) {
    const MemoryOp op = *compiled_memory_op(inst);
    const bool is_wide = op.space == MemoryOp::Space::kGlobal && inst.saddr.is(OperandKind::kNone);
    const uint32_t reg = inst.vaddr.index;
    return is_wide ? facts.pair(reg, reg + 1) : facts.row(reg);
  }
  void add_memory(const Inst& inst, std::set<FactRoot>& roots) {
    const MemoryOp op = *compiled_memory_op(inst);
    facts.add_roots(address_of(inst), roots);
    is_closed = op.is_store;
    has_memory = true;
    loads[static_cast<size_t>(op.space)] |= !op.is_store;
    for (uint32_t i = 0; i < op.results(inst); ++i) {
      results.set(inst.dst.index + i);
      facts.forget(inst.dst.index + i);
    }
  }
  // A mask at `base` is one of ours, or shares no slot with any.
  bool is_whole(uint32_t base) const {
    return mask_bases.test(base) || !(masks.test(base) || (wave64 && masks.test(base + 1)));
  }
  void add_vector(const Inst& inst) {
    const VectorOp& op = *compiled_vector_op(inst);
    facts.follow(inst, [](const Operand&) { return nullptr; });
    if (op.result != Type::kNone) {
      results.set(inst.dst.index);
      if (is_wide(op.result)) results.set(inst.dst.index + 1u);
    }
    group = std::max(group, lane_pattern(inst).group);
    const MaskSlots slots = mask_slots(inst);
    if (slots.has_mask) {
      mask_bases.set(slots.mask);
      masks.set(slots.mask);
      if (wave64) masks.set(slots.mask + 1u);
    }
    is_closed = slots.to_exec;
  }
};

// What is added to an address from round to round is followed as well.
void add_increments(std::vector<AddressFacts>& segments, std::set<FactRoot>& roots) {
  const std::set<FactRoot> addresses = roots;
  for (AddressFacts& facts : segments)
    for (const FactRoot& root : addresses) {
      const std::set<FactRoot> needed = facts.roots_after(root);
      if (needed.contains(root)) roots.insert(needed.begin(), needed.end());
    }
}

}  // namespace

// Numbers the segments. A scalar operation belongs to one only when vector operations follow it
// there: the last ones are taken out again.
void find_segments(const BlockRequest& request, Plan& plan) {
  const bool wave64 = request.wave64;
  int32_t number = -1;
  Segment segment{wave64};
  bool is_open = false;
  int32_t last_vector = -1;
  std::vector<AddressFacts> done;
  const auto close = [&](int32_t end) {
    if (is_open) done.push_back(segment.facts);
    if (is_open)
      for (int32_t i = last_vector + 1; i < end; ++i)
        plan.insts[static_cast<size_t>(i)].segment = -1;
    is_open = false;
  };
  for (int32_t i = 0; i < plan.size(); ++i) {
    Planned& planned = plan.insts[static_cast<size_t>(i)];
    const Inst& inst = request.insts[plan.first + i];
    if (planned.begins_run) close(i);
    if (planned.kind == Kind::kVector) {
      const Inst* second = inst.vopd_first ? &inst + 1 : nullptr;
      if (!is_open || segment.is_closed || !segment.takes_vector(inst) ||
          (second != nullptr && !segment.takes_vector(*second))) {
        close(i);
        segment = Segment{wave64};
        is_open = true;
        ++number;
      }
      segment.add_vector(inst);
      if (second != nullptr) segment.add_vector(*second);
      planned.segment = number;
      last_vector = i;
    } else if (planned.kind == Kind::kMemory) {
      if (!is_open || segment.is_closed || !segment.takes_memory(inst)) {
        close(i);
        segment = Segment{wave64};
        is_open = true;
        ++number;
      }
      segment.add_memory(inst, plan.roots);
      planned.segment = number;
      last_vector = i;
    } else if (is_open && segment.takes_other(planned.kind, inst)) {
      planned.segment = number;
    } else {
      close(i);
    }
  }
  close(plan.size());
  add_increments(done, plan.roots);
}

}  // namespace wavetap::jit
