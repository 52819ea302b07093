#include "emu/lds_reuse.h"

#include <cstdint>
#include <string_view>
#include <vector>

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

class Search {
 public:
  explicit Search(const isa::Program& program)
      : program_(program), seen_(static_cast<size_t>(program.size())) {}

  bool run() {
    lead_to(0, /*has_read=*/false);
    while (!open_.empty() && !found_) {
      const Place place = open_.back();
      open_.pop_back();
      follow(place.index, place.has_read);
    }
    return found_;
  }

 private:
  struct Place {
    int32_t index;
    bool has_read;
  };

  // Code that is known to be reached with a read behind it tells nothing new without one.
  void lead_to(int32_t index, bool has_read) {
    if (index < 0 || index >= program_.size()) {
      found_ = true;  // leaves the program
      return;
    }
    uint8_t& seen = seen_[static_cast<size_t>(index)];
    const uint8_t now = has_read ? 2 : 1;
    if (seen >= now) return;
    seen = now;
    open_.push_back({index, has_read});
  }

  void follow(int32_t index, bool has_read) {
    const Inst& inst = program_.insts()[index];
    const LdsUse use = lds_use(inst);
    if (use.writes && has_read) {
      found_ = true;
      return;
    }
    has_read = (has_read || use.reads) && inst.op != Op::s_barrier;
    switch (inst.op) {
      case Op::s_endpgm:
      case Op::s_endpgm_saved: return;
      case Op::s_setpc_b64:
      case Op::s_swappc_b64:
      case Op::s_call_b64: found_ = true; return;
      case Op::s_branch: return lead_to(inst.target, has_read);
      default: break;
    }
    if (isa::is_relative_jump(inst.op)) lead_to(inst.target, has_read);
    // Bytes behind the last instruction are padding, or data: nobody comes there.
    if (index + 1 < program_.size()) lead_to(index + 1, has_read);
  }

  const isa::Program& program_;
  std::vector<uint8_t> seen_;
  std::vector<Place> open_;
  bool found_ = false;
};

}  // namespace

bool overwrites_read_lds(const isa::Program& program) {
  return program.size() != 0 && Search(program).run();
}

}  // namespace wavetap::emu
