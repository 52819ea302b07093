// VOPD: two vector operations in one instruction (gfx11, wave32). Both read before either writes.
//
// Each half is an ordinary vector operation without modifiers, so its handler is the one the operation has
// on its own; only the order needs care. When the second half does not read what the first writes, running
// one after the other is right. Otherwise the first result is held back until the second half has run:
// the two destinations always differ (one is even, the other odd).
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

// The handler of a half, by operation. Written while lowering, always with the same value for an
// operation, because halves have no modifiers; read while running the code that was lowered.
constinit std::array<std::atomic<Handler>, static_cast<size_t>(isa::Op::kCount)> g_half{};

Handler half_handler(const Inst& half) {
  return g_half[static_cast<size_t>(half.op)].load(std::memory_order_relaxed);
}

bool lower_half(const Inst& half, Shape shape) {
  Handler found = find_vop(half, shape);
  if (found == nullptr) found = find_vop3p(half, shape);
  if (found == nullptr) return false;
  g_half[static_cast<size_t>(half.op)].store(found, std::memory_order_relaxed);
  return true;
}

bool reads(const Inst& inst, const isa::Operand& result) {
  for (const isa::Operand& source : inst.src)
    if (source.is(OperandKind::kVgpr) && source.index == result.index) return true;
  return false;
}

void run_in_order(Wave& wave, const Inst& first) {
  const Inst& second = (&first)[1];
  half_handler(first)(wave, first);
  half_handler(second)(wave, second);
}

void run_held_back(Wave& wave, const Inst& first) {
  const Inst& second = (&first)[1];
  uint32_t* row = wave.vrow(first.dst.index);
  const size_t row_bytes = size_t{4} * wave.lanes;
  std::array<uint32_t, 64> before, result;
  std::memcpy(before.data(), row, row_bytes);
  half_handler(first)(wave, first);
  std::memcpy(result.data(), row, row_bytes);
  std::memcpy(row, before.data(), row_bytes);
  half_handler(second)(wave, second);
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
