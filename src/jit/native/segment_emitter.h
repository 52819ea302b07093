// SegmentEmitter: a run of vector operations, done strip by strip.
//
// Lanes do not depend on each other, so all operations of a segment can be done for the first few
// lanes, then for the next few, and so on: a strip's registers stay in registers of the host, and
// what the segment writes twice is stored once. EXEC does not change inside a segment. Results are
// computed for every lane of a strip and stored for those of EXEC; a strip without any is skipped.
// Scalar operations between the vector ones are done before all strips: none of them reads a mask
// that the segment makes, and a vector operation takes the value a scalar has at its place. So are fences,
// which nothing in memory is done before.
//
// Doubt. Where a NaN turns up among results (lane_builder.h), the strip is not stored. It and those after
// it are done carefully, by strips that know which NaN a result of singles is. Where they are in doubt, too,
// or there are none, the handlers of the whole segment do the rest, with EXEC cut down to its lanes. The
// lanes that were done before are not touched by that, but for their bits of masks, which are put back.
// Handlers do all strips where addresses are not such that strips can do with them (memory_emitter.h).
//
// Versions. There are strips for any lanes, and others for when all lanes are on and addresses have the
// steps they mostly have. Those decide nothing on the way, and what handlers would not read before they
// write it they store at once: what is kept until the strip is known to be right are registers that it
// both reads and writes.
//
// What nobody reads behind the segment (jit/liveness.h) is not stored.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "jit/backend.h"
#include "jit/native/address_facts.h"
#include "jit/native/host.h"
#include "jit/native/memory_emitter.h"
#include "jit/native/plan.h"
#include "jit/native/scalar_file.h"
#include "jit/native/vector_ops.h"

#include "llvm/IR/IRBuilder.h"

namespace wavetap::jit {

// Values of the function that the segment is part of.
struct BlockValues {
  llvm::Value* wave;
  llvm::Value* first_inst;
  llvm::Value* handlers;
  llvm::Value* rows;
  FactSlots* facts;
  // Ends the block after as many instructions, an i64, where the wave has stopped.
  std::function<void(llvm::Value*)> leave;
  std::function<void(const isa::Inst&)> fence;
};

class SegmentEmitter {
 public:
  SegmentEmitter(llvm::IRBuilder<>& ir, ScalarFile& scalars, const BlockRequest& request,
                 const Plan& plan, const HostVectors& vectors, const BlockValues& values);

  // Instructions [begin, end) of the plan, which are one segment.
  void emit(int32_t begin, int32_t end);

 private:
  // A vector operation, with the values its scalar operands have.
  struct Operation {
    const isa::Inst* inst;
    const VectorOp* op;
    llvm::Value* scalar[VectorOp::kMaxSources] = {};
    bool is_paired = false;  // reads before the one before it has written
    bool is_memory = false;  // then `op` is null
  };
  struct Row {
    llvm::Value* bits = nullptr;    // of the strip, i32
    llvm::Value* number = nullptr;  // the floating-point value, while a NaN in it is not noticed
    bool is_written = false;
    bool is_read = false;    // as it was before the segment
    bool is_stored = false;  // already
  };
  struct Result {
    const Operation* operation;
    llvm::Value* value;
    llvm::Value* mask;
    bool has_right_nans = false;
  };
  // Where somebody goes on with a segment: from a lane on, with the masks of lanes before it.
  struct Continuation {
    llvm::BasicBlock* block = nullptr;
    llvm::PHINode* lane = nullptr;
    std::map<uint32_t, llvm::PHINode*> masks = {};

    bool is_reached() const { return block != nullptr && lane->getNumIncomingValues() != 0; }
  };

  void capture(int32_t begin, int32_t end);
  // The order of operations: segment_order.cc.
  static bool may_move(const Operation& operation);
  size_t first_use(size_t load) const;
  void move_loads();
  void find_last_writes();
  bool is_needed(uint32_t reg) const { return live_ == nullptr || live_->has_row(reg); }
  bool is_needed_mask(uint32_t at) const;
  unsigned choose_lanes() const;
  uint64_t all_lanes() const { return wave64_ ? ~uint64_t{0} : 0xffffffffu; }
  bool is_in_loop(int32_t end) const;
  void emit_check(int32_t end, bool has_memory);
  llvm::Value* emit_address_check(FactSlots::Reader& reader);
  void emit_versions();
  std::map<uint32_t, llvm::Value*> emit_version();
  std::map<uint32_t, llvm::Value*> emit_strips(const Continuation* from = nullptr);
  bool has_careful_strips() const;
  std::map<uint32_t, llvm::Value*> emit_careful_strips();
  // Versions for all lanes: segment_versions.cc.
  bool has_own_strips_for_all() const;
  unsigned choose_lanes_for_all() const;
  static std::vector<uint32_t> rows_read(const Operation& operation);
  static std::vector<uint32_t> rows_written(const Operation& operation);
  unsigned registers_at_once(unsigned per_row) const;
  void set_row(uint32_t reg, llvm::Value* bits, llvm::Value* number, const Operation& operation);
  void note_read(uint32_t reg);
  void gather_doubts();
  llvm::Value* are_gathered_right();
  void emit_stores_for_all(llvm::BasicBlock* done);
  void emit_operations();
  // Long series, side by side: segment_series.cc.
  size_t end_of_series(size_t begin) const;
  void emit_series(size_t begin, size_t end);
  static bool is_series(const Operation& operation);
  Result emit_operation(const Operation& operation);
  void write(const Result& result);
  void emit_load(const Operation& operation);
  void take_stored(const isa::Inst& inst);
  void emit_stored();
  llvm::Value* are_right(llvm::Type* but);
  llvm::Value* are_all_right();
  void emit_stores(llvm::BasicBlock* done);
  void store_rows(llvm::Value* active);
  void emit_join(int32_t begin, int32_t end);
  llvm::BasicBlock* emit_redo(int32_t begin, int32_t end);
  Continuation begin_continuation(const char* name);
  void go_on_from(Continuation& there, llvm::Value* lane,
                  const std::map<uint32_t, llvm::PHINode*>& masks);
  // Of a strip that turned out not to be right.
  Continuation& after_doubt() {
    return careful_.block == nullptr || lanes_.is_careful ? redo_ : careful_;
  }
  llvm::Value* emit_redo_loop(int32_t begin, int32_t end, llvm::BasicBlock* after,
                              llvm::BasicBlock* stopped);
  llvm::Value* mask_bits(llvm::Value* mask);

  // Operands and results: segment_operands.cc.
  llvm::Value* source(const Operation& operation, size_t k);
  llvm::Value* packed_source(const Operation& operation, size_t k);
  llvm::Value* short_source(const Operation& operation, size_t k);
  llvm::Value* number_source(const Operation& operation, size_t k);
  llvm::Value* source_bits(const Operation& operation, size_t k, bool high);
  llvm::Value* exchanged(const LanePattern& pattern, uint32_t reg);
  llvm::Value* lanes_read(const LanePattern& pattern);
  llvm::Value* lanes_written(const LanePattern& pattern);
  llvm::Value* limited(llvm::Value* value);
  void write_row(const Operation& operation, uint32_t reg, llvm::Value* bits, llvm::Value* number);
  llvm::Value* settled_bits(uint32_t reg);
  llvm::Value* are_ordered(llvm::Value* number);
  llvm::LoadInst* load_row(uint32_t reg);
  llvm::Value* row_bits(uint32_t reg);
  llvm::Value* addend_again(const Operation& operation, size_t k);
  llvm::Value* row_address(uint32_t reg);
  llvm::Value* read32(uint32_t reg, bool as_number);
  llvm::Value* read64(uint32_t reg, bool as_number);
  void settle(Row& row);
  llvm::BasicBlock* new_block(const char* name);

  llvm::IRBuilder<>& ir_;
  ScalarFile& scalars_;
  const BlockRequest& request_;
  const Plan& plan_;
  const HostVectors& vectors_;
  const BlockValues values_;
  const unsigned wave_lanes_;
  const bool wave64_;

  std::vector<Operation> operations_;
  std::map<uint32_t, const Operation*> last_write_;  // by register
  bool may_doubt_ = false;
  const LiveRegisters* live_ = nullptr;  // behind the segment; null: all
  LaneBuilder lanes_;
  MemoryEmitter memory_;
  AddressFacts facts_;
  uint32_t element_ = 0;  // that strips store: ds_write2 has two, one after the other
  llvm::Value* exec_ = nullptr;
  llvm::Value* is_full_ = nullptr;

  // --- Of the version.
  bool for_all_ = false;  // lanes
  // --- Inside the strip.
  llvm::Value* lane_ = nullptr;    // i32: its first lane
  llvm::Value* active_ = nullptr;  // a bit per lane of the strip
  std::map<uint32_t, Row> row_;
  std::map<uint32_t, llvm::Value*> mask_;         // by first slot; the strip's lanes
  std::map<uint32_t, llvm::PHINode*> done_mask_;  // of strips before, as 64 bits
  const isa::Inst* stores_ = nullptr;  // the segment's last instruction, when it is a store
  std::vector<llvm::Value*> stored_;   // its data
  llvm::Value* stored_at_ = nullptr;   // its addresses
  llvm::Value* largest_[2] = {};       // of numbers: NaN where one of them is
  llvm::Value* wrong_ = nullptr;       // other doubts
  Continuation careful_;               // by careful strips; without a block: there are none
  Continuation redo_;                  // by handlers
  unsigned narrowest_ = ~0u;           // lanes of a strip of any version
};

}  // namespace wavetap::jit
