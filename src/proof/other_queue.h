// OtherQueue: the same dispatch as another queue would make it. Arguments, packet and queue lie elsewhere, and numbers
// and signals that only this one launch had are others. A kernel that computes does not notice; one that
// knows its test by them does.
#pragma once

#include <cstdint>

#include "base/gpu_addr.h"
#include "emu/dispatch.h"
#include "replay/capture_file.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"

namespace wavetap::proof {

class OtherQueue {
 public:
  OtherQueue(const replay::Capture& capture, const replay::CapturedKernel& kernel,
             replay::CapturedMemory& memory)
      : capture_(capture), kernel_(kernel), memory_(memory) {}

  // Has memory for it, where the seed chooses; false where there is none to be had.
  bool prepare(uint64_t seed);
  // Copies what the dispatch has now, and makes it use the copies.
  void change(emu::Dispatch& dispatch);

 private:
  uint64_t copy(GpuAddr from, GpuAddr to);

  const replay::Capture& capture_;
  const replay::CapturedKernel& kernel_;
  replay::CapturedMemory& memory_;
  GpuAddr base_;  // three pages: arguments, packet, queue
};

}  // namespace wavetap::proof
