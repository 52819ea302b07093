// Where an instruction will access memory, before it runs: what its code says of it. span_finding.h has the rest.
#pragma once

#include <cstdint>

#include "isa/inst.h"

namespace wavetap::emu {

// What is known of an instruction before it runs. kNone: its span is not to be had this way.
struct SpanPlan {
  enum class Kind : uint8_t { kNone, kLds, kVector, kScalarBase, kScalar };

  Kind kind = Kind::kNone;
  bool writes = false;
  uint8_t align = 1;          // that its elements need: an atomic's size
  int64_t first_offset = 0;   // of the lowest byte from the address in the registers
  uint32_t length_bytes = 0;  // from there to one past the highest
};
SpanPlan plan_span(const isa::Inst& inst);

}  // namespace wavetap::emu
