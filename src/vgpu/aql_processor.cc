#include "vgpu/aql_processor.h"

#include <atomic>

#include "vgpu/gpu.h"
#include "vgpu/queue_scheduler.h"
#include "vgpu/queue_signal.h"

namespace wavetap::vgpu {
namespace {

constexpr uint32_t kMaxWorkgroupSize = 1024;
constexpr uint32_t kMaxGroupSegmentBytes = 64 * 1024;
constexpr uint32_t kMaxGroupSegmentBytesGfx950 = 160 * 1024;

uint8_t type_of(uint16_t header) { return static_cast<uint8_t>(header & 0xff); }

uint32_t group_segment_limit(const Gpu& gpu) {
  const amd::GfxTarget target = gpu.model.target;
  const bool large = target.major == 9 && target.minor == 5;
  return large ? kMaxGroupSegmentBytesGfx950 : kMaxGroupSegmentBytes;
}

}  // namespace

std::unique_ptr<PacketProcessor> make_aql_processor(Queue& queue) {
  return std::make_unique<AqlProcessor>(queue);
}

void AqlProcessor::WaveHost::interrupt() noexcept {
  queue_.events->signal_all();
  queue_.scheduler->signal_completed();
}

AqlProcessor::AqlProcessor(Queue& queue)
    : queue_(queue), memory_(queue.gpu->space), pm4_(queue, memory_), wave_host_(queue) {
  // The word after read_dispatch_id tells how far it is into amd_queue_t.
  uint32_t offset = 0;
  constexpr uint32_t kField = amd::kQueueReadDispatchIdOffsetField - amd::kQueueReadDispatchId;
  if (memory_.load(queue.read_pointer + kField, &offset) && offset <= queue.read_pointer.value) {
    amd_queue_ = {queue.read_pointer.value - offset};
  }
}

GpuAddr AqlProcessor::slot_address() const {
  const uint64_t slots = queue_.ring_bytes.load(std::memory_order_relaxed) / amd::kAqlPacketBytes;
  const GpuAddr ring{queue_.ring.load(std::memory_order_relaxed)};
  return ring + (read_index_ % slots) * amd::kAqlPacketBytes;
}

uint64_t AqlProcessor::write_index() noexcept {
  // Not through memory_: any thread may ask.
  const std::byte* host = queue_.gpu->space.host_pointer(queue_.write_pointer, 8, /*write=*/false);
  uint64_t index = 0;
  uint64_t host_fault = 0;
  if (host != nullptr && queue_.write_pointer.value % 8 == 0) {
    guarded(
        [&] { index = __atomic_load_n(reinterpret_cast<const uint64_t*>(host), __ATOMIC_RELAXED); },
        &host_fault);
  }
  return index;
}

// *fault: the pointers or the ring cannot be read, which step() then reports.
bool AqlProcessor::next_is_submitted(bool* fault) noexcept {
  uint64_t written = 0;
  uint16_t header = 0;
  // The acquire loads pair with the release stores of the producers: index first, header last.
  if (!memory_.load(queue_.write_pointer, &written)) {
    *fault = true;
    return false;
  }
  if (written <= read_index_) return false;
  if (!memory_.load(slot_address(), &header)) {
    *fault = true;
    return false;
  }
  return type_of(header) != static_cast<uint8_t>(amd::PacketType::kInvalid);
}

bool AqlProcessor::ready() noexcept {
  bool fault = false;
  switch (waiting_) {
    case Waiting::kForPacket: return next_is_submitted(&fault) || fault;
    case Waiting::kForSignals: return barrier_passes(&fault) || fault;
    case Waiting::kForValue: return value_passes(&fault) || fault;
    case Waiting::kForPm4: return pm4_.ready();
  }
  return true;
}

Step AqlProcessor::step() {
  if (waiting_ != Waiting::kForPacket) return resume_packet();
  bool fault = false;
  if (!next_is_submitted(&fault)) return fault ? access_fault("reading the queue") : Step::kBlocked;
  slot_ = slot_address();
  if (!memory_.read(slot_, &packet_, sizeof packet_)) return access_fault("reading a packet");
  begin_ = to_ticks(now());
  return begin_packet();
}

Step AqlProcessor::begin_packet() {
  switch (static_cast<amd::PacketType>(type_of(packet_.dispatch.header))) {
    case amd::PacketType::kKernelDispatch: return run_dispatch();
    case amd::PacketType::kBarrierAnd:
    case amd::PacketType::kBarrierOr: waiting_ = Waiting::kForSignals; return resume_packet();
    case amd::PacketType::kVendorSpecific: return run_vendor_packet();
    case amd::PacketType::kAgentDispatch:
      deliver_packet_error(site(), QueueError::kPacket,
                           "packet %llu: agent dispatch packets are for host queues",
                           static_cast<unsigned long long>(read_index_));
      return Step::kFaulted;
    case amd::PacketType::kInvalid: break;
  }
  deliver_packet_error(site(), QueueError::kPacket, "packet %llu: type %u does not exist",
                       static_cast<unsigned long long>(read_index_),
                       type_of(packet_.dispatch.header));
  return Step::kFaulted;
}

Step AqlProcessor::resume_packet() {
  bool fault = false;
  switch (waiting_) {
    case Waiting::kForPacket: return Step::kProgress;
    case Waiting::kForPm4: return after_pm4(pm4_.resume());
    case Waiting::kForSignals:
      if (!barrier_passes(&fault)) {
        return fault ? access_fault("waiting for a barrier packet's signals") : Step::kBlocked;
      }
      break;
    case Waiting::kForValue:
      if (!value_passes(&fault)) {
        return fault ? access_fault("waiting for a barrier packet's value") : Step::kBlocked;
      }
      break;
  }
  return finish_packet();
}

Step AqlProcessor::finish_packet(GpuTicks end) {
  waiting_ = Waiting::kForPacket;
  // Release stores: the producer that sees the slot free (its acquire load of read_dispatch_id or
  // of the header) may overwrite it, and must not be overtaken by our reads of it.
  constexpr auto kInvalid = static_cast<uint16_t>(amd::PacketType::kInvalid);
  if (!memory_.store(slot_, kInvalid)) return access_fault("releasing a packet");
  ++read_index_;
  queue_.read_index.store(read_index_, std::memory_order_relaxed);
  if (!memory_.store(queue_.read_pointer, read_index_))
    return access_fault("advancing the read index");
  tell_hooks(read_index_ - 1);
  if (!complete_signal(queue_, memory_, GpuAddr{packet_.dispatch.completion_signal}, begin_, end)) {
    return access_fault("completing a signal");
  }
  return Step::kProgress;
}

void AqlProcessor::tell_hooks(uint64_t index) {
  for (DispatchHook* hook : queue_.hooks->dispatch) {
    switch (static_cast<amd::PacketType>(type_of(packet_.dispatch.header))) {
      case amd::PacketType::kBarrierAnd:
      case amd::PacketType::kBarrierOr:
        hook->packet_waited(queue_, index, packet_.barrier.dep_signal);
        break;
      case amd::PacketType::kVendorSpecific: {
        const uint64_t signal = packet_.barrier_value.signal;
        const auto format = static_cast<amd::VendorFormat>(packet_.barrier_value.format);
        if (format == amd::VendorFormat::kBarrierValue)
          hook->packet_waited(queue_, index, {&signal, 1});
        break;
      }
      default: break;
    }
    hook->packet_finished(queue_, index, packet_.dispatch.completion_signal);
  }
}

bool AqlProcessor::check_dispatch() {
  const amd::KernelDispatchPacket& p = packet_.dispatch;
  const auto number = static_cast<unsigned long long>(read_index_);
  const uint32_t dimensions = p.setup & 3;
  if (dimensions == 0) {
    deliver_packet_error(site(), QueueError::kDimensions, "packet %llu: 0 dimensions", number);
    return false;
  }
  uint64_t work_items = 1;
  for (uint32_t axis = 0; axis < dimensions; ++axis) {
    if (p.grid_size[axis] == 0 || p.workgroup_size[axis] == 0) {
      deliver_packet_error(site(), QueueError::kDimensions,
                           "packet %llu: grid %u,%u,%u workgroup %u,%u,%u", number, p.grid_size[0],
                           p.grid_size[1], p.grid_size[2], p.workgroup_size[0], p.workgroup_size[1],
                           p.workgroup_size[2]);
      return false;
    }
    work_items *= p.workgroup_size[axis];
  }
  if (work_items > kMaxWorkgroupSize) {
    deliver_packet_error(site(), QueueError::kWorkgroupSize,
                         "packet %llu: workgroups of %llu work-items, the limit is %u", number,
                         static_cast<unsigned long long>(work_items), kMaxWorkgroupSize);
    return false;
  }
  if (p.group_segment_size > group_segment_limit(*queue_.gpu)) {
    deliver_packet_error(site(), QueueError::kGroupMemory,
                         "packet %llu: %u bytes of group memory, the limit is %u", number,
                         p.group_segment_size, group_segment_limit(*queue_.gpu));
    return false;
  }
  if (p.kernel_object == 0) {
    deliver_packet_error(site(), QueueError::kCodeObject, "packet %llu: no kernel object", number);
    return false;
  }
  return true;
}

emu::Dispatch AqlProcessor::make_dispatch() {
  const amd::KernelDispatchPacket& p = packet_.dispatch;
  const uint32_t dimensions = p.setup & 3;
  const Gpu& gpu = *queue_.gpu;
  const uint32_t enabled = queue_.enabled_cus.load(std::memory_order_relaxed);

  emu::Dispatch dispatch;
  dispatch.target = gpu.model.target;
  dispatch.kernel_object = {p.kernel_object};
  dispatch.kernarg = {p.kernarg_address};
  dispatch.packet = slot_;
  dispatch.queue = amd_queue_;
  dispatch.dispatch_id = read_index_;
  for (uint32_t axis = 0; axis < 3; ++axis) {
    dispatch.grid_size[axis] = axis < dimensions ? p.grid_size[axis] : 1;
    dispatch.workgroup_size[axis] = axis < dimensions ? p.workgroup_size[axis] : 1;
  }
  dispatch.group_segment_bytes = p.group_segment_size;
  dispatch.private_segment_bytes = p.private_segment_size;
  dispatch.sram_ecc = gpu.model.sram_ecc || gpu.model.target.always_has_sram_ecc();
  dispatch.cu_count = enabled != 0 ? enabled : gpu.model.compute_units;
  dispatch.xcc_count = gpu.model.xccs;
  dispatch.cooperative = queue_.cooperative.load(std::memory_order_relaxed);
  dispatch.memory = &queue_.gpu->space;
  dispatch.host = &wave_host_;
  dispatch.cancelled = &queue_.stop;
  return dispatch;
}

emu::DispatchResult AqlProcessor::execute(emu::Dispatch& dispatch, DispatchTimes* times) {
  const QueueHooks& hooks = *queue_.hooks;
  if (!hooks.dispatch.empty())
    return run_hooked(queue_, memory_, packet_.dispatch, dispatch, times);
  const emu::DispatchResult result = hooks.run(hooks.context, *queue_.gpu, dispatch);
  times->end = to_ticks(now());
  return result;
}

Step AqlProcessor::run_dispatch() {
  if (!check_dispatch()) return Step::kFaulted;
  emu::Dispatch dispatch = make_dispatch();

  // The packet's acquire and release scopes. Engine threads synchronise with this one when they
  // take the dispatch and when they hand the result back; the host synchronises through the header
  // (acquire load in next_is_submitted()) and the signal's value (release in complete_signal()).
  std::atomic_thread_fence(std::memory_order_acquire);
  queue_.kernel_object.store(dispatch.kernel_object.value, std::memory_order_relaxed);
  DispatchTimes times{.begin = begin_, .end = {}};
  const emu::DispatchResult result = execute(dispatch, &times);
  queue_.kernel_object.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);

  queue_.dispatches.fetch_add(1, std::memory_order_relaxed);
  if (result.fault) {
    deliver_wave_fault(site(), *result.fault, dispatch);
    return Step::kFaulted;
  }
  // A cancelled dispatch leaves its packet in the ring: the queue is going away.
  if (result.cancelled) return Step::kProgress;
  begin_ = times.begin;
  return finish_packet(times.end);
}

Step AqlProcessor::run_vendor_packet() {
  switch (static_cast<amd::VendorFormat>(packet_.barrier_value.format)) {
    case amd::VendorFormat::kBarrierValue: waiting_ = Waiting::kForValue; return resume_packet();
    case amd::VendorFormat::kPm4Ib: {
      // One INDIRECT_BUFFER call; any other embedded packet is executed just as well.
      const uint32_t dwords = Pm4Interpreter::packet_dwords(packet_.pm4.ib_jump[0]);
      if (dwords == 0 || dwords > 4) {
        deliver_packet_error(site(), QueueError::kVendorPacket,
                             "packet %llu: embedded PM4 header 0x%08x of %u dwords",
                             static_cast<unsigned long long>(read_index_), packet_.pm4.ib_jump[0],
                             dwords);
        return Step::kFaulted;
      }
      return after_pm4(pm4_.execute({packet_.pm4.ib_jump, dwords}));
    }
  }
  deliver_packet_error(site(), QueueError::kVendorPacket,
                       "packet %llu: vendor format %u does not exist",
                       static_cast<unsigned long long>(read_index_), packet_.barrier_value.format);
  return Step::kFaulted;
}

Step AqlProcessor::after_pm4(Pm4Outcome outcome) {
  switch (outcome) {
    case Pm4Outcome::kDone:
      if (queue_.stop.load(std::memory_order_relaxed)) return Step::kProgress;
      return finish_packet();
    case Pm4Outcome::kBlocked: waiting_ = Waiting::kForPm4; return Step::kBlocked;
    case Pm4Outcome::kMemoryFault: return access_fault("executing a PM4 packet");
    case Pm4Outcome::kBadPacket: break;
  }
  deliver_packet_error(site(), QueueError::kVendorPacket, "packet %llu: %s",
                       static_cast<unsigned long long>(read_index_), pm4_.error());
  return Step::kFaulted;
}

bool AqlProcessor::barrier_passes(bool* fault) noexcept {
  const bool needs_all =
      type_of(packet_.barrier.header) == static_cast<uint8_t>(amd::PacketType::kBarrierAnd);
  bool any_signal = false;
  for (const uint64_t signal : packet_.barrier.dep_signal) {
    if (signal == 0) continue;
    any_signal = true;
    int64_t value = 0;
    if (!memory_.load(GpuAddr{signal} + offsetof(amd::Signal, value), &value)) {
      *fault = true;
      return false;
    }
    if ((value == 0) != needs_all) return !needs_all;
  }
  // AND: none was non-zero. OR: none was zero, unless there was nothing to wait for.
  return needs_all || !any_signal;
}

bool AqlProcessor::value_passes(bool* fault) noexcept {
  const amd::BarrierValuePacket& p = packet_.barrier_value;
  if (p.signal == 0) return true;
  int64_t value = 0;
  if (!memory_.load(GpuAddr{p.signal} + offsetof(amd::Signal, value), &value)) {
    *fault = true;
    return false;
  }
  value &= p.mask;
  switch (p.condition) {
    case 0: return value == p.value;
    case 1: return value != p.value;
    case 2: return value < p.value;
    default: return value >= p.value;
  }
}

Step AqlProcessor::access_fault(const char* doing) {
  deliver_access_fault(site(), memory_.fault(), doing);
  return Step::kFaulted;
}

}  // namespace wavetap::vgpu
