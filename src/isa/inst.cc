#include "isa/inst.h"

#include <iterator>
#include <string_view>
#include <unordered_map>

namespace wavetap::isa {
namespace {

constexpr const char* kNames[] = {
    "invalid",
#define WT_OP(name) #name,
#include "isa/ops.inc"
#undef WT_OP
};
static_assert(std::size(kNames) == static_cast<size_t>(Op::kCount));

using SpellingMap = std::unordered_map<std::string_view, Op>;

// Made at first use and never freed: a thread of the host may decode while the process exits.
const SpellingMap& spellings() {
  static const SpellingMap* const map = [] {
    auto* made = new SpellingMap;
    for (size_t i = 1; i < std::size(kNames); ++i) made->emplace(kNames[i], static_cast<Op>(i));
#define WT_ALIAS(spelling, canonical) made->emplace(#spelling, Op::canonical);
#include "isa/aliases.inc"
#undef WT_ALIAS
    return made;
  }();
  return *map;
}

}  // namespace

const char* op_name(Op op) {
  const auto index = static_cast<size_t>(op);
  return index < std::size(kNames) ? kNames[index] : kNames[0];
}

bool is_relative_jump(Op op) {
  switch (op) {
    case Op::s_branch:
    case Op::s_branch_pad_s_nop:
    case Op::s_call_b64:
    case Op::s_subvector_loop_begin:
    case Op::s_subvector_loop_end: return true;
    case Op::s_cbranch_g_fork:  // to an address in a register
    case Op::s_cbranch_join: return false;
    default: return std::string_view(op_name(op)).starts_with("s_cbranch_");
  }
}

Op find_op(std::string_view spelling) {
  for (const std::string_view suffix : {"_e64_dpp", "_e32", "_e64", "_dpp8", "_dpp", "_sdwa"}) {
    if (!spelling.ends_with(suffix)) continue;
    spelling.remove_suffix(suffix.size());
    break;
  }
  const SpellingMap& map = spellings();
  const auto it = map.find(spelling);
  return it == map.end() ? Op::kInvalid : it->second;
}

}  // namespace wavetap::isa
