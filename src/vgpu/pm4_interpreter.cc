#include "vgpu/pm4_interpreter.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <limits>

#include "amd/pm4.h"
#include "amd/sdma.h"
#include "base/clock.h"
#include "vgpu/gpu.h"
#include "vgpu/queue_atomics.h"
#include "vgpu/queue_scheduler.h"

namespace wavetap::vgpu {
namespace {

uint64_t join(uint32_t low, uint32_t high) { return low | (uint64_t{high} << 32); }

uint64_t clock_ticks() { return to_ticks(now()).value; }

}  // namespace

uint32_t Pm4Interpreter::packet_dwords(uint32_t header) {
  switch (amd::pm4_type(header)) {
    case 2: return 1;  // filler
    case 3:
      if (amd::pm4_op(header) == amd::Pm4Op::kNop && amd::pm4_count(header) == amd::kPm4NopSingle)
        return 1;
      return amd::pm4_count(header) + 2;
    default: return 0;
  }
}

Pm4Outcome Pm4Interpreter::execute(std::span<const uint32_t> packet) {
  frames_.clear();
  skip_dwords_ = 0;
  waiting_ = false;
  packet_.assign(packet.begin(), packet.end());
  const Pm4Outcome outcome = run_one(packet_);
  if (outcome != Pm4Outcome::kDone) {
    waiting_ = outcome == Pm4Outcome::kBlocked;
    return outcome;
  }
  return run_frames();
}

Pm4Outcome Pm4Interpreter::resume() {
  if (!waiting_) return Pm4Outcome::kDone;
  const Pm4Outcome outcome = run_one(packet_);
  if (outcome != Pm4Outcome::kDone) {
    waiting_ = outcome == Pm4Outcome::kBlocked;
    return outcome;
  }
  waiting_ = false;
  return run_frames();
}

// A waiting packet is simply tried again: the poller's look costs as much as the packet's own test.
bool Pm4Interpreter::ready() noexcept {
  if (!waiting_) return true;
  const amd::Pm4Op op = amd::pm4_op(packet_[0]);
  if (op == amd::Pm4Op::kAtomicMem) {
    const GpuAddr address{join(packet_[2], packet_[3])};
    uint64_t value = 0;
    uint32_t value32 = 0;
    const bool wide = (amd::pm4_atomic_operation(packet_[1]) & amd::kTcAtomic64) != 0;
    if (wide ? !memory_.load(address, &value) : !memory_.load(address, &value32)) return true;
    const AtomicRequest request{amd::pm4_atomic_operation(packet_[1]), address, 0,
                                join(packet_[6], packet_[7])};
    return compare_succeeded(request, wide ? value : value32);
  }
  return wait_reg_mem(packet_, op == amd::Pm4Op::kWaitRegMem64) != Pm4Outcome::kBlocked;
}

Pm4Outcome Pm4Interpreter::run_frames() {
  while (!frames_.empty() && !queue_.stop.load(std::memory_order_relaxed)) {
    Frame& frame = frames_.back();
    if (frame.dwords_left == 0) {
      frames_.pop_back();
      skip_dwords_ = 0;
      continue;
    }
    if (skip_dwords_ > 0) {
      const uint32_t skipped = std::min(skip_dwords_, frame.dwords_left);
      frame.next = frame.next + uint64_t{skipped} * 4;
      frame.dwords_left -= skipped;
      skip_dwords_ = 0;
      continue;
    }
    uint32_t header = 0;
    if (!memory_.read(frame.next, &header, sizeof header)) return Pm4Outcome::kMemoryFault;
    const uint32_t dwords = packet_dwords(header);
    if (dwords == 0) return bad("PM4 dword 0x%08x is not a packet header", header);
    if (dwords > frame.dwords_left) {
      return bad("PM4 packet 0x%02x of %u dwords in a buffer with %u left",
                 static_cast<unsigned>(amd::pm4_op(header)), dwords, frame.dwords_left);
    }
    packet_.resize(dwords);
    if (!memory_.read(frame.next, packet_.data(), uint64_t{dwords} * 4))
      return Pm4Outcome::kMemoryFault;
    frame.next = frame.next + uint64_t{dwords} * 4;
    frame.dwords_left -= dwords;
    const Pm4Outcome outcome = run_one(packet_);
    if (outcome != Pm4Outcome::kDone) {
      waiting_ = outcome == Pm4Outcome::kBlocked;
      return outcome;
    }
  }
  return Pm4Outcome::kDone;
}

Pm4Outcome Pm4Interpreter::run_one(std::span<const uint32_t> packet) {
  if (packet.empty() || amd::pm4_type(packet[0]) == 2) return Pm4Outcome::kDone;
  const amd::Pm4Op op = amd::pm4_op(packet[0]);
  switch (op) {
    case amd::Pm4Op::kNop:
    case amd::Pm4Op::kPfpSyncMe:
    case amd::Pm4Op::
        kEventWrite:  // Flushes and partial flushes: everything before is complete anyway.
      return Pm4Outcome::kDone;
    case amd::Pm4Op::kSurfaceSync:
      queue_.hooks->invalidate_code(queue_.hooks->context, *queue_.gpu, GpuAddr{0},
                                    std::numeric_limits<uint64_t>::max());
      return Pm4Outcome::kDone;
    case amd::Pm4Op::kAcquireMem: return acquire_mem(packet);
    case amd::Pm4Op::kWriteData: return write_data(packet);
    case amd::Pm4Op::kWaitRegMem: return wait_reg_mem(packet, /*wide=*/false);
    case amd::Pm4Op::kWaitRegMem64: return wait_reg_mem(packet, /*wide=*/true);
    case amd::Pm4Op::kCopyData: return copy_data(packet);
    case amd::Pm4Op::kAtomicMem: return atomic_mem(packet);
    case amd::Pm4Op::kReleaseMem: return release_mem(packet);
    case amd::Pm4Op::kDmaData: return dma_data(packet);
    case amd::Pm4Op::kPredExec:
      if (packet.size() < 2) return bad("PM4 PRED_EXEC of %zu dwords", packet.size());
      // One XCC stands for all of them: it is number 0.
      if (((packet[1] >> 24) & 1) == 0) skip_dwords_ = packet[1] & amd::kPm4PredCountMask;
      return Pm4Outcome::kDone;
    case amd::Pm4Op::kIndirectBuffer:
      if (packet.size() < 4) return bad("PM4 INDIRECT_BUFFER of %zu dwords", packet.size());
      if (frames_.size() >= kMaxDepth)
        return bad("PM4 indirect buffers nested deeper than %zu", kMaxDepth);
      frames_.push_back(
          {GpuAddr{join(packet[1] & ~3u, packet[2] & 0xffff)}, packet[3] & amd::kPm4IbSizeMask});
      return Pm4Outcome::kDone;
  }
  return bad("PM4 packet 0x%02x is not supported", static_cast<unsigned>(op));
}

Pm4Outcome Pm4Interpreter::write_data(std::span<const uint32_t> packet) {
  if (packet.size() < 5) return bad("PM4 WRITE_DATA of %zu dwords", packet.size());
  if (!amd::pm4_destination_is_memory(packet[1])) {
    return bad("PM4 WRITE_DATA to destination %u, which is not memory",
               amd::pm4_destination_select(packet[1]));
  }
  const GpuAddr to{join(packet[2], packet[3])};
  const std::span<const uint32_t> data = packet.subspan(4);
  for (size_t i = 0; i < data.size(); ++i) {
    const GpuAddr address = packet[1] & amd::kPm4WriteOneAddress ? to : to + i * 4;
    if (!memory_.store(address, data[i])) return Pm4Outcome::kMemoryFault;
  }
  return Pm4Outcome::kDone;
}

Pm4Outcome Pm4Interpreter::wait_reg_mem(std::span<const uint32_t> packet, bool wide) {
  if (packet.size() < (wide ? 9u : 7u)) return bad("PM4 WAIT_REG_MEM of %zu dwords", packet.size());
  if (!amd::pm4_wait_is_memory(packet[1])) return bad("PM4 WAIT_REG_MEM for a register");
  const auto function = static_cast<amd::PollFunction>(packet[1] & 7);
  const GpuAddr address{join(packet[2], packet[3])};
  uint64_t value = 0;
  uint64_t reference = packet[4];
  uint64_t mask = packet[5];
  if (wide) {
    reference = join(packet[4], packet[5]);
    mask = join(packet[6], packet[7]);
    if (!memory_.load(address, &value)) return Pm4Outcome::kMemoryFault;
  } else {
    uint32_t value32 = 0;
    if (!memory_.load(address, &value32)) return Pm4Outcome::kMemoryFault;
    value = value32;
  }
  return amd::poll_passes(function, value & mask, reference) ? Pm4Outcome::kDone
                                                             : Pm4Outcome::kBlocked;
}

Pm4Outcome Pm4Interpreter::copy_data(std::span<const uint32_t> packet) {
  if (packet.size() < 6) return bad("PM4 COPY_DATA of %zu dwords", packet.size());
  const bool wide = (packet[1] & amd::kPm4Copy64) != 0;
  if (!amd::pm4_destination_is_memory(packet[1])) {
    return bad("PM4 COPY_DATA to destination %u, which is not memory",
               amd::pm4_destination_select(packet[1]));
  }
  uint64_t value = 0;
  const GpuAddr from{join(packet[2], packet[3])};
  switch (amd::pm4_copy_source(packet[1])) {
    case amd::Pm4CopySource::kMemory:
    case amd::Pm4CopySource::kL2:
      if (wide) {
        if (!memory_.load(from, &value)) return Pm4Outcome::kMemoryFault;
      } else {
        uint32_t value32 = 0;
        if (!memory_.load(from, &value32)) return Pm4Outcome::kMemoryFault;
        value = value32;
      }
      break;
    case amd::Pm4CopySource::kImmediate: value = from.value; break;
    case amd::Pm4CopySource::kAtomicReturn: value = atomic_result_; break;
    case amd::Pm4CopySource::kGpuClock: value = clock_ticks(); break;
    default: return bad("PM4 COPY_DATA from source %u", packet[1] & 0xf);
  }
  const GpuAddr to{join(packet[4], packet[5])};
  const bool stored =
      wide ? memory_.store(to, value) : memory_.store(to, static_cast<uint32_t>(value));
  return stored ? Pm4Outcome::kDone : Pm4Outcome::kMemoryFault;
}

Pm4Outcome Pm4Interpreter::atomic_mem(std::span<const uint32_t> packet) {
  if (packet.size() < 9) return bad("PM4 ATOMIC_MEM of %zu dwords", packet.size());
  const AtomicRequest request{amd::pm4_atomic_operation(packet[1]),
                              GpuAddr{join(packet[2], packet[3])}, join(packet[4], packet[5]),
                              join(packet[6], packet[7])};
  if (!is_known_atomic(amd::tc_atomic(request.operation))) {
    return bad("PM4 ATOMIC_MEM operation %u", request.operation);
  }
  if (!execute_atomic(memory_, request, &atomic_result_)) return Pm4Outcome::kMemoryFault;
  if (amd::pm4_atomic_loops(packet[1]) && !compare_succeeded(request, atomic_result_)) {
    return Pm4Outcome::kBlocked;
  }
  queue_.scheduler->signal_completed();
  return Pm4Outcome::kDone;
}

Pm4Outcome Pm4Interpreter::release_mem(std::span<const uint32_t> packet) {
  if (packet.size() < 7) return bad("PM4 RELEASE_MEM of %zu dwords", packet.size());
  const GpuAddr to{join(packet[3], packet[4])};
  bool stored = true;
  switch (amd::pm4_release_data(packet[2])) {
    case amd::Pm4ReleaseData::kNone: break;
    case amd::Pm4ReleaseData::kLow32: stored = memory_.store(to, packet[5]); break;
    case amd::Pm4ReleaseData::k64: stored = memory_.store(to, join(packet[5], packet[6])); break;
    case amd::Pm4ReleaseData::kGpuClock: stored = memory_.store(to, clock_ticks()); break;
    default: return bad("PM4 RELEASE_MEM with data selection %u", packet[2] >> 29);
  }
  if (!stored) return Pm4Outcome::kMemoryFault;
  if (amd::pm4_release_interrupts(packet[2])) {
    const uint32_t context = packet.size() > 7 ? packet[7] : 0;
    if (context != 0) {
      queue_.events->signal(context);
    } else {
      queue_.events->signal_all();
    }
  }
  queue_.scheduler->signal_completed();
  return Pm4Outcome::kDone;
}

Pm4Outcome Pm4Interpreter::acquire_mem(std::span<const uint32_t> packet) {
  if (packet.size() < 7) return bad("PM4 ACQUIRE_MEM of %zu dwords", packet.size());
  const bool instruction_cache = packet.size() >= 8
                                     ? (packet[7] & amd::kPm4AcquireGliMask) != 0
                                     : (packet[1] & amd::kPm4AcquireInstructionCache) != 0;
  if (!instruction_cache) return Pm4Outcome::kDone;
  const uint64_t begin = join(packet[4], packet[5] & 0xffffff) << 8;
  const uint64_t size = join(packet[2], packet[3] & 0xff) << 8;
  const uint64_t room = std::numeric_limits<uint64_t>::max() - begin;
  queue_.hooks->invalidate_code(queue_.hooks->context, *queue_.gpu, GpuAddr{begin},
                                std::min(size, room));
  return Pm4Outcome::kDone;
}

Pm4Outcome Pm4Interpreter::dma_data(std::span<const uint32_t> packet) {
  if (packet.size() < 7) return bad("PM4 DMA_DATA of %zu dwords", packet.size());
  const uint32_t source = amd::pm4_dma_source(packet[1]);
  const uint32_t target = amd::pm4_dma_destination(packet[1]);
  if (source == 1 || target == 1 || target == 2)
    return bad("PM4 DMA_DATA from or to something but memory");
  const GpuAddr to{join(packet[4], packet[5])};
  const uint64_t size = packet[6] & amd::kPm4DmaCountMask;
  const bool done = source == 2
                        ? memory_.fill(to, packet[2], 4, size, queue_.stop)
                        : memory_.copy(to, GpuAddr{join(packet[2], packet[3])}, size, queue_.stop);
  return done ? Pm4Outcome::kDone : Pm4Outcome::kMemoryFault;
}

Pm4Outcome Pm4Interpreter::bad(const char* format, ...) {
  va_list args;
  va_start(args, format);
  std::vsnprintf(error_, sizeof error_, format, args);
  va_end(args);
  return Pm4Outcome::kBadPacket;
}

}  // namespace wavetap::vgpu
