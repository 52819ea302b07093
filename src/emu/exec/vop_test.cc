// Every vector operation of every target against the reference: all encodings, all lanes, edge
// values, masks, and every modifier.
#include <random>
#include <set>

#include "emu/exec/vop_row.h"
#include "emu/testing/vop_check.h"

namespace wavetap::emu {
inline namespace baseline {
const VopTables& vop_tables();
}

namespace vop_test {
namespace {

const std::vector<Shape>& vop_shapes() {
  static const std::vector<Shape> shapes = {
      {{9, 0, 6}, true},   {{9, 0, 8}, true},  {{9, 0, 10}, true},  {{9, 4, 2}, true},
      {{10, 3, 0}, false}, {{10, 3, 0}, true}, {{11, 0, 0}, false}, {{11, 0, 0}, true},
  };
  return shapes;
}

constexpr uint64_t kAll = ~uint64_t{0};
constexpr uint64_t kSome = 0xa5f00f5a96c3011e;

class EveryVop : public testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Targets, EveryVop, testing::ValuesIn(vop_shapes()), [](const auto& shape) {
  return amd::to_string(shape.param.target) + (shape.param.wave64 ? "_wave64" : "_wave32");
});

int rounds_for(const isa::Inst& inst) {
  return inst.src[2].kind != isa::OperandKind::kNone   ? 12
         : inst.src[1].kind != isa::OperandKind::kNone ? 14
                                                       : 4;
}

TEST_P(EveryVop, MatchesTheReferenceInEveryEncoding) {
  VopCheck check(GetParam());
  int checked = 0;
  for (const VopEncoding encoding : kVopEncodings)
    for (const VopSwept& vop : sweep_vop(GetParam(), encoding)) {
      const bool known = check.check(vop.swept.inst, rounds_for(vop.swept.inst), kAll) &&
                         check.check(vop.swept.inst, 2, kSome) && check.check(vop.swept.inst, 1, 0);
      checked += known ? 1 : 0;
    }
  EXPECT_GT(checked, 500);
}

// Sources and the result in every combination that has a handler of its own: the result in a
// source's place, a scalar or a constant first; with NaNs about and without.
TEST_P(EveryVop, MatchesTheReferenceWhereverOperandsAre) {
  for (const bool ordinary : {false, true}) {
    VopCheck check(GetParam());
    check.ordinary = ordinary;
    int checked = 0;
    for (const VopEncoding encoding :
         {VopEncoding::kVop1, VopEncoding::kVop2, VopEncoding::kVop3, VopEncoding::kVop3p})
      for (const VopSwept& vop : sweep_vop(GetParam(), encoding)) {
        const isa::Inst& inst = vop.swept.inst;
        if (!check.check(inst, 1, kAll) || inst.dst.kind != isa::OperandKind::kVgpr) continue;
        ++checked;
        for (const isa::Operand& source : inst.src) {
          if (source.kind != isa::OperandKind::kVgpr || source.dwords != inst.dst.dwords) continue;
          isa::Inst in_place = inst;
          in_place.dst.index = source.index;
          for (const uint64_t exec : {kAll, kSome, kAll << 32, kAll >> 32})
            check.check(in_place, 1, exec);
        }
        if (inst.src[0].kind != isa::OperandKind::kVgpr) continue;
        isa::Inst scalar = inst;
        scalar.src[0].kind = isa::OperandKind::kScalar;
        scalar.src[0].index = 10;
        check.check(scalar, 1, kAll);
        check.check(scalar, 1, kSome);
        scalar.src[0].kind = isa::OperandKind::kImm;
        scalar.src[0].imm = 0x40200000'40200000;
        check.check(scalar, 1, kAll);
      }
    EXPECT_GT(checked, 300);
  }
}

// What runs on a processor without this one's extensions, where that is not the same code.
TEST_P(EveryVop, MatchesTheReferenceOnTheOldestHost) {
  VopCheck check(GetParam());
  check.find = [](const isa::Inst& inst, Shape shape) {
    const VopTables& tables = baseline::vop_tables();
    if (inst.family == isa::Family::kVopc) return choose_handler(tables.vopc(inst.op), inst, shape);
    const VopRow* row = tables.vop(inst.op);
    return choose_handler(row != nullptr ? row : tables.vop3p(inst), inst, shape);
  };
  for (const bool ordinary : {false, true}) {
    check.ordinary = ordinary;
    for (const VopEncoding encoding : kVopEncodings)
      for (const VopSwept& vop : sweep_vop(GetParam(), encoding)) {
        const Handler oldest = check.find(vop.swept.inst, GetParam());
        if (oldest != nullptr && oldest != find_handler(vop.swept.inst, GetParam()))
          check.check(vop.swept.inst, 4, kAll);
      }
  }
}

TEST_P(EveryVop, FlushesDenormalsWhenTheModeSaysSo) {
  VopCheck check(GetParam());
  for (const uint8_t denorm : {0, 1, 2}) {
    check.machine.wave.mode.denorm_f32 = denorm;
    check.machine.wave.mode.denorm_f16_f64 = denorm;
    for (const VopEncoding encoding : kVopEncodings)
      for (const VopSwept& vop : sweep_vop(GetParam(), encoding))
        check.check(vop.swept.inst, 4, kSome | 0xffff);
  }
}

TEST_P(EveryVop, LetsNansWinOrLoseAsTheIeeeBitSays) {
  VopCheck check(GetParam());
  check.machine.wave.mode.ieee = false;
  for (const VopEncoding encoding : kVopEncodings)
    for (const VopSwept& vop : sweep_vop(GetParam(), encoding))
      if (vop.swept.name.find("min") != std::string::npos ||
          vop.swept.name.find("max") != std::string::npos ||
          vop.swept.name.find("med3") != std::string::npos)
        check.check(vop.swept.inst, rounds_for(vop.swept.inst), kAll);
}

TEST_P(EveryVop, ClampsOverflowingHalvesWhenTheModeSaysSo) {
  VopCheck check(GetParam());
  check.machine.wave.mode.fp16_overflow = true;
  for (const VopEncoding encoding : kVopEncodings)
    for (const VopSwept& vop : sweep_vop(GetParam(), encoding))
      for (const char* name :
           {"v_add_f16", "v_sub_f16", "v_mul_f16", "v_fma_f16", "v_cvt_f16_f32", "v_cvt_pk_fp8_f32",
            "v_cvt_pk_bf8_f32", "v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32"})
        if (vop.swept.name == name) check.check(vop.swept.inst, 8, kAll);
}

// --- Modifiers of the long encodings: abs, neg, op_sel, clamp, omod, as far as the operation takes
// --- them.

bool takes(const std::string& name, const char* what) {
  const auto& reference = vop_reference();
  const auto at = reference.find(name);
  if (at == reference.end()) return false;
  const std::string& types = at->second.types;
  const bool float_result = types[0] == 'f' || types.starts_with("pkf");
  if (std::string(what) == "clamp") return float_result || at->second.saturating != nullptr;
  if (std::string(what) == "omod") return types[0] == 'f';
  // abs and neg are for floating-point sources.
  return types.find(" f") != std::string::npos || types.find(" pkf") != std::string::npos ||
         types.find(" mix") != std::string::npos;
}
bool has_carry(const std::string& name) {
  const auto at = vop_reference().find(name);
  return at != vop_reference().end() && at->second.types.find("+bit") != std::string::npos;
}
// Flags on sources of other types are not modifiers.
void drop_flags_of_integers(isa::Inst& inst, const std::string& name) {
  const std::string& types = vop_reference().at(name).types;
  std::istringstream stream(types);
  std::string type;
  stream >> type;
  for (int k = 0; k < 4; ++k) {
    if (!(stream >> type) || type[0] == 'f' || type.starts_with("pkf") || type == "mix") continue;
    inst.src[k].neg = inst.src[k].abs = false;
  }
}

// The same instruction with each of its vector sources in scalar registers, or a constant: those are
// made into rows first, in the same place where modifiers are applied.
void check_without_vectors(VopCheck& check, const isa::Inst& inst) {
  for (int k = 0; k < 3; ++k) {
    if (inst.src[k].kind != isa::OperandKind::kVgpr || inst.dpp != isa::Dpp::kNone) continue;
    isa::Inst other = inst;
    other.src[k].kind = isa::OperandKind::kScalar;
    other.src[k].index = 10;
    check.check(other, 1, kAll);
    other.src[k].kind = isa::OperandKind::kImm;
    other.src[k].imm = 0x40200000'3e803c00;
    check.check(other, 1, kAll);
  }
}

TEST_P(EveryVop, AppliesAbsNegClampAndOpSel) {
  VopCheck check(GetParam());
  std::mt19937 random(7);
  for (const VopSwept& vop : sweep_vop(GetParam(), VopEncoding::kVop3)) {
    const std::string& name = vop.swept.name;
    if (!vop_reference().contains(name)) continue;
    for (int variant = 0; variant < 6; ++variant) {
      VopFields fields;
      if (takes(name, "sign")) {
        fields.high |= random() % 8 << 29;
        if (!has_carry(name)) fields.low |= random() % 8 << 8;
      }
      if (takes(name, "clamp") && variant % 2 == 1) fields.low |= 1u << 15;
      if (name.ends_with("16") && !has_carry(name) && !name.starts_with("v_cmp"))
        fields.low |= random() % 16 << 11;
      std::optional<Swept> swept = encode_vop(GetParam(), VopEncoding::kVop3, vop.op, fields);
      if (!swept || swept->inst.op != vop.swept.inst.op) continue;
      drop_flags_of_integers(swept->inst, name);
      check.check(swept->inst, 3, variant % 3 == 0 ? kSome : kAll);
      check_without_vectors(check, swept->inst);
    }
  }
}

TEST_P(EveryVop, SelectsAndNegatesHalvesOfPackedOperands) {
  VopCheck check(GetParam());
  std::mt19937 random(11);
  for (const VopSwept& vop : sweep_vop(GetParam(), VopEncoding::kVop3p)) {
    const std::string& name = vop.swept.name;
    if (!vop_reference().contains(name)) continue;
    for (int variant = 0; variant < 12; ++variant) {
      VopFields fields;
      const bool is_float = takes(name, "sign");
      fields.low |= random() % 8 << 11 | (random() % 2) << 14 | (is_float ? random() % 8 << 8 : 0);
      fields.high |=
          random() % 4 << 27 | (is_float ? static_cast<uint32_t>(random() % 8) << 29 : 0);
      if (takes(name, "clamp") && variant % 3 == 0) fields.low |= 1u << 15;
      std::optional<Swept> swept = encode_vop(GetParam(), VopEncoding::kVop3p, vop.op, fields);
      if (!swept || swept->inst.op != vop.swept.inst.op) continue;
      drop_flags_of_integers(swept->inst, name);
      // A dot product's accumulator has neg only.
      if (name.starts_with("v_dot")) swept->inst.src[2].abs = false;
      check.check(swept->inst, 3, variant % 4 == 0 ? kSome : kAll);
      check_without_vectors(check, swept->inst);
    }
  }
}

TEST_P(EveryVop, AppliesOutputModifiersOnlyWithoutIeeeAndDenormals) {
  VopCheck check(GetParam());
  for (const bool ieee : {false, true})
    for (const uint8_t denorm : {0, 3}) {
      check.machine.wave.mode.ieee = ieee;
      check.machine.wave.mode.denorm_f32 = denorm;
      check.machine.wave.mode.denorm_f16_f64 = denorm;
      for (const VopSwept& vop : sweep_vop(GetParam(), VopEncoding::kVop3)) {
        if (!takes(vop.swept.name, "omod") || vop_reference().at(vop.swept.name).ulp != 0) continue;
        for (uint32_t omod = 1; omod < 4; ++omod) {
          const std::optional<Swept> swept =
              encode_vop(GetParam(), VopEncoding::kVop3, vop.op, {.high = omod << 27});
          if (swept && swept->inst.omod == omod) check.check(swept->inst, 1, kAll);
        }
      }
    }
}

TEST_P(EveryVop, ClampsNanToZeroOnlyWithDx10Clamp) {
  VopCheck check(GetParam());
  check.machine.wave.mode.dx10_clamp = false;
  for (const char* wanted : {"v_add_f32", "v_add_f64", "v_add_f16", "v_fma_f32"})
    for (const VopSwept& vop : sweep_vop(GetParam(), VopEncoding::kVop3))
      if (vop.swept.name == wanted)
        if (const auto swept =
                encode_vop(GetParam(), VopEncoding::kVop3, vop.op, {.low = 1u << 15}))
          check.check(swept->inst, 8, kAll);
}

// --- SDWA and DPP.

TEST_P(EveryVop, SelectsPartsWithSdwa) {
  if (GetParam().target.major > 10) GTEST_SKIP() << "gfx11 has no SDWA";
  VopCheck check(GetParam());
  std::mt19937 random(13);
  int checked = 0;
  for (const VopEncoding encoding : {VopEncoding::kVop1, VopEncoding::kVop2, VopEncoding::kVopc})
    for (uint32_t op = 0; op < opcode_count(encoding); ++op)
      for (int variant = 0; variant < 10; ++variant) {
        uint32_t control = kSweepSource | (random() % 7) << 16 | (random() % 7) << 24;
        const uint32_t dst_sel = random() % 7;
        const uint32_t unused = random() % 3;
        if (encoding != VopEncoding::kVopc) control |= dst_sel << 8 | unused << 11;
        const uint32_t sign_bits = random();
        const std::optional<Swept> plain =
            encode_vop(GetParam(), encoding, op, {.high = control, .extension = 0xf9});
        if (!plain || !vop_reference().contains(plain->name)) break;
        const bool is_float = takes(plain->name, "sign");
        if (is_float) control |= sign_bits & 0x30300000;  // neg, abs
        else control |= sign_bits & 0x08080000;           // sext
        if (variant % 3 == 0 && takes(plain->name, "clamp") && encoding != VopEncoding::kVopc)
          control |= 1u << 13;
        std::optional<Swept> swept =
            encode_vop(GetParam(), encoding, op, {.high = control, .extension = 0xf9});
        if (!swept) continue;
        // Sign extension is for integers, and of a mixed pair only for the integer.
        drop_flags_of_integers(swept->inst, plain->name);
        ++checked;
        check.check(swept->inst, 2, variant % 2 == 0 ? kAll : kSome);
      }
  EXPECT_GT(checked, 500);
}

TEST_P(EveryVop, PermutesTheFirstSourceWithDpp) {
  VopCheck check(GetParam());
  std::mt19937 random(17);
  const bool gfx9 = GetParam().target.major == 9;
  std::vector<uint32_t> controls = {0x00,  0x1b,  0xe4,  0x4e,  0x101, 0x104, 0x10f,
                                    0x111, 0x118, 0x11f, 0x121, 0x12f, 0x140, 0x141};
  const std::vector<uint32_t> more =
      gfx9 ? std::vector<uint32_t>{0x130, 0x134, 0x138, 0x13c, 0x142, 0x143}
           : std::vector<uint32_t>{0x150, 0x15f, 0x161, 0x16f};
  controls.insert(controls.end(), more.begin(), more.end());
  if (GetParam().target.is_gfx90a_family()) controls.push_back(0x153);
  int checked = 0;
  for (const VopEncoding encoding : {VopEncoding::kVop1, VopEncoding::kVop2, VopEncoding::kVopc})
    for (uint32_t op = 0; op < opcode_count(encoding); ++op)
      for (int variant = 0; variant < 8; ++variant) {
        const uint32_t dpp_ctrl = controls[random() % controls.size()];
        uint32_t control = kSweepSource | dpp_ctrl << 8 | (random() % 2) << 19;
        if (!gfx9) control |= (random() % 2) << 18;
        control |= variant % 3 == 0 ? static_cast<uint32_t>(random()) & 0xff000000 : 0xff000000;
        const std::optional<Swept> swept =
            encode_vop(GetParam(), encoding, op, {.high = control, .extension = 0xfa});
        if (!swept || !vop_reference().contains(swept->name)) continue;
        ++checked;
        check.check(swept->inst, 2, variant % 2 == 0 ? kAll : kSome);
      }
  EXPECT_GT(checked, 500);
}

TEST_P(EveryVop, PermutesGroupsOfEightWithDpp8) {
  if (GetParam().target.major < 10) GTEST_SKIP() << "gfx9 has no DPP8";
  VopCheck check(GetParam());
  std::mt19937 random(19);
  int checked = 0;
  for (const VopEncoding encoding : {VopEncoding::kVop1, VopEncoding::kVop2})
    for (uint32_t op = 0; op < opcode_count(encoding); ++op)
      for (const uint32_t extension : {0xe9u, 0xeau}) {
        const uint32_t control = kSweepSource | static_cast<uint32_t>(random()) << 8;
        const std::optional<Swept> swept =
            encode_vop(GetParam(), encoding, op, {.high = control, .extension = extension});
        if (!swept || !vop_reference().contains(swept->name)) continue;
        ++checked;
        check.check(swept->inst, 2, kSome);
      }
  EXPECT_GT(checked, 50);
}

// --- Coverage: what the targets have and the engine lacks.

TEST_P(EveryVop, HasAHandlerForAllButTheGraphicsOperations) {
  // Parameter interpolation and screen partitioning need a graphics pipeline.
  const std::set<std::string> kUnsupported = {
      "v_interp_mov_f32",          "v_interp_p10_f16_f32",   "v_interp_p10_f32",
      "v_interp_p10_rtz_f16_f32",  "v_interp_p1_f32",        "v_interp_p1ll_f16",
      "v_interp_p1lv_f16",         "v_interp_p2_f16",        "v_interp_p2_f16_f32",
      "v_interp_p2_f32",           "v_interp_p2_legacy_f16", "v_interp_p2_rtz_f16_f32",
      "v_screen_partition_4se_b32"};
  std::set<std::string> missing, unreferenced;
  for (const VopEncoding encoding : kVopEncodings)
    for (const VopSwept& vop : sweep_vop(GetParam(), encoding)) {
      const isa::Inst& inst = vop.swept.inst;
      if (inst.family != isa::Family::kVop && inst.family != isa::Family::kVopc) continue;
      if (find_handler(inst, GetParam()) == nullptr && !kUnsupported.contains(vop.swept.name))
        missing.insert(vop.swept.name);
      if (find_handler(inst, GetParam()) != nullptr) {
        EXPECT_FALSE(kUnsupported.contains(vop.swept.name)) << vop.swept.name;
      }
      if (!vop_reference().contains(vop.swept.name)) unreferenced.insert(vop.swept.name);
    }
  EXPECT_EQ(missing, std::set<std::string>{});

  // Checked elsewhere: indexed moves and swaps (exec_vop_special_test), lane crossing and
  // accumulator moves.
  for (const char* name :
       {"v_nop", "v_pipeflush", "v_clrexcp", "v_swap_b32", "v_swaprel_b32", "v_movreld_b32",
        "v_movrels_b32", "v_movrelsd_b32", "v_movrelsd_2_b32", "v_mqsad_u32_u8",
        "v_readfirstlane_b32", "v_readlane_b32", "v_writelane_b32", "v_permlane16_b32",
        "v_permlanex16_b32", "v_permlane64_b32", "v_accvgpr_read_b32", "v_accvgpr_write_b32",
        "v_accvgpr_mov_b32"})
    unreferenced.erase(name);
  for (const std::string& name : kUnsupported) unreferenced.erase(name);
  EXPECT_EQ(unreferenced, std::set<std::string>{});
}

}  // namespace
}  // namespace vop_test
}  // namespace wavetap::emu
