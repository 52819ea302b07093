// How each instruction counts. Decided from the canonical name, once per static instruction.
//
// Operations: add, subtract, multiply and the transcendental functions count one per lane, fused
// and unfused multiply-adds two, a dot product of n pairs 2n, packed operations twice that of one
// half. Comparisons, minimum, maximum, conversions and moves count none, as in AMD's own FLOP
// metrics.
//
// Cycles: the issue model is deliberately simple (one wave, no stalls). A 64-lane instruction takes
// four cycles on gfx9's 16-lane units and two on gfx10's and later 32-lane ones; a transcendental
// or double-precision one four times as long; a matrix one its operations divided by the unit's
// width.
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "emu/lower.h"

namespace wavetap::emu {
namespace {

using isa::Family;
using isa::Inst;
using std::string_view;

bool has(string_view name, string_view part) { return name.find(part) != string_view::npos; }

StepCount::Class class_of_sopp(string_view name) {
  if (name.starts_with("s_branch") || name.starts_with("s_cbranch")) return StepCount::kBranch;
  if (name == "s_barrier") return StepCount::kBarrier;
  if (name.starts_with("s_sendmsg")) return StepCount::kMessage;
  if (name.starts_with("s_wait")) return StepCount::kWait;
  return StepCount::kOther;
}

StepCount::Class class_of_vmem(string_view name) {
  if (has(name, "_atomic")) return StepCount::kVmemAtomic;
  if (has(name, "_store")) return StepCount::kVmemStore;
  if (has(name, "_load")) return StepCount::kVmemLoad;
  return StepCount::kOther;  // cache control
}

StepCount::Class class_of(const Inst& inst, string_view name) {
  switch (inst.family) {
    case Family::kSop:
      if (name.starts_with("s_waitcnt")) return StepCount::kWait;
      if (name.starts_with("s_sendmsg")) return StepCount::kMessage;
      return StepCount::kSalu;
    case Family::kSopp: return class_of_sopp(name);
    case Family::kSmem: return StepCount::kSmem;
    case Family::kVop:
    case Family::kVopc:
    case Family::kVopd: return StepCount::kValu;
    case Family::kMatrix: return StepCount::kMatrix;
    case Family::kDs: return StepCount::kLds;
    case Family::kFlat:
    case Family::kMubuf:
    case Family::kImage: return class_of_vmem(name);
    default: return StepCount::kOther;
  }
}

bool is_transcendental(string_view name) {
  for (const string_view part :
       {"v_rcp_", "v_rsq_", "v_sqrt_", "v_exp_", "v_log_", "v_sin_", "v_cos_"})
    if (name.starts_with(part)) return true;
  return false;
}

// Operations per lane and their precision.
void count_flops(string_view name, StepCount& count) {
  if (name.starts_with("v_dot")) {  // v_dot2_f32_f16, v_dot2c_f32_f16, v_dot2_f32_bf16
    if (!has(name, "_f32_") && !has(name, "_f16_f16") && !has(name, "_bf16_bf16")) return;
    count.flops_per_lane = static_cast<uint16_t>(2 * (name[5] - '0'));
    count.precision = StepCount::kF16;
    return;
  }
  bool packed = false;
  string_view rest = name;
  if (rest.starts_with("v_pk_")) packed = true, rest.remove_prefix(5);
  else if (rest.starts_with("v_")) rest.remove_prefix(2);
  const size_t underscore = rest.find('_');
  const string_view verb = rest.substr(0, underscore);
  const string_view type =
      underscore == string_view::npos ? string_view{} : rest.substr(underscore + 1);

  uint16_t each = 0;
  for (const string_view v : {"add", "sub", "subrev", "mul"})
    if (verb == v) each = 1;
  for (const string_view v : {"fma", "fmac", "mac", "mad", "fmaak", "fmamk", "madak", "madmk"})
    if (verb == v) each = 2;
  if (is_transcendental(name)) each = 1;
  if (name.starts_with("v_div_fmas")) each = 2;
  if (each == 0) return;

  const string_view precision = verb == "div" ? type.substr(type.find('_') + 1) : type;
  if (precision.starts_with("f16") || precision.starts_with("legacy_f16"))
    count.precision = StepCount::kF16;
  else if (precision.starts_with("f32") || precision.starts_with("legacy_f32") || has(name, "_mix"))
    count.precision = StepCount::kF32;
  else if (precision.starts_with("f64")) count.precision = StepCount::kF64;
  else if (name.starts_with("v_fma_mix") || name.starts_with("v_mad_mix"))
    count.precision = StepCount::kF32;
  else return;
  count.flops_per_lane = packed ? each * 2 : each;
}

// Operations of a whole matrix instruction, from the MxNxK in its name. A dense MFMA may work on
// several independent blocks at once; their number follows from how many elements of A a wave
// holds.
uint32_t matrix_flops(const Inst& inst, string_view name, bool wave64) {
  uint32_t dims[3] = {0, 0, 0};
  const char* at = nullptr;
  const char* end = name.data() + name.size();
  for (const char* p = name.data(); p + 1 < end; ++p)
    if (p[0] >= '0' && p[0] <= '9' && p != name.data() && p[-1] == '_') {
      char* stop = nullptr;
      dims[0] = static_cast<uint32_t>(std::strtoul(p, &stop, 10));
      if (*stop != 'x') continue;
      dims[1] = static_cast<uint32_t>(std::strtoul(stop + 1, &stop, 10));
      if (*stop != 'x') continue;
      dims[2] = static_cast<uint32_t>(std::strtoul(stop + 1, &stop, 10));
      at = stop;
      break;
    }
  if (at == nullptr) return 0;
  const uint32_t one = 2 * dims[0] * dims[1] * dims[2];
  if (!name.starts_with("v_mfma")) return one;  // sparse and WMMA: a single block
  if (*at == '_') ++at;
  const string_view type(at, static_cast<size_t>(end - at));
  uint32_t bits = 8;
  if (type.starts_with("f64")) bits = 64;
  else if (type.starts_with("f32") || type.starts_with("xf32")) bits = 32;
  else if (type.starts_with("f16") || type.starts_with("bf16")) bits = 16;
  else if (type.starts_with("f8f6f4")) return one;
  const uint32_t lanes = wave64 ? 64 : 32;
  const uint32_t elements = lanes * inst.src[0].dwords * 32 / bits;
  const uint32_t blocks = elements / (dims[0] * dims[2]);
  return one * (blocks == 0 ? 1 : blocks);
}

uint16_t cycles_of(const StepCount& count, string_view name, Shape shape) {
  const bool gfx9 = shape.target.major == 9;
  const uint16_t pass = !shape.wave64 ? 1 : gfx9 ? 4 : 2;
  switch (count.type) {
    case StepCount::kNothing: return 0;
    case StepCount::kValu:
      if (is_transcendental(name)) return pass * 4;
      // gfx90a and later CDNA run double precision at full rate.
      if (count.precision == StepCount::kF64 && !shape.target.is_gfx90a_family()) return pass * 4;
      return pass;
    case StepCount::kMatrix: return static_cast<uint16_t>(4 + count.flops / (gfx9 ? 1024 : 512));
    case StepCount::kVmemLoad:
    case StepCount::kVmemStore:
    case StepCount::kVmemAtomic: return pass * 4;
    case StepCount::kLds: return pass * 2;
    default: return 1;
  }
}

}  // namespace

StepCount classify(const isa::Inst& inst, Shape shape) {
  const string_view name = isa::op_name(inst.op);
  StepCount count;
  count.type = class_of(inst, name);
  if (count.type == StepCount::kValu) count_flops(name, count);
  if (count.type == StepCount::kMatrix) count.flops = matrix_flops(inst, name, shape.wave64);
  count.cycles = cycles_of(count, name, shape);
  return count;
}

}  // namespace wavetap::emu
