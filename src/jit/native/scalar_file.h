// ScalarFile: the wave's scalar registers while code is emitted.
//
// Values are read from the wave when first needed and written back by flush(), which comes before
// everything that may look at the wave: handlers, the end of the block. SCC is one of them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "isa/inst.h"

#include "llvm/IR/IRBuilder.h"

namespace wavetap::jit {

class ScalarFile {
 public:
  ScalarFile(llvm::IRBuilder<>& ir, llvm::Value* wave) : ir_(ir), wave_(wave) {}

  llvm::Value* get32(uint32_t at);
  llvm::Value* get64(uint32_t at);
  void set32(uint32_t at, llvm::Value* value);
  void set64(uint32_t at, llvm::Value* value);
  llvm::Value* scc();  // i1
  void set_scc(llvm::Value* value);

  // An operand that is a scalar register or a constant.
  llvm::Value* operand(const isa::Operand& operand, uint32_t bits);
  // A mask of lanes as 64 bits.
  llvm::Value* mask(uint32_t at, bool wave64);
  void set_mask(uint32_t at, llvm::Value* value, bool wave64);

  // Values that are likely to be read soon: what has changed, and EXEC.
  struct Recent {
    uint32_t at;
    bool is_pair;
    llvm::Value* value;
  };
  std::vector<Recent> recent() const;
  // The same registers as the wave has them.
  std::vector<llvm::Value*> load(const std::vector<Recent>& recent);
  // This is what the wave has.
  void take(const Recent& recent);

  // Writes what has changed to the wave.
  void flush();
  // The wave's registers may have changed.
  void forget();

 private:
  struct Slot {
    llvm::Value* value = nullptr;
    bool is_dirty = false;
  };
  llvm::Value* address(uint32_t at);
  llvm::Value* scc_address();

  llvm::IRBuilder<>& ir_;
  llvm::Value* wave_;
  std::array<Slot, isa::slot::kCount> slot_{};
  std::array<llvm::Value*, isa::slot::kCount> pair_{};  // 64 bits from this slot on, when known
  Slot scc_;
};

}  // namespace wavetap::jit
