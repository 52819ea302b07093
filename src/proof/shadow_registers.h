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
  WordCells find(uint64_t address, uint32_t bits) const {
    const auto found = words_.find(address / 4);
    if (found == words_.end()) return {};
    WordCells cells = found->second.cells;
    const uint32_t changed = found->second.is_lost ? 0 : found->second.bits ^ bits;
    if (changed == 0) return cells;
    if (cells.is_one() || (changed & 0xffff) != 0) cells.low = {};
    if ((changed & 0xffff0000) != 0) cells.high = {};
    return cells;
  }
  // Of two bytes, at an even address.
  Cell find_half(uint64_t address, uint32_t bits) const {
    const auto found = words_.find(address / 4);
    if (found == words_.end()) return {};
    const bool is_high = address % 4 != 0;
    const bool is_same =
        found->second.is_lost || (found->second.bits >> (is_high ? 16 : 0) & 0xffff) == bits;
    return is_same ? found->second.cells.half(is_high) : Cell{};
  }
  void set(uint64_t address, uint32_t bits, const WordCells& cells) {
    if (cells.is_exact()) words_.erase(address / 4);
    else words_[address / 4] = {cells, bits, false};
  }
  void set_half(uint64_t address, uint32_t bits, const Cell& cell) {
    const bool is_high = address % 4 != 0;
    const auto found = words_.find(address / 4);
    if (cell.is_exact() && found == words_.end()) return;
    Word& word = words_[address / 4];
    if (word.is_lost) return;
    word.cells.set_half(is_high, cell);
    word.bits = is_high ? (word.bits & 0xffff) | bits << 16 : (word.bits & 0xffff0000) | bits;
    if (word.cells.is_exact()) words_.erase(address / 4);
  }
  // Something that is not followed was written there.
  void lose(uint64_t address, uint64_t size_bytes) {
    for (uint64_t word = address / 4; word <= (address + size_bytes - 1) / 4; ++word)
      words_[word] = {WordCells::of(kUnknownCell), 0, true};
  }
  void forget(uint64_t address, uint64_t size_bytes) {
    for (uint64_t word = address / 4; word <= (address + size_bytes - 1) / 4; ++word)
      words_.erase(word);
  }

 private:
  struct Word {
    WordCells cells;
    uint32_t bits = 0;
    bool is_lost = false;  // whatever its bits are
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

  WordCells vector(emu::RegisterFile file, uint32_t reg, int lane) const {
    const std::vector<WordCells>& cells = file == emu::RegisterFile::kAgpr ? agprs_ : vgprs_;
    const size_t at = size_t{reg} * lanes_ + static_cast<size_t>(lane);
    return at < cells.size() ? cells[at] : WordCells{};
  }
  void set_vector(emu::RegisterFile file, uint32_t reg, int lane, const WordCells& known) {
    std::vector<WordCells>& cells = file == emu::RegisterFile::kAgpr ? agprs_ : vgprs_;
    const size_t at = size_t{reg} * lanes_ + static_cast<size_t>(lane);
    if (at < cells.size()) cells[at] = known;
  }
  WordCells scalar(const emu::Wave& wave, uint32_t slot) const {
    if (slot >= scalars_.size() || scalar_bits_[slot] != wave.s[slot]) return {};
    return scalars_[slot];
  }
  void set_scalar(const emu::Wave& wave, uint32_t slot, const WordCells& known) {
    if (slot >= scalars_.size()) return;
    scalars_[slot] = known;
    scalar_bits_[slot] = wave.s[slot];
  }

  ShadowMemory scratch;  // by lane and address

 private:
  size_t lanes_;
  std::vector<WordCells> vgprs_, agprs_, scalars_;
  std::vector<uint32_t> scalar_bits_;
};

}  // namespace wavetap::proof
