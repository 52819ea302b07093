// How `wavetap capture` tells the libraries in the program what it wants, and what these tell each other.
//
// kCaptureVariable names a text file, a `KEY VALUE` each line, for libwavetap.so:
//
//   range     name of the marker range that dispatches must be launched in; * ? [] as in file names
//   folder    where captures go, a file per process. Absent: a virtual GPU captures, and only asks where
//             its dispatches come from.
//   kernel    POSIX extended, found in the demangled name
//   launch    "3,7-9": which of those that match, from 1
//   every     of those that match, the first and every N-th after it
//   max       per process; 0: no limit
//   drain     seconds that kernels of other queues get to end
#pragma once

#include <cstdint>

namespace wavetap::format {

inline constexpr char kCaptureVariable[] = "WAVETAP_CAPTURE";

inline constexpr uint32_t kMostHostFrames = 32;

// Where a dispatch comes from.
struct LaunchContext {
  uint32_t is_in_range;  // the range that was asked for was open
  uint32_t frames;
  uint64_t stack[kMostHostFrames];  // return addresses, from the innermost on
};

// What the library exports for a virtual GPU in the same process: of packet `packet` (its dispatch id) on
// the queue whose amd_queue_t is there. 0: not known.
inline constexpr char kLaunchContextFunction[] = "wavetap_launch_context";
using LaunchContextFunction = int (*)(uint64_t queue, uint64_t packet, LaunchContext* context);

// How a program got memory from HIP. HIP cuts it from larger pieces, which look alike to the driver.
enum class HipMemory : uint32_t {
  kDevice = 0,
  kPool = 1,     // hipMallocAsync and its relatives
  kManaged = 2,  // hipMallocManaged
  kPinned = 3,   // hipHostMalloc and its relatives
};
struct HipAllocation {
  uint64_t address;
  uint64_t bytes;
  HipMemory made;
};
// What the library exports besides: tells of all that live now.
inline constexpr char kHipAllocationsFunction[] = "wavetap_each_hip_allocation";
using HipAllocationVisitor = void (*)(void* context, const HipAllocation* allocation);
using HipAllocationsFunction = void (*)(HipAllocationVisitor visit, void* context);

// Facts of a capture: frame NN of the host's stack, "FILE+0xOFFSET" in the file, and its name if it is known.
inline constexpr char kHostStackFact[] = "host_stack.";
inline constexpr char kHostNameFact[] = "host_name.";

}  // namespace wavetap::format
