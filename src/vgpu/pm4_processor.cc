#include "vgpu/pm4_processor.h"

#include <algorithm>

#include "vgpu/gpu.h"

namespace wavetap::vgpu {

std::unique_ptr<PacketProcessor> make_pm4_processor(Queue& queue) {
  return std::make_unique<Pm4Processor>(queue);
}

Pm4Processor::Pm4Processor(Queue& queue)
    : queue_(queue), memory_(queue.gpu->space), interpreter_(queue, memory_) {}

uint64_t Pm4Processor::write_index() noexcept {
  // Acquire: pairs with the producer's release before it rings.
  return __atomic_load_n(&queue_.gpu->doorbells[queue_.doorbell_slot], __ATOMIC_ACQUIRE);
}

bool Pm4Processor::ready() noexcept {
  return interpreter_.blocked() ? interpreter_.ready() : write_index() > read_dwords_;
}

bool Pm4Processor::fetch(uint32_t* dwords, uint32_t count) {
  const uint64_t ring_dwords = queue_.ring_bytes.load(std::memory_order_relaxed) / 4;
  const GpuAddr ring{queue_.ring.load(std::memory_order_relaxed)};
  uint64_t position = read_dwords_ & (ring_dwords - 1);
  while (count > 0) {
    const auto part = static_cast<uint32_t>(std::min<uint64_t>(count, ring_dwords - position));
    if (!memory_.read(ring + position * 4, dwords, uint64_t{part} * 4)) return false;
    dwords += part;
    count -= part;
    position = 0;
  }
  return true;
}

Step Pm4Processor::step() {
  if (interpreter_.blocked()) return after(interpreter_.resume());
  const uint64_t written = write_index();
  if (written <= read_dwords_) return Step::kBlocked;
  uint32_t header = 0;
  if (!fetch(&header, 1)) return after(Pm4Outcome::kMemoryFault);
  const uint32_t dwords = Pm4Interpreter::packet_dwords(header);
  if (dwords == 0 || dwords > written - read_dwords_) {
    deliver_packet_error(site(), QueueError::kPacket, "PM4 packet 0x%08x at dword %llu: %s", header,
                         static_cast<unsigned long long>(read_dwords_),
                         dwords == 0 ? "not a packet header" : "reaches past the write pointer");
    return Step::kFaulted;
  }
  packet_.resize(dwords);
  if (!fetch(packet_.data(), dwords)) return after(Pm4Outcome::kMemoryFault);
  return after(interpreter_.execute(packet_));
}

Step Pm4Processor::after(Pm4Outcome outcome) {
  switch (outcome) {
    case Pm4Outcome::kDone:
      if (queue_.stop.load(std::memory_order_relaxed)) return Step::kProgress;
      read_dwords_ += packet_.size();
      queue_.read_index.store(read_dwords_, std::memory_order_relaxed);
      // Release: the producer reuses ring space once it sees the pointer.
      if (!memory_.store(queue_.read_pointer, read_dwords_)) return after(Pm4Outcome::kMemoryFault);
      return Step::kProgress;
    case Pm4Outcome::kBlocked: return Step::kBlocked;
    case Pm4Outcome::kMemoryFault:
      deliver_access_fault(site(), memory_.fault(), "executing a PM4 packet");
      return Step::kFaulted;
    case Pm4Outcome::kBadPacket: break;
  }
  deliver_packet_error(site(), QueueError::kPacket, "%s", interpreter_.error());
  return Step::kFaulted;
}

}  // namespace wavetap::vgpu
