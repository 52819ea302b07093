// How memory instructions announce their accesses: handlers call one of these before they move
// anything, when wave.notes_accesses says so, and everything ends in note_access() (watching.h).
//
//   if (wave.notes_accesses) note_lds(wave, inst, Access::kLoad, at, mask, element_of<T>(inst.dst));
//
// An access counts where it is announced. So one that faults counts whole, scalar or vector, as the
// instruction itself has counted; an element outside its buffer or the workgroup's LDS touches no
// memory and counts nothing. The LDS side of LDS-DMA is added here, from Inst::lds.
#pragma once

#include <cstdint>

#include "emu/access.h"
#include "emu/watch_state.h"
#include "emu/watching.h"
#include "emu/wave.h"
#include "isa/inst.h"

namespace wavetap::emu {

// One lane's element, and the registers it comes from or goes to; null when none holds its bytes.
struct Element {
  uint32_t size_bytes = 4;
  const isa::Operand* data = nullptr;
  uint8_t data_byte = 0;
};

// `skip_bytes`: of the registers, before the element (ds_read2's second one).
template <class T>
Element element_of(const isa::Operand& data, uint32_t skip_bytes = 0) {
  return {T::kBytes, &data, static_cast<uint8_t>(T::kDataByte + skip_bytes)};
}

// Collects the accesses of one instruction, then announces them together.
class AccessNote {
 public:
  AccessNote(Wave& wave, const isa::Inst& inst) : wave_(wave), inst_(inst) {}
  AccessNote(const AccessNote&) = delete;
  AccessNote& operator=(const AccessNote&) = delete;

  // The next access. Its addresses, by lane, go to addresses().
  MemoryAccess& add(Space space, Access access, const Element& element, uint64_t mask);
  uint64_t* addresses() { return address_[count_ - 1]; }

  // An LDS access of a DS instruction: lanes outside the allocation access nothing.
  void add_lds(Access access, const uint32_t* at, const Element& element, uint64_t mask);

  // Nothing when no lane is active.
  void tell();

 private:
  void add_dma_side();

  Wave& wave_;
  const isa::Inst& inst_;
  size_t count_ = 0;
  union {  // made one by one: few instructions have more than one
    MemoryAccess access_[kMaxAccesses];
  };
  uint64_t address_[kMaxAccesses][64];  // filled as far as used
};

void note_global(Wave& wave, const isa::Inst& inst, Access access, const uint64_t* at,
                 uint64_t mask, const Element& element, Relation relation = Relation::kNone);
void note_scratch(Wave& wave, const isa::Inst& inst, Access access, const uint32_t* at,
                  uint64_t mask, const Element& element);
void note_lds(Wave& wave, const isa::Inst& inst, Access access, const uint32_t* at, uint64_t mask,
              const Element& element);
// All lanes, in a relation and in the workgroup's LDS; `first`: the addresses of the groups' first
// lanes, without the offset. `second` is there for ds_read2.
struct OffsetElement {
  uint32_t offset = 0;
  Element element;
};
void note_lds_groups(Wave& wave, const isa::Inst& inst, Access access, Relation relation,
                     const uint32_t* first, const OffsetElement& one,
                     const OffsetElement& second = {0, {0, nullptr, 0}});
// The same for global memory.
void note_global_groups(Wave& wave, const isa::Inst& inst, Access access, Relation relation,
                        const uint64_t* first, const Element& element);
// ds_read2 and friends.
void note_lds_pair(Wave& wave, const isa::Inst& inst, Access access, const uint32_t* first,
                   const uint32_t* second, uint64_t mask, const Element& first_element,
                   const Element& second_element);

// A flat access: each lane's address is in global memory, in LDS or in scratch.
struct FlatLanes {
  uint64_t global = 0;
  uint64_t lds = 0;
  uint64_t scratch = 0;
};
void note_flat(Wave& wave, const isa::Inst& inst, Access access, const uint64_t* at,
               const uint32_t* offset, const FlatLanes& lanes, const Element& element);

// A scalar access of which the first `inside_bytes` lie in its buffer; all of it without one.
void note_scalar(Wave& wave, const isa::Inst& inst, Access access, uint64_t address,
                 uint32_t size_bytes, uint32_t inside_bytes, const isa::Operand& data);

inline Access atomic_access(const isa::Operand& result) {
  return result.is(isa::OperandKind::kNone) ? Access::kAtomic : Access::kAtomicReturn;
}
// The registers of an atomic: where the old value goes, else where the operand is.
inline Element atomic_element(uint32_t size_bytes, const isa::Operand& result,
                              const isa::Operand& operand) {
  return {size_bytes, result.is(isa::OperandKind::kNone) ? &operand : &result, 0};
}

}  // namespace wavetap::emu
