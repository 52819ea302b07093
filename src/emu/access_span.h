// Where an instruction will access memory, found in its address registers before it runs: lowest and highest
// byte of all lanes. Much cheaper than the accesses themselves, and enough for who only asks whether they are
// all inside something (Watcher::screen()).
#pragma once

#include <cstdint>

#include "emu/access.h"
#include "isa/inst.h"

namespace wavetap::emu {

struct Wave;

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

// False: it is not known after all (an address that wraps, lanes far apart).
bool find_span(Wave& wave, const isa::Inst& inst, const SpanPlan& plan, ByteSpan* span);

}  // namespace wavetap::emu
