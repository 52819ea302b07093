// A second, slow and plain description of every vector operation, to test the handlers against.
// Written lane by lane from the manuals' pseudo-code; shares nothing with the handlers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace wavetap::emu {

// One lane's operands as raw bits, after modifiers.
struct ReferenceLane {
  uint64_t s[4] = {};  // sources, as many bits as their types have
  uint64_t old = 0;    // the destination before
  bool mask = false;   // this lane's bit of the mask operand or VCC
  int lane = 0;
  bool ieee = true;
  bool fp16_overflow = false;
};

struct ReferenceResult {
  uint64_t value = 0;
  bool bit = false;  // carry out, compare
};

struct ReferenceOp {
  // Result type, then source types: "f32 f32 f32". Types: f16 f32 f64 i16 u16 b16 i32 u32 b32 i64
  // u64 b64, pk16 (two 16-bit integers), pkf16 (two halves), pkf32 and pkb32 (register pairs), mix;
  // "bit": the result is a mask; "+bit": a mask besides; "mask": a mask source; "old": the
  // destination is read too.
  std::string types;
  std::function<ReferenceResult(const ReferenceLane&)> run;
  // The same with clamp on an integer result; empty when the operation cannot.
  std::function<ReferenceResult(const ReferenceLane&)> saturating = {};
  int ulp = 0;  // tolerated difference of floating-point results
};

// By canonical name. Compares are made from their names: "v_cmp_lt_f32".
const std::map<std::string, ReferenceOp>& vop_reference();

// --- Number formats, in the plainest way.
double reference_f16(uint16_t bits);
// round: 0 nearest even, 1 up, 2 down, 3 toward zero.
uint16_t reference_to_f16(double value, int round = 0);

}  // namespace wavetap::emu
