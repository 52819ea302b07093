// Where an instruction will access memory, found in its address registers before it runs: lowest and highest
// byte of all lanes. Much cheaper than the accesses themselves, and enough for who only asks whether they are
// all inside something (Watcher::screen()).
#pragma once

#include <bit>
#include <cstdint>

#include "emu/access.h"
#include "emu/access_span.h"
#include "emu/row_extent.h"
#include "emu/wave.h"

namespace wavetap::emu {

// False: it is not known after all (an address that wraps, lanes far apart).
bool find_span(Wave& wave, const isa::Inst& inst, const SpanPlan& plan, ByteSpan* span);

// The same for one kind of plan and one number of lanes, to be compiled into who asks: find_span_of().

// No instruction that a plan is for accesses more than this from one address.
inline constexpr uint64_t kNearSpan = uint64_t{1} << 47;

// `mask`: the lanes that are active, of which there is one. kAll: they all are.
template <SpanPlan::Kind kKind, int kLanes, bool kAll>
[[gnu::always_inline]] inline bool find_span_of_lanes(Wave& wave, const isa::Inst& inst,
                                                      const SpanPlan& plan, uint64_t mask,
                                                      ByteSpan* span) {
  const uint32_t* const low = wave.v + size_t{inst.vaddr.index} * kLanes;
  uint64_t base = static_cast<uint64_t>(plan.first_offset);
  // Nobody asks where accesses to LDS begin.
  constexpr bool kLeast = kKind != SpanPlan::Kind::kLds;
  const RowExtent extent = plan.align == 1 ? extent_of_row<kLanes, kAll, kLeast, false>(low, mask)
                                           : extent_of_row<kLanes, kAll, kLeast, true>(low, mask);
  if (kKind == SpanPlan::Kind::kLds) {
    *span = {
        Space::kLds,       plan.writes, plan.align, base, extent.most + base + plan.length_bytes,
        extent.bits | base};
    return span->end <= ~uint32_t{0};
  }
  if (kKind == SpanPlan::Kind::kScalarBase) {
    base += wave.read_s64(inst.saddr);
  } else {
    const uint32_t* const high = low + kLanes;
    const uint32_t first = high[kAll ? 0 : std::countr_zero(mask)];
    if (!is_same_in_row<kLanes, kAll>(high, mask, first)) return false;
    base += uint64_t{first} << 32;
  }
  *span = {Space::kGlobal,
           plan.writes,
           plan.align,
           base + extent.least,
           base + extent.most + plan.length_bytes,
           extent.bits | base};
  return span->begin < span->end && span->end < kNearSpan;
}

template <SpanPlan::Kind kKind, int kLanes>
[[gnu::always_inline]] inline bool find_span_of(Wave& wave, const isa::Inst& inst,
                                                const SpanPlan& plan, ByteSpan* span) {
  if (kKind == SpanPlan::Kind::kScalar) {
    uint64_t address = wave.read_s64(inst.saddr) + static_cast<uint64_t>(plan.first_offset);
    if (!inst.soffset.is(isa::OperandKind::kNone)) address += wave.read_s32(inst.soffset);
    address &= ~uint64_t{3};
    *span = {Space::kGlobal, false, 1, address, address + plan.length_bytes, 0};
    return address < kNearSpan;
  }
  const uint64_t mask = wave.exec();
  if (mask == 0) return false;
  return mask == wave.full_exec()
             ? find_span_of_lanes<kKind, kLanes, true>(wave, inst, plan, mask, span)
             : find_span_of_lanes<kKind, kLanes, false>(wave, inst, plan, mask, span);
}

}  // namespace wavetap::emu
