// buffer_* instructions: memory described by a buffer resource (buffer_resource.h), and the
// instructions that write back or invalidate caches. Those that convert formats are in
// exec/mubuf_format.cc.
//
// A lane outside the buffer reads zero and writes nothing. Elements of several dwords in a raw
// buffer are checked dword by dword. Buffers at kScratchVa are the wave's own scratch.
//
// Cache maintenance is a fence (cache_fence.h), and the host needs that too.
#include <atomic>

#include "emu/exec.h"
#include "emu/exec/atomic_lanes.h"
#include "emu/exec/buffer_lanes.h"
#include "emu/exec/cache_fence.h"
#include "emu/exec/mem_access.h"

namespace wavetap::emu {
namespace {

using isa::Inst;
using isa::Op;
using isa::OperandKind;

// The element is contiguous, in range in all lanes, and not in scratch: the general memory path
// does.
template <class T, int L>
bool plain_addresses(const BufferLanes<L>& lanes, uint64_t* at) {
  if (lanes.is_scratch() || (lanes.buffer.swizzled && T::kBytes > 4)) return false;
  uint64_t excluded = 0;
  for (int lane = 0; lane < L; ++lane) {
    at[lane] = lanes.address(lane);
    const bool misfit = lanes.excludes(lane, 0, T::kBytes) ||
                        (lanes.buffer.swizzled && lanes.offset[lane] % 4 != 0);
    excluded |= uint64_t{misfit} << lane;
  }
  return (excluded & lanes.mask) == 0;
}

// A stack slot: every lane's dword `offset` of scratch, one host row. Null when it is anything
// else.
template <class T, int L>
std::byte* scratch_row(Wave& wave, const Inst& inst) {
  if (wave.notes_accesses) return nullptr;  // the general way announces it
  const auto offset = static_cast<uint32_t>(inst.offset);
  if (inst.offen || inst.idxen || T::kBytes % 4 != 0 || offset % 4 != 0) return nullptr;
  const BufferResource buffer = read_buffer_resource(wave, inst.saddr, wave.dispatch->target);
  if (buffer.base < kScratchVa || !buffer.swizzled || !buffer.add_tid || buffer.stride != 0 ||
      buffer.index_stride != L || buffer.element_bytes != 4)
    return nullptr;
  const uint32_t soffset = inst.soffset.is(OperandKind::kNone) ? 0 : wave.read_s32(inst.soffset);
  if (buffer.excludes(L - 1, offset, soffset, T::kBytes)) return nullptr;
  const uint64_t begin = buffer.base - kScratchVa + soffset + uint64_t{offset} * L;
  const uint64_t size = uint64_t{wave.scratch_bytes_per_lane} * L;
  if (begin % 4 != 0 || begin > size || size - begin < uint64_t{T::kBytes} * L) return nullptr;
  return wave.scratch + begin;
}

// The quick ways of raw buffers: only offsets differ between lanes, all elements are inside, in one
// cached range, and nobody watches. `low` is null when it is anything else.
template <class T, int L>
AddressRows raw_rows(Wave& wave, const Inst& inst, uint64_t mask) {
  if (wave.notes_accesses || !inst.offen || inst.idxen) return {};
  const BufferResource buffer = read_buffer_resource(wave, inst.saddr, wave.dispatch->target);
  if (buffer.swizzled || buffer.add_tid || buffer.base >= kScratchVa || buffer.out_of_range != 3)
    return {};
  const uint32_t soffset = inst.soffset.is(OperandKind::kNone) ? 0 : wave.read_s32(inst.soffset);
  const uint32_t* offset = wave.vrow(inst.vaddr.index);
  uint32_t most = 0;
  for_lanes<L>(mask, [&](int lane) { most = offset[lane] > most ? offset[lane] : most; });
  const auto immediate = static_cast<uint64_t>(inst.offset);
  if (buffer.excludes(0, most + immediate, soffset, T::kBytes)) return {};
  return {buffer.base + soffset + immediate, offset, nullptr};
}

// rows = MEM[buffer address]. `element`: as the instruction has it, which may be a half of a register.
template <class T, int L>
void load_rows(Wave& wave, const Inst& inst, uint32_t* rows, const Element& element) {
  if (const std::byte* host = scratch_row<T, L>(wave, inst)) {
    const auto* from = reinterpret_cast<const uint32_t*>(host);
    for (int i = 0; i < T::kRows; ++i) blend_row<L>(rows + i * L, from + i * L, wave.exec());
    return;
  }
  if (load_quickly<T, L>(wave, raw_rows<T, L>(wave, inst, wave.exec()), wave.exec(), rows)) return;
  const BufferLanes<L> lanes = read_buffer_lanes<L>(wave, inst);
  if (wave.notes_accesses)
    note_buffer<L>(wave, inst, Access::kLoad, lanes, element, Bounds::kByPart);
  uint64_t at[L];
  if (plain_addresses<T, L>(lanes, at)) {
    load_global<T, L>(wave, at, lanes.mask, rows);
    return;
  }
  for (uint64_t rest = lanes.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::byte element_bytes[16];
    if (!move_element<L>(wave, lanes, lane, element_bytes, T::kBytes, false)) return;
    T::load(element_bytes, rows + lane, L);
  }
}

// vdata = MEM[buffer address]
template <class T, int L>
void load(Wave& wave, const Inst& inst) {
  load_rows<T, L>(wave, inst, data_rows(wave, inst.dst), element_of<T>(inst.dst));
}

// A half of vdata = MEM[buffer address]
template <class H, int L>
void load_half(Wave& wave, const Inst& inst) {
  uint32_t row[L];
  load_rows<typename H::Whole, L>(wave, inst, row, element_of<H>(inst.dst));
  put_halves<H, L>(wave, row, data_rows(wave, inst.dst));
}

// LDS[M0 + offset + 4 * lane] = MEM[buffer address], extended to 32 bits
template <class T, int L>
void load_to_lds(Wave& wave, const Inst& inst) {
  uint32_t row[L];
  load_rows<T, L>(wave, inst, row, element_of<T>(inst.dst));
  if (wave.state != WaveState::kFaulted) store_dma_row<L>(wave, inst, wave.exec(), row);
}

// MEM[buffer address] = rows
template <class T, int L>
void store_rows(Wave& wave, const Inst& inst, const uint32_t* rows, const Element& element) {
  if (std::byte* host = scratch_row<T, L>(wave, inst)) {
    auto* to = reinterpret_cast<uint32_t*>(host);
    for (int i = 0; i < T::kRows; ++i) blend_row<L>(to + i * L, rows + i * L, wave.exec());
    return;
  }
  if (store_quickly<T, L>(wave, raw_rows<T, L>(wave, inst, wave.exec()), wave.exec(), rows)) return;
  const BufferLanes<L> lanes = read_buffer_lanes<L>(wave, inst);
  if (wave.notes_accesses)
    note_buffer<L>(wave, inst, Access::kStore, lanes, element, Bounds::kByPart);
  uint64_t at[L];
  if (plain_addresses<T, L>(lanes, at)) {
    store_global<T, L>(wave, at, lanes.mask, rows);
    return;
  }
  for (uint64_t rest = lanes.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::byte element_bytes[16];
    T::store(element_bytes, rows + lane, L);
    if (!move_element<L>(wave, lanes, lane, element_bytes, T::kBytes, true)) return;
  }
}

// MEM[buffer address] = vdata
template <class T, int L>
void store(Wave& wave, const Inst& inst) {
  store_rows<T, L>(wave, inst, data_rows(wave, inst.src[0]), element_of<T>(inst.src[0]));
}

// MEM[buffer address] = the high half of vdata
template <class H, int L>
void store_half(Wave& wave, const Inst& inst) {
  uint32_t row[L];
  high_halves<L>(data_rows(wave, inst.src[0]), row);
  store_rows<typename H::Whole, L>(wave, inst, row, element_of<H>(inst.src[0]));
}

// MEM[buffer address] = LDS[M0 + offset + 4 * lane]
template <int L>
void buffer_store_lds_dword(Wave& wave, const Inst& inst) {
  uint32_t row[L];
  load_dma_row<L>(wave, inst, wave.exec(), row);
  store_rows<Dwords<1>, L>(wave, inst, row, element_of<Dwords<1>>(inst.src[0]));
}

// tmp = MEM[address]; MEM[address] = next(tmp, vdata); vdata = tmp (when the instruction returns
// it)
template <int L>
void atomic_op(Wave& wave, const Inst& inst) {
  const AtomicOp& op = *find_atomic_op(inst.op);
  const AtomicRows rows = atomic_rows(wave, inst);
  const AddressRows raw = op.size_bytes == 8 ? raw_rows<Dwords<2>, L>(wave, inst, wave.exec())
                                             : raw_rows<Dwords<1>, L>(wave, inst, wave.exec());
  if (update_quickly<L>(wave, op, raw, wave.exec(), rows.data, rows.result)) return;
  const BufferLanes<L> lanes = read_buffer_lanes<L>(wave, inst);
  if (wave.notes_accesses)
    note_buffer<L>(wave, inst, atomic_access(inst.dst), lanes,
                   atomic_element(op.size_bytes, inst.dst, inst.src[0]), Bounds::kWhole);
  for (uint64_t rest = lanes.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    uint32_t* result = rows.result == nullptr ? nullptr : rows.result + lane;
    const uint64_t at = lanes.address(lane);
    if (at % op.size_bytes != 0) {
      wave.raise(FaultKind::kMisaligned, GpuAddr{at}, true, lane, "atomic operation");
      return;
    }
    if (lanes.excludes(lane, 0, op.size_bytes)) {
      for (uint32_t i = 0; result != nullptr && i < op.size_bytes / 4; ++i) result[i * L] = 0;
      continue;
    }
    std::byte* host = wave.translate(at, op.size_bytes, true, lane);
    if (host == nullptr) return;
    op.update_shared(host, rows.data + lane, result, L);
  }
}

// vdata = MEM[buffer address]; the register behind it gets the fault status, 0: all memory is resident
void load_with_status(Wave& wave, const Inst& inst) {
  const int lanes = wave.lanes;
  Inst plain = inst;
  plain.tfe = false;
  const Dispatch& dispatch = *wave.dispatch;
  find_mubuf(plain, {dispatch.target, lanes == 64, dispatch.sram_ecc})(wave, inst);
  uint32_t* status = data_rows(wave, inst.dst) + (inst.dst.dwords - 1) * lanes;
  for_each_lane(wave.exec(), [&](int lane) { status[lane] = 0; });
}

void fence(Wave&, const Inst&) { std::atomic_thread_fence(std::memory_order_seq_cst); }
void workgroup_fence(Wave&, const Inst&) { std::atomic_thread_fence(std::memory_order_acquire); }

// --- Finding.

template <int L>
Handler find_in(const Inst& inst, bool sram_ecc) {
  switch (inst.op) {
// clang-format off
#define WT_DMA_LOAD(name, ...) \
  case Op::buffer_load_##name: return inst.lds ? load_to_lds<__VA_ARGS__, L> : load<__VA_ARGS__, L>;
#define WT_LOAD(name, ...) \
  case Op::buffer_load_##name: return load<__VA_ARGS__, L>;
#define WT_D16_LOAD(name, ...) \
  case Op::buffer_load_##name: \
    return sram_ecc ? load_half<Small<__VA_ARGS__, true>, L> : load_half<Small<__VA_ARGS__>, L>;
#define WT_STORE(name, ...) \
  case Op::buffer_store_##name: return store<__VA_ARGS__, L>;
#define WT_D16_STORE(name, ...) \
  case Op::buffer_store_##name: return store_half<__VA_ARGS__, L>;
// clang-format on
#include "emu/exec/mem_forms.inc"
    case Op::buffer_store_lds_dword: return buffer_store_lds_dword<L>;
    default:
      if (is_workgroup_fence(inst.op)) return workgroup_fence;
      if (is_cache_fence(inst.op)) return fence;
      return find_atomic_op(inst.op) == nullptr ? nullptr : atomic_op<L>;
  }
}

}  // namespace

Handler find_mubuf(const Inst& inst, Shape shape) {
  if (inst.tfe) {  // of stores and atomics no manual says what they do with the register
    if (inst.dst.is(OperandKind::kNone) || find_atomic_op(inst.op) != nullptr) return nullptr;
    return load_with_status;
  }
  if (const Handler handler = find_buffer_format(inst, shape)) return handler;
  return shape.wave64 ? find_in<64>(inst, shape.sram_ecc) : find_in<32>(inst, shape.sram_ecc);
}

}  // namespace wavetap::emu
