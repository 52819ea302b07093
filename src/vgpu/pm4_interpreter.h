// Pm4Interpreter: executes PM4 packets of the compute micro-engine that have an effect on memory or
// on the code caches. There are no registers behind it: packets that read or write them are
// refused.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/gpu_addr.h"
#include "vgpu/queue_memory.h"
#include "vgpu/queue_state.h"

namespace wavetap::vgpu {

enum class Pm4Outcome : uint8_t {
  kDone,
  kBlocked,      // the current packet waits for memory; try again after ready()
  kMemoryFault,  // memory.fault()
  kBadPacket,    // error()
};

// One thread.
class Pm4Interpreter {
 public:
  Pm4Interpreter(Queue& queue, GuestMemory& memory) : queue_(queue), memory_(memory) {}

  // Executes one whole packet: header and body. Indirect buffers it calls run as part of it. After
  // kBlocked, resume() goes on.
  Pm4Outcome execute(std::span<const uint32_t> packet);
  Pm4Outcome resume();
  bool blocked() const { return waiting_; }
  bool ready() noexcept;
  const char* error() const { return error_; }

  // Dwords of the packet that starts with `header`, or 0 when it is not a packet.
  static uint32_t packet_dwords(uint32_t header);

 private:
  struct Frame {
    GpuAddr next;
    uint32_t dwords_left;
  };
  static constexpr size_t kMaxDepth = 8;

  Pm4Outcome run_frames();
  Pm4Outcome run_one(std::span<const uint32_t> packet);
  Pm4Outcome write_data(std::span<const uint32_t> packet);
  Pm4Outcome wait_reg_mem(std::span<const uint32_t> packet, bool wide);
  Pm4Outcome copy_data(std::span<const uint32_t> packet);
  Pm4Outcome atomic_mem(std::span<const uint32_t> packet);
  Pm4Outcome release_mem(std::span<const uint32_t> packet);
  Pm4Outcome acquire_mem(std::span<const uint32_t> packet);
  Pm4Outcome dma_data(std::span<const uint32_t> packet);
  Pm4Outcome bad(const char* format, ...) __attribute__((format(printf, 2, 3)));

  Queue& queue_;
  GuestMemory& memory_;
  std::vector<Frame> frames_;     // indirect buffers being run, innermost last
  std::vector<uint32_t> packet_;  // the current packet of the innermost one, or the one that waits
  bool waiting_ = false;
  uint32_t skip_dwords_ = 0;  // set by PRED_EXEC for the frame it is in
  uint64_t atomic_result_ = 0;
  char error_[128] = "";
};

}  // namespace wavetap::vgpu
