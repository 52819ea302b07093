#include "sanitize/value_reach.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "sanitize/code_flow.h"
#include "sanitize/register_set.h"
#include "sanitize/undefined_bits.h"

namespace wavetap::sanitize {
namespace {

using emu::RegisterFile;
using isa::Family;
using isa::Inst;
using isa::OperandKind;
namespace slot = isa::slot;

bool has(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

bool is_memory(const Inst& inst) {
  switch (inst.family) {
    case Family::kSmem:
    case Family::kFlat:
    case Family::kMubuf:
    case Family::kImage: return true;
    case Family::kDs: {
      const std::string_view name = isa::op_name(inst.op);
      return !has(name, "permute") && !has(name, "swizzle");
    }
    default: return false;
  }
}

// Of a spill: the same operands are the same place, as compilers write them.
struct Slot {
  uint16_t saddr = 0;
  uint16_t soffset = 0;
  int32_t offset = 0;
  bool operator==(const Slot&) const = default;
};

bool is_scratch(const Inst& inst) {
  if (inst.vaddr.kind != OperandKind::kNone) return false;
  return inst.family == Family::kMubuf || has(isa::op_name(inst.op), "scratch_");
}

// What is made of the value at one place of the program.
struct Carriers {
  RegisterSet registers;
  std::vector<Slot> slots;
  bool is_reached = false;

  bool empty() const { return registers.empty() && slots.empty(); }
  bool has_slot(const Slot& at) const {
    return std::find(slots.begin(), slots.end(), at) != slots.end();
  }
  // True: more than was known.
  bool join(const Carriers& other) {
    RegisterSet joined = registers;
    joined.add(other.registers);
    bool is_news = !is_reached || !(joined == registers);
    registers = joined;
    for (const Slot& at : other.slots) {
      if (has_slot(at)) continue;
      slots.push_back(at);
      is_news = true;
    }
    is_reached = true;
    return is_news;
  }
};

RegisterSet registers_of(const isa::Operand& operand) {
  RegisterSet set;
  const uint32_t count = std::max<uint32_t>(operand.dwords, 1);
  if (operand.is(OperandKind::kScalar)) set.add(RegisterFile::kScalar, operand.index, count);
  if (operand.is(OperandKind::kVgpr)) set.add(RegisterFile::kVgpr, operand.index, count);
  if (operand.is(OperandKind::kAgpr)) set.add(RegisterFile::kAgpr, operand.index, count);
  return set;
}

Slot slot_of(const Inst& inst) {
  const auto number = [](const isa::Operand& operand) {
    return static_cast<uint16_t>(operand.kind == OperandKind::kNone ? 0xffff : operand.index);
  };
  return {number(inst.saddr), number(inst.soffset), static_cast<int32_t>(inst.offset)};
}

// What counts as reached.
enum class Goal : uint8_t {
  kMemoryToo,
  kDecisions,
  kCopies,  // a store of the value, or of a part of it, as it is
};

// A memory instruction. True: the value has reached an address or memory.
bool reach_through_memory(const Inst& inst, Goal goal, Carriers& carriers) {
  for (const isa::Operand* address : {&inst.vaddr, &inst.saddr, &inst.soffset})
    if (carriers.registers.meets(registers_of(*address)) && goal != Goal::kCopies) return true;
  RegisterSet data;
  for (const isa::Operand& source : inst.src) data.add(registers_of(source));
  const bool stores = carriers.registers.meets(data);
  const std::string_view name = isa::op_name(inst.op);
  if (is_scratch(inst)) {
    const Slot at = slot_of(inst);
    const bool is_store = inst.dst.kind == OperandKind::kNone;
    const bool had = carriers.has_slot(at);
    if (is_store && had && !stores) std::erase(carriers.slots, at);
    if (is_store && !had && stores) carriers.slots.push_back(at);
    if (is_store) return false;
    carriers.registers.remove(registers_of(inst.dst));
    if (had) carriers.registers.add(registers_of(inst.dst));
    return false;
  }
  const bool compares = has(name, "cmpswap") || has(name, "cmpst");
  if (stores && !compares && goal == Goal::kMemoryToo) return true;
  if (stores && !has(name, "atomic") && goal == Goal::kCopies) return true;
  carriers.registers.remove(registers_of(inst.dst));
  return false;
}

// True: the value has reached memory, an address or a branch.
bool step(const Inst& inst, Goal goal, Carriers& carriers) {
  if (is_memory(inst)) return reach_through_memory(inst, goal, carriers);
  NamedRegisters named = named_registers(inst);
  const bool reads = named.reads.meets(carriers.registers);
  if (reads && named.may_use_others) return true;
  if (!reads || (goal == Goal::kCopies && !hands_on_bits(inst.op))) {
    carriers.registers.remove(named.writes);
    return false;
  }
  if (flow_of(inst) == Flow::kEither) return true;
  if (named.writes.has(RegisterFile::kScalar, slot::kExecLo) ||
      named.writes.has(RegisterFile::kScalar, slot::kExecHi))
    return true;  // which lanes go on
  carriers.registers.add(named.writes);
  return false;
}

// Follows the value of a load. `before`: what carries it at each instruction, as far as it is known when the goal
// is reached (then true) and `all` is not asked for.
bool follow(const isa::Program& program, int32_t index, Goal goal, bool all,
            std::vector<Carriers>& before) {
  const int32_t count = program.size();
  before.assign(static_cast<size_t>(count), {});
  bool reached = false;
  std::vector<int32_t> waiting;
  const auto arrive = [&](int32_t to, const Carriers& carriers) {
    if (to < 0 || to >= count || carriers.empty()) return;
    if (before[static_cast<size_t>(to)].join(carriers)) waiting.push_back(to);
  };
  Carriers first;
  first.registers = registers_of(program.insts()[index].dst);
  arrive(index + 1, first);
  while (!waiting.empty()) {
    const int32_t at = waiting.back();
    waiting.pop_back();
    const Inst& inst = program.insts()[at];
    Carriers carriers = before[static_cast<size_t>(at)];
    reached |= leaves_program(inst) || step(inst, goal, carriers);
    if (reached && !all) return true;
    const Flow flow = flow_of(inst);
    if (flow == Flow::kNext || flow == Flow::kEither) arrive(at + 1, carriers);
    if (flow == Flow::kJump || flow == Flow::kEither) arrive(inst.target, carriers);
  }
  return reached;
}

bool is_load(const Inst& inst) {
  if (!is_memory(inst) || inst.dst.dwords == 0 || inst.family == Family::kImage) return false;
  const std::string_view name = isa::op_name(inst.op);
  return !has(name, "atomic") &&
         (inst.family != Family::kDs || has(name, "read") || has(name, "load"));
}

// To memory that others see, or to LDS, of less than a register.
bool stores_parts(const Inst& inst) {
  if (!is_memory(inst) || inst.dst.dwords != 0) return false;
  const std::string_view name = isa::op_name(inst.op);
  if (has(name, "store")) return has(name, "byte") || has(name, "short");
  return has(name, "ds_write_b8") || has(name, "ds_write_b16");
}

// Nobody knows what becomes of a value in a function that is called.
FollowedLoads follow_everything(const isa::Program& program) {
  FollowedLoads followed;
  followed.touches.assign(static_cast<size_t>(program.size()), true);
  for (int32_t i = 0; i < program.size(); ++i)
    followed.loads.push_back(is_load(program.insts()[i]));
  return followed;
}

}  // namespace

bool value_matters(const isa::Program& program, int32_t index) {
  if (index < 0 || index >= program.size()) return true;
  std::vector<Carriers> before;
  return follow(program, index, Goal::kMemoryToo, /*all=*/false, before);
}

FollowedLoads find_followed_loads(const isa::Program& program, bool all) {
  constexpr size_t kMostSteps = 1 << 20;
  FollowedLoads followed;
  const auto count = static_cast<size_t>(program.size());
  std::vector<int32_t> loads;
  std::vector<int32_t> small_loads;
  bool leaves = false;
  std::vector<NamedRegisters> named(count);
  for (size_t i = 0; i < count; ++i) {
    const Inst& inst = program.insts()[i];
    named[i] = named_registers(inst);
    if (named[i].may_use_others && !leaves_program(inst)) return {};
    leaves |= leaves_program(inst);
    all |= stores_parts(inst);
    if (is_load(inst))
      (inst.dst.dwords > 1 ? loads : small_loads).push_back(static_cast<int32_t>(i));
  }
  if (leaves) return follow_everything(program);
  std::vector<Carriers> before;
  // Whether it reaches the goal; then what has to be watched is noted.
  const auto note = [&](int32_t load, Goal goal) {
    if (!follow(program, load, goal, /*all=*/false, before)) return false;
    follow(program, load, Goal::kDecisions, /*all=*/true, before);  // everything that is made of it
    followed.loads.resize(count);
    followed.touches.resize(count);
    followed.loads[static_cast<size_t>(load)] = true;
    for (size_t i = 0; i < count; ++i)
      if (before[i].registers.meets(named[i].reads) || before[i].registers.meets(named[i].writes))
        followed.touches[i] = true;
    return true;
  };
  const auto note_all = [&](const std::vector<int32_t>& some) {
    bool copies = false;
    for (const int32_t load : some) {
      note(load, Goal::kDecisions);
      copies |= note(load, Goal::kCopies);
    }
    return copies;
  };
  if (loads.size() * count > kMostSteps) return {};
  all |= note_all(loads);
  if (all && (loads.size() + small_loads.size()) * count <= kMostSteps) note_all(small_loads);
  return followed;
}

}  // namespace wavetap::sanitize
