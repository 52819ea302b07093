#include "emu/lds_reuse.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace wavetap::emu {
namespace {

using isa::Family;
using isa::Inst;
using isa::Op;

struct LdsUse {
  bool reads = false, writes = false;
};

// By name: there are some two hundred operations, and their names say it. Flat accesses may be of LDS.
LdsUse lds_use(const Inst& inst) {
  std::string_view name = isa::op_name(inst.op);
  const bool is_flat = inst.family == Family::kFlat && name.starts_with("flat_");
  if (!is_flat && inst.family != Family::kDs) return {};
  name.remove_prefix(name.find('_') + 1);
  for (const char* const other : {"bpermute", "permute", "swizzle", "nop", "gws_", "bvh_"})
    if (name.starts_with(other)) return {};
  if (name.starts_with("read") || name.starts_with("load")) return {.reads = true};
  if (name.starts_with("write") || name.starts_with("store")) return {.writes = true};
  // Atomics. What a wave does not get back does not tell it who came first.
  return {.reads = is_flat || name.find("rtn") != name.npos, .writes = true};
}

// What waves may have done to LDS since the turn last ended.
enum : uint8_t { kUntouched = 0, kRead = 1, kWritten = 2, kBoth = 3 };

// Follows all ways, each instruction as often as more is known to lead to it.
class Search {
 public:
  Search(const isa::Program& program, bool all_ends)
      : program_(program),
        all_ends_(all_ends),
        before_(static_cast<size_t>(program.size())),
        seen_(before_.size()),
        ends_(before_.size()) {}

  void run(uint8_t at_entry) {
    lead_to(0, at_entry);
    while (!open_.empty()) {
      const int32_t index = open_.back();
      open_.pop_back();
      follow(index);
    }
  }

  bool overwrites() const { return overwrites_; }  // what was read, with no barrier between
  std::vector<uint8_t> ends() && { return std::move(ends_); }

 private:
  void lead_to(int32_t index, uint8_t state) {
    if (index < 0 || index >= program_.size()) {
      overwrites_ = true;  // leaves the program
      return;
    }
    const auto at = static_cast<size_t>(index);
    if (seen_[at] != 0 && (before_[at] | state) == before_[at]) return;
    seen_[at] = 1;
    before_[at] = static_cast<uint8_t>(before_[at] | state);
    open_.push_back(index);
  }

  void follow(int32_t index) {
    const Inst& inst = program_.insts()[index];
    uint8_t state = before_[static_cast<size_t>(index)];
    const LdsUse use = lds_use(inst);
    if (use.reads || use.writes) {
      const bool is_overwrite = use.writes && (state & kRead) != 0;
      overwrites_ = overwrites_ || is_overwrite;
      if (is_overwrite || (use.reads && (state & kWritten) != 0))
        ends_[static_cast<size_t>(index)] = 1;
      // In the first search reads are remembered until a barrier.
      const int own = (use.reads ? kRead : 0) | (use.writes ? kWritten : 0);
      state = static_cast<uint8_t>(all_ends_ ? own : state | own);
    }
    switch (inst.op) {
      case Op::s_barrier: state = all_ends_ ? kRead : kUntouched; break;
      case Op::s_endpgm:
      case Op::s_endpgm_saved: return;
      case Op::s_setpc_b64: overwrites_ = true; return;
      case Op::s_swappc_b64:
      case Op::s_call_b64:
        overwrites_ = true;
        state = kBoth;
        break;
      case Op::s_branch: return lead_to(inst.target, state);
      default: break;
    }
    if (isa::is_relative_jump(inst.op)) lead_to(inst.target, state);
    // Bytes behind the last instruction are padding, or data: nobody comes there.
    if (index + 1 < program_.size()) lead_to(index + 1, state);
  }

  const isa::Program& program_;
  const bool all_ends_;
  std::vector<uint8_t> before_;  // by instruction
  std::vector<uint8_t> seen_;
  std::vector<uint8_t> ends_;
  std::vector<int32_t> open_;
  bool overwrites_ = false;
};

// What returns was called, by somebody who may have used LDS.
bool is_function(const isa::Program& program) {
  const Inst* end = program.insts() + program.size();
  return std::any_of(program.insts(), end,
                     [](const Inst& inst) { return inst.op == Op::s_setpc_b64; });
}

}  // namespace

std::vector<uint8_t> find_turn_ends(const isa::Program& program) {
  if (program.size() == 0) return {};
  Search first(program, /*all_ends=*/false);
  first.run(kUntouched);
  if (!first.overwrites()) return {};
  Search all(program, /*all_ends=*/true);
  all.run(is_function(program) ? kBoth : kUntouched);
  return std::move(all).ends();
}

}  // namespace wavetap::emu
