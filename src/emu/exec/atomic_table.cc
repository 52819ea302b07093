#include "emu/exec/atomic_table.h"

#include <array>
#include <atomic>
#include <bit>

#include "emu/exec/atomics.h"
#include "emu/exec/lane_pattern.h"

namespace wavetap::emu {
namespace {

using isa::Op;

template <class A>
struct Operands {
  using U = typename A::Value;
  U first, second;
};

template <class A>
Operands<A> read_operands(const uint32_t* data, size_t stride) {
  using U = typename A::Value;
  const U first = atomic::read_operand<U>(data, stride);
  if constexpr (atomic::kOperands<A> == 2)
    return {first, atomic::read_operand<U>(data + sizeof(U) / 4 * stride, stride)};
  else return {first, 0};
}

// The lanes of `mask` at one address, together.
template <class A, int L>
void update_same(std::byte* at, uint64_t mask, const uint32_t* data, uint32_t* result) {
  using U = typename A::Value;
  std::atomic_ref<U> ref(*reinterpret_cast<U*>(at));
  U before = ref.load(std::memory_order_relaxed);
  for (;;) {
    U value = before;
    for_lanes<L>(mask, [&](int lane) {
      const Operands<A> operand = read_operands<A>(data + lane, L);
      value = A::next(value, operand.first, operand.second);
    });
    if (ref.compare_exchange_weak(before, value)) break;
  }
  if (result == nullptr) return;
  U value = before;
  for_each_lane(mask, [&](int lane) {
    // The operand first: the result may take its place.
    const Operands<A> operand = read_operands<A>(data + lane, L);
    const U next = A::next(value, operand.first, operand.second);
    atomic::write_result<U>(result + lane, L, value);
    value = next;
  });
}

template <class A, int L>
void update_lanes(std::byte* host, const uint32_t* offset, uint64_t mask, const uint32_t* data,
                  uint32_t* result) {
  using U = typename A::Value;
  const int first = std::countr_zero(mask);
  uint32_t different = 0;
  if ((mask & (mask - 1)) != 0)
    for_each_lane(mask, [&](int lane) { different |= offset[lane] ^ offset[first]; });
  if (different == 0) return update_same<A, L>(host + offset[first], mask, data, result);
  // Lanes of one instruction are not ordered among themselves, so that one fence on each side gives
  // all of them the order that update_shared() gives each.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for_each_lane(mask, [&](int lane) {
    const Operands<A> operand = read_operands<A>(data + lane, L);
    const U old = atomic::update_unordered<A>(host + offset[lane], operand.first, operand.second);
    if (result != nullptr) atomic::write_result<U>(result + lane, L, old);
  });
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

template <class A, bool kShared>
void update_one(std::byte* at, const uint32_t* data, uint32_t* result, size_t stride) {
  using U = typename A::Value;
  const Operands<A> operand = read_operands<A>(data, stride);
  const U old = kShared ? atomic::update_shared<A>(at, operand.first, operand.second)
                        : atomic::update_private<A>(at, operand.first, operand.second);
  if (result != nullptr) atomic::write_result<U>(result, stride, old);
}

template <class A>
constexpr AtomicOp describe() {
  return {.size_bytes = sizeof(typename A::Value),
          .update_lanes32 = update_lanes<A, 32>,
          .update_lanes64 = update_lanes<A, 64>,
          .update_shared = update_one<A, true>,
          .update_private = update_one<A, false>};
}

constexpr AtomicOp kOperations[] = {
    {},  // none
#define WT_ATOMIC(name, ...) describe<__VA_ARGS__>(),
#include "emu/exec/mem_forms.inc"
    describe<atomic::PkAddBf16>(),
    describe<atomic::Csub<uint32_t>>(),
};
constexpr size_t kPkAddBf16 = std::size(kOperations) - 2;
constexpr size_t kCsub = std::size(kOperations) - 1;

using Index = std::array<uint8_t, static_cast<size_t>(Op::kCount)>;

constexpr Index make_index() {
  Index index{};
  uint8_t next = 0;
  const auto set = [&index](Op op, size_t operation) {
    index[static_cast<size_t>(op)] = static_cast<uint8_t>(operation);
  };
#define WT_ATOMIC(name, ...)           \
  ++next;                              \
  set(Op::flat_atomic_##name, next);   \
  set(Op::global_atomic_##name, next); \
  set(Op::buffer_atomic_##name, next);
#include "emu/exec/mem_forms.inc"
  set(Op::flat_atomic_pk_add_bf16, kPkAddBf16);
  set(Op::global_atomic_pk_add_bf16, kPkAddBf16);
  set(Op::global_atomic_csub, kCsub);
  set(Op::buffer_atomic_csub, kCsub);
  return index;
}

constexpr Index kIndex = make_index();

}  // namespace

const AtomicOp* find_atomic_op(Op op) {
  const uint8_t index = kIndex[static_cast<size_t>(op)];
  return index == 0 ? nullptr : &kOperations[index];
}

}  // namespace wavetap::emu
