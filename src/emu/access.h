// MemoryAccess: what one instruction does to memory, as counters and watchers see it. Which lanes,
// where, how many bytes, in which space; note_access.h makes them, watch.h hands them out.
//
// An instruction makes one access, or several at once: ds_read2 two, a flat instruction one per
// space its lanes reach, LDS-DMA one on either side, a ds_*_src2 two. An element that is scattered
// over a swizzled buffer, or partly outside a raw one, is an access per byte.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "isa/inst.h"

namespace wavetap::emu {

struct Wave;

enum class Space : uint8_t {
  kGlobal,  // the GPU's address space
  kLds,     // address: bytes from the start of the workgroup's LDS
  // address: bytes of the lane's own scratch. A scalar access reaches all lanes' alike: bytes of
  // the wave's scratch, in which a lane has every wave-size-th dword.
  kScratch,
};

enum class Access : uint8_t {
  kLoad,
  kStore,
  kAtomic,        // without the old value
  kAtomicReturn,  // with it
};

// Lanes are looked at in groups of 16: kernels whose workgroups are two-dimensional and of that
// width access a row or a column of a tile, another one for each group. An ordinary row is a
// pattern of groups as well.
inline constexpr int kGroupLanes = 16;

// How the addresses relate within every group, when all lanes of the wave are active.
enum class Relation : uint8_t {
  kNone,
  kConsecutive,  // lane i accesses element i of an array
  kSame,         // all lanes access one element
};

// Lowest and highest address of some elements.
struct AddressSpan {
  uint64_t first = 0;
  uint64_t last = 0;
};

// Of all lanes of an instruction together, before it runs; access_span.h finds it.
struct ByteSpan {
  Space space = Space::kGlobal;  // kGlobal or kLds
  bool writes = false;           // an atomic does
  uint8_t align = 1;             // that each address needs: the size of an atomic, else 1
  uint64_t begin = 0;            // of the lowest byte
  uint64_t end = 0;              // one past the highest
  uint64_t bits = 0;             // that are set in some address, as far as alignment goes

  bool is_aligned() const { return (bits & (align - 1u)) == 0; }
};

struct MemoryAccess {
  Space space = Space::kGlobal;
  Access access = Access::kLoad;
  // The wave's own, through the scalar cache: lane 0 stands for it, whatever EXEC says.
  bool is_scalar = false;
  // Half of a transfer between memory and LDS that passes by the registers.
  bool is_dma = false;
  // What the engine found out about the addresses, for watchers that can use it. kNone: nothing.
  Relation relation = Relation::kNone;
  uint32_t size_bytes = 0;  // of each lane's element
  uint64_t mask = 0;        // lanes whose element is accessed
  // Active lanes whose element lies outside its buffer or the workgroup's LDS: it reads as zero, a
  // write to it is dropped, memory is not touched.
  uint64_t outside = 0;
  const uint64_t* address = nullptr;  // by lane, for the lanes of both masks

  // The registers that hold the element's bytes as memory has them, and at which byte of them:
  // what a store stores, where a load or a returning atomic leaves what it found. Null where no
  // register does: format conversions, LDS-DMA, a ds_*_src2's second operand.
  const isa::Operand* data = nullptr;
  uint8_t data_byte = 0;

  bool reads() const { return access != Access::kStore; }
  bool writes() const { return access != Access::kLoad; }
  // Groups of lanes, where there is a relation; group i begins at address[i * kGroupLanes].
  int groups() const { return (64 - std::countl_zero(mask)) / kGroupLanes; }
  // All elements follow each other, or are the same.
  bool is_whole() const {
    if (relation == Relation::kNone) return false;
    const uint64_t step = relation == Relation::kSame ? 0 : uint64_t{kGroupLanes} * size_bytes;
    for (int i = 1, count = groups(); i < count; ++i)
      if (address[i * kGroupLanes] != address[0] + static_cast<uint64_t>(i) * step) return false;
    return true;
  }
  // Of the lanes of `mask`, of which there is one.
  AddressSpan span() const;
  uint64_t bytes() const {  // of all lanes
    return static_cast<uint64_t>(std::popcount(mask)) * size_bytes;
  }
};

// The same access with the addresses of all lanes, for who has asked for those of rows only
// (Wants::rows_suffice).
class WholeAccess {
 public:
  explicit WholeAccess(const MemoryAccess& access);
  WholeAccess(const WholeAccess&) = delete;
  WholeAccess& operator=(const WholeAccess&) = delete;

  const MemoryAccess& operator*() const { return access_; }

 private:
  MemoryAccess access_;
  uint64_t address_[64];
};

// Most accesses that one instruction makes: an element byte by byte, those of the other lanes, and
// the LDS side.
inline constexpr size_t kMaxAccesses = 20;

// What memory holds now at a lane's element: before an access what was there, after it what is.
// Copies access.size_bytes to `out`. False when it is not mapped; raises no fault. Guest memory is
// touched: see the rule of slices in watch.h.
bool read_memory(const Wave& wave, const MemoryAccess& access, int lane, std::byte* out);

// What the element's registers hold now: the data of a store, or the result of a load or returning
// atomic that is over. Copies access.size_bytes to `out`. False when no register has it.
bool read_registers(const Wave& wave, const MemoryAccess& access, int lane, std::byte* out);

}  // namespace wavetap::emu
