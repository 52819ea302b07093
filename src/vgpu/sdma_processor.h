// SdmaProcessor: the copy engine behind an SDMA queue.
//
// The doorbell holds the byte position up to which packets are valid. It only grows (64-bit
// pointers, every engine since SDMA 4); a value below the read position that the write pointer in
// memory confirms is taken as an offset into the ring, which is how 32-bit emitters count.
//
// A packet may wrap around the end of the ring. Addresses are translated piece by piece, so a copy
// may cross allocations. Cache control and host-data-path flushes have nothing to do here.
#pragma once

#include <cstdint>
#include <vector>

#include "base/gpu_addr.h"
#include "sanitize/footprint.h"
#include "vgpu/fault_delivery.h"
#include "vgpu/queue_memory.h"
#include "vgpu/queue_state.h"

namespace wavetap::vgpu {

class SdmaProcessor final : public PacketProcessor {
 public:
  explicit SdmaProcessor(Queue& queue);

  Step step() override;
  bool ready() noexcept override;
  bool waits_in_packet() const noexcept override { return waiting_; }
  uint64_t write_index() noexcept override;

 private:
  enum class Result : uint8_t { kDone, kBlocked, kMemoryFault, kBadPacket };

  // Bytes between the read position and the doorbell.
  uint64_t pending_bytes() noexcept;
  bool fetch(uint64_t offset_dwords, uint32_t* dwords, uint32_t count);
  // Reads the packet at the read position into packet_; false: memory fault. length_ 0: no such
  // packet.
  bool fetch_packet();
  Result execute();
  Result copy_sub_window();
  // What a broken engine does to a copy: one byte in every 4 KiB is wrong.
  bool damage(GpuAddr address, uint64_t size_bytes);
  Result write_untiled();
  Result poll();
  Result atomic();
  Step finish();
  // Tells the queue's hooks what the packet in hand has done to memory, what it has waited for, and that it is over.
  bool copy(GpuAddr to, GpuAddr from, uint64_t size_bytes);
  void note_moved(GpuAddr address, uint64_t size_bytes, bool is_write);
  void tell_moved();
  void tell_waited();
  void tell_finished(GpuAddr signal);
  // Of the packet in hand, as hooks know it.
  uint64_t index() const { return read_bytes_ + uint64_t{length_} * 4 - 1; }
  GpuAddr address(int dword) const {
    return {packet_[dword] | (uint64_t{packet_[dword + 1]} << 32)};
  }
  FaultSite site() { return {queue_, memory_, GpuAddr{0}}; }

  Queue& queue_;
  GuestMemory memory_;
  uint64_t read_bytes_ = 0;
  uint32_t packet_[13] = {};
  uint32_t length_ = 0;  // of the packet, in dwords
  bool waiting_ = false;
  bool is_told_ = false;                     // that it is over
  std::vector<sanitize::MovedRange> moved_;  // by the packet in hand, when somebody wants to know
};

}  // namespace wavetap::vgpu
