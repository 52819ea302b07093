#include "vgpu/sdma_processor.h"

#include <algorithm>
#include <iterator>

#include "amd/aql.h"
#include "amd/sdma.h"
#include "base/clock.h"
#include "vgpu/dispatch_hook.h"
#include "vgpu/gpu.h"
#include "vgpu/queue_atomics.h"
#include "vgpu/queue_scheduler.h"

namespace wavetap::vgpu {
namespace {

// Dwords of the packet, or 0 when there is none such. WRITE counts its header only.
uint32_t fixed_dwords(uint32_t header) {
  switch (amd::sdma_op(header)) {
    case amd::SdmaOp::kNop: return 1;
    case amd::SdmaOp::kCopy:
      switch (static_cast<amd::SdmaCopySub>(amd::sdma_sub_op(header))) {
        case amd::SdmaCopySub::kLinear:
          return header & amd::kSdmaCopyBroadcast ? amd::kSdmaCopyBroadcastDwords
                                                  : amd::kSdmaCopyLinearDwords;
        case amd::SdmaCopySub::kLinearSubWindow: return amd::kSdmaCopySubWindowDwords;
      }
      return 0;
    case amd::SdmaOp::kWrite:
      return amd::sdma_sub_op(header) == 0 ? amd::kSdmaWriteHeaderDwords : 0;
    case amd::SdmaOp::kFence: return amd::kSdmaFenceDwords;
    case amd::SdmaOp::kTrap: return amd::kSdmaTrapDwords;
    case amd::SdmaOp::kPollRegMem: return amd::sdma_sub_op(header) == 0 ? amd::kSdmaPollDwords : 0;
    case amd::SdmaOp::kAtomic: return amd::kSdmaAtomicDwords;
    case amd::SdmaOp::kConstFill: return amd::sdma_sub_op(header) == 0 ? amd::kSdmaFillDwords : 0;
    case amd::SdmaOp::kTimestamp: return amd::kSdmaTimestampDwords;
    case amd::SdmaOp::kSrbmWrite: return amd::kSdmaSrbmWriteDwords;
    case amd::SdmaOp::kGcr: return amd::kSdmaGcrDwords;
  }
  return 0;
}

// The signal whose value is at an address, by where signals are: 0 when there is none, or when it is the value's upper half,
// which says nothing.
GpuAddr signal_at(GpuAddr address) {
  const uint64_t begin = address.value - offsetof(amd::Signal, value);
  return {begin % sizeof(amd::Signal) == 0 ? begin : 0};
}

}  // namespace

std::unique_ptr<PacketProcessor> make_sdma_processor(Queue& queue) {
  return std::make_unique<SdmaProcessor>(queue);
}

SdmaProcessor::SdmaProcessor(Queue& queue) : queue_(queue), memory_(queue.gpu->space) {}

uint64_t SdmaProcessor::write_index() noexcept {
  return __atomic_load_n(&queue_.gpu->doorbells[queue_.doorbell_slot], __ATOMIC_RELAXED);
}

uint64_t SdmaProcessor::pending_bytes() noexcept {
  // Acquire: pairs with the fence ROCr puts before its doorbell store; packets before the position
  // are visible.
  const uint64_t written =
      __atomic_load_n(&queue_.gpu->doorbells[queue_.doorbell_slot], __ATOMIC_ACQUIRE);
  if (written >= read_bytes_) return written - read_bytes_;
  const uint64_t ring_bytes = queue_.ring_bytes.load(std::memory_order_relaxed);
  uint32_t in_memory = 0;
  if (written < ring_bytes && memory_.load(queue_.write_pointer, &in_memory) &&
      in_memory == written) {
    return (written - read_bytes_) & (ring_bytes - 1);
  }
  return 0;
}

bool SdmaProcessor::ready() noexcept {
  if (!waiting_) return pending_bytes() >= sizeof(uint32_t);
  if (amd::sdma_op(packet_[0]) == amd::SdmaOp::kPollRegMem) return poll() != Result::kBlocked;
  const bool wide = (amd::sdma_atomic_operation(packet_[0]) & amd::kTcAtomic64) != 0;
  uint64_t value = 0;
  uint32_t value32 = 0;
  if (wide ? !memory_.load(address(1), &value) : !memory_.load(address(1), &value32)) return true;
  const AtomicRequest request{amd::sdma_atomic_operation(packet_[0]), address(1), 0,
                              address(5).value};
  return compare_succeeded(request, wide ? value : value32);
}

// Dword by dword where the ring wraps, at once elsewhere.
bool SdmaProcessor::fetch(uint64_t offset_dwords, uint32_t* dwords, uint32_t count) {
  const uint64_t ring_bytes = queue_.ring_bytes.load(std::memory_order_relaxed);
  const GpuAddr ring{queue_.ring.load(std::memory_order_relaxed)};
  uint64_t position = (read_bytes_ + offset_dwords * 4) & (ring_bytes - 1);
  while (count > 0) {
    const auto part = static_cast<uint32_t>(std::min<uint64_t>(count, (ring_bytes - position) / 4));
    if (!memory_.read(ring + position, dwords, uint64_t{part} * 4)) return false;
    dwords += part;
    count -= part;
    position = 0;
  }
  return true;
}

bool SdmaProcessor::fetch_packet() {
  if (!fetch(0, packet_, 1)) return false;
  length_ = fixed_dwords(packet_[0]);
  if (length_ > 1 && uint64_t{length_} * 4 <= pending_bytes() && !fetch(0, packet_, length_))
    return false;
  if (amd::sdma_op(packet_[0]) == amd::SdmaOp::kNop) {
    length_ += amd::sdma_nop_payload_dwords(packet_[0]);
  } else if (amd::sdma_op(packet_[0]) == amd::SdmaOp::kWrite && length_ != 0) {
    length_ += (packet_[3] & amd::kSdmaWriteCountMask) + 1;
  }
  return true;
}

Step SdmaProcessor::step() {
  if (!waiting_) {
    const uint64_t pending = pending_bytes();
    if (pending < sizeof(uint32_t)) return Step::kBlocked;
    if (!fetch_packet()) {
      deliver_access_fault(site(), memory_.fault(), "reading the ring of a copy queue");
      return Step::kFaulted;
    }
    if (length_ == 0 || uint64_t{length_} * 4 > pending) {
      deliver_packet_error(site(), QueueError::kPacket, "SDMA packet 0x%08x at byte %llu: %s",
                           packet_[0], static_cast<unsigned long long>(read_bytes_),
                           length_ == 0 ? "no such packet" : "reaches past the write pointer");
      return Step::kFaulted;
    }
  }
  switch (execute()) {
    case Result::kDone: return finish();
    case Result::kBlocked: waiting_ = true; return Step::kBlocked;
    case Result::kMemoryFault:
      deliver_access_fault(site(), memory_.fault(), "executing an SDMA packet");
      return Step::kFaulted;
    case Result::kBadPacket: break;
  }
  deliver_packet_error(site(), QueueError::kPacket, "SDMA packet 0x%08x at byte %llu: bad operands",
                       packet_[0], static_cast<unsigned long long>(read_bytes_));
  return Step::kFaulted;
}

Step SdmaProcessor::finish() {
  waiting_ = false;
  // A transfer cut short by `stop` leaves its packet in the ring.
  if (queue_.stop.load(std::memory_order_relaxed)) return Step::kProgress;
  tell_moved();
  tell_waited();
  if (!is_told_) tell_finished({});
  is_told_ = false;
  read_bytes_ += uint64_t{length_} * 4;
  queue_.read_index.store(read_bytes_, std::memory_order_relaxed);
  // Release: the producer reuses ring space once it sees the pointer.
  if (!memory_.store(queue_.read_pointer, read_bytes_)) {
    deliver_access_fault(site(), memory_.fault(), "advancing the read pointer of a copy queue");
    return Step::kFaulted;
  }
  return Step::kProgress;
}

bool SdmaProcessor::copy(GpuAddr to, GpuAddr from, uint64_t size_bytes) {
  if (!memory_.copy(to, from, size_bytes, queue_.stop)) return false;
  note_moved(from, size_bytes, /*is_write=*/false);
  note_moved(to, size_bytes, /*is_write=*/true);
  return true;
}

void SdmaProcessor::note_moved(GpuAddr address, uint64_t size_bytes, bool is_write) {
  if (!queue_.hooks->dispatch.empty())
    sanitize::add_range(moved_, {address.value, size_bytes, is_write});
}

void SdmaProcessor::tell_moved() {
  if (moved_.empty()) return;
  for (DispatchHook* hook : queue_.hooks->dispatch) hook->memory_moved(queue_, index(), moved_);
  moved_.clear();
}

void SdmaProcessor::tell_waited() {
  if (amd::sdma_op(packet_[0]) != amd::SdmaOp::kPollRegMem) return;
  const uint64_t signal = signal_at(address(1)).value;
  if (signal == 0) return;
  for (DispatchHook* hook : queue_.hooks->dispatch)
    hook->packet_waited(queue_, index(), {&signal, 1});
}

void SdmaProcessor::tell_finished(GpuAddr signal) {
  is_told_ = true;
  for (DispatchHook* hook : queue_.hooks->dispatch)
    hook->packet_finished(queue_, index(), signal.value);
}

SdmaProcessor::Result SdmaProcessor::execute() {
  const auto result = [](bool done) { return done ? Result::kDone : Result::kMemoryFault; };
  switch (amd::sdma_op(packet_[0])) {
    case amd::SdmaOp::kNop:
    case amd::SdmaOp::kGcr:
    case amd::SdmaOp::kSrbmWrite:  // User queues reach only the host-data-path flush this way.
      return Result::kDone;
    case amd::SdmaOp::kCopy: {
      if (static_cast<amd::SdmaCopySub>(amd::sdma_sub_op(packet_[0])) ==
          amd::SdmaCopySub::kLinearSubWindow) {
        return copy_sub_window();
      }
      const uint64_t size = uint64_t{packet_[1] & amd::kSdmaCopyCountMask} + 1;
      if (!copy(address(5), address(3), size)) return Result::kMemoryFault;
      if (queue_.gpu->corrupts_copies && !damage(address(5), size)) return Result::kMemoryFault;
      if (!(packet_[0] & amd::kSdmaCopyBroadcast)) return Result::kDone;
      return result(copy(address(7), address(3), size));
    }
    case amd::SdmaOp::kWrite: return write_untiled();
    case amd::SdmaOp::kFence: {
      tell_finished(signal_at(address(1)));
      const bool stored = memory_.store(address(1), packet_[3]);
      queue_.scheduler->signal_completed();
      return result(stored);
    }
    case amd::SdmaOp::kTrap:
      queue_.events->signal(packet_[1] & amd::kSdmaTrapContextMask);
      return Result::kDone;
    case amd::SdmaOp::kPollRegMem: return poll();
    case amd::SdmaOp::kAtomic: return atomic();
    case amd::SdmaOp::kConstFill: {
      const uint32_t element_log2 = amd::sdma_fill_element_log2(packet_[0]);
      if (element_log2 > 2) return Result::kBadPacket;
      const uint64_t elements =
          (uint64_t{packet_[4] & amd::kSdmaFillCountMask} >> element_log2) + 1;
      note_moved(address(1), elements << element_log2, /*is_write=*/true);
      return result(memory_.fill(address(1), packet_[3], 1u << element_log2,
                                 elements << element_log2, queue_.stop));
    }
    case amd::SdmaOp::kTimestamp:
      if (amd::sdma_sub_op(packet_[0]) == static_cast<uint8_t>(amd::SdmaTimestampSub::kSetLocal)) {
        return Result::kDone;
      }
      return result(memory_.store(address(1), to_ticks(now()).value));
  }
  return Result::kBadPacket;
}

bool SdmaProcessor::damage(GpuAddr address, uint64_t size_bytes) {
  for (uint64_t at = 128; at + 1 <= size_bytes; at += 4096) {
    uint8_t byte = 0;
    if (!memory_.read(address + at, &byte, 1)) return false;
    byte = static_cast<uint8_t>(byte + 0x11);  // a copy there and back must not heal it
    if (!memory_.write(address + at, &byte, 1)) return false;
  }
  return true;
}

SdmaProcessor::Result SdmaProcessor::copy_sub_window() {
  const amd::SdmaSubWindowLayout& layout =
      queue_.gpu->model.target.major >= 12 ? amd::kSdmaSubWindowGfx12 : amd::kSdmaSubWindow;
  const uint32_t element_log2 = amd::sdma_element_log2(packet_[0]);
  if (element_log2 > 4) return Result::kBadPacket;

  struct Side {
    GpuAddr origin;
    uint64_t pitch;  // bytes
    uint64_t slice;
  };
  const auto side = [&](int first) {
    const uint64_t pitch = uint64_t{packet_[first + 3] >> layout.pitch_shift} + 1;
    const uint64_t slice = uint64_t{packet_[first + 4] & layout.slice_mask} + 1;
    const uint64_t x = packet_[first + 2] & layout.xy_mask;
    const uint64_t y = (packet_[first + 2] >> 16) & layout.xy_mask;
    const uint64_t z = packet_[first + 3] & layout.z_mask;
    return Side{address(first) + ((x + y * pitch + z * slice) << element_log2),
                pitch << element_log2, slice << element_log2};
  };
  const Side from = side(1);
  const Side to = side(6);
  const uint64_t width = (uint64_t{packet_[11] & layout.xy_mask} + 1) << element_log2;
  const uint64_t height = uint64_t{(packet_[11] >> 16) & layout.xy_mask} + 1;
  const uint64_t depth = uint64_t{packet_[12] & layout.z_mask} + 1;
  for (uint64_t z = 0; z < depth; ++z) {
    for (uint64_t y = 0; y < height; ++y) {
      if (queue_.stop.load(std::memory_order_relaxed)) return Result::kDone;
      if (!copy(to.origin + (z * to.slice + y * to.pitch),
                from.origin + (z * from.slice + y * from.pitch), width)) {
        return Result::kMemoryFault;
      }
    }
  }
  return Result::kDone;
}

SdmaProcessor::Result SdmaProcessor::write_untiled() {
  const uint32_t count = (packet_[3] & amd::kSdmaWriteCountMask) + 1;
  note_moved(address(1), uint64_t{count} * 4, /*is_write=*/true);
  uint32_t data[256];
  for (uint32_t done = 0; done < count && !queue_.stop.load(std::memory_order_relaxed);) {
    const uint32_t part = std::min<uint32_t>(count - done, std::size(data));
    if (!fetch(amd::kSdmaWriteHeaderDwords + uint64_t{done}, data, part) ||
        !memory_.write(address(1) + uint64_t{done} * 4, data, uint64_t{part} * 4)) {
      return Result::kMemoryFault;
    }
    done += part;
  }
  return Result::kDone;
}

SdmaProcessor::Result SdmaProcessor::poll() {
  // The register form asks for a flush of the host data path, which memory of one machine does not
  // need.
  if (!(packet_[0] & amd::kSdmaPollMemory)) return Result::kDone;
  uint32_t value = 0;
  if (!memory_.load(address(1), &value)) return Result::kMemoryFault;
  const auto function = static_cast<amd::PollFunction>(amd::sdma_poll_function(packet_[0]));
  return amd::poll_passes(function, value & packet_[4], packet_[3]) ? Result::kDone
                                                                    : Result::kBlocked;
}

SdmaProcessor::Result SdmaProcessor::atomic() {
  const AtomicRequest request{amd::sdma_atomic_operation(packet_[0]), address(1), address(3).value,
                              address(5).value};
  if (!is_known_atomic(amd::tc_atomic(request.operation))) return Result::kBadPacket;
  const bool loops = (packet_[0] & amd::kSdmaAtomicLoop) != 0;
  // Before others can see it.
  if (!loops) tell_finished(signal_at(address(1)));
  uint64_t old = 0;
  if (!execute_atomic(memory_, request, &old)) return Result::kMemoryFault;
  if (loops && !compare_succeeded(request, old)) return Result::kBlocked;
  queue_.scheduler->signal_completed();
  return Result::kDone;
}

}  // namespace wavetap::vgpu
