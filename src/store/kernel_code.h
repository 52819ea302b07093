// What the code objects of a recorded process say about its kernels: registers, spills, and the
// meaning of the kernarg bytes. A code object is found where the recorder saved it, or where its
// uri says it came from.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codeobj/code_object.h"
#include "store/raw_facts.h"

namespace wavetap::store {

class KernelCode {
 public:
  KernelCode(const RawFacts& facts, std::string session_folder)
      : facts_(facts), folder_(std::move(session_folder)) {}

  // Null when the code object cannot be found or does not hold the kernel.
  const codeobj::Kernel* find(const RawKernel& kernel);
  // "gfx1030" of a code object; "" when it cannot be found.
  std::string target(uint32_t code_object);

 private:
  struct Loaded {
    std::vector<std::byte> bytes;
    std::unique_ptr<codeobj::CodeObject> object;  // null: not found
  };
  const Loaded& load(uint32_t number);

  const RawFacts& facts_;
  std::string folder_;
  std::map<uint32_t, Loaded> loaded_;
};

// "n = 1024 | x = 0x7f00 | 0x10: 0x3ff00000": the explicit arguments in a kernarg segment. `kernel`
// may be null: then the words as they are.
std::string kernarg_text(const codeobj::Kernel* kernel, std::span<const std::byte> bytes);

}  // namespace wavetap::store
