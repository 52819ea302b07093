// AddressFacts: what is known of the addresses of a segment before any of it is done.
//
// Most addresses are a number of the lane, times a constant, plus something that all lanes share;
// and from round to round of a loop only the latter changes. So operations that keep it so (sums,
// shifts by constants, the extension to 64 bits) are followed with scalars: a handful of
// instructions say in which range the addresses of all lanes lie and how far one is from the next,
// without looking at a single lane. The segment's addresses are checked by that before the first
// strip, though its strips compute them.
//
// A fact is about a register, or about two that hold 64 bits, and about some of the lanes. There is
// a base modulo 2^32 or 2^64 and a distance of each lane from it, at most `span`, which is less than
// 2^31. In every group of 16 lanes each is `step` behind the one before, or there is no such number.
//
// Facts may be about more lanes than are on. Where addresses do not fit because of those, the others are looked at.
//
// What is not computed in the segment is a root. Facts of roots are kept in slots as long as nobody
// else writes the register; where there is none for the lanes that are on, they are looked at
// (emit_scan). Slots are in front of the wave's registers (emu/compiler.h), so that a piece of code that
// begins right where another one ended, as behind a barrier, knows what that one knew. Which slot a
// register has is the same everywhere; what finds its slot taken by another one of the same piece has
// one on the stack.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "isa/inst.h"
#include "jit/native/plan.h"

#include "llvm/IR/IRBuilder.h"

namespace wavetap::jit {

// Lanes whose addresses are looked at together.
inline constexpr unsigned kAddressGroup = 16;

struct Fact {
  llvm::Value* lowest{};  // i64
  llvm::Value* span{};    // i64
  llvm::Value* step{};    // i64; beyond kFarthestStep: none
  llvm::Value* lanes{};   // i64: whom it is true of
};
inline constexpr int64_t kFarthestStep = int64_t{1} << 20;
inline constexpr uint64_t kNoStep = uint64_t{1} << 40;

// Follows the operations of a segment. Without values, for the plan, or with those of scalars.
class AddressFacts {
 public:
  using Node = int32_t;
  static constexpr Node kUnknown = -1;
  // The value of a scalar operand, 32 bits; null in a plan.
  using Scalar = std::function<llvm::Value*(const isa::Operand&)>;

  // A vector operation that is compiled.
  void follow(const isa::Inst& inst, const Scalar& scalar);
  // Something wrote the register.
  void forget(uint32_t reg);

  Node row(uint32_t reg);
  Node pair(uint32_t low, uint32_t high);
  bool is_changed(uint32_t reg) const { return version_.contains(reg); }
  void add_roots(Node node, std::set<FactRoot>& roots) const;
  // What the value of a changed root comes from; empty: nobody knows, or it is as before.
  std::set<FactRoot> roots_after(const FactRoot& root);

  enum class Kind : uint8_t { kRoot, kUniform, kAdd, kSub, kTimes, kShift, kSigned, kJoined };
  struct Expression {
    Kind kind;
    Node a = kUnknown;
    Node b = kUnknown;
    uint32_t by = 0;
    FactRoot root{};
    llvm::Value* value = nullptr;
  };
  const Expression& at(Node node) const { return nodes_[static_cast<size_t>(node)]; }

 private:
  // A source of an operation: a register, or a scalar.
  struct Source {
    bool is_row = false;
    uint32_t reg = 0;
    uint32_t version = 0;
    Node node = kUnknown;  // its 32 bits
    struct Pair {
      uint32_t high;
      uint32_t version;
      Node node;
    };
    std::vector<Pair> pairs;  // that it begins
  };
  struct Carry {
    uint32_t sum;
    uint32_t version;
    Source source[2];
  };
  Node make(const Expression& expression);
  Node add(Node a, Node b);
  Node times(Node a, Node b);
  Node shifted(Node a, const isa::Operand& by);
  Source source(const isa::Inst& inst, size_t k, const Scalar& scalar);
  std::pair<Node, int> join(const Source& low, const Source& high);
  Node low_result(const isa::Inst& inst, const Source* s);
  void follow_carry(const isa::Inst& inst, const Source* s);
  Node wide_source(const isa::Inst& inst, size_t k, const Scalar& scalar);
  uint32_t version(uint32_t reg) const;

  std::vector<Expression> nodes_;
  std::map<uint32_t, Node> row_;
  std::map<std::pair<uint32_t, uint32_t>, Node> pair_;
  std::map<uint32_t, Carry> carry_;  // by mask
  std::map<uint32_t, uint32_t> version_;
};

// The slots of a function.
class FactSlots {
 public:
  FactSlots(llvm::IRBuilder<>& ir, const Plan& plan, unsigned wave_lanes);

  // At the function's beginning, when the wave has performed `now` instructions: what is known is what
  // code that ended just there has left.
  void begin(llvm::Value* rows, llvm::Value* state_of_wave, llvm::Value* now);
  // At its end, likewise.
  void end(llvm::Value* now);
  // Where what writes these begins.
  void forget_others(const WrittenRows& written);
  // Registers may have changed in a way nobody followed.
  void forget_all();
  // Whether something is known of one of these that is about other lanes than those of `exec`. Behind a look at
  // those it is not, whatever was found.
  llvm::Value* is_about_others(const std::set<FactRoot>& roots, llvm::Value* exec);
  void forget(const std::set<FactRoot>& roots);

  // What is known of a node, for the lanes of `exec`; `looks` where roots are looked at as needed.
  // Values are good for the rest of the segment.
  class Reader {
   public:
    Reader(FactSlots& slots, const AddressFacts& facts, llvm::Value* exec)
        : slots_(slots), facts_(facts), exec_(exec) {}
    const Fact& read(AddressFacts::Node node, bool looks);
    // An i64: by how much the node will be larger in the next round of a loop, as far as that comes from what the
    // segment adds to roots. A guess; null: nobody knows. Behind update().
    llvm::Value* growth(AddressFacts& facts, AddressFacts::Node node);

   private:
    llvm::Value* growth_of_root(AddressFacts& facts, AddressFacts::Node node);
    Fact read_root(const FactRoot& root, bool looks);
    Fact limited(Fact fact, llvm::Value* holds);
    Fact derived(const AddressFacts::Expression& of, const Fact& a, const Fact& b);

    FactSlots& slots_;
    const AddressFacts& facts_;
    llvm::Value* exec_;
    std::map<AddressFacts::Node, Fact> known_;
    std::map<AddressFacts::Node, Fact> looked_;
  };

  // The segment that `facts` followed is done.
  void update(AddressFacts& facts, Reader& reader, llvm::Value* exec);

 private:
  llvm::Value* field(size_t slot, unsigned k);
  AddressFacts::Node node_after(AddressFacts& facts, const FactRoot& root) const;
  size_t slot_of(const FactRoot& root) const;
  llvm::Value* state(size_t offset);

  llvm::IRBuilder<>& ir_;
  std::vector<FactRoot> roots_;
  const unsigned wave_lanes_;
  std::vector<int> place_;         // of each root, in the wave; -1: it has none
  uint64_t own_ = 0;               // places of roots, a bit for each
  uint64_t own_pairs_ = 0;         // of those that are two registers
  llvm::Value* memory_ = nullptr;  // of roots without a place
  llvm::Value* others_ = nullptr;  // a variable of 64 bits: places of others that are as they were
  llvm::Value* pairs_ = nullptr;   // i64: places that had pairs at the beginning
  llvm::Value* rows_ = nullptr;
  llvm::Value* state_ = nullptr;  // Wave::compiled_state
};

// Looks at the lanes of `exec`. `high` is null for 32 bits.
Fact emit_scan(llvm::IRBuilder<>& ir, llvm::Value* low, llvm::Value* high, llvm::Value* exec,
               unsigned wave_lanes);

}  // namespace wavetap::jit
