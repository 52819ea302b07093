// ds_* instructions: loads, stores and atomics on LDS. The lane exchanges that go through the LDS
// crossbar without touching memory (ds_permute, ds_bpermute, ds_swizzle) are in exec/cross_lane.cc.
//
// address = vaddr(32) + offset, in bytes from the workgroup's LDS. The two-address forms scale
// their 8-bit offsets by the element size, and by 64 more in the st64 forms. The addtid, append and
// consume forms take M0[15:0] instead of vaddr.
//
// Bounds: an element that is not wholly inside the workgroup's allocation reads as zero and is not
// written (MI200 ISA guide, "LDS: out-of-range"). Alignment: any for loads and stores, natural for
// atomics (kMisaligned). Global data share has no semantics here, except for global wave sync
// (exec/gws.cc).
#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "emu/exec.h"
#include "emu/exec/atomics.h"
#include "emu/exec/mem_access.h"

namespace wavetap::emu {

Handler find_gws(const isa::Inst& inst);  // exec/gws.cc

namespace {

using isa::Inst;
using isa::Op;
using isa::OperandKind;

template <int L>
void lane_addresses(Wave& wave, const Inst& inst, uint32_t offset, uint32_t* at) {
  const uint32_t* base = wave.vrow(inst.vaddr.index);
  for (int lane = 0; lane < L; ++lane) at[lane] = base[lane] + offset;
}

// vdst = LDS[address]
template <class T, int L>
void load(Wave& wave, const Inst& inst) {
  if (wave.exec() == all_lanes<L>()) {
    const Pattern<uint32_t, L> pattern = pattern_of<T::kBytes, L>(wave.vrow(inst.vaddr.index));
    std::byte* from[L / kGroupLanes];
    if (pattern.relation != Relation::kNone &&
        groups_in_lds<T::kBytes, L>(wave, pattern, static_cast<uint32_t>(inst.offset), from)) {
      if (wave.notes_accesses)
        note_lds_groups(wave, inst, Access::kLoad, pattern.relation, pattern.first,
                        {static_cast<uint32_t>(inst.offset), element_of<T>(inst.dst)});
      return load_groups<T, L>(pattern, from, data_rows(wave, inst.dst));
    }
  }
  uint32_t at[L];
  lane_addresses<L>(wave, inst, static_cast<uint32_t>(inst.offset), at);
  if (wave.notes_accesses)
    note_lds(wave, inst, Access::kLoad, at, wave.exec(), element_of<T>(inst.dst));
  load_lds<T, L>(wave, at, wave.exec(), data_rows(wave, inst.dst));
}

// LDS[address] = data0
template <class T, int L>
void store(Wave& wave, const Inst& inst) {
  if (wave.exec() == all_lanes<L>()) {
    const Pattern<uint32_t, L> pattern = pattern_of<T::kBytes, L>(wave.vrow(inst.vaddr.index));
    std::byte* to[L / kGroupLanes];
    if (pattern.relation == Relation::kConsecutive &&
        groups_in_lds<T::kBytes, L>(wave, pattern, static_cast<uint32_t>(inst.offset), to)) {
      if (wave.notes_accesses)
        note_lds_groups(wave, inst, Access::kStore, pattern.relation, pattern.first,
                        {static_cast<uint32_t>(inst.offset), element_of<T>(inst.src[0])});
      return store_groups<T, L>(pattern, to, data_rows(wave, inst.src[0]));
    }
  }
  uint32_t at[L];
  lane_addresses<L>(wave, inst, static_cast<uint32_t>(inst.offset), at);
  if (wave.notes_accesses)
    note_lds(wave, inst, Access::kStore, at, wave.exec(), element_of<T>(inst.src[0]));
  store_lds<T, L>(wave, at, wave.exec(), data_rows(wave, inst.src[0]));
}

// vdst = {LDS[vaddr + offset0 * scale], LDS[vaddr + offset1 * scale]}
template <class T, uint32_t kScale, int L>
void load2(Wave& wave, const Inst& inst) {
  uint32_t* rows = data_rows(wave, inst.dst);
  const uint32_t offset[2] = {static_cast<uint32_t>(inst.offset) * kScale,
                              static_cast<uint32_t>(inst.offset1) * kScale};
  if (wave.exec() == all_lanes<L>()) {
    // Both elements are in the same pattern.
    const Pattern<uint32_t, L> pattern = pattern_of<T::kBytes, L>(wave.vrow(inst.vaddr.index));
    std::byte* from[2][L / kGroupLanes];
    if (pattern.relation != Relation::kNone &&
        groups_in_lds<T::kBytes, L>(wave, pattern, offset[0], from[0]) &&
        groups_in_lds<T::kBytes, L>(wave, pattern, offset[1], from[1])) {
      if (wave.notes_accesses)
        note_lds_groups(wave, inst, Access::kLoad, pattern.relation, pattern.first,
                        {offset[0], element_of<T>(inst.dst)},
                        {offset[1], element_of<T>(inst.dst, T::kBytes)});
      load_groups<T, L>(pattern, from[0], rows);
      load_groups<T, L>(pattern, from[1], rows + T::kRows * L);
      return;
    }
  }
  uint32_t at[2][L];
  for (int i = 0; i < 2; ++i) lane_addresses<L>(wave, inst, offset[i], at[i]);
  if (wave.notes_accesses)
    note_lds_pair(wave, inst, Access::kLoad, at[0], at[1], wave.exec(), element_of<T>(inst.dst),
                  element_of<T>(inst.dst, T::kBytes));
  for (int i = 0; i < 2; ++i) load_lds<T, L>(wave, at[i], wave.exec(), rows + i * T::kRows * L);
}

// LDS[vaddr + offset0 * scale] = data0; LDS[vaddr + offset1 * scale] = data1
template <class T, uint32_t kScale, int L>
void store2(Wave& wave, const Inst& inst) {
  uint32_t at[2][L];
  lane_addresses<L>(wave, inst, static_cast<uint32_t>(inst.offset) * kScale, at[0]);
  lane_addresses<L>(wave, inst, static_cast<uint32_t>(inst.offset1) * kScale, at[1]);
  if (wave.notes_accesses)
    note_lds_pair(wave, inst, Access::kStore, at[0], at[1], wave.exec(), element_of<T>(inst.src[0]),
                  element_of<T>(inst.src[1]));
  for (int i = 0; i < 2; ++i)
    store_lds<T, L>(wave, at[i], wave.exec(), data_rows(wave, inst.src[i]));
}

// --- Atomics. Lane by lane, which gains nothing from code for each width of a wave.

constexpr size_t kMostLanes = 64;

[[gnu::noinline]] void lane_addresses(Wave& wave, const Inst& inst, uint32_t offset, uint32_t* at) {
  if (wave.lanes == 64) lane_addresses<64>(wave, inst, offset, at);
  else lane_addresses<32>(wave, inst, offset, at);
}

// Updates one element for each active lane, lowest lane first. `result` may be null.
template <class A>
void update(Wave& wave, const uint32_t* at, const uint32_t* data, const uint32_t* data2,
            uint32_t* result) {
  using U = typename A::Value;
  const size_t lanes = wave.lanes;
  const uint64_t mask = wave.exec();
  for (uint64_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (at[lane] % sizeof(U) != 0) {
      wave.raise(FaultKind::kMisaligned, GpuAddr{kSharedAperture + at[lane]}, true, lane,
                 "atomic operation");
      return;
    }
    const U operand = atomic::read_operand<U>(data + lane, lanes);
    const U operand2 = data2 == nullptr ? 0 : atomic::read_operand<U>(data2 + lane, lanes);
    const U old = in_lds(wave, at[lane], sizeof(U))
                      ? atomic::update_private<A>(wave.lds + at[lane], operand, operand2)
                      : U{0};
    if (result != nullptr) atomic::write_result<U>(result + lane, lanes, old);
  }
}

// The addresses of an atomic operation on elements of `bytes`, told to who wants to know.
[[gnu::noinline]] void atomic_addresses(Wave& wave, const Inst& inst, uint32_t bytes,
                                        const isa::Operand& data, uint32_t* at) {
  lane_addresses(wave, inst, static_cast<uint32_t>(inst.offset), at);
  if (wave.notes_accesses)
    note_lds(wave, inst, atomic_access(inst.dst), at, wave.exec(),
             atomic_element(bytes, inst.dst, data));
}

// tmp = LDS[address]; LDS[address] = next(tmp, data0, data1); vdst = tmp (rtn forms)
template <class A>
void atomic_op(Wave& wave, const Inst& inst) {
  uint32_t at[kMostLanes];
  atomic_addresses(wave, inst, sizeof(typename A::Value), inst.src[0], at);
  const uint32_t* data = data_rows(wave, inst.src[0]);
  const uint32_t* data2 = atomic::kOperands<A> == 2 ? data_rows(wave, inst.src[1]) : nullptr;
  update<A>(wave, at, data, data2,
            inst.dst.is(OperandKind::kNone) ? nullptr : data_rows(wave, inst.dst));
}

// gfx9 and gfx10 ds_cmpst: data0 is what must be there, data1 the new value; the reverse of
// memory's cmpswap and of gfx11's ds_cmpstore.
template <class A>
void compare_store(Wave& wave, const Inst& inst) {
  uint32_t at[kMostLanes];
  atomic_addresses(wave, inst, sizeof(typename A::Value), inst.src[1], at);
  update<A>(wave, at, data_rows(wave, inst.src[1]), data_rows(wave, inst.src[0]),
            inst.dst.is(OperandKind::kNone) ? nullptr : data_rows(wave, inst.dst));
}

// Two exchanges; vdst = {old of offset0, old of offset1}
template <class U, uint32_t kScale>
void exchange2(Wave& wave, const Inst& inst) {
  constexpr size_t kRows = sizeof(U) / 4;
  uint32_t at[2][kMostLanes];
  lane_addresses(wave, inst, static_cast<uint32_t>(inst.offset) * kScale, at[0]);
  lane_addresses(wave, inst, static_cast<uint32_t>(inst.offset1) * kScale, at[1]);
  if (wave.notes_accesses)
    note_lds_pair(wave, inst, Access::kAtomicReturn, at[0], at[1], wave.exec(),
                  {sizeof(U), &inst.dst, 0}, {sizeof(U), &inst.dst, sizeof(U)});
  uint32_t old[2][kRows * kMostLanes];
  for (int i = 0; i < 2; ++i)
    update<atomic::Swap<U>>(wave, at[i], data_rows(wave, inst.src[i]), nullptr, old[i]);
  if (wave.state == WaveState::kFaulted) return;
  const size_t lanes = wave.lanes;
  uint32_t* rows = data_rows(wave, inst.dst);
  for (size_t i = 0; i < 2 * kRows; ++i)
    for_each_lane(wave.exec(), [&](int lane) {
      rows[i * lanes + lane] = old[i / kRows][i % kRows * lanes + lane];
    });
}

// Each 32-bit half of data0 whose bit 31 is set replaces the half in LDS (with bit 31 cleared).
struct ConditionalExchange {
  using Value = uint64_t;
  static uint32_t half(uint32_t old, uint32_t data) {
    return data >> 31 != 0 ? data & 0x7fffffffu : old;
  }
  static uint64_t next(uint64_t old, uint64_t data, uint64_t) {
    return half(static_cast<uint32_t>(old), static_cast<uint32_t>(data)) |
           uint64_t{half(static_cast<uint32_t>(old >> 32), static_cast<uint32_t>(data >> 32))}
               << 32;
  }
};

// gfx9's src2 forms take their operand from LDS as well:
// B = A + 4 * (offset[15] ? vaddr[31:17] sign-extended : offset[14:0] sign-extended)
// LDS[A] = next(LDS[A], LDS[B])
//
// Returns the lanes whose A is in the workgroup's LDS.
[[gnu::noinline]] uint64_t src2_addresses(Wave& wave, const Inst& inst, uint32_t bytes,
                                          Access access, uint32_t* first, uint32_t* second) {
  const uint32_t offset = static_cast<uint32_t>(inst.offset) & 0xffff;
  const uint32_t* base = wave.vrow(inst.vaddr.index);
  uint64_t inside = 0;
  for_each_lane(wave.exec(), [&](int lane) {
    first[lane] = base[lane] & 0xffff;
    const int32_t distance = (offset & 0x8000) != 0 ? static_cast<int32_t>(base[lane]) >> 17
                                                    : static_cast<int32_t>(offset << 17) >> 17;
    second[lane] = first[lane] + 4 * static_cast<uint32_t>(distance);
    if (in_lds(wave, first[lane], bytes)) inside |= uint64_t{1} << lane;
  });
  if (wave.notes_accesses) {
    AccessNote note(wave, inst);
    note.add_lds(access, first, {bytes}, wave.exec());
    note.add_lds(Access::kLoad, second, {bytes}, inside);
    note.tell();
  }
  return inside;
}
template <class A>
void atomic_src2(Wave& wave, const Inst& inst) {
  using U = typename A::Value;
  constexpr bool kIsStore = std::is_same_v<A, atomic::Swap<U>>;  // ds_write_src2
  uint32_t first[kMostLanes], second[kMostLanes];
  const uint64_t inside = src2_addresses(
      wave, inst, sizeof(U), kIsStore ? Access::kStore : Access::kAtomic, first, second);
  for_each_lane(inside, [&](int lane) {
    U operand = 0;
    if (in_lds(wave, second[lane], sizeof(U)))
      std::memcpy(&operand, wave.lds + second[lane], sizeof(U));
    atomic::update_private<A>(wave.lds + first[lane], operand, 0);
  });
}

// --- Addresses from M0.

template <int L>
void addtid_addresses(Wave& wave, const Inst& inst, uint32_t* at) {
  const uint32_t base = (wave.s[isa::slot::kM0] & 0xffff) + static_cast<uint32_t>(inst.offset);
  for (int lane = 0; lane < L; ++lane) at[lane] = base + 4 * static_cast<uint32_t>(lane);
}

// vdst = LDS[M0[15:0] + offset + 4 * lane]
template <int L>
void ds_read_addtid_b32(Wave& wave, const Inst& inst) {
  uint32_t at[L];
  addtid_addresses<L>(wave, inst, at);
  if (wave.notes_accesses)
    note_lds(wave, inst, Access::kLoad, at, wave.exec(), element_of<Dwords<1>>(inst.dst));
  load_lds<Dwords<1>, L>(wave, at, wave.exec(), data_rows(wave, inst.dst));
}

// LDS[M0[15:0] + offset + 4 * lane] = data0
template <int L>
void ds_write_addtid_b32(Wave& wave, const Inst& inst) {
  uint32_t at[L];
  addtid_addresses<L>(wave, inst, at);
  if (wave.notes_accesses)
    note_lds(wave, inst, Access::kStore, at, wave.exec(), element_of<Dwords<1>>(inst.src[0]));
  store_lds<Dwords<1>, L>(wave, at, wave.exec(), data_rows(wave, inst.src[0]));
}

// tmp = LDS[M0[15:0] + offset]; LDS[…] = tmp ± number of active lanes; vdst = tmp in every active
// lane
template <bool kAppend, int L>
void count_lanes(Wave& wave, const Inst& inst) {
  const uint64_t mask = wave.exec();
  const uint32_t at = (wave.s[isa::slot::kM0] & 0xffff) + static_cast<uint32_t>(inst.offset);
  const auto lanes = static_cast<uint32_t>(std::popcount(mask));
  if (wave.notes_accesses) {  // one access for the wave: its first active lane stands for it
    uint32_t each[L];
    std::fill(each, each + L, at);
    note_lds(wave, inst, Access::kAtomicReturn, each, mask & (~mask + 1),
             element_of<Dwords<1>>(inst.dst));
  }
  uint32_t old = 0;
  if (in_lds(wave, at, 4))
    old = kAppend ? atomic::update_private<atomic::Add<uint32_t>>(wave.lds + at, lanes, 0)
                  : atomic::update_private<atomic::Sub<uint32_t>>(wave.lds + at, lanes, 0);
  uint32_t* row = data_rows(wave, inst.dst);
  for_each_lane(mask, [&](int lane) { row[lane] = old; });
}

void ds_nop(Wave&, const Inst&) {}

// --- Finding.

// clang-format off
#define WT_DS_ATOMIC(name, type, A)                 \
  case Op::ds_##name##_##type: return atomic_op<A>; \
  case Op::ds_##name##_rtn_##type: return atomic_op<A>;
#define WT_DS_SRC2(name, type, A) \
  case Op::ds_##name##_src2_##type: return atomic_src2<A>;

// A load into half a register.
template <class T, Half kHalf, int L>
Handler d16_load(bool sram_ecc) {
  return sram_ecc ? load<Small<T, kHalf, true>, L> : load<Small<T, kHalf>, L>;
}

template <int L>
Handler find_move(const Inst& inst, bool sram_ecc) {
  switch (inst.op) {
    case Op::ds_read_b32: return load<Dwords<1>, L>;
    case Op::ds_read_b64: return load<Dwords<2>, L>;
    case Op::ds_read_b96: return load<Dwords<3>, L>;
    case Op::ds_read_b128: return load<Dwords<4>, L>;
    case Op::ds_read_u8: return load<Small<uint8_t>, L>;
    case Op::ds_read_i8: return load<Small<int8_t>, L>;
    case Op::ds_read_u16: return load<Small<uint16_t>, L>;
    case Op::ds_read_i16: return load<Small<int16_t>, L>;
    case Op::ds_read_u8_d16: return d16_load<uint8_t, Half::kLow, L>(sram_ecc);
    case Op::ds_read_u8_d16_hi: return d16_load<uint8_t, Half::kHigh, L>(sram_ecc);
    case Op::ds_read_i8_d16: return d16_load<int8_t, Half::kLow, L>(sram_ecc);
    case Op::ds_read_i8_d16_hi: return d16_load<int8_t, Half::kHigh, L>(sram_ecc);
    case Op::ds_read_u16_d16: return d16_load<uint16_t, Half::kLow, L>(sram_ecc);
    case Op::ds_read_u16_d16_hi: return d16_load<uint16_t, Half::kHigh, L>(sram_ecc);
    case Op::ds_write_b8: return store<Small<uint8_t>, L>;
    case Op::ds_write_b16: return store<Small<uint16_t>, L>;
    case Op::ds_write_b8_d16_hi: return store<Small<uint8_t, Half::kHigh>, L>;
    case Op::ds_write_b16_d16_hi: return store<Small<uint16_t, Half::kHigh>, L>;
    case Op::ds_write_b32: return store<Dwords<1>, L>;
    case Op::ds_write_b64: return store<Dwords<2>, L>;
    case Op::ds_write_b96: return store<Dwords<3>, L>;
    case Op::ds_write_b128: return store<Dwords<4>, L>;
    case Op::ds_read2_b32: return load2<Dwords<1>, 4, L>;
    case Op::ds_read2_b64: return load2<Dwords<2>, 8, L>;
    case Op::ds_read2st64_b32: return load2<Dwords<1>, 4 * 64, L>;
    case Op::ds_read2st64_b64: return load2<Dwords<2>, 8 * 64, L>;
    case Op::ds_write2_b32: return store2<Dwords<1>, 4, L>;
    case Op::ds_write2_b64: return store2<Dwords<2>, 8, L>;
    case Op::ds_write2st64_b32: return store2<Dwords<1>, 4 * 64, L>;
    case Op::ds_write2st64_b64: return store2<Dwords<2>, 8 * 64, L>;
    case Op::ds_read_addtid_b32: return ds_read_addtid_b32<L>;
    case Op::ds_write_addtid_b32: return ds_write_addtid_b32<L>;
    case Op::ds_append: return count_lanes<true, L>;
    case Op::ds_consume: return count_lanes<false, L>;
    case Op::ds_nop: return ds_nop;
    default: return nullptr;
  }
}

Handler find_atomic(const Inst& inst) {
  switch (inst.op) {
    WT_DS_ATOMIC(add, u32, atomic::Add<uint32_t>)
    WT_DS_ATOMIC(add, u64, atomic::Add<uint64_t>)
    WT_DS_ATOMIC(sub, u32, atomic::Sub<uint32_t>)
    WT_DS_ATOMIC(sub, u64, atomic::Sub<uint64_t>)
    WT_DS_ATOMIC(rsub, u32, atomic::Rsub<uint32_t>)
    WT_DS_ATOMIC(rsub, u64, atomic::Rsub<uint64_t>)
    WT_DS_ATOMIC(inc, u32, atomic::Inc<uint32_t>)
    WT_DS_ATOMIC(inc, u64, atomic::Inc<uint64_t>)
    WT_DS_ATOMIC(dec, u32, atomic::Dec<uint32_t>)
    WT_DS_ATOMIC(dec, u64, atomic::Dec<uint64_t>)
    WT_DS_ATOMIC(min, i32, atomic::Smin<uint32_t>)
    WT_DS_ATOMIC(min, i64, atomic::Smin<uint64_t>)
    WT_DS_ATOMIC(max, i32, atomic::Smax<uint32_t>)
    WT_DS_ATOMIC(max, i64, atomic::Smax<uint64_t>)
    WT_DS_ATOMIC(min, u32, atomic::Umin<uint32_t>)
    WT_DS_ATOMIC(min, u64, atomic::Umin<uint64_t>)
    WT_DS_ATOMIC(max, u32, atomic::Umax<uint32_t>)
    WT_DS_ATOMIC(max, u64, atomic::Umax<uint64_t>)
    WT_DS_ATOMIC(and, b32, atomic::And<uint32_t>)
    WT_DS_ATOMIC(and, b64, atomic::And<uint64_t>)
    WT_DS_ATOMIC(or, b32, atomic::Or<uint32_t>)
    WT_DS_ATOMIC(or, b64, atomic::Or<uint64_t>)
    WT_DS_ATOMIC(xor, b32, atomic::Xor<uint32_t>)
    WT_DS_ATOMIC(xor, b64, atomic::Xor<uint64_t>)
    WT_DS_ATOMIC(mskor, b32, atomic::MaskOr<uint32_t>)
    WT_DS_ATOMIC(mskor, b64, atomic::MaskOr<uint64_t>)
    WT_DS_ATOMIC(min, f32, atomic::Fmin<float>)
    WT_DS_ATOMIC(min, f64, atomic::Fmin<double>)
    WT_DS_ATOMIC(max, f32, atomic::Fmax<float>)
    WT_DS_ATOMIC(max, f64, atomic::Fmax<double>)
    WT_DS_ATOMIC(add, f32, atomic::Fadd<float>)
    WT_DS_ATOMIC(add, f64, atomic::Fadd<double>)
    WT_DS_ATOMIC(pk_add, f16, atomic::PkAddF16)
    WT_DS_ATOMIC(pk_add, bf16, atomic::PkAddBf16)
    WT_DS_ATOMIC(cmpstore, b32, atomic::CompareSwap<uint32_t>)
    WT_DS_ATOMIC(cmpstore, b64, atomic::CompareSwap<uint64_t>)
    WT_DS_ATOMIC(cmpstore, f32, atomic::FcompareSwap<float>)
    WT_DS_ATOMIC(cmpstore, f64, atomic::FcompareSwap<double>)
    case Op::ds_cmpst_b32:
    case Op::ds_cmpst_rtn_b32: return compare_store<atomic::CompareSwap<uint32_t>>;
    case Op::ds_cmpst_b64:
    case Op::ds_cmpst_rtn_b64: return compare_store<atomic::CompareSwap<uint64_t>>;
    case Op::ds_cmpst_f32:
    case Op::ds_cmpst_rtn_f32: return compare_store<atomic::FcompareSwap<float>>;
    case Op::ds_cmpst_f64:
    case Op::ds_cmpst_rtn_f64: return compare_store<atomic::FcompareSwap<double>>;
    case Op::ds_wrxchg_rtn_b32: return atomic_op<atomic::Swap<uint32_t>>;
    case Op::ds_wrxchg_rtn_b64: return atomic_op<atomic::Swap<uint64_t>>;
    case Op::ds_wrxchg2_rtn_b32: return exchange2<uint32_t, 4>;
    case Op::ds_wrxchg2_rtn_b64: return exchange2<uint64_t, 8>;
    case Op::ds_wrxchg2st64_rtn_b32: return exchange2<uint32_t, 4 * 64>;
    case Op::ds_wrxchg2st64_rtn_b64: return exchange2<uint64_t, 8 * 64>;
    case Op::ds_wrap_rtn_b32: return atomic_op<atomic::Wrap<uint32_t>>;
    case Op::ds_condxchg32_rtn_b64: return atomic_op<ConditionalExchange>;
    default: return nullptr;
  }
}

Handler find_src2(const Inst& inst) {
  switch (inst.op) {
    WT_DS_SRC2(add, u32, atomic::Add<uint32_t>)
    WT_DS_SRC2(add, u64, atomic::Add<uint64_t>)
    WT_DS_SRC2(add, f32, atomic::Fadd<float>)
    WT_DS_SRC2(sub, u32, atomic::Sub<uint32_t>)
    WT_DS_SRC2(sub, u64, atomic::Sub<uint64_t>)
    WT_DS_SRC2(rsub, u32, atomic::Rsub<uint32_t>)
    WT_DS_SRC2(rsub, u64, atomic::Rsub<uint64_t>)
    WT_DS_SRC2(inc, u32, atomic::Inc<uint32_t>)
    WT_DS_SRC2(inc, u64, atomic::Inc<uint64_t>)
    WT_DS_SRC2(dec, u32, atomic::Dec<uint32_t>)
    WT_DS_SRC2(dec, u64, atomic::Dec<uint64_t>)
    WT_DS_SRC2(min, i32, atomic::Smin<uint32_t>)
    WT_DS_SRC2(min, i64, atomic::Smin<uint64_t>)
    WT_DS_SRC2(max, i32, atomic::Smax<uint32_t>)
    WT_DS_SRC2(max, i64, atomic::Smax<uint64_t>)
    WT_DS_SRC2(min, u32, atomic::Umin<uint32_t>)
    WT_DS_SRC2(min, u64, atomic::Umin<uint64_t>)
    WT_DS_SRC2(max, u32, atomic::Umax<uint32_t>)
    WT_DS_SRC2(max, u64, atomic::Umax<uint64_t>)
    WT_DS_SRC2(and, b32, atomic::And<uint32_t>)
    WT_DS_SRC2(and, b64, atomic::And<uint64_t>)
    WT_DS_SRC2(or, b32, atomic::Or<uint32_t>)
    WT_DS_SRC2(or, b64, atomic::Or<uint64_t>)
    WT_DS_SRC2(xor, b32, atomic::Xor<uint32_t>)
    WT_DS_SRC2(xor, b64, atomic::Xor<uint64_t>)
    WT_DS_SRC2(min, f32, atomic::Fmin<float>)
    WT_DS_SRC2(min, f64, atomic::Fmin<double>)
    WT_DS_SRC2(max, f32, atomic::Fmax<float>)
    WT_DS_SRC2(max, f64, atomic::Fmax<double>)
    WT_DS_SRC2(write, b32, atomic::Swap<uint32_t>)
    WT_DS_SRC2(write, b64, atomic::Swap<uint64_t>)
    default: return nullptr;
  }
}
// clang-format on

template <int L>
Handler find_in(const Inst& inst, bool sram_ecc) {
  if (const Handler handler = find_move<L>(inst, sram_ecc)) return handler;
  const Handler handler = find_atomic(inst);
  return handler != nullptr ? handler : find_src2(inst);
}

}  // namespace

Handler find_ds(const Inst& inst, Shape shape) {
  if (const Handler handler = find_gws(inst)) return handler;
  if (inst.gds) return nullptr;
  // The crossbar exchanges.
  if (const Handler handler = find_cross_lane(inst, shape)) return handler;
  return shape.wave64 ? find_in<64>(inst, shape.sram_ecc) : find_in<32>(inst, shape.sram_ecc);
}

}  // namespace wavetap::emu
