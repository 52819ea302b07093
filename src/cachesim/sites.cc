#include "cachesim/sites.h"

#include <string_view>

namespace wavetap::cachesim {
namespace {

using isa::Family;
using isa::Inst;

bool accesses_memory(const Inst& inst) {
  switch (inst.family) {
    case Family::kSmem:
    case Family::kDs:
    case Family::kFlat:
    case Family::kMubuf: return true;
    default: return false;
  }
}

// Cache control: buffer_gl0_inv, buffer_wbinvl1, buffer_inv …
void look_for_invalidation(const Inst& inst, Site& site) {
  const std::string_view name = isa::op_name(inst.op);
  site.invalidates_gl1 = name.starts_with("buffer_gl1_inv");
  site.invalidates_l1 = name.starts_with("buffer_gl0_inv") || name.starts_with("buffer_wbinvl1") ||
                        name == "buffer_inv";
}

void add_kind(const Inst& inst, const isa::Program& program, InstructionCounters& to) {
  const InstructionKind kind = kind_of(inst, program.target(), program.wave64());
  if (kind.counter != nullptr) to.*kind.counter += kind.weight;
  if (kind.memory != nullptr) {
    to.*kind.memory += 1;
    if (kind.is_flat) ++to.SQ_INSTS_FLAT;
  }
}

}  // namespace

void Sites::survey(const isa::Program& program, Numbers& numbers) {
  const auto count = static_cast<size_t>(program.size());
  std::vector<uint8_t> begins(count + 1, 0);
  if (count != 0) begins[0] = 1;
  for (size_t i = 0; i < count; ++i) {
    const Inst& inst = program.insts()[i];
    if (inst.target >= 0 && static_cast<size_t>(inst.target) <= count)
      begins[static_cast<size_t>(inst.target)] = 1;
    if (ends_block(inst)) begins[i + 1] = 1;
  }
  if (numbers.size() != count) numbers.assign(count, 0);
  Site* run = nullptr;
  size_t run_at = 0;
  for (size_t i = 0; i < count; ++i) {
    const Inst& inst = program.insts()[i];
    const bool is_half = i > 0 && program.insts()[i - 1].vopd_first;
    Site site;
    site.pc = program.pc_of(static_cast<int32_t>(i));
    site.accesses = accesses_memory(inst);
    site.waits = wait_limits(inst, program.target(), &site.limits);
    if (inst.family == Family::kMubuf) look_for_invalidation(inst, site);
    const bool is_watched = begins[i] != 0 || site.accesses || site.waits || site.invalidates_l1 ||
                            site.invalidates_gl1;
    if (!is_watched) numbers[i] = 0;
    if (is_watched && numbers[i] == 0) {
      numbers[i] = static_cast<uint32_t>(sites_.size());
      sites_.emplace_back();
    }
    if (is_watched) sites_[numbers[i]] = site;
    if (begins[i] != 0) run_at = numbers[i];
    run = &sites_[run_at];
    run->code_bytes += inst.size_bytes;
    if (!is_half) ++run->instructions;
    add_kind(inst, program, run->kinds);
  }
}

uint32_t Sites::number(const isa::Program& program, int32_t index) {
  const std::lock_guard lock(mutex_);
  Numbers& numbers = programs_[program.begin().value];
  // Questions about a program begin with its first instruction (emu/watch.h). By then other code may lie at the
  // same addresses, of the GPU and of the host.
  if (index == 0) survey(program, numbers);
  return numbers[static_cast<size_t>(index)];
}

Site Sites::at(uint32_t number) const {
  const std::lock_guard lock(mutex_);
  return number < sites_.size() ? sites_[number] : Site{};
}

uint32_t Sites::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<uint32_t>(sites_.size());
}

}  // namespace wavetap::cachesim
