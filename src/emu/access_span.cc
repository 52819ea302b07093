#include "emu/access_span.h"

#include <algorithm>
#include <string_view>

namespace wavetap::emu {
namespace {

using isa::Family;
using isa::Inst;
using isa::OperandKind;
using Kind = SpanPlan::Kind;

struct Name {
  std::string_view text;
  bool has(std::string_view part) const { return text.find(part) != std::string_view::npos; }
};

// As many bytes as a lane's element has; more is safe.
uint32_t element_bytes(const Inst& inst, const Name& name) {
  uint32_t dwords = std::max<uint32_t>(inst.dst.dwords, inst.src[0].dwords);
  if (name.has("cmpswap")) dwords = std::max<uint32_t>(inst.src[0].dwords / 2, 1);
  if (inst.family == Family::kDs && (name.has("read2") || name.has("load_2addr")))
    dwords = inst.dst.dwords / 2;
  if (dwords == 1 && !name.has("atomic") && !name.has("_pk_")) {
    if (name.text.ends_with("b8") || name.has("byte") || name.has("_u8") || name.has("_i8"))
      return 1;
    if (name.text.ends_with("b16") || name.has("short") || name.has("_u16") || name.has("_i16"))
      return 2;
  }
  return std::max<uint32_t>(dwords, 1) * 4;
}

bool plan_lds(const Inst& inst, const Name& name, SpanPlan& plan) {
  for (const char* other : {"gws", "permute", "swizzle", "append", "consume", "addtid", "src2",
                            "ordered", "param", "direct", "wrap", "nop", "bvh"})
    if (name.has(other)) return false;
  if (inst.gds || !inst.vaddr.is(OperandKind::kVgpr)) return false;
  const bool reads = name.has("ds_read") || name.has("ds_load");
  const bool stores = name.has("ds_write") || name.has("ds_store");
  const uint32_t size = element_bytes(inst, name);
  plan.kind = Kind::kLds;
  plan.writes = !reads;
  plan.first_offset = static_cast<uint32_t>(inst.offset);
  plan.length_bytes = size;
  if (!reads && !stores) plan.align = static_cast<uint8_t>(size);
  const bool has_two = name.has("read2") || name.has("write2") || name.has("_2addr") ||
                       name.has("wrxchg2") || name.has("storexchg_2");
  if (!has_two) return true;
  if (!reads && !stores) return false;
  const uint32_t scale = size * (name.has("st64") || name.has("stride64") ? 64 : 1);
  const auto low = static_cast<uint32_t>(std::min(inst.offset, inst.offset1)) * scale;
  const auto high = static_cast<uint32_t>(std::max(inst.offset, inst.offset1)) * scale;
  plan.first_offset = low;
  plan.length_bytes = high - low + size;
  return true;
}

bool plan_flat(const Inst& inst, const Name& name, SpanPlan& plan) {
  if (inst.lds || name.has("scratch_") || name.has("addtid") || name.has("lds") ||
      !inst.vaddr.is(OperandKind::kVgpr))
    return false;
  const bool is_atomic = name.has("_atomic_");
  plan.kind = inst.saddr.is(OperandKind::kNone) ? Kind::kVector : Kind::kScalarBase;
  plan.writes = is_atomic || name.has("store");
  plan.first_offset = inst.offset;
  plan.length_bytes = element_bytes(inst, name);
  if (is_atomic) plan.align = static_cast<uint8_t>(plan.length_bytes);
  return true;
}

}  // namespace

SpanPlan plan_span(const Inst& inst) {
  SpanPlan plan;
  const Name name{isa::op_name(inst.op)};
  bool is_planned = false;
  if (inst.family == Family::kDs) is_planned = plan_lds(inst, name, plan);
  if (inst.family == Family::kFlat) is_planned = plan_flat(inst, name, plan);
  if (inst.family == Family::kSmem && name.text.starts_with("s_load_")) {
    plan.kind = Kind::kScalar;
    plan.first_offset = inst.offset;
    plan.length_bytes = uint32_t{inst.dst.dwords} * 4;
    is_planned = true;
  }
  return is_planned ? plan : SpanPlan();
}

}  // namespace wavetap::emu
