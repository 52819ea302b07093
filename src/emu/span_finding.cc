#include "emu/span_finding.h"

namespace wavetap::emu {
namespace {

using Kind = SpanPlan::Kind;

template <int kLanes>
bool find_any(Wave& wave, const isa::Inst& inst, const SpanPlan& plan, ByteSpan* span) {
  switch (plan.kind) {
    case Kind::kNone: return false;
    case Kind::kLds: return find_span_of<Kind::kLds, kLanes>(wave, inst, plan, span);
    case Kind::kVector: return find_span_of<Kind::kVector, kLanes>(wave, inst, plan, span);
    case Kind::kScalarBase: return find_span_of<Kind::kScalarBase, kLanes>(wave, inst, plan, span);
    case Kind::kScalar: return find_span_of<Kind::kScalar, kLanes>(wave, inst, plan, span);
  }
  return false;
}

}  // namespace

bool find_span(Wave& wave, const isa::Inst& inst, const SpanPlan& plan, ByteSpan* span) {
  return wave.lanes == 64 ? find_any<64>(wave, inst, plan, span)
                          : find_any<32>(wave, inst, plan, span);
}

}  // namespace wavetap::emu
