#include "isa/wait_counters.h"

#include <string_view>

namespace wavetap::isa {
namespace {

uint8_t& limit_of(WaitEffect& effect, WaitCounter counter) {
  return effect.most[static_cast<size_t>(counter)];
}

// All ones means that it does not wait.
void set_limit(WaitEffect& effect, WaitCounter counter, uint32_t most, uint8_t major) {
  if (most < full_count(counter, major)) limit_of(effect, counter) = static_cast<uint8_t>(most);
}

// The fields of s_waitcnt.
void decode_wait(WaitEffect& effect, uint32_t imm, uint8_t major) {
  uint32_t vmcnt = 0;
  uint32_t lgkmcnt = 0;
  if (major >= 11) {
    vmcnt = imm >> 10 & 63;
    lgkmcnt = imm >> 4 & 63;
  } else {
    vmcnt = (imm & 15) | (imm >> 14 & 3) << 4;
    lgkmcnt = imm >> 8 & full_count(WaitCounter::kLgkmcnt, major);
  }
  set_limit(effect, WaitCounter::kVmcnt, vmcnt, major);
  set_limit(effect, WaitCounter::kLgkmcnt, lgkmcnt, major);
}

bool is_cache_invalidate(Op op) {
  return std::string_view(op_name(op)).find("inv") != std::string_view::npos;
}

bool is_flat(const Inst& inst) {
  return inst.family == Family::kFlat && std::string_view(op_name(inst.op)).starts_with("flat_");
}

uint8_t classes_of(const Inst& inst, bool has_vscnt) {
  switch (inst.family) {
    case Family::kSmem: return bit_of(WaitClass::kScalar);
    case Family::kDs: return inst.gds ? bit_of(WaitClass::kGds) : bit_of(WaitClass::kLds);
    case Family::kMubuf:
    case Family::kImage:
    case Family::kFlat: {
      if (is_cache_invalidate(inst.op)) return 0;
      const bool returns = inst.dst.kind != OperandKind::kNone || inst.lds;
      const uint8_t vector = bit_of(returns || !has_vscnt ? WaitClass::kVector : WaitClass::kStore);
      const uint8_t shared = bit_of(has_vscnt ? WaitClass::kLds : WaitClass::kFlat);
      return is_flat(inst) ? vector | shared : vector;
    }
    default: break;
  }
  const bool is_message = inst.op == Op::s_sendmsg || inst.op == Op::s_sendmsg_rtn_b32 ||
                          inst.op == Op::s_sendmsg_rtn_b64;
  return is_message ? bit_of(WaitClass::kMessage) : uint8_t{0};
}

}  // namespace

const char* name_of(WaitCounter counter) {
  constexpr const char* kCounterNames[kWaitCounters] = {"vmcnt", "lgkmcnt", "vscnt"};
  return kCounterNames[static_cast<size_t>(counter)];
}

uint8_t full_count(WaitCounter counter, uint8_t gfx_major) {
  return counter == WaitCounter::kLgkmcnt && gfx_major < 10 ? 15 : 63;
}

WaitEffect wait_effect_of(const Inst& inst, uint8_t gfx_major) {
  WaitEffect effect;
  const auto imm = static_cast<uint32_t>(inst.imm16) & 0xffffu;
  switch (inst.op) {
    case Op::s_waitcnt: decode_wait(effect, imm, gfx_major); break;
    case Op::s_waitcnt_vmcnt: set_limit(effect, WaitCounter::kVmcnt, imm, gfx_major); break;
    case Op::s_waitcnt_lgkmcnt: set_limit(effect, WaitCounter::kLgkmcnt, imm, gfx_major); break;
    case Op::s_waitcnt_vscnt: set_limit(effect, WaitCounter::kVscnt, imm, gfx_major); break;
    default: effect.issues = classes_of(inst, gfx_major >= 10); effect.is_flat = is_flat(inst);
  }
  return effect;
}

}  // namespace wavetap::isa
