// Wait states: how far apart two instructions have to be where the hardware does not see to it itself.
//
// gfx908, gfx90a and gfx94x start a vector instruction before an earlier matrix instruction has written its
// result, and read scalar registers for memory instructions before a vector instruction has written them.
// Later (and all RDNA) hardware waits by itself; here the compiler counts and puts s_nop between. Each
// instruction is one wait state, s_nop N is N + 1. Code that is too close computes with old values.
//
// The rules are those of the ISA manuals ("Manually Inserted Wait States", "Dependency Resolution: Required
// Independent Instructions") and of LLVM's hazard recogniser, which has the figures for every shape. A pass
// is four cycles of the matrix unit.
#pragma once

#include <cstdint>
#include <span>

#include "emu/register_use.h"
#include "isa/program.h"

namespace wavetap::sanitize {

// Whether instructions of this target need any.
bool has_wait_states(amd::GfxTarget target);

// What an operand is to its instruction.
enum class Role : uint8_t {
  kSource,
  kAccumulator,
  kLaneSelect,
  kData,
  kAddress,
  kImplied,
  kResult
};

struct RegisterRange {
  emu::RegisterFile file = emu::RegisterFile::kScalar;
  Role role = Role::kSource;
  uint8_t count = 0;
  uint16_t first = 0;

  bool is_vector() const { return file != emu::RegisterFile::kScalar; }
  // Bit i: register first + i is one of `other`'s.
  uint32_t common(const RegisterRange& other) const;
  bool is_same(const RegisterRange& other) const {
    return file == other.file && first == other.first && count == other.count;
  }
};

// One instruction as the rules see it.
struct WaitStateFacts {
  bool is_vector = false;  // runs on the vector unit, matrix instructions among them
  bool is_matrix = false;  // v_mfma, v_smfmac
  bool is_double = false;  // … of f64
  bool is_xdl = false;     // … of other types than f32 and f64; gfx90a and before: than f64
  bool is_dot = false;
  bool is_dpp = false;
  bool is_scalar = false;
  bool is_memory = false;  // global, LDS, buffer, image
  bool is_lds = false;     // … LDS
  bool is_transcendental = false;
  bool is_part = false;  // writes part of a register
  bool is_wide_store = false;
  bool is_fma_f64 = false;
  bool uses_m0_early = false;
  uint8_t passes = 0;   // matrix
  uint16_t states = 1;  // wait states that it is by itself
  isa::Op op{};
  uint16_t hwreg = 0xffff;  // of s_setreg and s_getreg
  uint8_t read_count = 0;
  uint8_t write_count = 0;
  RegisterRange reads[8];
  RegisterRange writes[4];

  std::span<const RegisterRange> all_reads() const { return {reads, read_count}; }
  std::span<const RegisterRange> all_writes() const { return {writes, write_count}; }
  // Instructions further on than this many wait states are far enough, whatever they are.
  uint32_t reach() const;
};

WaitStateFacts wait_state_facts(const isa::Inst& inst, amd::GfxTarget target);

// Wait states needed between `first` and `second` because…
// … `second` reads what `first` has written
uint32_t states_before_read(amd::GfxTarget target, const WaitStateFacts& first,
                            const RegisterRange& written, const WaitStateFacts& second,
                            const RegisterRange& read);
// … it writes what `first` has written
uint32_t states_before_write(amd::GfxTarget target, const WaitStateFacts& first,
                             const RegisterRange& written, const WaitStateFacts& second);
// … it writes what `first` still reads
uint32_t states_after_read(amd::GfxTarget target, const WaitStateFacts& first,
                           const RegisterRange& read, const WaitStateFacts& second);
// … the two do not go together whatever their registers are.
uint32_t states_between(amd::GfxTarget target, const WaitStateFacts& first,
                        const WaitStateFacts& second);

}  // namespace wavetap::sanitize
