// CodeScan: what memcheck and leakcheck want to know of the code objects that are loaded: where the device library's allocator
// lies in them, and which parts of them are only to be read.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>

#include "sanitize/device_heap.h"
#include "vgpu/annotations.h"

namespace wavetap::vgpu {

// Only for processes that use no address twice (guarded allocations). Thread-safe.
class CodeScan {
 public:
  // At code objects that it has not seen yet.
  void look(sanitize::DeviceHeap& heap, Annotations& annotations);

 private:
  std::mutex mutex_;
  std::set<uint64_t> seen_;  // by where they are loaded
};

}  // namespace wavetap::vgpu
