#include "itrace/row_effects.h"

#include <charconv>
#include <optional>
#include <string_view>

namespace wavetap::itrace {
namespace {

using isa::WaitCounter;
using std::string_view;

// "vmcnt(3)" in "s_waitcnt vmcnt(3) lgkmcnt(0)"; nothing when it is not there.
std::optional<uint32_t> number_in(string_view text, string_view name) {
  const size_t at = text.find(name);
  if (at == string_view::npos) return std::nullopt;
  uint32_t value = 0;
  const char* begin = text.data() + at + name.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

// The last number: "s_waitcnt_vscnt null, 0x0".
std::optional<uint32_t> last_number(string_view text) {
  const size_t at = text.find_last_of(" ,");
  if (at == string_view::npos) return std::nullopt;
  string_view digits = text.substr(at + 1);
  const int base = digits.starts_with("0x") ? 16 : 10;
  if (base == 16) digits.remove_prefix(2);
  uint32_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

void limit(isa::WaitEffect& effect, WaitCounter counter, std::optional<uint32_t> most,
           uint8_t major) {
  if (most && *most < isa::full_count(counter, major))
    effect.most[static_cast<size_t>(counter)] = static_cast<uint8_t>(*most);
}

isa::WaitEffect wait_effect(string_view text, string_view name, uint8_t major) {
  isa::WaitEffect effect;
  if (name == "s_waitcnt") {
    const bool is_named = text.find('(') != string_view::npos;
    limit(effect, WaitCounter::kVmcnt, number_in(text, "vmcnt("), major);
    limit(effect, WaitCounter::kLgkmcnt, number_in(text, "lgkmcnt("), major);
    if (is_named) return effect;
    isa::Inst inst;  // a plain number: as the encoding has it
    inst.op = isa::Op::s_waitcnt;
    inst.imm16 = static_cast<int32_t>(last_number(text).value_or(0xffff));
    return isa::wait_effect_of(inst, major);
  }
  const WaitCounter counter = name == "s_waitcnt_vmcnt"   ? WaitCounter::kVmcnt
                              : name == "s_waitcnt_vscnt" ? WaitCounter::kVscnt
                                                          : WaitCounter::kLgkmcnt;
  if (name == "s_waitcnt_vmcnt" || name == "s_waitcnt_vscnt" || name == "s_waitcnt_lgkmcnt")
    limit(effect, counter, last_number(text), major);
  return effect;
}

isa::Family family_of(string_view name) {
  using isa::Family;
  if (name.starts_with("ds_")) return Family::kDs;
  if (name.starts_with("global_") || name.starts_with("flat_") || name.starts_with("scratch_"))
    return Family::kFlat;
  if (name.starts_with("buffer_") || name.starts_with("tbuffer_")) return Family::kMubuf;
  if (name.starts_with("image_")) return Family::kImage;
  for (const string_view prefix : {"s_load", "s_store", "s_buffer_", "s_scratch_", "s_atomic",
                                   "s_dcache", "s_memtime", "s_memrealtime"})
    if (name.starts_with(prefix)) return Family::kSmem;
  return Family::kInvalid;
}

// Whether a vector memory instruction gives something back.
bool returns_data(string_view text, string_view name) {
  if (name.find("_store") != string_view::npos) return false;
  if (name.find("_atomic") == string_view::npos && name.find("_load") != string_view::npos)
    return true;
  if (name.find("_atomic") == string_view::npos) return false;
  return text.find(" glc") != string_view::npos || text.find(" sc0") != string_view::npos ||
         text.find("TH_ATOMIC_RETURN") != string_view::npos;
}

isa::WaitEffect effect_of(const CodeRow& row, uint8_t major) {
  const string_view text = row.text;
  const string_view name = text.substr(0, text.find(' '));
  if (name.starts_with("s_waitcnt")) return wait_effect(text, name, major);
  isa::Inst inst;
  inst.op = isa::find_op(name);
  inst.family = family_of(name);
  if (inst.op == isa::Op::kInvalid && inst.family == isa::Family::kInvalid) return {};
  if (inst.family == isa::Family::kDs) inst.gds = text.find(" gds") != string_view::npos;
  if (returns_data(text, name)) inst.dst.kind = isa::OperandKind::kVgpr;
  inst.lds = text.find(" lds") != string_view::npos;
  return isa::wait_effect_of(inst, major);
}

}  // namespace

std::vector<isa::WaitEffect> row_effects(const Trace& trace) {
  std::vector<isa::WaitEffect> effects;
  effects.reserve(trace.code.size());
  for (const CodeRow& row : trace.code)
    effects.push_back(row.is_label() ? isa::WaitEffect{}
                                     : effect_of(row, static_cast<uint8_t>(trace.gfx_major)));
  return effects;
}

}  // namespace wavetap::itrace
