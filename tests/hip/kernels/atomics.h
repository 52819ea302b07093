// Atomic read-modify-write operations, checked in two ways: the final value of every cell against
// the same operations applied on the host, and the returned old values, which must be what *some*
// order of the operations produces. Shared by the programs for global, LDS and system memory.
#pragma once

#include <algorithm>
#include <map>

#include "check.h"

// `scope` functions: an operation names a device function and its plain host meaning.
#define WT_ATOMIC_OP(name, device_call, host_value) \
  struct name {                                     \
    template <class T>                              \
    static __device__ T device(T* cell, T v) {      \
      return device_call;                           \
    }                                               \
    template <class T>                              \
    static T host(T old, T v) {                     \
      return host_value;                            \
    }                                               \
    static constexpr const char* kName = #name;     \
  }

WT_ATOMIC_OP(Add, atomicAdd(cell, v), static_cast<T>(old + v));
WT_ATOMIC_OP(Sub, atomicSub(cell, v), static_cast<T>(old - v));
WT_ATOMIC_OP(Min, atomicMin(cell, v), std::min(old, v));
WT_ATOMIC_OP(Max, atomicMax(cell, v), std::max(old, v));
WT_ATOMIC_OP(And, atomicAnd(cell, v), old& v);
WT_ATOMIC_OP(Or, atomicOr(cell, v), old | v);
WT_ATOMIC_OP(Xor, atomicXor(cell, v), old ^ v);
WT_ATOMIC_OP(Exch, atomicExch(cell, v), ((void)old, v));
WT_ATOMIC_OP(Inc, atomicInc(cell, v), old >= v ? 0 : old + 1);
WT_ATOMIC_OP(Dec, atomicDec(cell, v), old == 0 || old > v ? v : old - 1);

// A compare-and-swap loop that adds and keeps the low bit set.
struct Cas {
  template <class T>
  static __device__ T device(T* cell, T v) {
    T seen = *cell;
    for (;;) {
      const T assumed = seen;
      seen = atomicCAS(cell, assumed, static_cast<T>(assumed + v));
      if (seen == assumed) return seen;
    }
  }
  template <class T>
  static T host(T old, T v) {
    return static_cast<T>(old + v);
  }
  static constexpr const char* kName = "Cas";
};

// The system-scope spellings.
WT_ATOMIC_OP(AddSystem, atomicAdd_system(cell, v), static_cast<T>(old + v));
WT_ATOMIC_OP(SubSystem, atomicSub_system(cell, v), static_cast<T>(old - v));
WT_ATOMIC_OP(MinSystem, atomicMin_system(cell, v), std::min(old, v));
WT_ATOMIC_OP(MaxSystem, atomicMax_system(cell, v), std::max(old, v));
WT_ATOMIC_OP(AndSystem, atomicAnd_system(cell, v), old& v);
WT_ATOMIC_OP(OrSystem, atomicOr_system(cell, v), old | v);
WT_ATOMIC_OP(XorSystem, atomicXor_system(cell, v), old ^ v);
WT_ATOMIC_OP(ExchSystem, atomicExch_system(cell, v), ((void)old, v));

// Follows the chain start -> operation(start) -> …; complete when every operation was used once.
// Only meaningful for operations whose successive values are all different.
template <class Op, class T>
bool olds_form_a_chain(T start, T final, const std::vector<T>& olds,
                       const std::vector<T>& operands) {
  std::map<T, T> operand_by_old;
  for (size_t i = 0; i < olds.size(); ++i) {
    if (!operand_by_old.emplace(olds[i], operands[i]).second) return false;
  }
  T value = start;
  for (size_t used = 0; used < olds.size(); ++used) {
    const auto found = operand_by_old.find(value);
    if (found == operand_by_old.end()) return false;
    value = Op::host(value, found->second);
  }
  return std::memcmp(&value, &final, sizeof value) == 0;
}

// All lanes apply the same operand, so any order gives the same multiset of old values.
template <class Op, class T>
bool olds_are_a_replay(T start, std::vector<T> olds, T operand) {
  std::vector<T> want;
  for (size_t i = 0; i < olds.size(); ++i) {
    want.push_back(start);
    start = Op::host(start, operand);
  }
  std::sort(olds.begin(), olds.end());
  std::sort(want.begin(), want.end());
  return olds == want;
}

// What one lane's old value may be when only monotone progress can be asserted.
template <class Op, class T>
bool olds_lie_on_the_way(T start, T final, const std::vector<T>& olds) {
  return std::all_of(olds.begin(), olds.end(), [&](T old) {
    return Op::host(start, old) == old && Op::host(old, final) == final;
  });
}

enum class Order { kChain, kReplay, kMonotone };

// `run_device(cells, operands, olds)` applies Op to cell i % cells.size() with operand i and fills
// olds.
template <class Op, class T, class RunDevice>
void check_atomic(const char* type_name, T start, const std::vector<T>& operands, size_t cell_count,
                  Order order, RunDevice run_device) {
  std::vector<T> cells(cell_count, start), olds(operands.size());
  run_device(cells, operands, olds);
  bool final_ok = true, olds_ok = true;
  for (size_t c = 0; c < cell_count; ++c) {
    std::vector<T> cell_olds, cell_operands;
    T value = start;
    for (size_t i = c; i < operands.size(); i += cell_count) {
      cell_olds.push_back(olds[i]);
      cell_operands.push_back(operands[i]);
      value = Op::host(value, operands[i]);
    }
    const bool last_writer_wins = std::string(Op::kName).rfind("Exch", 0) == 0;
    if (!last_writer_wins) final_ok = final_ok && cells[c] == value;
    switch (order) {
      case Order::kChain:
        olds_ok = olds_ok && olds_form_a_chain<Op>(start, cells[c], cell_olds, cell_operands);
        break;
      case Order::kReplay:
        olds_ok = olds_ok && olds_are_a_replay<Op>(start, cell_olds, operands[0]);
        break;
      case Order::kMonotone:
        olds_ok = olds_ok && olds_lie_on_the_way<Op>(start, cells[c], cell_olds);
        break;
    }
  }
  check::expect(final_ok, "%s %s: final values", Op::kName, type_name);
  check::expect(olds_ok, "%s %s: returned old values", Op::kName, type_name);
}

// Distinct positive integers, exact in every type of the suite.
template <class T>
std::vector<T> distinct_operands(size_t count) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>(i + 1);
  check::Rng rng(count);
  for (size_t i = count; i > 1; --i)
    std::swap(values[i - 1], values[rng.below(static_cast<uint32_t>(i))]);
  return values;
}

template <class T>
std::vector<T> random_bits(size_t count) {
  check::Rng rng(count + sizeof(T));
  std::vector<T> values(count);
  for (T& v : values) v = static_cast<T>(rng.next64());
  return values;
}
