#include "emu/access_span.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "emu/wave.h"

namespace wavetap::emu {
namespace {

using isa::Family;
using isa::Inst;
using isa::OperandKind;
using Kind = SpanPlan::Kind;

// No instruction that a plan is for accesses more than this from one address.
constexpr uint64_t kNear = uint64_t{1} << 47;

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

struct Extent {
  uint32_t least = ~uint32_t{0};
  uint32_t most = 0;
  uint32_t bits = 0;
};

// Vectors of the language, since compilers make scalars of loops this short.
typedef uint32_t Vector __attribute__((vector_size(16)));

Vector vector_at(const uint32_t* from) {
  Vector lanes;
  __builtin_memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

// Only what is wanted, besides `most`, is right.
template <bool kLeast, bool kBits>
Extent extent_of_all(const uint32_t* row, int lanes) {
  // Two of each, so that none has to wait for the last.
  Vector least[2] = {vector_at(row), vector_at(row + 4)};
  Vector most[2] = {least[0], least[1]};
  Vector bits[2] = {least[0], least[1]};
  for (int lane = 8; lane < lanes; lane += 8) {
    for (int i = 0; i < 2; ++i) {
      const Vector next = vector_at(row + lane + 4 * i);
      most[i] = next > most[i] ? next : most[i];
      if (kLeast) least[i] = next < least[i] ? next : least[i];
      if (kBits) bits[i] |= next;
    }
  }
  least[0] = least[1] < least[0] ? least[1] : least[0];
  most[0] = most[1] > most[0] ? most[1] : most[0];
  bits[0] |= bits[1];
  Extent all;
  for (int i = 0; i < 4; ++i) {
    all.most = std::max(all.most, most[0][i]);
    if (kLeast) all.least = std::min(all.least, least[0][i]);
    if (kBits) all.bits |= bits[0][i];
  }
  if (!kLeast) all.least = 0;
  return all;
}

Extent extent_of(const uint32_t* row, uint64_t mask, bool is_full, int lanes,
                 const SpanPlan& plan) {
  if (is_full) {
    // Nobody asks where accesses to LDS begin.
    const bool has_least = plan.kind != Kind::kLds;
    if (plan.align == 1)
      return has_least ? extent_of_all<true, false>(row, lanes)
                       : extent_of_all<false, false>(row, lanes);
    return has_least ? extent_of_all<true, true>(row, lanes)
                     : extent_of_all<false, true>(row, lanes);
  }
  Extent all;
  for_each_lane(mask, [&](int lane) {
    all.least = std::min(all.least, row[lane]);
    all.most = std::max(all.most, row[lane]);
    all.bits |= row[lane];
  });
  return all;
}

bool is_same(const uint32_t* row, uint64_t mask, bool is_full, int lanes) {
  if (is_full) {
    Vector differs[2] = {};
    for (int lane = 0; lane < lanes; lane += 8)
      for (int i = 0; i < 2; ++i) differs[i] |= vector_at(row + lane + 4 * i) ^ row[0];
    differs[0] |= differs[1];
    return (differs[0][0] | differs[0][1] | differs[0][2] | differs[0][3]) == 0;
  }
  const uint32_t first = row[std::countr_zero(mask)];
  uint32_t differs = 0;
  for_each_lane(mask, [&](int lane) { differs |= row[lane] ^ first; });
  return differs == 0;
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

bool find_span(Wave& wave, const Inst& inst, const SpanPlan& plan, ByteSpan* span) {
  span->writes = plan.writes;
  span->align = plan.align;
  const auto offset = static_cast<uint64_t>(plan.first_offset);
  if (plan.kind == Kind::kScalar) {
    uint64_t address = wave.read_s64(inst.saddr) + offset;
    if (!inst.soffset.is(OperandKind::kNone)) address += wave.read_s32(inst.soffset);
    address &= ~uint64_t{3};
    *span = {Space::kGlobal, false, 1, address, address + plan.length_bytes, 0};
    return address < kNear;
  }
  const uint64_t mask = wave.exec();
  if (mask == 0) return false;
  const bool is_full = mask == wave.full_exec();
  const uint32_t* const low = wave.vrow(inst.vaddr.index);
  const Extent extent = extent_of(low, mask, is_full, wave.lanes, plan);
  uint64_t base = offset;
  switch (plan.kind) {
    case Kind::kNone:
    case Kind::kScalar: return false;
    case Kind::kLds:
      *span = {Space::kLds,
               plan.writes,
               plan.align,
               extent.least + base,
               extent.most + base + plan.length_bytes,
               extent.bits | base};
      return span->end <= ~uint32_t{0};
    case Kind::kScalarBase: base += wave.read_s64(inst.saddr); break;
    case Kind::kVector: {
      const uint32_t* const high = low + wave.lanes;
      if (!is_same(high, mask, is_full, wave.lanes)) return false;
      base += uint64_t{high[std::countr_zero(mask)]} << 32;
      break;
    }
  }
  *span = {Space::kGlobal,
           plan.writes,
           plan.align,
           base + extent.least,
           base + extent.most + plan.length_bytes,
           extent.bits | base};
  return span->begin < span->end && span->end < kNear;
}

}  // namespace wavetap::emu
