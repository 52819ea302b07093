// Pm4Processor: a compute queue whose ring holds PM4 packets. ROCr creates none; tools that talk to
// the driver directly do. Positions count dwords.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpu/fault_delivery.h"
#include "vgpu/pm4_interpreter.h"
#include "vgpu/queue_memory.h"
#include "vgpu/queue_state.h"

namespace wavetap::vgpu {

class Pm4Processor final : public PacketProcessor {
 public:
  explicit Pm4Processor(Queue& queue);

  Step step() override;
  bool ready() noexcept override;
  bool waits_in_packet() const noexcept override { return interpreter_.blocked(); }
  uint64_t write_index() noexcept override;

 private:
  bool fetch(uint32_t* dwords, uint32_t count);
  Step after(Pm4Outcome outcome);
  FaultSite site() { return {queue_, memory_, GpuAddr{0}}; }

  Queue& queue_;
  GuestMemory memory_;
  Pm4Interpreter interpreter_;
  uint64_t read_dwords_ = 0;
  std::vector<uint32_t> packet_;
};

}  // namespace wavetap::vgpu
