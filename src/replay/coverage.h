// Which instructions of device code the engine cannot execute.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "codeobj/code_object.h"

namespace wavetap::replay {

// One kind of instruction that one function uses and the engine lacks.
struct Missing {
  std::string function;   // demangled
  std::string operation;  // "(undecodable)" for bytes that are no instruction
  std::string example;    // the first one, disassembled
  uint64_t count = 0;
};

struct ObjectCoverage {
  std::string target_id;
  uint64_t kernels = 0;
  uint64_t functions = 0;
  uint64_t instructions = 0;
  uint64_t missing_instructions = 0;
  std::vector<Missing> missing;  // by function, in address order
};

// One result per object. Libraries carry the same function in many code objects: equal code is looked
// at once. `threads`: 0 is one per core. `progress(done, all)` is called by the calling thread.
std::vector<ObjectCoverage> find_coverage(
    std::span<const codeobj::CodeObject* const> objects, unsigned threads = 0,
    const std::function<void(size_t done, size_t all)>& progress = {});

}  // namespace wavetap::replay
