// CapturedKernel: the kernel of a captured dispatch as its code object describes it, with the
// arguments it was given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"
#include "replay/capture_file.h"

namespace wavetap::replay {

struct CapturedArgument {
  codeobj::KernelArg arg;
  std::string type;              // as the kernel's signature has it: "float const*"; may be empty
  std::string element;           // of a scalar or of what a pointer points at: "f32"; may be empty
  std::vector<std::byte> value;  // its bytes in the kernarg segment

  // Pointers into captured memory.
  uint64_t pointer = 0;
  const CapturedRegion* region = nullptr;  // null: not captured memory
  uint64_t extent_bytes = 0;               // to the next such pointer or the end of its region
};

struct CapturedKernel {
  std::vector<std::byte> image;
  std::unique_ptr<codeobj::CodeObject> object;  // over `image`; null: no code object describes it
  const codeobj::Kernel* kernel = nullptr;
  uint64_t load_delta = 0;
  std::vector<CapturedArgument> arguments;  // visible and hidden
};

// Always succeeds; without a code object for it (a kernel that ROCr brings) the result is empty.
CapturedKernel find_captured_kernel(const CaptureFile& file, const Capture& capture);

// Bytes of memory before or after the dispatch. Zeros where nothing was captured.
enum class State { kBefore, kAfter };
std::vector<std::byte> captured_bytes(const CaptureFile& file, const Capture& capture, State state,
                                      uint64_t address, uint64_t size_bytes);

// The parameters of a demangled function: {"float*", "int"} of "void scale<4>(float*, int)".
std::vector<std::string> parameters_of(std::string_view demangled);
// "f32" for "float", "float const*" and vectors of it; empty for what is no number.
std::string element_of(std::string_view type);

}  // namespace wavetap::replay
