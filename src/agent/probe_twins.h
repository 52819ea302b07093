// Twins of kernels: how a launch of a kernel becomes one of its instrumented twin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "codeobj/code_object.h"

namespace wavetap::agent {

// A piece of the arguments that goes elsewhere in the twin's.
struct ArgumentMove {
  uint32_t from = 0;
  uint32_t to = 0;
  uint32_t bytes = 0;
};

struct TwinPlan {
  std::vector<ArgumentMove> moves;
  uint32_t argument_bytes = 0;  // of the original
  uint32_t twin_bytes = 0;
  uint32_t launch_offset = 0;  // where the twin wants the address of its launch block
  int64_t lds_bytes = 0;       // more than the original, likewise
  int64_t scratch_bytes = 0;
  uint32_t wave_size = 0;
  uint32_t static_lds = 0;  // of the original
};

// "" when the twin's launch can be made from the original's; else why not.
std::string plan_twin(const codeobj::CodeObject& object, const codeobj::Kernel& original,
                      const codeobj::Kernel& twin, TwinPlan* plan);

// Builds the twin's arguments, `to` of plan.twin_bytes.
void move_arguments(const TwinPlan& plan, const std::byte* from, std::byte* to, uint64_t launch);

}  // namespace wavetap::agent
