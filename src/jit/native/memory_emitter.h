// MemoryEmitter: loads and stores of a segment.
//
// Addresses are in registers before the segment begins (plan.cc sees to that), so they are looked at
// once, before the first strip: do they lie in one range of the worker's translation cache, or in
// LDS, and what is their pattern? Where they do not, the handlers do the whole segment: whatever
// faults, reaches an aperture or crosses a border is theirs. After that nothing can go wrong inside
// the strips, and results need not be taken back.
//
// A pattern: in every group of 16 lanes, each is `step` bytes behind the one before. Then a strip,
// which is never wider than a group, is one vector of memory, or one element for all of it. Otherwise
// lanes are done one by one.
//
// A segment stores once at most, as its last operation and reads nothing in the same space: lanes of
// a strip store before those of the next one read. Ordering is the handlers': elements move as whole
// as theirs do, none is read twice or only once for two, and a store to global memory has a release
// fence before it.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/inst.h"
#include "jit/native/lane_builder.h"
#include "jit/native/memory_ops.h"
#include "jit/native/scalar_file.h"

#include "llvm/IR/IRBuilder.h"

namespace wavetap::jit {

// Lanes whose addresses are looked at together.
inline constexpr unsigned kAddressGroup = 16;

class MemoryEmitter {
 public:
  MemoryEmitter(llvm::IRBuilder<>& ir, llvm::Value* wave, llvm::Value* rows, unsigned wave_lanes)
      : ir_(ir), wave_(wave), rows_(rows), wave_lanes_(wave_lanes) {}

  bool is_empty() const { return accesses_.empty(); }

  // Before the strips: takes note of an instruction, with the values its scalars have there.
  void add(const isa::Inst& inst, int32_t index, ScalarFile& scalars);
  // Emits the look at all addresses. The result: they are as the strips need them.
  llvm::Value* check(llvm::Value* exec, llvm::Value* is_full);

  // Inside a strip whose first lane is `lane`; `active` has a bit for each of its lanes.
  void begin_strip(const LaneBuilder& lanes, llvm::Value* lane, llvm::Value* active);
  // Registers of element `element`, as i32 vectors.
  std::vector<llvm::Value*> load(const isa::Inst& inst, uint32_t element);
  void store(const isa::Inst& inst, uint32_t element, const std::vector<llvm::Value*>& rows);

 private:
  // Instructions with the same address registers, whose offsets alone differ.
  struct Group {
    MemoryOp::Space space;
    bool is_store;
    uint32_t low;           // register of the (lower) address
    bool has_high;          // the next one has the upper half
    llvm::Value* base;      // scalar part; null: none
    int64_t begin, end;     // of the bytes that lanes reach from their address on
    llvm::Value* host{};    // i64: where the host has the byte at which `low` counts from
    llvm::Value* lowest{};  // i32: the lowest address of an active lane
    llvm::Value* step{};    // i32; -1: there is no pattern
  };
  struct Access {
    const isa::Inst* inst;
    int32_t index;  // in the program
    MemoryOp op;
    size_t group;
    int64_t offset[2];
  };
  // What the addresses of one group of instructions come to.
  struct Scan {
    llvm::Value* lowest;
    llvm::Value* highest;
    llvm::Value* step;
    llvm::Value* high;     // upper half of all addresses
    llvm::Value* is_same;  // i1: they have the same upper half
  };

  const Access& find(const isa::Inst& inst) const;
  Scan scan(const Group& group, llvm::Value* exec, bool is_masked);
  llvm::Value* check_group(Group& group, llvm::Value* exec, llvm::Value* is_full);
  llvm::Value* row_group(uint32_t reg, unsigned lane);
  llvm::Value* lane_value(uint32_t reg, llvm::Value* lane);
  llvm::Value* has_step(const Group& group, uint32_t step);
  llvm::Value* pointer(const Access& access, llvm::Value* low, uint32_t element, uint32_t more);
  llvm::Value* first_pointer(const Access& access, uint32_t element);
  llvm::Value* addresses(const Group& group);
  llvm::Value* read(llvm::Type* type, llvm::Value* at);
  void put(llvm::Value* value, llvm::Value* at);
  llvm::Value* extend(const Access& access, llvm::Value* value, llvm::Type* type);
  std::vector<llvm::Value*> load_row(const Access& access, uint32_t element);
  std::vector<llvm::Value*> load_one(const Access& access, llvm::Value* low, uint32_t element);
  std::vector<llvm::Value*> load_same(const Access& access, uint32_t element);
  std::vector<llvm::Value*> load_lanes(const Access& access, uint32_t element);
  void store_row(const Access& access, uint32_t element, const std::vector<llvm::Value*>& rows);
  void store_lanes(const Access& access, uint32_t element, const std::vector<llvm::Value*>& rows);
  llvm::Value* load_field(llvm::Type* type, size_t offset);
  void note_place(const Access& access);
  llvm::BasicBlock* new_block(const char* name);

  llvm::IRBuilder<>& ir_;
  llvm::Value* wave_;
  llvm::Value* rows_;
  const unsigned wave_lanes_;
  std::vector<Group> groups_;
  std::vector<Access> accesses_;

  // --- Of the strip.
  const LaneBuilder* lanes_ = nullptr;
  llvm::Value* lane_ = nullptr;
  llvm::Value* active_ = nullptr;
  llvm::Value* is_whole_ = nullptr;  // i1: all its lanes are active
};

// The host's address of [address, address + size) as a number, when the worker's translation cache
// has all of it in one range with the right to read or write; else 0.
llvm::Value* emit_translate(llvm::IRBuilder<>& ir, llvm::Value* wave, llvm::Value* address,
                            llvm::Value* size, bool write);

}  // namespace wavetap::jit
