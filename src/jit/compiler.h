// Compiler: hot blocks of the engine become native code, on a thread of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "emu/compiler.h"

namespace wavetap::jit {

struct Options {
  std::string library;     // libwavetap_jit.so
  bool verifies = false;   // handlers do every block as well, and the results are compared
  std::string cache = {};  // folder of code compiled before (object_cache.h); empty: none is kept
};

// What a compiler has done so far. One that verifies compiles what is warm already.
struct Figures {
  uint64_t asked = 0;     // places that were named, warm or hot
  uint64_t compiled = 0;  // blocks that were compiled, and run as native code
  uint64_t loaded = 0;    // blocks that run as native code from the cache
  uint64_t native_bytes = 0;
  bool is_broken = false;  // the library is not there, or does not fit, or LLVM has failed
};

// Any thread may call it. Its thread starts with the first place that is hot; where that cannot be
// compiled, or nothing can, everything goes on being interpreted.
class Compiler final : public emu::Compiler {
 public:
  explicit Compiler(Options options);
  ~Compiler() override;

  void compile(std::shared_ptr<const emu::LoweredCode> code, int32_t index,
               emu::Heat heat) noexcept override;

  // Waits until everything named so far is done.
  void drain();
  Figures figures() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wavetap::jit
