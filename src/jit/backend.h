// What compiler.cc and libwavetap_jit.so (native/) say to each other.
//
// LLVM's code generator is large, and takes a while to set itself up even when it is never used. So
// it lives in a library of its own, which is opened when the first place has become hot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "isa/inst.h"

namespace wavetap::jit {

// A bit for every register that somebody may read (liveness.h): vector registers, and scalar ones up to VCC.
struct LiveRegisters {
  uint64_t rows[8];
  uint64_t slots[2];

  void set_row(uint32_t reg) {
    if (reg < 512) rows[reg / 64] |= uint64_t{1} << reg % 64;
  }
  void set_slot(uint32_t at) {
    if (at < 128) slots[at / 64] |= uint64_t{1} << at % 64;
  }
  bool has_row(uint32_t reg) const { return reg >= 512 || (rows[reg / 64] >> reg % 64 & 1) != 0; }
  bool has_slot(uint32_t at) const { return at >= 128 || (slots[at / 64] >> at % 64 & 1) != 0; }
};

// A place in a program, and what is behind it.
struct BlockRequest {
  const isa::Inst* insts;      // the program's, all of them
  int32_t size;                // how many
  int32_t first;               // the place
  const uint8_t* is_ordinary;  // from `first` on: its handler is the one its operation has
  const uint8_t* ends_turn;    // likewise: waves wait for each other before it (emu/lds_reuse.h)
  const LiveRegisters* live;   // likewise: before it, and one more at the end; null: all are kept
  int32_t known;               // how many these tell of; the block has no more
  bool wave64;
  bool is_verified;  // the block must be such that it can be done twice (verify.h)
};

// As many instructions a block has at most.
inline constexpr int32_t kLongestBlock = 192;

struct CompiledBlock {
  void* entry = nullptr;  // an emu::Handler
  void* owner = nullptr;  // for Backend::release
  size_t size_bytes = 0;
};

struct Backend {
  enum class Answer : uint8_t { kCompiled, kNotWorthwhile, kFailed };

  uint64_t version;  // backend_version() of the library
  // One thread calls these.
  const char* (*host_name)();  // LLVM's version, the processor and its features
  // An object file of the block.
  Answer (*compile)(const BlockRequest& request, std::vector<std::byte>* object);
  // Makes its code run; false when that cannot be done.
  bool (*load)(std::span<const std::byte> object, CompiledBlock* block);
  void (*release)(void* owner);
};

// Changes with everything above, and with what compiled code takes from Wave and Inst.
uint64_t backend_version();

inline constexpr const char* kBackendSymbol = "wavetap_jit_backend";

}  // namespace wavetap::jit

extern "C" [[gnu::visibility("default")]] const wavetap::jit::Backend* wavetap_jit_backend();
