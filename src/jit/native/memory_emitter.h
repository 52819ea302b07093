// MemoryEmitter: loads and stores of a segment.
//
// Addresses are known before the first strip as far as it matters (address_facts.h; segments.cc sees
// to that): do they lie in one range of the worker's translation cache, or in LDS, and what is their
// pattern? Where they do not, the handlers do the whole segment: whatever faults, reaches an aperture
// or crosses a border is theirs. After that nothing can go wrong inside the strips, and results need
// not be taken back.
//
// A pattern: in every group of 16 lanes, each is `step` bytes behind the one before. Then a strip,
// which is never wider than a group, is one vector of memory, or one element for all of it. Otherwise
// lanes are done one by one. A strip of which lanes are off is loaded from LDS as a whole where all lanes have the
// pattern.
//
// What a loop loads in rows from global memory, in steps that the segment makes, the host is told to fetch one round
// ahead: rows of a matrix lie too far from each other for it to guess. Outside of loops it is what waves that come
// later will load, if they go on where this one ends.
//
// A segment stores once at most, as its last operation and reads nothing in the same space: lanes of
// a strip store before those of the next one read. Ordering is the handlers': elements move as whole
// as theirs do, none is read twice or only once for two, and a store to global memory has a release
// fence before it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "isa/inst.h"
#include "jit/native/address_facts.h"
#include "jit/native/lane_builder.h"
#include "jit/native/memory_ops.h"
#include "jit/native/scalar_file.h"

#include "llvm/IR/IRBuilder.h"

namespace wavetap::jit {

class MemoryEmitter {
 public:
  MemoryEmitter(llvm::IRBuilder<>& ir, llvm::Value* wave) : ir_(ir), wave_(wave) {}

  bool is_empty() const { return accesses_.empty(); }

  // Before the strips: takes note of an instruction, with the values its scalars have there and what
  // is known of its address.
  void add(const isa::Inst& inst, int32_t index, ScalarFile& scalars, AddressFacts& facts);
  // Emits the look at all addresses. The result: they are as the strips need them.
  llvm::Value* check(FactSlots::Reader& facts, llvm::Value* exec, uint64_t all_lanes);

  // Behind FactSlots::update(): notes where will be loaded from next.
  void expect(FactSlots::Reader& reader, AddressFacts& facts, bool is_in_loop);

  // What addresses are made from.
  std::set<FactRoot> roots(const AddressFacts& facts) const;

  // Steps that lanes may have: one for each group of instructions with the same address. kAnyStep: whatever
  // they have, strips find out.
  using Steps = std::vector<int64_t>;
  static constexpr int64_t kAnyStep = -1;
  // Those that are likely; strips for them are worth having. Behind check().
  std::vector<Steps> likely_steps() const;
  llvm::Value* have(const Steps& steps);
  // What follows is for lanes that have them, all active; empty: for any.
  void assume(const Steps& steps);
  // Of an instruction, as far as that is assumed: lanes have a step, and it is none.
  bool is_known(const isa::Inst& inst) const { return known_step(inst) != kAnyStep; }
  bool is_same(const isa::Inst& inst) const { return known_step(inst) == 0; }

  // Inside a strip; `active` has a bit for each of its lanes.
  void begin_strip(const LaneBuilder& lanes, llvm::Value* active);
  // Registers of all elements, as i32 vectors; `low` are the (lower halves of the) addresses, `old` what
  // the register has before where half of it is loaded.
  std::vector<llvm::Value*> load(const isa::Inst& inst, llvm::Value* low, llvm::Value* old);
  void store(const isa::Inst& inst, uint32_t element, llvm::Value* low,
             std::vector<llvm::Value*> rows);
  // Atomic operations: lanes that are not at a multiple of the element's size, and the operation, which
  // gives what was there before.
  llvm::Value* misaligned(const isa::Inst& inst, llvm::Value* low);
  std::vector<llvm::Value*> update(const isa::Inst& inst, llvm::Value* low,
                                   const std::vector<llvm::Value*>& rows);

 private:
  // Instructions with the same address, whose offsets alone differ.
  struct Group {
    MemoryOp::Space space;
    bool is_store;
    AddressFacts::Node address;
    bool is_wide;           // the address has 64 bits
    llvm::Value* base;      // scalar part; null: none
    int32_t index;          // of its first instruction
    int64_t begin, end;     // of the bytes that lanes reach from their address on
    llvm::Value* lowest{};  // i32: the lowest address of an active lane, its lower half
    llvm::Value* origin{};  // i64: where the host has the byte at `begin` of a lane at distance() 0
    llvm::Value* covers{};  // i1: lanes that are off could be loaded from as well
    llvm::Value* step{};    // i64
    llvm::Value* growth{};  // i64: of addresses, until the next round; null: nobody knows
    int64_t known_step = kAnyStep;
    // Of the strip, by element size: is it in a row, or the same for all? Not i1, or LLVM compares
    // anew for every access.
    std::map<uint32_t, llvm::Value*> flag{};
    // Of the strip, by its addresses: where the host has the byte at `begin` of its first lane.
    std::map<llvm::Value*, llvm::Value*> first{};
  };
  struct Access {
    const isa::Inst* inst;
    int32_t index;  // in the program
    MemoryOp op;
    size_t group;
    int64_t offset[2];
  };

  const Access& find(const isa::Inst& inst) const;
  int64_t known_step(const isa::Inst& inst) const { return groups_[find(inst).group].known_step; }
  llvm::Value* kept_bits();
  llvm::Value* check_group(Group& group, const Fact& fact, llvm::Value* exec, uint64_t all_lanes);
  llvm::Value* has_step(Group& group, uint32_t step);
  llvm::Value* distance(const Group& group, llvm::Value* low);
  llvm::Value* lane_of(llvm::Value* low, unsigned lane);
  llvm::Value* pointer(const Access& access, llvm::Value* low, uint32_t element, uint32_t more);
  void find_first(Group& group);
  llvm::Value* first_pointer(const Access& access, uint32_t element);
  llvm::Value* addresses(const Group& group);
  llvm::Value* read(llvm::Type* type, llvm::Value* at);
  void prefetch(const Access& access);
  void put(llvm::Value* value, llvm::Value* at);
  llvm::Value* put_half(const Access& access, llvm::Value* bits, llvm::Value* old);
  llvm::Value* extend(const Access& access, llvm::Value* value, llvm::Type* type);
  std::vector<llvm::Value*> load_row(const Access& access, uint32_t element);
  std::vector<llvm::Value*> load_one(const Access& access, llvm::Value* at);
  std::vector<llvm::Value*> load_same(const Access& access, uint32_t element);
  std::vector<llvm::Value*> load_sliding(const Access& access, uint32_t element);
  std::vector<llvm::Value*> load_lanes(const Access& access, uint32_t element);
  std::vector<llvm::Value*> load_whole_lanes(const Access& access, uint32_t element);
  std::vector<llvm::Value*> load_known(const Access& access);
  using LoadOne = std::vector<llvm::Value*> (MemoryEmitter::*)(const Access&, uint32_t);
  std::vector<llvm::Value*> load_all(const Access& access, LoadOne one);
  std::vector<llvm::Value*> load_unknown(const Access& access);
  void store_row(const Access& access, uint32_t element, const std::vector<llvm::Value*>& rows);
  llvm::Value* update_lane(const Access& access, llvm::Value* low, llvm::Value* data);
  llvm::Value* update_some(const Access& access, llvm::Value* low, llvm::Value* data);
  std::vector<llvm::Value*> whole_elements(const Access& access,
                                           const std::vector<llvm::Value*>& rows);
  void store_lanes(const Access& access, uint32_t element, const std::vector<llvm::Value*>& rows);
  llvm::Value* load_field(llvm::Type* type, size_t offset);
  void note_place(const Access& access);
  llvm::BasicBlock* new_block(const char* name);

  llvm::IRBuilder<>& ir_;
  llvm::Value* wave_;
  std::vector<Group> groups_;
  std::vector<Access> accesses_;
  llvm::Value* kept_ = nullptr;  // i32: of the half that is not loaded, all bits or none

  // --- Of the strip.
  const LaneBuilder* lanes_ = nullptr;
  llvm::Value* active_ = nullptr;
  llvm::Value* low_ = nullptr;       // addresses of the access that is emitted
  llvm::Value* is_whole_ = nullptr;  // i1: all its lanes are active
};

// The host's address of [address, address + size) as a number, when the worker's translation cache
// has all of it in one range with the right to read or write; else 0. `index` is the instruction's.
llvm::Value* emit_translate(llvm::IRBuilder<>& ir, llvm::Value* wave, llvm::Value* address,
                            llvm::Value* size, bool write, int32_t index);

}  // namespace wavetap::jit
