// Registers that are used before they are written: initcheck's part for registers.
//
// Registers are not cleared when a wave starts. Compilers hardly ever read one that holds nothing; hand-written
// and inline assembler does. So each program is looked at once, without running it: where no way leads from the
// start to a read of a register that was not written on it, nothing is watched. The others are followed while
// they run: a result that was made of something unwritten counts as unwritten, lane by lane, and it is
// reported where it matters: as an address, in a branch, or stored. Moving it around is no error.
//
// A register that was written in some lanes counts as written in all: the others are often on purpose what they
// were. Loads give defined values; what memory holds is the affair of initcheck.cc. Programs that call functions or
// index registers are not looked at.
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
  explicit RegisterFlow(uint32_t first_scalars);

  // Before an instruction. Findings go to `findings`.
  void step(const emu::WatchPoint& at, FindingTable& findings);

 private:
  struct Bad {
    uint64_t lanes = 0;
    bool is_scalar = false;
    bool is_mask = false;  // it comes from a comparison of lanes
    // The same for the low halves of sources: the low half of a sum or product depends on nothing else, and
    // compilers leave the high halves as they are when nobody wants theirs.
    uint64_t low_lanes = 0;
    bool is_low_scalar = false;
    bool any() const { return lanes != 0 || is_scalar; }
  };
  struct Origin {
    GpuAddr pc;
    std::string name;
  };

  bool is_written(const emu::RegisterUse& use, uint32_t number) const;
  uint64_t lanes_of(const emu::RegisterUse& use, uint32_t number) const;
  Bad bad_sources(const emu::WatchPoint& at, const emu::RegisterUses& uses);
  // Of a packed operation: `lanes` and `is_scalar` are for the high half alone.
  Bad bad_halves(const emu::WatchPoint& at);
  // Lanes in which all registers of the operand are undefined.
  Bad bad_operand(const emu::WatchPoint& at, const isa::Operand& operand, bool is_all);
  void note_origin(const emu::WatchPoint& at, const emu::RegisterUse& use, uint32_t number);
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
  Origin origin_;                               // the last read of what nobody has written
};

}  // namespace wavetap::sanitize
