#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <sstream>
#include <string>

#include "isa/inst.h"

namespace wavetap::isa {
namespace {

// Mnemonics met in 391 public HIP benchmark programs and in rocRAND, for gfx1030 and gfx90a.
constexpr const char* kUsedByPrograms = R"(
    buffer_gl0_inv buffer_gl1_inv buffer_invl2 buffer_load_dword buffer_load_sshort buffer_load_ubyte
    buffer_load_ubyte_d16_hi buffer_store_byte buffer_store_dword buffer_store_short buffer_wbinvl1_vol
    buffer_wbl2 ds_add_f32 ds_add_f64 ds_add_rtn_u32 ds_add_u32 ds_and_b32 ds_bpermute_b32 ds_cmpst_rtn_b64
    ds_or_b32 ds_read2_b32 ds_read2_b64 ds_read2st64_b32 ds_read2st64_b64 ds_read_b128 ds_read_b32
    ds_read_b64 ds_read_b96 ds_read_i16 ds_read_i8 ds_read_u16 ds_read_u8 ds_write2_b32 ds_write2_b64
    ds_write2st64_b32 ds_write2st64_b64 ds_write_b128 ds_write_b16 ds_write_b16_d16_hi ds_write_b32
    ds_write_b64 ds_write_b8 ds_write_b96 flat_atomic_add flat_atomic_add_f64 flat_atomic_cmpswap
    flat_atomic_smin flat_load_dword flat_load_dwordx2 flat_load_dwordx3 flat_load_dwordx4 flat_load_sbyte
    flat_load_ubyte flat_load_ubyte_d16_hi flat_store_byte flat_store_dword flat_store_dwordx2
    flat_store_dwordx4 global_atomic_add global_atomic_add_f32 global_atomic_add_x2 global_atomic_and
    global_atomic_cmpswap global_atomic_cmpswap_x2 global_atomic_dec global_atomic_inc global_atomic_or
    global_atomic_smax global_atomic_smin global_atomic_swap global_atomic_umax global_atomic_umax_x2
    global_atomic_umin global_atomic_xor global_atomic_xor_x2 global_load_dword global_load_dwordx2
    global_load_dwordx3 global_load_dwordx4 global_load_sbyte global_load_sshort global_load_ubyte
    global_load_ubyte_d16_hi global_load_ushort global_store_byte global_store_byte_d16_hi
    global_store_dword global_store_dwordx2 global_store_dwordx3 global_store_dwordx4 global_store_short
    global_store_short_d16_hi image_sample image_sample_lz s_abs_i32 s_add_i32 s_add_u32 s_addc_u32
    s_addk_i32 s_and_b32 s_and_b64 s_and_saveexec_b32 s_and_saveexec_b64 s_andn2_b32 s_andn2_b64
    s_andn2_saveexec_b32 s_andn2_saveexec_b64 s_ashr_i32 s_ashr_i64 s_barrier s_bcnt1_i32_b32
    s_bcnt1_i32_b64 s_bfe_i32 s_bfe_i64 s_bfe_u32 s_bitcmp0_b32 s_bitcmp1_b32 s_bitset0_b32 s_bitset1_b32
    s_branch s_brev_b32 s_cbranch_execnz s_cbranch_execz s_cbranch_scc0 s_cbranch_scc1 s_cbranch_vccnz
    s_cbranch_vccz s_clause s_cmp_eq_u32 s_cmp_eq_u64 s_cmp_ge_i32 s_cmp_ge_u32 s_cmp_gt_i32 s_cmp_gt_u32
    s_cmp_le_i32 s_cmp_le_u32 s_cmp_lg_u32 s_cmp_lg_u64 s_cmp_lt_i32 s_cmp_lt_u32 s_cmpk_eq_i32
    s_cmpk_eq_u32 s_cmpk_gt_u32 s_cmpk_lg_i32 s_cmpk_lg_u32 s_cmpk_lt_i32 s_cmpk_lt_u32 s_cselect_b32
    s_cselect_b64 s_endpgm s_ff1_i32_b32 s_flbit_i32 s_flbit_i32_b32 s_getpc_b64 s_getreg_b32
    s_inst_prefetch s_load_dword s_load_dwordx16 s_load_dwordx2 s_load_dwordx4 s_load_dwordx8 s_lshl_b32
    s_lshl_b64 s_lshr_b32 s_lshr_b64 s_max_i32 s_max_u32 s_memtime s_min_i32 s_min_u32 s_mov_b32 s_mov_b64
    s_movk_i32 s_mul_hi_i32 s_mul_hi_u32 s_mul_i32 s_mulk_i32 s_nop s_not_b32 s_or_b32 s_or_b64
    s_or_saveexec_b32 s_or_saveexec_b64 s_orn2_b32 s_orn2_b64 s_pack_ll_b32_b16 s_sendmsg s_set_gpr_idx_off
    s_set_gpr_idx_on s_setpc_b64 s_setreg_b32 s_sext_i32_i8 s_sleep s_sub_i32 s_sub_u32 s_subb_u32
    s_swappc_b64 s_trap s_waitcnt s_waitcnt_vscnt s_xor_b32 s_xor_b64 v_accvgpr_mov_b32 v_accvgpr_read_b32
    v_accvgpr_write_b32 v_add3_u32 v_add_co_ci_u32 v_add_co_u32 v_add_f16 v_add_f32 v_add_f64 v_add_lshl_u32
    v_add_nc_u16 v_add_nc_u32 v_add_u16 v_add_u32 v_addc_co_u32 v_alignbit_b32 v_and_b32 v_and_or_b32
    v_ashrrev_i16 v_ashrrev_i32 v_ashrrev_i64 v_bcnt_u32_b32 v_bfe_i32 v_bfe_u32 v_bfi_b32 v_bfrev_b32
    v_ceil_f32 v_ceil_f64 v_cmp_class_f16 v_cmp_class_f32 v_cmp_class_f64 v_cmp_eq_f32 v_cmp_eq_f64
    v_cmp_eq_u16 v_cmp_eq_u32 v_cmp_eq_u64 v_cmp_ge_f32 v_cmp_ge_f64 v_cmp_ge_i16 v_cmp_ge_i32 v_cmp_ge_i64
    v_cmp_ge_u32 v_cmp_ge_u64 v_cmp_gt_f16 v_cmp_gt_f32 v_cmp_gt_f64 v_cmp_gt_i16 v_cmp_gt_i32 v_cmp_gt_i64
    v_cmp_gt_u16 v_cmp_gt_u32 v_cmp_gt_u64 v_cmp_le_f32 v_cmp_le_f64 v_cmp_le_i32 v_cmp_le_i64 v_cmp_le_u16
    v_cmp_le_u32 v_cmp_le_u64 v_cmp_lg_f32 v_cmp_lg_f64 v_cmp_lt_f16 v_cmp_lt_f32 v_cmp_lt_f64 v_cmp_lt_i16
    v_cmp_lt_i32 v_cmp_lt_i64 v_cmp_lt_u16 v_cmp_lt_u32 v_cmp_lt_u64 v_cmp_ne_u16 v_cmp_ne_u32 v_cmp_ne_u64
    v_cmp_neq_f32 v_cmp_neq_f64 v_cmp_nge_f32 v_cmp_nge_f64 v_cmp_ngt_f32 v_cmp_ngt_f64 v_cmp_nle_f32
    v_cmp_nle_f64 v_cmp_nlt_f32 v_cmp_nlt_f64 v_cmp_o_f32 v_cmp_o_f64 v_cmp_u_f32 v_cmp_u_f64 v_cmpx_eq_f32
    v_cmpx_eq_f64 v_cmpx_eq_u16 v_cmpx_eq_u32 v_cmpx_eq_u64 v_cmpx_ge_f32 v_cmpx_ge_f64 v_cmpx_ge_i16
    v_cmpx_ge_i32 v_cmpx_ge_i64 v_cmpx_ge_u32 v_cmpx_gt_f32 v_cmpx_gt_f64 v_cmpx_gt_i16 v_cmpx_gt_i32
    v_cmpx_gt_i64 v_cmpx_gt_u16 v_cmpx_gt_u32 v_cmpx_gt_u64 v_cmpx_le_f32 v_cmpx_le_f64 v_cmpx_le_i32
    v_cmpx_le_i64 v_cmpx_le_u16 v_cmpx_le_u32 v_cmpx_le_u64 v_cmpx_lg_f32 v_cmpx_lt_f32 v_cmpx_lt_f64
    v_cmpx_lt_i16 v_cmpx_lt_i32 v_cmpx_lt_i64 v_cmpx_lt_u16 v_cmpx_lt_u32 v_cmpx_lt_u64 v_cmpx_ne_u16
    v_cmpx_ne_u32 v_cmpx_ne_u64 v_cmpx_neq_f32 v_cmpx_neq_f64 v_cmpx_nge_f32 v_cmpx_nge_f64 v_cmpx_ngt_f32
    v_cmpx_ngt_f64 v_cmpx_nle_f32 v_cmpx_nle_f64 v_cmpx_nlt_f32 v_cmpx_nlt_f64 v_cmpx_o_f32 v_cmpx_o_f64
    v_cmpx_u_f64 v_cndmask_b32 v_cos_f32 v_cvt_f16_f32 v_cvt_f16_i16 v_cvt_f16_u16 v_cvt_f32_f16
    v_cvt_f32_f64 v_cvt_f32_i32 v_cvt_f32_u32 v_cvt_f32_ubyte0 v_cvt_f32_ubyte1 v_cvt_f32_ubyte2
    v_cvt_f32_ubyte3 v_cvt_f64_f32 v_cvt_f64_i32 v_cvt_f64_u32 v_cvt_i16_f16 v_cvt_i32_f32 v_cvt_i32_f64
    v_cvt_u32_f32 v_cvt_u32_f64 v_div_fixup_f32 v_div_fixup_f64 v_div_fmas_f32 v_div_fmas_f64
    v_div_scale_f32 v_div_scale_f64 v_exp_f32 v_ffbh_i32 v_ffbh_u32 v_ffbl_b32 v_floor_f32 v_floor_f64
    v_fma_f16 v_fma_f32 v_fma_f64 v_fma_mix_f32 v_fma_mixhi_f16 v_fma_mixlo_f16 v_fmaak_f32 v_fmac_f16
    v_fmac_f32 v_fmac_f64 v_fmamk_f32 v_fract_f32 v_fract_f64 v_frexp_exp_i32_f32 v_frexp_exp_i32_f64
    v_frexp_mant_f32 v_frexp_mant_f64 v_ldexp_f32 v_ldexp_f64 v_log_f32 v_lshl_add_u32 v_lshl_or_b32
    v_lshlrev_b16 v_lshlrev_b32 v_lshlrev_b64 v_lshrrev_b16 v_lshrrev_b32 v_lshrrev_b64 v_mac_f32 v_mad_f32
    v_mad_i32_i24 v_mad_i64_i32 v_mad_legacy_u16 v_mad_u16 v_mad_u32_u24 v_mad_u64_u32 v_madak_f32
    v_madmk_f32 v_max3_i16 v_max3_i32 v_max3_u32 v_max_f32 v_max_f64 v_max_i16 v_max_i32 v_max_u16 v_max_u32
    v_mbcnt_hi_u32_b32 v_mbcnt_lo_u32_b32 v_med3_i32 v_min3_i32 v_min3_u32 v_min_f32 v_min_f64 v_min_i16
    v_min_i32 v_min_u16 v_min_u32 v_mov_b32 v_movreld_b32 v_movrels_b32 v_mul_f16 v_mul_f32 v_mul_f64
    v_mul_hi_i32 v_mul_hi_i32_i24 v_mul_hi_u32 v_mul_hi_u32_u24 v_mul_i32_i24 v_mul_lo_u16 v_mul_lo_u32
    v_mul_u32_u24 v_not_b32 v_or3_b32 v_or_b32 v_pack_b32_f16 v_perm_b32 v_permlanex16_b32 v_pk_add_f16
    v_pk_add_f32 v_pk_add_u16 v_pk_fma_f16 v_pk_fma_f32 v_pk_lshrrev_b16 v_pk_min_u16 v_pk_mov_b32
    v_pk_mul_f16 v_pk_mul_f32 v_pk_mul_lo_u16 v_pk_sub_i16 v_pk_sub_u16 v_rcp_f32 v_rcp_f64 v_rcp_iflag_f32
    v_readfirstlane_b32 v_readlane_b32 v_rndne_f32 v_rndne_f64 v_rsq_f32 v_rsq_f64 v_sin_f32 v_sqrt_f16
    v_sqrt_f32 v_sub_co_ci_u32 v_sub_co_u32 v_sub_f16 v_sub_f32 v_sub_nc_u16 v_sub_nc_u32 v_sub_u16
    v_sub_u32 v_subb_co_u32 v_subbrev_co_u32 v_subrev_co_ci_u32 v_subrev_co_u32 v_subrev_f32 v_subrev_nc_u32
    v_subrev_u16 v_subrev_u32 v_trig_preop_f64 v_trunc_f32 v_trunc_f64 v_writelane_b32 v_xad_u32 v_xor3_b32
    v_xor_b32
)";

TEST(Ops, EveryMnemonicThatProgramsUseIsAnOperation) {
  std::istringstream names(kUsedByPrograms);
  int count = 0;
  for (std::string name; names >> name; ++count) EXPECT_NE(find_op(name), Op::kInvalid) << name;
  EXPECT_EQ(count, 499);
}

TEST(Ops, NamesRoundTrip) {
  std::set<std::string> seen;
  for (int i = 1; i < static_cast<int>(Op::kCount); ++i) {
    const Op op = static_cast<Op>(i);
    EXPECT_EQ(find_op(op_name(op)), op) << op_name(op);
    EXPECT_TRUE(seen.insert(op_name(op)).second) << op_name(op) << " is listed twice";
  }
  EXPECT_STREQ(op_name(Op::kInvalid), "invalid");
  EXPECT_STREQ(op_name(Op::kCount), "invalid");
}

TEST(Ops, SpellingsOfOtherTargetsAreAliases) {
  EXPECT_EQ(find_op("v_add_nc_u32"), Op::v_add_u32);
  EXPECT_EQ(find_op("v_add_co_ci_u32_e32"), Op::v_addc_co_u32);
  EXPECT_EQ(find_op("global_load_b128"), Op::global_load_dwordx4);
  EXPECT_EQ(find_op("ds_load_2addr_b32"), Op::ds_read2_b32);
  EXPECT_EQ(find_op("s_and_not1_b64"), Op::s_andn2_b64);
  EXPECT_EQ(find_op("v_mfma_f32_32x32x8_f16"), Op::v_mfma_f32_32x32x8f16);
  EXPECT_EQ(find_op("v_add_f32_e64_dpp"), Op::v_add_f32);
  EXPECT_EQ(find_op("v_mov_b32_sdwa"), Op::v_mov_b32);
  EXPECT_EQ(find_op("not_an_operation"), Op::kInvalid);
  EXPECT_EQ(find_op(""), Op::kInvalid);
}

// Names that look like one operation and are two.
TEST(Ops, OperationsThatDifferStayApart) {
  EXPECT_NE(find_op("ds_cmpst_b32"), find_op("ds_cmpstore_b32"));
  EXPECT_NE(find_op("v_mad_mix_f32"), find_op("v_fma_mix_f32"));
  EXPECT_NE(find_op("v_mac_f32"), find_op("v_fmac_f32"));
  EXPECT_NE(find_op("v_add_u32"), find_op("v_add_co_u32"));
}

}  // namespace
}  // namespace wavetap::isa
