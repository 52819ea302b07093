#include "isa/half_result.h"

#include <bitset>
#include <string_view>

namespace wavetap::isa {
namespace {

using OpSet = std::bitset<static_cast<size_t>(Op::kCount)>;

bool is_type(std::string_view token) {
  if (token.size() < 2) return false;
  if (token.starts_with("bf") || token.starts_with("fp")) token.remove_prefix(1);
  if (token[0] != 'f' && token[0] != 'u' && token[0] != 'i' && token[0] != 'b') return false;
  for (const char c : token.substr(1))
    if (c < '0' || c > '9') return false;
  return true;
}

// The first type in a mnemonic is the result's: v_cvt_f16_f32, v_mad_u32_u16, v_ldexp_f16.
bool name_says_half(std::string_view name) {
  if (!name.starts_with("v_")) return false;
  for (const std::string_view other : {"v_cmp", "v_pk_", "v_mfma", "v_smfmac", "v_wmma", "v_interp",
                                       "v_pack_", "v_cvt_pk", "v_cvt_sr", "v_mqsad", "v_qsad"})
    if (name.starts_with(other)) return false;
  if (name == "v_sat_pk_u8_i16") return true;  // two bytes
  for (size_t at = 1; at != std::string_view::npos;) {
    const size_t next = name.find('_', at + 1);
    const std::string_view token =
        name.substr(at + 1, next == std::string_view::npos ? next : next - at - 1);
    if (is_type(token)) return token.ends_with("16");
    at = next;
  }
  return false;
}

const OpSet& half_ops() {
  static const OpSet* const set = [] {
    auto* made = new OpSet;
    for (size_t i = 1; i < made->size(); ++i)
      (*made)[i] = name_says_half(op_name(static_cast<Op>(i)));
    return made;
  }();
  return *set;
}

// gfx9 clears the high half after these and keeps it after the other 16-bit operations (LLVM's
// zeroesHigh16BitsOfDest, found there by experiment, completed with the conversions of the same
// group).
constexpr Op kClearingOnGfx9[] = {
    Op::v_cvt_f16_f32,       Op::v_cvt_f16_u16,      Op::v_cvt_f16_i16,
    Op::v_cvt_u16_f16,       Op::v_cvt_i16_f16,      Op::v_rcp_f16,
    Op::v_rsq_f16,           Op::v_sqrt_f16,         Op::v_log_f16,
    Op::v_exp_f16,           Op::v_sin_f16,          Op::v_cos_f16,
    Op::v_floor_f16,         Op::v_ceil_f16,         Op::v_trunc_f16,
    Op::v_rndne_f16,         Op::v_fract_f16,        Op::v_frexp_mant_f16,
    Op::v_frexp_exp_i16_f16, Op::v_ldexp_f16,        Op::v_lshlrev_b16,
    Op::v_lshrrev_b16,       Op::v_ashrrev_i16,      Op::v_add_u16,
    Op::v_sub_u16,           Op::v_subrev_u16,       Op::v_mul_lo_u16,
    Op::v_add_f16,           Op::v_sub_f16,          Op::v_subrev_f16,
    Op::v_mul_f16,           Op::v_max_f16,          Op::v_min_f16,
    Op::v_max_u16,           Op::v_min_u16,          Op::v_max_i16,
    Op::v_min_i16,           Op::v_mad_legacy_f16,   Op::v_mad_legacy_u16,
    Op::v_mad_legacy_i16,    Op::v_fma_legacy_f16,   Op::v_div_fixup_legacy_f16,
    Op::v_cvt_norm_i16_f16,  Op::v_cvt_norm_u16_f16, Op::v_sat_pk_u8_i16,
};

const OpSet& clearing_on_gfx9() {
  static const OpSet* const set = [] {
    auto* made = new OpSet;
    for (const Op op : kClearingOnGfx9) made->set(static_cast<size_t>(op));
    return made;
  }();
  return *set;
}

}  // namespace

bool writes_half(Op op) { return half_ops()[static_cast<size_t>(op)]; }

bool keeps_high_half(Op op, amd::GfxTarget target) {
  return target.major >= 10 || !clearing_on_gfx9()[static_cast<size_t>(op)];
}

}  // namespace wavetap::isa
