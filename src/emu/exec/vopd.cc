// VOPD: two vector operations in one instruction (gfx11, wave32). Both read before either writes.
//
// Each half is an ordinary vector operation without modifiers, so its handler is the one the
// operation has on its own; only the order needs care. When the second half does not read what the
// first writes, running one after the other is right. Otherwise the first result is held back until
// the second half has run: the two destinations always differ (one is even, the other odd).
//
// The second half's Inst stands behind the first in its Program, and its own Step does nothing.
#include <array>
#include <atomic>

#include "emu/exec.h"
#include "emu/wave.h"

namespace wavetap::emu {
namespace {

using isa::Inst;
using isa::OperandKind;

// The handler of a half, by operation and by which sources are registers. Written while lowering,
// always with the same value, because halves have no modifiers and nothing else matters; read while
// running the code that was lowered.
constexpr size_t kOperandClasses = 8;
using HalfHandlers = std::array<std::atomic<Handler>, kOperandClasses>;
constinit std::array<HalfHandlers, static_cast<size_t>(isa::Op::kCount)> g_half{};

std::atomic<Handler>& half_handler(const Inst& half) {
  size_t operands = 0;
  for (size_t k = 0; k < 3; ++k)
    operands |=
        size_t{half.src[k].is(OperandKind::kVgpr) || (k > 0 && half.src[k].is(OperandKind::kNone))}
        << k;
  return g_half[static_cast<size_t>(half.op)][operands];
}

void run_half(Wave& wave, const Inst& half) {
  half_handler(half).load(std::memory_order_relaxed)(wave, half);
}

bool lower_half(const Inst& half, Shape shape) {
  Handler found = find_vop(half, shape);
  if (found == nullptr) found = find_vop3p(half, shape);
  if (found == nullptr) return false;
  half_handler(half).store(found, std::memory_order_relaxed);
  return true;
}

bool reads(const Inst& inst, const isa::Operand& result) {
  for (const isa::Operand& source : inst.src)
    if (source.is(OperandKind::kVgpr) && source.index == result.index) return true;
  return false;
}

void run_in_order(Wave& wave, const Inst& first) {
  const Inst& second = (&first)[1];
  run_half(wave, first);
  run_half(wave, second);
}

void run_held_back(Wave& wave, const Inst& first) {
  const Inst& second = (&first)[1];
  uint32_t* row = wave.vrow(first.dst.index);
  const size_t row_bytes = size_t{4} * wave.lanes;
  std::array<uint32_t, 64> before, result;
  std::memcpy(before.data(), row, row_bytes);
  run_half(wave, first);
  std::memcpy(result.data(), row, row_bytes);
  std::memcpy(row, before.data(), row_bytes);
  run_half(wave, second);
  std::memcpy(row, result.data(), row_bytes);
}

}  // namespace

Handler find_vopd(const Inst& inst, Shape shape) {
  if (!inst.vopd_first) return nullptr;
  const Inst& second = (&inst)[1];
  if (!lower_half(inst, shape) || !lower_half(second, shape)) return nullptr;
  return reads(second, inst.dst) ? run_held_back : run_in_order;
}

}  // namespace wavetap::emu
