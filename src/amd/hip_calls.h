// What HIP's functions do, by name: hip_calls.inc as data.
#pragma once

#include <cstdint>
#include <string_view>

namespace wavetap::amd {

enum class HipDoes : uint8_t {
  kPlain,  // none of the below
  kLaunch,
  kGraphLaunch,
  kCopy,
  kFill,
  kAllocate,      // memory on a device
  kAllocateHost,  // memory of the host that devices reach
  kFree,
  kWait,  // for the stream when it has one, else for all
  kSetDevice,
  kCreateStream,
  kDestroyStream,
  kBeginCapture,
  kEndCapture,
  kInstantiateGraph,
  kDestroyGraph,
};

enum HipFlag : uint8_t {
  kEssential = 1,
  kBlocking = 2,
  kUnrecorded = 4,
  kPerThread = 8,
};

// What an argument is.
enum class HipRole : uint8_t {
  kStream,
  kDst,
  kSrc,
  kBytes,
  kWidth,  // of a rectangle, bytes
  kHeight,
  kDepth,
  kKind,  // hipMemcpyKind
  kDstDevice,
  kSrcDevice,
  kFunction,
  kGrid,   // in workgroups: a dim3, or the first of three numbers
  kItems,  // the grid in work-items, the first of three numbers
  kBlock,
  kLds,      // dynamic, bytes
  kPointer,  // to the memory that is allocated or freed; a handle for arrays
  kGraph,    // hipGraphExec_t
  kDevice,
};

struct HipCall {
  std::string_view name;
  HipDoes does = HipDoes::kPlain;
  uint8_t flags = 0;
  std::string_view arguments;

  bool has(HipFlag flag) const { return (flags & flag) != 0; }
};

// Null for functions that no release known here has. CUDA's runtime functions are found under the
// name of their twin: cudaMemcpy as hipMemcpy.
const HipCall* find_hip_call(std::string_view function);

// Where a role's value is: "sizeBytes", "p[12]", "pCopy[10]|pCopy[11]", "=1" (hip_calls.inc); "" when
// the function has no such argument.
std::string_view argument_of(const HipCall& call, HipRole role);

}  // namespace wavetap::amd
