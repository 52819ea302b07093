// AqlProcessor: the command processor of an AQL queue.
//
// Packets are taken strictly in order and each is finished before the next begins, which satisfies
// every header's barrier bit. A packet counts as submitted when write_dispatch_id has passed it and
// its header is no longer INVALID; the doorbell's value is not used, because with several producers
// it can go backwards. For each packet, in this order: execute; header := INVALID; read_dispatch_id
// + 1; completion signal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "amd/aql.h"
#include "base/clock.h"
#include "emu/engine.h"
#include "vgpu/dispatch_hook.h"
#include "vgpu/fault_delivery.h"
#include "vgpu/pm4_interpreter.h"
#include "vgpu/queue_memory.h"
#include "vgpu/queue_state.h"

namespace wavetap::vgpu {

class AqlProcessor final : public PacketProcessor {
 public:
  explicit AqlProcessor(Queue& queue);

  Step step() override;
  bool ready() noexcept override;
  bool waits_in_packet() const noexcept override { return waiting_ != Waiting::kForPacket; }
  uint64_t write_index() noexcept override;

 private:
  enum class Waiting : uint8_t { kForPacket, kForSignals, kForValue, kForPm4 };

  // What s_sendmsg and s_memrealtime of the waves reach.
  class WaveHost final : public emu::Host {
   public:
    explicit WaveHost(Queue& queue) : queue_(queue) {}
    void interrupt() noexcept override;
    uint64_t clock_ticks() noexcept override { return to_ticks(now()).value; }

   private:
    Queue& queue_;
  };

  union Packet {
    uint32_t dwords[16];
    amd::KernelDispatchPacket dispatch;
    amd::BarrierPacket barrier;
    amd::BarrierValuePacket barrier_value;
    amd::Pm4IbPacket pm4;
  };

  bool next_is_submitted(bool* fault) noexcept;
  Step begin_packet();
  Step resume_packet();
  Step finish_packet() { return finish_packet(to_ticks(now())); }
  Step finish_packet(GpuTicks end);
  void tell_hooks(uint64_t index);
  Step run_dispatch();
  emu::Dispatch make_dispatch();
  emu::DispatchResult execute(emu::Dispatch& dispatch, DispatchTimes* times);
  Step run_vendor_packet();
  Step after_pm4(Pm4Outcome outcome);
  // Whether the barrier's signals let it pass. *fault: one of them cannot be read.
  bool barrier_passes(bool* fault) noexcept;
  bool value_passes(bool* fault) noexcept;
  bool check_dispatch();
  Step access_fault(const char* doing);
  FaultSite site() { return {queue_, memory_, amd_queue_}; }
  GpuAddr slot_address() const;

  Queue& queue_;
  GuestMemory memory_;
  Pm4Interpreter pm4_;
  WaveHost wave_host_;
  GpuAddr amd_queue_;  // found through read_dispatch_id
  uint64_t read_index_ = 0;
  // The one in hand; a copy, so that a program scribbling over it cannot race us.
  Packet packet_{};
  GpuAddr slot_;
  GpuTicks begin_;
  Waiting waiting_ = Waiting::kForPacket;
};

}  // namespace wavetap::vgpu
