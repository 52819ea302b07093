// Which call an operation belongs to, where HIP's own threads gave it to the GPU
// (AMD_DIRECT_DISPATCH=0).
//
// A call leaves a command in the queue of its HIP stream then, and a thread of that queue, a
// worker, hands it to the GPU later, when no call is open. What is known instead:
//
//   * A worker serves one HIP stream, and works off commands in the order of the calls that made
//     them.
//   * It is born, and makes its first record, while the call that first needed the stream waits for
//     it.
//   * A call that waits for a stream returns after all that was asked of the stream before.
//
// So a worker's operations are laid beside the calls of the streams it may have been born for, in
// order; kernel names, sizes and times must agree, and the stream that fits best is taken. Where
// the birth says nothing (recording began later), that is any stream. What comes out is inferred,
// and the trace says so.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "format/record.h"

namespace wavetap::store {

// What a launch and its dispatch have in common; zeros where it is not known.
struct LaunchShape {
  std::array<uint64_t, 3> grid{};  // work-items
  std::array<uint32_t, 3> workgroup{};
  bool operator==(const LaunchShape&) const = default;
};

// Any call of HIP; one that failed is kOther. Times are in units of the trace.
struct QueuedCall {
  enum class Kind : uint8_t {
    kOther,
    kCreate,
    kDestroy,
    kBeginCapture,
    kEndCapture,
    kLaunch,
    kGraph,
    kCopy,
    kFill,
    kWait
  };
  Kind kind = Kind::kOther;
  bool synchronous = false;   // kCopy, kFill: returns when it is done
  bool names_stream = false;  // `stream` is the call's own word, not the default
  format::Owner owner{};
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t stream = 0;  // handle, or one of the below
  // kGraph: what is launched. A graph has streams of its own, made by a kCreate of this handle.
  uint64_t graph = 0;
  uint64_t bytes = 0;       // kCopy
  std::string_view kernel;  // kLaunch: mangled name; "" when it is not known
  LaunchShape shape{};      // kLaunch
};

// An operation that no call owns.
struct QueuedOp {
  enum class Kind : uint8_t { kKernel, kCopy, kCopyKernel, kFillKernel, kOtherKernel };
  Kind kind = Kind::kKernel;
  uint32_t worker = 0;  // stream of the thread that submitted it
  uint64_t time = 0;
  uint64_t bytes = 0;       // kCopy
  std::string_view kernel;  // kKernel: mangled name; "" when it is not known
  LaunchShape shape{};      // kKernel
};

struct QueueWorker {
  uint32_t stream = 0;
  uint64_t born = 0;  // its first record; 0: not known
};

// Streams that have no handle: the null stream of a device, the default stream of a thread.
constexpr uint64_t null_stream(uint32_t device) { return uint64_t{1} << 62 | device; }
constexpr uint64_t per_thread_stream(uint32_t stream) { return uint64_t{1} << 63 | stream; }

// The owner of each operation; call 0 where none was found. `calls` in the order they began, `ops`
// in the order they were submitted.
std::vector<format::Owner> owners_by_order(const std::vector<QueuedCall>& calls,
                                           const std::vector<QueuedOp>& ops,
                                           const std::vector<QueueWorker>& workers);

}  // namespace wavetap::store
