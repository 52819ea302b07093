// RegisterSet: a bit for each register of a wave. And which of them an instruction may use, as far as that
// shows before it runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emu/register_use.h"
#include "isa/inst.h"

namespace wavetap::sanitize {

class RegisterSet {
 public:
  void add(emu::RegisterFile file, uint32_t first, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t bit = kBegin[static_cast<size_t>(file)] + (first + i) % 256;
      words_[bit / 64] |= uint64_t{1} << bit % 64;
    }
  }
  void add(const RegisterSet& other) {
    for (size_t i = 0; i < kWords; ++i) words_[i] |= other.words_[i];
  }
  void remove(const RegisterSet& other) {
    for (size_t i = 0; i < kWords; ++i) words_[i] &= ~other.words_[i];
  }
  void clear() { *this = {}; }
  bool empty() const { return !meets(*this); }
  bool meets(const RegisterSet& other) const {
    uint64_t common = 0;
    for (size_t i = 0; i < kWords; ++i) common |= words_[i] & other.words_[i];
    return common != 0;
  }
  bool has(emu::RegisterFile file, uint32_t number) const {
    const uint32_t bit = kBegin[static_cast<size_t>(file)] + number % 256;
    return (words_[bit / 64] >> bit % 64 & 1) != 0;
  }
  bool operator==(const RegisterSet&) const = default;

 private:
  static_assert(isa::slot::kCount <= 256);
  static constexpr size_t kWords = 3 * 256 / 64;
  static constexpr uint32_t kBegin[] = {0, 256, 512};  // by RegisterFile

  uint64_t words_[kWords] = {};
};

// The registers that an instruction names, and those that it implies: more than it uses, never less. An
// operation that reads what it changes has it in both.
struct NamedRegisters {
  RegisterSet reads;
  RegisterSet writes;
  bool may_use_others = false;  // which shows when it runs: indexed registers, images
};
// For the first half of a VOPD pair, both halves.
NamedRegisters named_registers(const isa::Inst& inst);

}  // namespace wavetap::sanitize
