// What the reference knows of a workgroup's registers and memory, and of global memory.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "emu/access.h"
#include "emu/register_use.h"
#include "emu/wave.h"
#include "proof/shadow_cell.h"

namespace wavetap::proof {

// Words of memory of which something is known. What is known holds while the word has those bits, so
// that a write which nobody told of cannot leave a wrong value behind.
class ShadowMemory {
 public:
  Cell find(uint64_t address, uint32_t bits) const {
    const auto found = words_.find(address / 4);
    return found != words_.end() && found->second.bits == bits ? found->second.cell : Cell{};
  }
  void set(uint64_t address, uint32_t bits, const Cell& cell) {
    if (cell.kind == CellKind::kExact) words_.erase(address / 4);
    else words_[address / 4] = {cell, bits};
  }
  void forget(uint64_t address, uint64_t size_bytes) {
    for (uint64_t word = address / 4; word <= (address + size_bytes - 1) / 4; ++word)
      words_.erase(word);
  }

 private:
  struct Word {
    Cell cell;
    uint32_t bits = 0;
  };
  std::unordered_map<uint64_t, Word> words_;
};

// Of one wave.
class ShadowRegisters {
 public:
  explicit ShadowRegisters(const emu::Wave& wave)
      : lanes_(wave.lanes),
        vgprs_(size_t{wave.vgpr_count} * wave.lanes),
        agprs_(size_t{wave.agpr_count} * wave.lanes),
        scalars_(isa::slot::kCount),
        scalar_bits_(isa::slot::kCount) {}

  Cell vector(emu::RegisterFile file, uint32_t reg, int lane) const {
    const std::vector<Cell>& cells = file == emu::RegisterFile::kAgpr ? agprs_ : vgprs_;
    const size_t at = size_t{reg} * lanes_ + static_cast<size_t>(lane);
    return at < cells.size() ? cells[at] : Cell{};
  }
  void set_vector(emu::RegisterFile file, uint32_t reg, int lane, const Cell& cell) {
    std::vector<Cell>& cells = file == emu::RegisterFile::kAgpr ? agprs_ : vgprs_;
    const size_t at = size_t{reg} * lanes_ + static_cast<size_t>(lane);
    if (at < cells.size()) cells[at] = cell;
  }
  Cell scalar(const emu::Wave& wave, uint32_t slot) const {
    if (slot >= scalars_.size() || scalar_bits_[slot] != wave.s[slot]) return {};
    return scalars_[slot];
  }
  void set_scalar(const emu::Wave& wave, uint32_t slot, const Cell& cell) {
    if (slot >= scalars_.size()) return;
    scalars_[slot] = cell;
    scalar_bits_[slot] = wave.s[slot];
  }

  ShadowMemory scratch;  // by lane and address

 private:
  size_t lanes_;
  std::vector<Cell> vgprs_, agprs_, scalars_;
  std::vector<uint32_t> scalar_bits_;
};

}  // namespace wavetap::proof
