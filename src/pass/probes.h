// ProbeFunctions: the device functions that probes call, to be inlined where they are called.
//
// A probe is wave-wide: the lanes that are active work together, and the first of them reserves space and
// writes what concerns the wave. Lanes that are not active are left alone, so a probe is right wherever
// the instruction it stands before is. format/probe_ring.h has the protocol.
#pragma once

#include "pass/wave_code.h"

namespace wavetap::pass {

class ProbeFunctions {
 public:
  // With the target attributes of `kernel`.
  ProbeFunctions(llvm::Function& kernel, WaveCode& wave);

  // void (launch, place, header, kinds): `kinds` are the bits of ProbeWants that ask for it.
  llvm::Function* point() const { return point_; }
  // void (launch, place, header, kinds, value)
  llvm::Function* lanes() const { return lanes_; }
  // void (launch, site, ticks)
  llvm::Function* ticks() const { return ticks_; }
  // void (launch, the same in global memory): counts the work-items that end; the last ones hand over the
  // table.
  llvm::Function* end() const { return end_; }
  void erase_unused();

 private:
  using Builder = WaveCode::Builder;
  // A probe that has counted, if that is wanted, and goes on to record.
  struct Begun {
    llvm::Value *launch, *place, *header;
    Lanes active;
    llvm::BasicBlock* done;  // returns
  };

  // How the values of the lanes are told.
  struct Shape {
    llvm::Value* from;    // i64, of the first active lane
    llvm::Value* stride;  // i32
    llvm::Value* kind;    // i32, added to the kind of the record
    llvm::Value* words;   // i32, of the whole record
    llvm::Value* tile;    // i64, word 4 of a tile
  };
  struct Row {
    llvm::Value *from, *stride;
    llvm::Value* ends;  // i64, the first lane that does not belong to it
  };
  struct Tile {
    llvm::Value* holds;  // of all active lanes
    llvm::Value* word;   // i64
  };

  llvm::Function* declare(const char* name, llvm::ArrayRef<llvm::Type*> types);
  Begun begin(Builder& b, llvm::Function* probe);
  void store_word(Builder& b, llvm::Value* launch, llvm::Value* index, uint32_t word,
                  llvm::Value* value);
  // Appends code that reserves; the position in bytes, all ones when there is no room.
  llvm::Value* reserve(Builder& b, llvm::Value* launch, const Lanes& lanes, llvm::Value* words);
  // The table's entry of a site: its address.
  llvm::Value* entry(Builder& b, llvm::Value* launch, llvm::Value* site);
  void add_to(Builder& b, llvm::Value* entry, size_t offset, llvm::Value* value,
              llvm::AtomicRMWInst::BinOp how = llvm::AtomicRMWInst::Add);
  llvm::Value* dispatch_half(Builder& b, llvm::Value* launch);

  // Appends; goes on in a block of its own.
  Shape shape_of(Builder& b, llvm::Value* value, const Lanes& active);
  Tile tile_of(Builder& b, llvm::Value* value, const Lanes& active, const Row& row);
  llvm::Value* has_rows(Builder& b, llvm::Value* value, const Lanes& active, llvm::Value* stride);
  llvm::Value* times(Builder& b, llvm::Value* one, llvm::Value* other);
  void store_shape(Builder& b, llvm::Value* launch, llvm::Value* index, llvm::Value* value,
                   const Shape& shape, llvm::BasicBlock* next);

  llvm::Function* make_point();
  llvm::Function* make_lanes();
  llvm::Function* make_ticks();
  llvm::Function* make_end();
  // Appends: true in the wave whose work-items are the last of the grid.
  llvm::Value* is_last_wave(Builder& b, llvm::Value* launch, const Lanes& active);
  // Appends a loop of all active lanes that moves the table; goes to `next`.
  void hand_over_table(Builder& b, llvm::Value* launch, const Lanes& active,
                       llvm::BasicBlock* next);

  llvm::Function& kernel_;
  WaveCode& wave_;
  llvm::Type *i32_, *i64_;
  llvm::Function *point_, *lanes_, *ticks_, *end_;
};

}  // namespace wavetap::pass
