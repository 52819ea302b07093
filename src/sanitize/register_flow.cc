#include "sanitize/register_flow.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <string_view>
#include <vector>

#include "emu/wave.h"
#include "isa/program.h"
#include "sanitize/code_flow.h"
#include "sanitize/register_set.h"
#include "sanitize/undefined_bits.h"

namespace wavetap::sanitize {
namespace {

using emu::RegisterFile;
using emu::RegisterUse;
using isa::Family;
using isa::OperandKind;
namespace slot = isa::slot;

// Arguments, workgroup numbers and the like; the exact number is known when a kernel is launched.
constexpr uint32_t kMostFirstScalars = 32;
constexpr uint32_t kMostFirstScalarsPreloaded = 64;
// Work-item numbers.
constexpr uint32_t kFirstVgprs = 3;
constexpr uint32_t kAllBytes = 0xf;

bool has(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

// Everything that a wave finds undefined when it starts.
RegisterSet unwritten_at_start(const isa::Program& program) {
  const amd::GfxTarget target = program.target();
  const bool preloads = target.major > 10 || (target.major == 9 && target.minor >= 4);
  const uint32_t scalars = preloads ? kMostFirstScalarsPreloaded : kMostFirstScalars;
  RegisterSet all;
  all.add(RegisterFile::kScalar, scalars, slot::kTtmp0 - scalars);
  all.add(RegisterFile::kScalar, slot::kScc, 1);
  all.add(RegisterFile::kVgpr, kFirstVgprs, 256 - kFirstVgprs);
  all.add(RegisterFile::kAgpr, 0, 256);
  return all;
}

// What the name of an operation says about it, looked at once for each: all of this is asked at every instruction.
struct OpTraits {
  bool is_same_of_any = false;  // x ^ x, x - x: the same whatever x is
  bool is_mask_logic = false;
  bool is_packed_pair = false;  // on pairs of registers, each half for itself
  bool moves_between_lanes = false;
  bool reads_lane = false;
  bool saves_exec = false;
};

OpTraits traits_by_name(isa::Op op) {
  const std::string_view name = isa::op_name(op);
  OpTraits traits;
  traits.is_same_of_any =
      has(name, "xor") || has(name, "_sub_") || has(name, "_cmp_eq") || has(name, "_cmp_lg");
  for (const char* part : {"s_and", "s_or", "s_xor", "s_nand", "s_nor", "s_xnor", "saveexec"})
    traits.is_mask_logic |= has(name, part);
  traits.is_packed_pair =
      name.starts_with("v_pk_") && (has(name, "_f32") || op == isa::Op::v_pk_mov_b32);
  traits.moves_between_lanes =
      has(name, "permlane") || has(name, "permute") || has(name, "swizzle");
  traits.reads_lane = has(name, "readlane") || has(name, "readfirstlane");
  traits.saves_exec = has(name, "saveexec");
  return traits;
}

const OpTraits& traits_of(isa::Op op) {
  static const std::vector<OpTraits> all = [] {
    std::vector<OpTraits> traits(static_cast<size_t>(isa::Op::kCount));
    for (size_t i = 0; i < traits.size(); ++i) traits[i] = traits_by_name(static_cast<isa::Op>(i));
    return traits;
  }();
  return all[static_cast<size_t>(op)];
}

bool is_same_of_any(const isa::Inst& inst) {
  const isa::Operand& a = inst.src[0];
  const isa::Operand& b = inst.src[1];
  if (a.kind != b.kind || a.index != b.index || a.is(OperandKind::kImm)) return false;
  return traits_of(inst.op).is_same_of_any;
}

// Masks of lanes: the bits of lanes that are off may be anything, and compilers do not set them.
bool is_mask_logic(const isa::Inst& inst) {
  if (inst.family != Family::kSop) return false;
  return traits_of(inst.op).is_mask_logic ||
         (inst.dst.is(OperandKind::kScalar) && inst.dst.index == slot::kExecLo);
}

bool is_vector(const isa::Operand& operand) {
  return operand.is(OperandKind::kVgpr) || operand.is(OperandKind::kAgpr);
}

bool is_packed_pair(const isa::Inst& inst) { return traits_of(inst.op).is_packed_pair; }

bool moves_between_lanes(const isa::Inst& inst) {
  return inst.dpp != isa::Dpp::kNone || inst.family == Family::kMatrix ||
         traits_of(inst.op).moves_between_lanes;
}

}  // namespace

bool may_read_unwritten(const isa::Program& program) {
  const auto count = static_cast<size_t>(program.size());
  std::vector<NamedRegisters> named(count);
  for (size_t i = 0; i < count; ++i) {
    const isa::Inst& inst = program.insts()[i];
    named[i] = named_registers(inst);
    if (leaves_program(inst) || named[i].may_use_others) return false;
    if (is_same_of_any(inst)) named[i].reads.clear();
  }
  if (count == 0) return false;
  std::vector<RegisterSet> unwritten(count);  // before each instruction, as far as it is reached
  std::vector<bool> is_reached(count);
  std::vector<int32_t> waiting{0};
  unwritten[0] = unwritten_at_start(program);
  is_reached[0] = true;
  const auto arrive = [&](int32_t to, const RegisterSet& set) {
    if (to < 0 || to >= program.size()) return;
    const auto at = static_cast<size_t>(to);
    RegisterSet joined = unwritten[at];
    joined.add(set);
    if (is_reached[at] && joined == unwritten[at]) return;
    unwritten[at] = joined;
    is_reached[at] = true;
    waiting.push_back(to);
  };
  while (!waiting.empty()) {
    const int32_t index = waiting.back();
    waiting.pop_back();
    const auto at = static_cast<size_t>(index);
    if (named[at].reads.meets(unwritten[at])) return true;
    RegisterSet after = unwritten[at];
    after.remove(named[at].writes);
    const isa::Inst& inst = program.insts()[index];
    const Flow flow = flow_of(inst);
    if (flow == Flow::kNext || flow == Flow::kEither) arrive(index + 1, after);
    if (flow == Flow::kJump || flow == Flow::kEither) arrive(inst.target, after);
  }
  return false;
}

RegisterFlow::RegisterFlow() {
  scalar_.set();
  scalar_written_.set();
  for (std::bitset<256>& file : vector_written_) file.set();
}

RegisterFlow::RegisterFlow(uint32_t first_scalars) {
  for (uint32_t i = 0; i < slot::kCount; ++i) {
    const bool is_there = i < first_scalars || (i >= slot::kTtmp0 && i != slot::kScc);
    scalar_[i] = scalar_written_[i] = is_there;
    scalar_bits_[i] = is_there ? 0 : ~0u;
  }
  for (size_t file = 0; file < 2; ++file) {
    for (uint32_t i = 0; i < 256; ++i) {
      vector_written_[file][i] = file == 0 && i < kFirstVgprs;
      if (vector_written_[file][i]) continue;
      std::fill(std::begin(vector_[file][i].lanes), std::end(vector_[file][i].lanes), ~uint64_t{0});
    }
  }
}

bool RegisterFlow::is_written(const RegisterUse& use, uint32_t number) const {
  if (use.file == RegisterFile::kScalar) return number >= slot::kCount || scalar_written_[number];
  return vector_written_[use.file == RegisterFile::kAgpr ? 1 : 0][number % 256];
}

uint64_t RegisterFlow::undefined_in(RegisterFile file, uint32_t number, uint32_t bytes) const {
  const Bytes& of = vector_[file == RegisterFile::kAgpr ? 1 : 0][number % 256];
  uint64_t lanes = 0;
  for (uint32_t i = 0; i < 4; ++i)
    if ((bytes >> i & 1) != 0) lanes |= of.lanes[i];
  return lanes;
}

uint64_t RegisterFlow::undefined_lanes(const isa::Operand& data, uint32_t byte) const {
  const uint32_t number = data.index + byte / 4;
  if (data.is(OperandKind::kScalar))
    return number < slot::kCount && (scalar_bits_[number] >> (byte % 4 * 8) & 0xff) != 0 ? 1 : 0;
  if (!is_vector(data)) return 0;
  return vector_[data.is(OperandKind::kAgpr) ? 1 : 0][number % 256].lanes[byte % 4];
}

void RegisterFlow::load_undefined(const emu::WatchPoint& at, const isa::Operand& data,
                                  const LoadedBytes& bytes) {
  const uint32_t number = data.index + bytes.number;
  if (data.is(OperandKind::kScalar)) {
    if (number >= slot::kCount) return;
    scalar_mask_.reset(number);
    for (uint32_t i = 0; i < 4; ++i)
      if (bytes.lanes[i] != 0) scalar_bits_[number] |= 0xffu << (8 * i);
    scalar_[number] = scalar_bits_[number] == 0;
  } else if (is_vector(data)) {
    Bytes& to = vector_[data.is(OperandKind::kAgpr) ? 1 : 0][number % 256];
    for (uint32_t i = 0; i < 4; ++i) to.lanes[i] |= bytes.lanes[i];
  } else {
    return;
  }
  // A variable's place in memory: where its value came from says more.
  if (bytes.was_stored && bytes.kind == Kind::kUninitialisedPrivate && origin_.is_load) return;
  origin_ = {.pc = at.pc, .what = "", .is_load = true, .kind = bytes.kind};
  const bool is_one = bytes.first == bytes.last;
  origin_.what = is_one
                     ? "byte " + std::to_string(bytes.first)
                     : "bytes " + std::to_string(bytes.first) + " to " + std::to_string(bytes.last);
  origin_.what += std::string(" of what was loaded ") + (is_one ? "was" : "were") +
                  (bytes.was_stored ? " made of what nobody has written" : " never written");
}

void RegisterFlow::note_origin(const emu::WatchPoint& at, const RegisterUse& use, uint32_t number) {
  if (is_written(use, number)) return;
  origin_ = {};
  origin_.pc = at.pc;
  const bool is_scalar = use.file == RegisterFile::kScalar;
  if (is_scalar && number == slot::kScc) origin_.what = "scc";
  else if (is_scalar && number >= slot::kVccLo) origin_.what = "vcc";
  else {
    origin_.what = is_scalar ? 's' : use.file == RegisterFile::kVgpr ? 'v' : 'a';
    origin_.what += std::to_string(number);
  }
  origin_.what += " was read without having been written";
}

RegisterFlow::Bad RegisterFlow::bad_sources(const emu::WatchPoint& at,
                                            const emu::RegisterUses& uses) {
  Bad bad;
  if (is_same_of_any(at.inst)) return bad;
  if (at.inst.op == isa::Op::v_cndmask_b32) return bad_choice(at);
  if (is_packed_pair(at.inst)) return bad_halves(at);
  const bool is_logic = is_mask_logic(at.inst);
  const bool is_of_lanes = at.inst.family == Family::kVop || at.inst.family == Family::kVopc;
  for (const RegisterUse& use : uses) {
    if (use.is_write) continue;
    for (uint32_t i = 0; i < use.count; ++i) {
      const uint32_t number = use.first + i;
      if (use.file == RegisterFile::kScalar) {
        if (number >= slot::kCount || scalar_[number]) continue;
        if (is_logic && !scalar_mask_[number] && !origin_.is_load) continue;
        if (is_of_lanes && scalar_mask_[number]) {  // a carry, say: each lane has its bit
          const uint64_t lanes = uint64_t{scalar_bits_[number]} << (i == 1 ? 32 : 0);
          bad.lanes |= lanes & at.wave.exec();
          bad.low_lanes |= lanes & at.wave.exec();
          note_origin(at, use, number);
          continue;
        }
        bad.is_mask |= scalar_mask_[number];
        bad.is_scalar = true;
        bad.is_low_scalar |= i == 0;
      } else {
        const uint64_t lanes = use.lanes & undefined_in(use.file, number, use.bytes);
        if (lanes == 0) continue;
        bad.lanes |= lanes;
        if (i == 0) bad.low_lanes |= lanes;
      }
      note_origin(at, use, number);
    }
  }
  return bad;
}

// It takes one of two.
RegisterFlow::Bad RegisterFlow::bad_choice(const emu::WatchPoint& at) {
  Bad bad;
  for (size_t i = 0; i < 3; ++i)
    bad_operand(at, at.inst.src[i], /*is_all=*/false);  // notes where it comes from
  const uint64_t exec = at.wave.exec();
  const auto lanes = [&](const isa::Operand& of, uint32_t byte) {
    if (is_vector(of)) return undefined_lanes(of, byte) & exec;
    return undefined_lanes(of, byte) != 0 ? exec : 0;
  };
  bad.has_bytes = true;
  for (uint32_t byte = 0; byte < 4; ++byte)
    bad.bytes[0].lanes[byte] = (lanes(at.inst.src[0], byte) & lanes(at.inst.src[1], byte)) |
                               (bits_of(at.inst.src[2]) & exec);
  bad.lanes = bad.low_lanes = bad.bytes[0].any();
  return bad;
}

RegisterFlow::Bad RegisterFlow::bad_halves(const emu::WatchPoint& at) {
  Bad bad;
  // It takes its halves from one source each, by op_sel alone.
  const bool is_move = at.inst.op == isa::Op::v_pk_mov_b32;
  for (size_t i = 0; i < std::size(at.inst.src); ++i) {
    const isa::Operand& source = at.inst.src[i];
    const auto half = [&](bool is_high) {
      isa::Operand one = source;
      if (source.dwords > 1 && is_high) ++one.index;
      one.dwords = 1;
      return bad_operand(at, one, /*is_all=*/false);
    };
    if (!is_move || i == 0) {
      const Bad low = half(source.op_sel);
      bad.low_lanes |= low.lanes;
      bad.is_low_scalar |= low.is_scalar;
    }
    if (!is_move || i == 1) {
      const Bad high = half(is_move ? source.op_sel : source.op_sel_hi);
      bad.lanes |= high.lanes;
      bad.is_scalar |= high.is_scalar;
    }
  }
  return bad;
}

RegisterFlow::Bad RegisterFlow::bad_operand(const emu::WatchPoint& at, const isa::Operand& operand,
                                            bool is_all) {
  Bad bad;
  const uint32_t count = std::max<uint32_t>(operand.dwords, 1);
  RegisterUse use{.first = operand.index};
  if (operand.is(OperandKind::kScalar)) {
    uint32_t undefined = 0;
    for (uint32_t i = 0; i < count; ++i) {
      if (operand.index + i >= slot::kCount || scalar_[operand.index + i]) continue;
      ++undefined;
      note_origin(at, use, operand.index + i);
    }
    bad.is_scalar = is_all ? undefined == count : undefined != 0;
  } else if (is_vector(operand)) {
    use.file = operand.is(OperandKind::kVgpr) ? RegisterFile::kVgpr : RegisterFile::kAgpr;
    uint64_t any = 0;
    uint64_t all = ~uint64_t{0};
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t undefined =
          at.wave.exec() & undefined_in(use.file, operand.index + i, kAllBytes);
      any |= undefined;
      all &= undefined;
      if (undefined != 0) note_origin(at, use, operand.index + i);
    }
    bad.lanes = is_all ? all & at.wave.exec() : any;
  }
  return bad;
}

uint64_t RegisterFlow::bits_of(const isa::Operand& operand) const {
  if (!operand.is(OperandKind::kScalar)) return 0;
  uint64_t bits = 0;
  for (uint32_t i = 0; i < std::clamp<uint32_t>(operand.dwords, 1, 2); ++i)
    if (operand.index + i < slot::kCount)
      bits |= uint64_t{scalar_bits_[operand.index + i]} << (32 * i);
  return bits;
}

// A bit is undefined unless the other operand decides it: 0 for an and, 1 for an or.
uint64_t RegisterFlow::bits_of_logic(const emu::WatchPoint& at) const {
  const isa::Inst& inst = at.inst;
  const std::string_view name = isa::op_name(inst.op);
  const bool is_wide = has(name, "b64");
  const auto value_of = [&](const isa::Operand& operand) {
    return is_wide ? at.wave.read_s64(operand) : uint64_t{at.wave.read_s32(operand)};
  };
  const bool saves = has(name, "exec");  // the second operand is EXEC
  const uint64_t one_bits = bits_of(inst.src[0]);
  const uint64_t other_bits = saves ? 0 : bits_of(inst.src[1]);
  const bool is_or = has(name, "_or") || has(name, "_nor");
  const bool is_and = has(name, "_and") || has(name, "_nand");
  if (!is_or && !is_and) return one_bits | other_bits;
  uint64_t one = value_of(inst.src[0]);
  uint64_t other = saves ? at.wave.exec() : value_of(inst.src[1]);
  if (has(name, "n1_") || has(name, "not0")) one = ~one;
  if (has(name, "n2_") || has(name, "not1")) other = ~other;
  if (is_or) {
    one = ~one;
    other = ~other;
  }
  return (one_bits & (other_bits | other)) | (other_bits & (one_bits | one));
}

void RegisterFlow::source_bits(const emu::WatchPoint& at, const isa::Operand& operand,
                               uint32_t lane, uint64_t* undefined, uint64_t* value) const {
  *undefined = *value = 0;
  if (operand.is(OperandKind::kNone)) return;
  if (!is_vector(operand)) {
    *undefined = bits_of(operand);
    *value = operand.dwords > 1 ? at.wave.read_s64(operand) : at.wave.read_s32(operand);
  }
  const bool is_agpr = operand.is(OperandKind::kAgpr);
  for (uint32_t i = 0; is_vector(operand) && i < std::clamp<uint32_t>(operand.dwords, 1, 2); ++i) {
    const uint32_t number = operand.index + i;
    const uint32_t* const row = is_agpr ? at.wave.arow(number) : at.wave.vrow(number);
    *value |= uint64_t{row[lane]} << (32 * i);
    for (uint32_t byte = 0; byte < 4; ++byte)
      if ((vector_[is_agpr ? 1 : 0][number % 256].lanes[byte] >> lane & 1) != 0)
        *undefined |= uint64_t{0xff} << (32 * i + 8 * byte);
  }
  if (operand.sel == isa::Sel::kDword) return;
  const bool is_word = operand.sel >= isa::Sel::kWord0;
  const uint32_t width = is_word ? 16 : 8;
  const auto first = static_cast<uint32_t>(is_word ? isa::Sel::kWord0 : isa::Sel::kByte0);
  const uint32_t shift = (static_cast<uint32_t>(operand.sel) - first) * width;
  for (uint64_t* const bits : {undefined, value}) {
    *bits = *bits >> shift & ((uint64_t{1} << width) - 1);
    if (operand.sext && (*bits >> (width - 1) & 1) != 0) *bits |= ~uint64_t{0} << width;
  }
}

// What is read out of one lane is a value, and not a mask.
RegisterFlow::Bad RegisterFlow::bad_lane(const emu::WatchPoint& at) const {
  const uint64_t exec = at.wave.exec();
  auto lane = static_cast<uint32_t>(exec == 0 ? 0 : std::countr_zero(exec));
  if (at.inst.op == isa::Op::v_readlane_b32)
    lane = at.wave.read_s32(at.inst.src[1]) % static_cast<uint32_t>(at.wave.lanes);
  Bad bad;
  uint64_t value = 0;
  bad.has_bits = true;
  source_bits(at, at.inst.src[0], lane, &bad.bits, &value);
  bad.is_scalar = bad.is_low_scalar = bad.bits != 0;
  return bad;
}

void RegisterFlow::look_at_lanes(const emu::WatchPoint& at, Bad& bad) const {
  const isa::Inst& inst = at.inst;
  const uint64_t lanes = bad.is_scalar ? at.wave.exec() : bad.lanes;
  Bytes result[2];
  for (uint32_t lane = 0; lane < 64; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    SourceBits of;
    for (size_t i = 0; i < 3; ++i)
      source_bits(at, inst.src[i], lane, &of.undefined[i], &of.value[i]);
    uint64_t bits = 0;
    if (!find_undefined_bits(inst.op, of, &bits)) return;
    if (inst.dst.sel >= isa::Sel::kWord0)
      bits = (bits & 0xffff) << (inst.dst.sel == isa::Sel::kWord1 ? 16 : 0);
    else if (inst.dst.sel != isa::Sel::kDword)
      bits = (bits & 0xff) << 8 * (static_cast<uint32_t>(inst.dst.sel) -
                                   static_cast<uint32_t>(isa::Sel::kByte0));
    for (uint32_t byte = 0; byte < 8; ++byte)
      if ((bits >> (8 * byte) & 0xff) != 0) result[byte / 4].lanes[byte % 4] |= uint64_t{1} << lane;
  }
  bad = {};
  bad.has_bytes = true;
  bad.bytes[0] = result[0];
  bad.bytes[1] = result[1];
  bad.low_lanes = result[0].any();
  bad.lanes = inst.dst.dwords > 1 ? result[0].any() | result[1].any() : result[0].any();
}

// Operations on pairs of 16-bit values: each half of the result is made of halves.
void RegisterFlow::look_at_halves(const emu::WatchPoint& at, Bad& bad) const {
  Bytes result;
  for (const isa::Operand& source : at.inst.src) {
    if (!is_vector(source) || source.dwords > 1) {
      if (bits_of(source) == 0) continue;
      result = {{at.wave.exec(), at.wave.exec(), at.wave.exec(), at.wave.exec()}};
      break;
    }
    const RegisterFile file =
        source.is(OperandKind::kAgpr) ? RegisterFile::kAgpr : RegisterFile::kVgpr;
    const uint64_t low = undefined_in(file, source.index, source.op_sel ? 0xc : 0x3);
    const uint64_t high = undefined_in(file, source.index, source.op_sel_hi ? 0xc : 0x3);
    for (uint32_t i = 0; i < 4; ++i) result.lanes[i] |= (i < 2 ? low : high) & at.wave.exec();
  }
  bad = {};
  bad.has_bytes = true;
  bad.bytes[0] = result;
  bad.lanes = bad.low_lanes = result.any();
}

void RegisterFlow::look_at_bits(const emu::WatchPoint& at, Bad& bad) const {
  const isa::Inst& inst = at.inst;
  if (inst.family == Family::kSop) {
    SourceBits of;
    for (size_t i = 0; i < 2; ++i) source_bits(at, inst.src[i], 0, &of.undefined[i], &of.value[i]);
    uint64_t bits = 0;
    if (bad.is_mask || !find_undefined_bits(inst.op, of, &bits)) return;
    bad.has_bits = true;
    bad.bits = bits;
    if (inst.dst.dwords < 2) bad.bits &= 0xffff'ffff;
    bad.is_scalar = bad.is_low_scalar = bad.bits != 0;
    return;
  }
  if (inst.family != Family::kVop || inst.dpp != isa::Dpp::kNone || !is_vector(inst.dst)) return;
  const std::string_view name = isa::op_name(inst.op);
  const bool is_packed = name.starts_with("v_pk_") && name.ends_with("16");
  if (is_packed && inst.dst.dwords == 1) return look_at_halves(at, bad);
  look_at_lanes(at, bad);
}

void RegisterFlow::write(const RegisterUse& use, const Bad& bad) {
  for (uint32_t i = 0; i < use.count; ++i) {
    const uint32_t number = use.first + i;
    const bool is_low = i == 0 && use.count > 1;
    const bool is_scalar = is_low ? bad.is_low_scalar : bad.is_scalar;
    const uint64_t bad_lanes = is_low ? bad.low_lanes : bad.lanes;
    if (use.file == RegisterFile::kScalar) {
      if (number >= slot::kCount) continue;
      const uint64_t bits = bad.has_bits ? bad.bits : is_scalar ? ~uint64_t{0} : bad_lanes;
      scalar_bits_[number] = static_cast<uint32_t>(i == 1 ? bits >> 32 : bits);
      // Of a pair that is half of something longer, what is undefined in one is so in both.
      if (i > 1) scalar_bits_[number] = bits != 0 ? ~0u : 0;
      scalar_[number] = scalar_bits_[number] == 0;
      scalar_written_[number] = true;
      scalar_mask_[number] = !scalar_[number] && (bad.is_mask || (bad_lanes != 0 && !bad.has_bits));
      continue;
    }
    const size_t file = use.file == RegisterFile::kAgpr ? 1 : 0;
    Bytes& bytes = vector_[file][number % 256];
    if (!vector_written_[file][number % 256]) bytes = {};
    vector_written_[file][number % 256] = true;
    for (uint32_t byte = 0; byte < 4; ++byte) {
      if ((use.bytes >> byte & 1) == 0) continue;  // it is what it was
      const uint64_t undefined = bad.has_bytes ? bad.bytes[i % 2].lanes[byte]
                                 : is_scalar   ? ~uint64_t{0}
                                               : bad_lanes;
      bytes.lanes[byte] = (bytes.lanes[byte] & ~use.lanes) | (use.lanes & undefined);
    }
  }
}

// It has been told of.
void RegisterFlow::forgive(const isa::Operand& operand) {
  RegisterUse use{.count = std::max<uint8_t>(operand.dwords, 1), .first = operand.index};
  use.lanes = ~uint64_t{0};
  if (is_vector(operand))
    use.file = operand.is(OperandKind::kVgpr) ? RegisterFile::kVgpr : RegisterFile::kAgpr;
  else if (!operand.is(OperandKind::kScalar)) return;
  write(use, {});
}

void RegisterFlow::report(const emu::WatchPoint& at, FindingTable& findings, const Bad& bad,
                          const char* use) {
  const uint64_t lanes = bad.lanes != 0                                ? bad.lanes
                         : bad.has_bits && (bad.bits & at.wave.exec()) ? bad.bits & at.wave.exec()
                                                                       : at.wave.exec();
  Finding finding = finding_at(origin_.kind, at, lanes);
  finding.detail = origin_.what + "; " + use;
  if (!(origin_.pc == at.pc)) {
    finding.has_other = true;
    finding.other_role = origin_.is_load ? "loaded" : "read";
    finding.other = finding.place;
    finding.other.pc = origin_.pc;
  }
  findings.add(finding);
}

void RegisterFlow::check_memory(const emu::WatchPoint& at, FindingTable& findings) {
  const isa::Inst& inst = at.inst;
  for (const isa::Operand* operand : {&inst.vaddr, &inst.saddr, &inst.soffset}) {
    const Bad bad = bad_operand(at, *operand, /*is_all=*/false);
    if (!bad.any()) continue;
    report(at, findings, bad, "this address is made of it");
    forgive(*operand);
  }
  // Registers are saved in scratch whatever they hold.
  const std::string_view name = isa::op_name(inst.op);
  if (inst.family == Family::kMubuf || has(name, "scratch_") || origin_.is_load) return;
  for (const isa::Operand& data : inst.src) {
    const Bad bad = bad_operand(at, data, /*is_all=*/true);
    if (!bad.any()) continue;
    report(at, findings, bad, "what is stored is made of it");
    forgive(data);
  }
}

// A branch on whether VCC is 0: one bit that is defined and set is enough.
bool RegisterFlow::is_decided(const emu::WatchPoint& at) const {
  if (!has(isa::op_name(at.inst.op), "_vcc")) return false;
  const uint64_t undefined = scalar_bits_[slot::kVccLo] | uint64_t{scalar_bits_[slot::kVccHi]}
                                                              << 32;
  return (at.wave.vcc() & ~undefined) != 0;
}

void RegisterFlow::step(const emu::WatchPoint& at, FindingTable& findings) {
  const isa::Inst& inst = at.inst;
  emu::RegisterUses uses;
  emu::find_register_uses(at.wave, inst, uses);
  Bad bad;
  switch (inst.family) {
    case Family::kSmem:
    case Family::kFlat:
    case Family::kMubuf:
    case Family::kImage: check_memory(at, findings); break;
    case Family::kDs:
      if (moves_between_lanes(inst)) bad = bad_sources(at, uses);
      else check_memory(at, findings);
      break;
    case Family::kSopp:
      bad = bad_sources(at, uses);
      if (is_decided(at)) bad = {};
      if (flow_of(inst) == Flow::kEither && bad.any()) {
        report(at, findings, bad, "this branch depends on it");
        for (const RegisterUse& use : uses) write(use, {});
      }
      return;
    default: bad = bad_sources(at, uses); break;
  }
  const OpTraits& traits = traits_of(inst.op);
  if (bad.any() && is_mask_logic(inst)) {
    bad.has_bits = true;
    bad.bits = bits_of_logic(at);
    if (bad.bits == 0) bad = {};
  }
  if (bad.any() && !bad.has_bits && !bad.has_bytes) look_at_bits(at, bad);
  if (traits.reads_lane) bad = bad_lane(at);
  if (moves_between_lanes(inst)) {
    // Which lane came from where is not followed: undefined where all of them are.
    const bool is_all = (bad.lanes & at.wave.exec()) == at.wave.exec();
    if (!is_all) bad.lanes = bad.low_lanes = 0;
  }
  for (const RegisterUse& use : uses) {
    if (!use.is_write) continue;
    const bool is_exec = use.file == RegisterFile::kScalar &&
                         (use.first == slot::kExecLo || use.first == slot::kExecHi);
    if (is_exec && bad.any()) {
      report(at, findings, bad, "which lanes go on depends on it");
      bad = {};
    }
    // What is saved is EXEC as it was.
    const bool is_saved = !is_exec && traits.saves_exec;
    const bool is_scc = use.file == RegisterFile::kScalar && use.first == slot::kScc;
    write(use, is_saved || (is_scc && bad.has_bits) ? Bad{} : bad);
  }
}

}  // namespace wavetap::sanitize
