// A captured dispatch with another launch shape: other workgroups, everywhere a kernel can read of
// them.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "emu/dispatch.h"
#include "proof/launch_shape.h"
#include "replay/capture_file.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"

namespace wavetap::proof {

// The capture with the shape's sizes in its packet. An error when no GPU could launch it.
Result<replay::Capture> with_shape(const replay::Capture& capture, const LaunchShape& shape);

// Writes the sizes into packet and hidden arguments for the time of a run, and takes them back, so that
// they are not taken for something the kernel wrote.
class ShapePatches {
 public:
  ShapePatches(const replay::CapturedKernel& kernel, replay::CapturedMemory& memory)
      : kernel_(kernel), memory_(memory) {}
  void write(const emu::Dispatch& dispatch);
  void take_back();

 private:
  void write(GpuAddr address, const void* bytes, uint64_t size);

  struct Patch {
    std::span<std::byte> place;
    std::vector<std::byte> old;
  };
  const replay::CapturedKernel& kernel_;
  replay::CapturedMemory& memory_;
  std::vector<Patch> patches_;
};

}  // namespace wavetap::proof
