// Registers that are used before they are written: initcheck's part for registers.
//
// Registers are not cleared when a wave starts. Compilers hardly ever read one that holds nothing; hand-written
// and inline assembler does. So each program is looked at once, without running it: where no way leads from the
// start to a read of a register that was not written on it, nothing is watched. The others are followed while
// they run: a result that was made of something unwritten counts as unwritten, lane by lane, and it is
// reported where it matters: as an address, in a branch, or stored. Moving it around is no error.
//
// The same is done with loads of several registers of which some bring bytes that nobody has written (a load of a
// whole element like that is reported at once, by initcheck.cc). They are followed where their values can reach an
// address or a branch (value_reach.h); storing them is no error, as copies of structs with padding do that.
//
// A register that was written in some lanes counts as written in all: the others are often on purpose what they
// were. Masks of lanes are followed bit by bit, through their logic. What is stored counts as written where it
// is loaded again. Programs that call functions or index registers are not looked at.
#pragma once

#include <bitset>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include "emu/register_use.h"
#include "emu/watch.h"
#include "sanitize/finding.h"

namespace wavetap::sanitize {

// Whether a way leads to a read of a register that was not written on it.
bool may_read_unwritten(const isa::Program& program);

// The registers of a wave.
class RegisterFlow {
 public:
  // Of a wave that begins with so many scalar registers written; with all registers written.
  explicit RegisterFlow(uint32_t first_scalars);
  RegisterFlow();

  // Before an instruction. Findings go to `findings`.
  void step(const emu::WatchPoint& at, FindingTable& findings);
  // After step() of a load: what it loads into a register, in these lanes, nobody has written. `kind`: where.
  void load_unwritten(const emu::WatchPoint& at, Kind kind, const isa::Operand& data,
                      uint32_t number, uint64_t lanes);

 private:
  struct Bad {
    uint64_t lanes = 0;
    bool is_scalar = false;
    bool is_mask = false;   // it comes from a comparison of lanes
    bool has_bits = false;  // then `bits` are those of the scalar result
    uint64_t bits = 0;
    // The same for the low halves of sources: the low half of a sum or product depends on nothing else, and
    // compilers leave the high halves as they are when nobody wants theirs.
    uint64_t low_lanes = 0;
    bool is_low_scalar = false;
    bool any() const { return lanes != 0 || is_scalar; }
  };
  struct Origin {
    GpuAddr pc;
    std::string name;
    bool is_load = false;  // of what was not written, into a register
    Kind kind = Kind::kUninitialisedRegister;
  };

  bool is_written(const emu::RegisterUse& use, uint32_t number) const;
  uint64_t lanes_of(const emu::RegisterUse& use, uint32_t number) const;
  Bad bad_sources(const emu::WatchPoint& at, const emu::RegisterUses& uses);
  // Of a packed operation: `lanes` and `is_scalar` are for the high half alone.
  Bad bad_halves(const emu::WatchPoint& at);
  // Lanes in which all registers of the operand are undefined.
  Bad bad_operand(const emu::WatchPoint& at, const isa::Operand& operand, bool is_all);
  void note_origin(const emu::WatchPoint& at, const emu::RegisterUse& use, uint32_t number);
  // The undefined bits of a scalar operand, and of what a logical operation makes of its operands.
  uint64_t bits_of(const isa::Operand& operand) const;
  uint64_t bits_of_logic(const emu::WatchPoint& at) const;
  bool is_decided(const emu::WatchPoint& at) const;
  void write(const emu::RegisterUse& use, const Bad& bad);
  void forgive(const isa::Operand& operand);
  void report(const emu::WatchPoint& at, FindingTable& findings, const Bad& bad, const char* use);
  void check_memory(const emu::WatchPoint& at, FindingTable& findings);

  // Lanes with a defined value, and whether it was ever written.
  uint64_t vector_[2][256] = {};
  std::bitset<256> vector_written_[2];
  std::bitset<isa::slot::kCount> scalar_;
  std::bitset<isa::slot::kCount> scalar_written_;
  std::bitset<isa::slot::kCount> scalar_mask_;  // undefined, as the result of a comparison of lanes
  uint32_t scalar_bits_[isa::slot::kCount] = {};  // undefined ones
  Origin origin_;                                 // the last read of what nobody has written
};

}  // namespace wavetap::sanitize
