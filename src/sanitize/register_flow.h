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
// address or a branch, or are copied (value_reach.h); storing them is no error, as copies of structs with padding do that,
// but what is stored is as undefined as what it was made of (undefined_lanes()).
//
// Vector registers are followed byte by byte, scalar ones bit by bit, through what takes values apart and puts them
// together (undefined_bits.h). A register that was written in some lanes counts as written in all: the others are often
// on purpose what they were. Programs that index registers are not looked at, and those that call functions not for registers that
// nobody has written.
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
  // Bytes that a load brings to a register: for each of the register's bytes, in which lanes it is undefined.
  struct LoadedBytes {
    Kind kind{};          // by where they come from
    uint32_t number = 0;  // of the register, in the data of the load
    uint64_t lanes[4] = {};
    uint32_t first = 0;  // the undefined ones as bytes of the element
    uint32_t last = 0;
    bool was_stored = false;  // by somebody, and as undefined as here
  };
  // After step() of a load.
  void load_undefined(const emu::WatchPoint& at, const isa::Operand& data,
                      const LoadedBytes& bytes);
  // Lanes in which byte `byte` of the registers of `data` is undefined.
  uint64_t undefined_lanes(const isa::Operand& data, uint32_t byte) const;

 private:
  struct Bytes {
    uint64_t lanes[4] = {};
    uint64_t any() const { return lanes[0] | lanes[1] | lanes[2] | lanes[3]; }
  };
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
    bool has_bytes = false;  // then `bytes` are those of the result's first two vector registers
    Bytes bytes[2];
    bool any() const { return lanes != 0 || is_scalar; }
  };
  struct Origin {
    GpuAddr pc;
    std::string what;      // and what is wrong with it, as a clause
    bool is_load = false;  // of what was not written, into a register
    Kind kind = Kind::kUninitialisedRegister;
  };

  bool is_written(const emu::RegisterUse& use, uint32_t number) const;
  // Lanes in which one of these bytes of the register is undefined.
  uint64_t undefined_in(emu::RegisterFile file, uint32_t number, uint32_t bytes) const;
  // The undefined bits of a source in one lane, and its value.
  void source_bits(const emu::WatchPoint& at, const isa::Operand& operand, uint32_t lane,
                   uint64_t* undefined, uint64_t* value) const;
  // Of an operation that undefined_bits.h knows, or of packed halves: makes `bad` exact.
  void look_at_bits(const emu::WatchPoint& at, Bad& bad) const;
  void look_at_lanes(const emu::WatchPoint& at, Bad& bad) const;
  void look_at_halves(const emu::WatchPoint& at, Bad& bad) const;
  Bad bad_sources(const emu::WatchPoint& at, const emu::RegisterUses& uses);
  Bad bad_choice(const emu::WatchPoint& at);
  Bad bad_lane(const emu::WatchPoint& at) const;
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

  // Lanes in which a byte is undefined, and whether the register was ever written.
  Bytes vector_[2][256];
  std::bitset<256> vector_written_[2];
  std::bitset<isa::slot::kCount> scalar_;
  std::bitset<isa::slot::kCount> scalar_written_;
  std::bitset<isa::slot::kCount> scalar_mask_;  // undefined, as the result of a comparison of lanes
  uint32_t scalar_bits_[isa::slot::kCount] = {};  // undefined ones
  Origin origin_;                                 // the last read of what nobody has written
};

}  // namespace wavetap::sanitize
