// MovedMemory: what a kernel's pointers point at, copied elsewhere, and the pointers with it. A kernel that
// knows where its test lies is found out.
#pragma once

#include <cstdint>
#include <vector>

#include "base/gpu_addr.h"
#include "base/result.h"
#include "replay/capture_file.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"

namespace wavetap::proof {

// Fresh memory at an address that the seed chooses, with no bits in common but by chance.
Result<GpuAddr> add_anywhere(replay::CapturedMemory& memory, uint64_t size_bytes, uint64_t seed);

class MovedMemory {
 public:
  struct Block {
    const replay::CapturedRegion* region = nullptr;
    GpuAddr base;  // where its copy is
  };

  MovedMemory(const replay::Capture& capture, const replay::CapturedKernel& kernel,
              replay::CapturedMemory& memory)
      : capture_(capture), kernel_(kernel), memory_(memory) {}

  // Copies the state that the memory has now, and changes the pointers among the kernel's arguments. The seed of the
  // first time chooses the place.
  // False where there is nothing to move, or too much. Pointers inside of structures and of memory keep
  // pointing to where they did.
  bool move(uint64_t seed);
  const std::vector<Block>& blocks() const { return blocks_; }

 private:
  bool make_blocks(uint64_t seed);

  const replay::Capture& capture_;
  const replay::CapturedKernel& kernel_;
  replay::CapturedMemory& memory_;
  std::vector<Block> blocks_;
  bool is_made_ = false;
};

}  // namespace wavetap::proof
