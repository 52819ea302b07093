#include "sanitize/wait_state_rules.h"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

namespace wavetap::sanitize {
namespace {

using emu::RegisterFile;
using isa::Family;
using isa::Inst;
using isa::Op;
using std::string_view;

bool is_gfx908(amd::GfxTarget target) { return target == amd::GfxTarget{9, 0, 8}; }
bool is_gfx90a(amd::GfxTarget target) { return target == amd::GfxTarget{9, 0, 10}; }
bool is_gfx94x(amd::GfxTarget target) { return target.major == 9 && target.minor == 4; }

// Passes of "v_mfma_f32_32x32x8f16" and the like.
uint8_t passes_of(string_view name, bool is_double, amd::GfxTarget target) {
  const size_t shape = name.find('x');
  size_t begin = shape;
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  const int rows = std::atoi(name.data() + begin);
  if (is_double) return rows == 16 ? 8 : 4;
  if (rows == 4) return 2;
  const bool is_large = rows == 32;
  if (!is_gfx94x(target)) return is_large ? 16 : 8;
  const size_t depth = name.find('x', shape + 1) + 1;
  const string_view type = name.substr(name.find_first_not_of("0123456789", depth));
  // Several blocks at once take as long as ever; one block of a narrow type half as long.
  const bool has_blocks = std::atoi(name.data() + depth) == 4 && !type.ends_with("xf32");
  const bool is_slow = type == "f32" || (has_blocks && !name.starts_with("v_smfmac"));
  return static_cast<uint8_t>((is_large ? 8 : 4) * (is_slow ? 2 : 1));
}

bool is_transcendental(string_view name) {
  for (const string_view one :
       {"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"})
    if (name.starts_with(one)) return true;
  return false;
}

class FactsMaker {
 public:
  FactsMaker(const Inst& inst, amd::GfxTarget target) : inst_(inst), target_(target) {}

  WaitStateFacts make() {
    classify();
    registers();
    return facts_;
  }

 private:
  void classify() {
    const string_view name = isa::op_name(inst_.op);
    const Family family = inst_.family;
    facts_.op = inst_.op;
    facts_.is_vector =
        family == Family::kVop || family == Family::kVopc || family == Family::kMatrix;
    facts_.is_matrix = name.starts_with("v_mfma_") || name.starts_with("v_smfmac_");
    facts_.is_memory = family == Family::kFlat || family == Family::kMubuf ||
                       family == Family::kImage || family == Family::kDs;
    facts_.is_lds = family == Family::kDs;
    facts_.is_scalar = family == Family::kSop;
    if (facts_.is_matrix) {
      facts_.is_double = name.starts_with("v_mfma_f64_");
      const bool is_single = name.ends_with("f32") && !name.ends_with("xf32");
      facts_.is_xdl = !facts_.is_double && !(is_gfx94x(target_) && is_single);
      facts_.passes = passes_of(name, facts_.is_double, target_);
    }
    facts_.is_dot = name.starts_with("v_dot");
    facts_.is_dpp = inst_.dpp != isa::Dpp::kNone;
    facts_.is_transcendental = facts_.is_vector && is_transcendental(name);
    const bool is_high = inst_.dst.sel == isa::Sel::kWord1 && name.find("mix") == string_view::npos;
    facts_.is_part = facts_.is_vector && (inst_.sdwa ? inst_.dst.sel != isa::Sel::kDword : is_high);
    facts_.is_fma_f64 = inst_.op == Op::v_fma_f64 || inst_.op == Op::v_fmac_f64;
    const bool has_soffset = inst_.soffset.kind == isa::OperandKind::kScalar;
    facts_.is_wide_store =
        ((family == Family::kMubuf && !has_soffset) || family == Family::kFlat) &&
        inst_.src[0].dwords > 2;
    facts_.uses_m0_early = uses_m0_early(name);
    if (inst_.op == Op::s_nop) facts_.states = static_cast<uint16_t>((inst_.imm16 & 15) + 1);
    if (inst_.op == Op::s_setreg_b32 || inst_.op == Op::s_setreg_imm32_b32 ||
        inst_.op == Op::s_getreg_b32)
      facts_.hwreg = static_cast<uint16_t>(inst_.imm16 & 63);
  }

  bool uses_m0_early(string_view name) const {
    if (name.starts_with("s_sendmsg") || name == "s_ttracedata" || name.starts_with("s_movrel"))
      return true;
    if (inst_.family == Family::kDs)
      return inst_.gds || name.find("addtid") != string_view::npos || name.starts_with("ds_gws");
    return inst_.lds && facts_.is_memory;
  }

  void add(bool is_write, const isa::Operand& operand, Role role) {
    RegisterRange range;
    range.role = role;
    range.first = operand.index;
    range.count = std::min<uint8_t>(std::max<uint8_t>(operand.dwords, 1), 32);
    switch (operand.kind) {
      case isa::OperandKind::kNone:
      case isa::OperandKind::kImm: return;
      case isa::OperandKind::kScalar: range.file = RegisterFile::kScalar; break;
      case isa::OperandKind::kVgpr: range.file = RegisterFile::kVgpr; break;
      case isa::OperandKind::kAgpr: range.file = RegisterFile::kAgpr; break;
    }
    if (operand.kind == isa::OperandKind::kScalar && operand.index == isa::slot::kNull) return;
    add(is_write, range);
  }
  void add(bool is_write, const RegisterRange& range) {
    if (is_write && facts_.write_count < std::size(facts_.writes))
      facts_.writes[facts_.write_count++] = range;
    if (!is_write && facts_.read_count < std::size(facts_.reads))
      facts_.reads[facts_.read_count++] = range;
  }

  Role role_of(size_t source) const {
    const bool is_sparse = string_view(isa::op_name(inst_.op)).starts_with("v_smfmac");
    if (facts_.is_matrix && source == (is_sparse ? 3 : 2)) return Role::kAccumulator;
    if (facts_.is_dot && source == 2) return Role::kAccumulator;
    if (source == 1 && (inst_.op == Op::v_readlane_b32 || inst_.op == Op::v_writelane_b32))
      return Role::kLaneSelect;
    return facts_.is_memory ? Role::kData : Role::kSource;
  }

  void registers() {
    for (size_t k = 0; k < std::size(inst_.src); ++k) add(false, inst_.src[k], role_of(k));
    for (const isa::Operand* operand : {&inst_.vaddr, &inst_.saddr, &inst_.soffset})
      add(false, *operand, Role::kAddress);
    add(true, inst_.dst, Role::kResult);
    add(true, inst_.dst2, Role::kResult);
    const auto implied = [&](uint8_t bit, uint16_t first, uint8_t count) {
      const RegisterRange range{RegisterFile::kScalar, Role::kImplied, count, first};
      if ((inst_.implied_reads & bit) != 0) add(false, range);
      if ((inst_.implied_writes & bit) != 0) add(true, range);
    };
    implied(isa::implied::kVcc, isa::slot::kVccLo, 2);
    implied(isa::implied::kExec, isa::slot::kExecLo, 2);
    implied(isa::implied::kM0, isa::slot::kM0, 1);
  }

  const Inst& inst_;
  const amd::GfxTarget target_;
  WaitStateFacts facts_;
};

// From the figures for 2, 8 and 16 passes.
uint32_t by_passes(uint8_t passes, uint32_t two, uint32_t eight, uint32_t sixteen) {
  return passes <= 2 ? two : passes <= 8 ? eight : sixteen;
}

bool is_accvgpr_read(const WaitStateFacts& of) { return of.op == Op::v_accvgpr_read_b32; }
bool is_accvgpr_write(const WaitStateFacts& of) { return of.op == Op::v_accvgpr_write_b32; }
bool is_readlane(const WaitStateFacts& of) {
  return of.op == Op::v_readlane_b32 || of.op == Op::v_readfirstlane_b32;
}

bool is_exec(const RegisterRange& range) {
  return range.file == RegisterFile::kScalar && range.first + range.count > isa::slot::kExecLo &&
         range.first <= isa::slot::kExecHi;
}

// gfx908, where only matrix instructions and moves reach accumulation registers.
uint32_t gfx908_accumulators(const WaitStateFacts& first, const RegisterRange& written,
                             const WaitStateFacts& second, const RegisterRange& read) {
  if (first.is_matrix) {
    if (written.is_same(read)) return 0;
    if (read.role == Role::kAccumulator) return 2;
    return is_accvgpr_read(second) ? by_passes(first.passes, 4, 10, 18) : 4;
  }
  if (!is_accvgpr_write(first)) return 0;
  return read.role == Role::kAccumulator ? 1 : 3;
}

// The result of one matrix instruction as an operand of the next.
uint32_t matrix_to_matrix(amd::GfxTarget target, const WaitStateFacts& first,
                          const RegisterRange& written, const WaitStateFacts& second,
                          const RegisterRange& read) {
  const bool is_new = is_gfx94x(target);
  if (read.role != Role::kAccumulator) {
    if (first.is_double) return first.passes == 4 ? 6 : 11;
    if (is_new) return first.passes + (first.is_xdl ? 3u : 2u);
    return by_passes(first.passes, 5, 11, 19);
  }
  if (first.is_double && !second.is_double && !is_new) return 0;
  if (written.is_same(read)) {
    if (first.is_double && second.is_double && first.passes == 4 && second.passes == 4) return 4;
    return is_new && first.passes == 2 ? 2 : 0;
  }
  if (first.is_double) return second.is_xdl ? 0 : first.passes == 4 ? 4 : 9;
  if (is_new) {
    if (second.is_xdl && !first.is_xdl) return 0;
    return first.passes + (first.is_xdl ? 1u : 0u);
  }
  const uint32_t states = by_passes(first.passes, 2, 8, 16);
  return second.is_double ? states + 1 : states;
}

// … as an operand, or overwritten, by anything else.
uint32_t matrix_to_others(amd::GfxTarget target, const WaitStateFacts& first, bool is_memory_read) {
  if (first.is_double) {
    if (is_memory_read) return first.passes == 4 ? 9 : 18;
    return first.passes == 4 ? 6 : 11;
  }
  if (is_gfx94x(target)) return first.passes + (first.is_xdl ? 3u : 2u);
  return by_passes(first.passes, 5, 11, 19);
}

// A vector register that a vector instruction has written.
uint32_t vector_to_vector(amd::GfxTarget target, const WaitStateFacts& first,
                          const RegisterRange& written, const WaitStateFacts& second,
                          const RegisterRange& read) {
  uint32_t states = 0;
  const auto at_least = [&states](bool applies, uint32_t count) {
    if (applies) states = std::max(states, count);
  };
  at_least(second.is_dpp, 2);
  if (is_gfx908(target)) {
    const bool is_plain = written.file == RegisterFile::kVgpr;
    at_least(is_plain && (second.is_matrix || is_accvgpr_write(second)), 2);
    at_least(is_plain && is_accvgpr_read(first) && second.is_memory, 2);
    if (written.file == RegisterFile::kAgpr)
      at_least(true, gfx908_accumulators(first, written, second, read));
    return states;
  }
  at_least(second.is_matrix && !first.is_matrix && !first.is_dot, 2);
  if (first.is_matrix && second.is_matrix)
    at_least(true, matrix_to_matrix(target, first, written, second, read));
  else if (first.is_matrix && (second.is_vector || second.is_memory))
    at_least(true, matrix_to_others(target, first, second.is_memory));
  const bool is_chain = first.op == second.op && read.role == Role::kAccumulator;
  at_least(first.is_dot && !is_chain && (second.is_vector || second.is_memory), 3);
  if (is_gfx94x(target)) {
    at_least(is_readlane(second) && read.role == Role::kSource, 1);
    at_least(second.is_vector && !second.is_transcendental && first.is_transcendental, 1);
    at_least(second.is_vector && first.is_part, 1);
  }
  return states;
}

}  // namespace

bool has_wait_states(amd::GfxTarget target) {
  return is_gfx908(target) || is_gfx90a(target) || is_gfx94x(target);
}

uint32_t RegisterRange::common(const RegisterRange& other) const {
  if (file != other.file) return 0;
  uint32_t bits = 0;
  for (uint32_t i = 0; i < count; ++i)
    if (first + i >= other.first && first + i < uint32_t{other.first} + other.count)
      bits |= 1u << i;
  return bits;
}

uint32_t WaitStateFacts::reach() const {
  if (is_matrix) return 19;
  if (!is_vector) return 2;
  for (const RegisterRange& range : all_writes())
    if (!range.is_vector()) return 5;
  return 3;
}

WaitStateFacts wait_state_facts(const Inst& inst, amd::GfxTarget target) {
  return FactsMaker(inst, target).make();
}

uint32_t states_before_read(amd::GfxTarget target, const WaitStateFacts& first,
                            const RegisterRange& written, const WaitStateFacts& second,
                            const RegisterRange& read) {
  if (written.is_vector())
    return first.is_vector ? vector_to_vector(target, first, written, second, read) : 0;
  const bool is_m0 = read.file == RegisterFile::kScalar && read.first == isa::slot::kM0;
  if (first.is_scalar) return is_m0 && second.uses_m0_early ? 1 : 0;
  if (!first.is_vector || is_exec(written)) return 0;
  if (second.is_memory) return !second.is_lds && read.role == Role::kAddress ? 5 : 0;
  if (second.op == Op::v_div_fmas_f32 || second.op == Op::v_div_fmas_f64)
    return read.first == isa::slot::kVccLo ? 4 : 0;
  if (read.role == Role::kLaneSelect) return 4;
  return second.is_vector && is_gfx94x(target) ? 2 : 0;
}

uint32_t states_before_write(amd::GfxTarget target, const WaitStateFacts& first,
                             const RegisterRange& written, const WaitStateFacts& second) {
  if (!written.is_vector() || !first.is_vector) return 0;
  if (is_gfx908(target))
    return first.is_matrix && is_accvgpr_write(second) ? by_passes(first.passes, 1, 7, 15) : 0;
  if (second.is_matrix || !(second.is_vector || second.is_memory)) return 0;
  if (first.is_matrix) return matrix_to_others(target, first, /*is_memory_read=*/false);
  return first.is_dot && first.op != second.op ? 3 : 0;
}

uint32_t states_after_read(amd::GfxTarget target, const WaitStateFacts& first,
                           const RegisterRange& read, const WaitStateFacts& second) {
  if (!read.is_vector()) return 0;
  if (first.is_wide_store && read.role == Role::kData)
    return !second.is_vector ? 0 : is_gfx94x(target) ? 2 : 1;
  if (!first.is_matrix || first.is_double || read.role != Role::kAccumulator) return 0;
  if (is_gfx908(target)) return is_accvgpr_write(second) ? by_passes(first.passes, 0, 5, 13) : 0;
  if (second.is_matrix || !(second.is_vector || second.is_memory)) return 0;
  if (is_gfx94x(target) && !first.is_xdl) return 0;
  return first.passes == 4 ? 3 : by_passes(first.passes, 1, 7, 15);
}

uint32_t states_between(amd::GfxTarget target, const WaitStateFacts& first,
                        const WaitStateFacts& second) {
  if (first.is_double && second.is_fma_f64) return 2;
  const bool is_setreg = first.op == Op::s_setreg_b32 || first.op == Op::s_setreg_imm32_b32;
  if (is_setreg && second.hwreg == first.hwreg) return 2;
  const bool writes_exec = first.is_vector && !first.is_matrix &&
                           std::any_of(first.writes, first.writes + first.write_count, is_exec);
  if (!writes_exec) return 0;
  if (second.is_dpp) return 5;
  if (second.is_matrix || (is_gfx908(target) && is_accvgpr_write(second))) return 4;
  const bool is_lane = is_readlane(second) || second.op == Op::v_writelane_b32;
  return is_lane && is_gfx94x(target) ? 4 : 0;
}

}  // namespace wavetap::sanitize
