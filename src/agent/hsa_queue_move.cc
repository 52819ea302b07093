// Packets on their way from the program's ring to the one the GPU reads: put in order, shown to policies,
// recorded and given a signal.
#include <algorithm>
#include <cstring>

#include "agent/hsa_facts.h"
#include "agent/hsa_queue.h"
#include "agent/hsa_table.h"
#include "agent/recording.h"
#include "record/layout.h"

namespace wavetap::agent {
namespace {

using amd::PacketType;

constexpr uint16_t kTypeMask = 0xff;
constexpr uint16_t kInvalidHeader = static_cast<uint16_t>(PacketType::kInvalid);
constexpr uint16_t kBarrierBit = 1 << 8;
constexpr uint32_t kMaxKernargBytes = 4096;

PacketType type_of(uint16_t header) { return static_cast<PacketType>(header & kTypeMask); }

}  // namespace

void Queue::move(GateScope& gate) {
  const uint64_t begin = next_.load(std::memory_order_relaxed);
  const uint64_t end = write_index().load(std::memory_order_acquire);
  uint64_t index = begin;
  for (; index < end; ++index) {
    auto* header = reinterpret_cast<uint16_t*>(ring_ + (index & mask_) * amd::kAqlPacketBytes);
    // Pairs with the release with which the program makes the packet valid.
    const uint16_t value = __atomic_load_n(header, __ATOMIC_ACQUIRE);
    if (type_of(value) == PacketType::kInvalid || !move_one(index, header, gate)) break;
  }
  if (index == begin) return;
  next_.store(index, std::memory_order_relaxed);
  ring_real();
}

// Everything put on the real ring so far is the GPU's.
void Queue::ring_real() {
  const uint64_t written = last_real_.load(std::memory_order_relaxed);
  if (written != 0)
    hsa().hsa_signal_store_screlease(real_->doorbell_signal, static_cast<int64_t>(written - 1));
}

// For that many packets behind `write` on the real ring.
bool Queue::has_room(uint64_t write, uint64_t packets) {
  if (write + packets > room_until_)
    room_until_ = hsa().hsa_queue_load_read_index_scacquire(real_) + real_mask_ + 1;
  return write + packets <= room_until_;
}

bool Queue::move_one(uint64_t index, uint16_t* header, GateScope& gate) {
  // Before a dispatch that runs alone, it, and behind it. Also where the real ring is no larger than the
  // program's, as the one of cooperative queues: what is on it is waited for first.
  constexpr uint64_t kPacketsAlone = 4;
  // Room for this packet and one that we may add. There is, unless somebody else writes to the real
  // queue.
  const uint64_t write = hsa().hsa_queue_load_write_index_relaxed(real_);
  if (!has_room(write, 2) && write + 1 > room_until_) return false;
  const bool may_add = may_insert_ && write + 2 <= room_until_;

  amd::KernelDispatchPacket packet;
  std::memcpy(&packet, ring_ + (index & mask_) * amd::kAqlPacketBytes, sizeof packet);
  // The GPU may have read the packet, and the program written the next one in its place, before we come back.
  __atomic_store_n(header, kInvalidHeader, __ATOMIC_RELEASE);
  if (has_dispatch_policies() && type_of(packet.header) == PacketType::kKernelDispatch)
      [[unlikely]] {
    DispatchView dispatch{.packet = packet,
                          .number = next_dispatch_number(),
                          .agent = agent_,
                          .agent_number = agent_number_,
                          .queue = &handle(),
                          .queue_number = number_,
                          .owner = owner_of(index),
                          .launch = contexts_.find(index)};
    const uint32_t alone = ask_policies(dispatch);
    if (alone != 0 && has_room(write, kPacketsAlone) && move_alone(dispatch, index, alone, gate))
      return true;
  }
  amd::BarrierPacket barrier;
  const bool add = prepare(packet, index, may_add ? &barrier : nullptr);
  const uint64_t real = hsa().hsa_queue_add_write_index_relaxed(real_, add ? 2 : 1);
  const uint64_t end = real + (add ? 2 : 1);
  // Only where another queue of ours writes to the same ring can somebody have been faster.
  while (end > room_until_)
    room_until_ = hsa().hsa_queue_load_read_index_scacquire(real_) + real_mask_ + 1;
  const uint64_t last = last_real_.load(std::memory_order_relaxed);
  const uint64_t others = real - std::min(real, last);
  for (uint64_t i = others > consumed_mask_ ? real - consumed_mask_ : last; i < real; ++i) {
    consumed_[i & consumed_mask_].store(index, std::memory_order_release);
  }
  if (are_contexts_wanted()) [[unlikely]]
    contexts_.note_place(real, index);
  if (!add) {
    put(real, &packet, index + 1);
  } else {
    put(real + 1, &barrier, index + 1);
    put(real, &packet, index);
  }
  // Pairs with the acquire in read_index(): what the packets mean is known before they count.
  last_real_.store(end, std::memory_order_release);
  return true;
}

void Queue::put(uint64_t index, const void* packet, uint64_t consumed) {
  consumed_[index & consumed_mask_].store(consumed, std::memory_order_release);
  char* to = real_ring_ + (index & real_mask_) * amd::kAqlPacketBytes;
  std::memcpy(to + 4, static_cast<const char*>(packet) + 4, amd::kAqlPacketBytes - 4);
  uint32_t head;
  std::memcpy(&head, packet, sizeof head);
  // Header and setup at once; the GPU takes the packet from here on.
  __atomic_store_n(reinterpret_cast<uint32_t*>(to), head, __ATOMIC_RELEASE);
}

bool Queue::prepare(amd::KernelDispatchPacket& packet, uint64_t index,
                    amd::BarrierPacket* barrier) {
  if (type_of(packet.header) == PacketType::kKernelDispatch) {
    if (recording()) return prepare_dispatch(packet, index, barrier);
    if (packet.completion_signal != 0) g_program_signals.submit_other(packet.completion_signal);
    return false;
  }
  amd::BarrierPacket other;
  std::memcpy(&other, &packet, sizeof other);
  prepare_other(other, index);
  std::memcpy(&packet, &other, sizeof packet);
  return false;
}

bool Queue::prepare_dispatch(amd::KernelDispatchPacket& packet, uint64_t index,
                             amd::BarrierPacket* barrier) {
  // Timed first: collecting an earlier completion may write to the same stream. The GPU gets the
  // packet after the record is there, so no completion comes before its dispatch.
  const Operation operation{.id = next_operation(),
                            .kind = format::Kind::kDispatch,
                            .queue = number_,
                            .kernel_object = packet.kernel_object,
                            .time = ticks()};
  uint8_t flags = packet.completion_signal != 0 ? format::kDispatchAppSignal : 0;
  if (!time_packet(&packet.completion_signal, operation, barrier)) {
    flags |= format::kDispatchUntimed;
    count_loss(format::Loss::kUntimed);
  }
  note_in_flight();
  write_dispatch(packet, operation, owner_of(index), flags);
  return barrier != nullptr && barrier->header != 0;
}

void Queue::write_dispatch(const amd::KernelDispatchPacket& packet, const Operation& operation,
                           format::Owner owner, uint8_t flags) {
  uint32_t kernargs = 0;
  if (g_state.load(std::memory_order_relaxed) & kKernargs)
    kernargs = std::min(kernarg_bytes(packet.kernel_object), kMaxKernargBytes);
  Stream* out = stream();
  auto* record = out == nullptr ? nullptr : out->reserve<format::DispatchRecord>(kernargs);
  if (record == nullptr) return count_loss(format::Loss::kOther);
  record->id = operation.id;
  record->time = operation.time;
  record->kernel_object = packet.kernel_object;
  record->kernarg_address = packet.kernarg_address;
  record->owner = owner;
  record->queue = number_;
  for (int i = 0; i < 3; ++i) {
    record->grid[i] = packet.grid_size[i];
    record->workgroup[i] = packet.workgroup_size[i];
  }
  record->packet_header = packet.header;
  record->private_bytes = packet.private_segment_size;
  record->group_bytes = packet.group_segment_size;
  record->kernarg_bytes = 0;
  // Wherever they are: memory we may not read costs the copy, not the program.
  if (kernargs != 0 &&
      record::copy_from_unsure(record + 1, reinterpret_cast<const void*>(packet.kernarg_address),
                               kernargs) == kernargs) {
    record->kernarg_bytes = kernargs;
    flags |= format::kDispatchHasArguments;
  }
  record->ordinal = ordinal_of(owner, *out);
  out->commit(record, format::Kind::kDispatch, flags);
}

// Which dispatch of its owner the next one is. The owner numbers them itself while it is the one who
// submits; another thread counts per queue.
uint32_t Queue::ordinal_of(format::Owner owner, Stream& submitter) {
  if (owner.stream == submitter.number() && owner.call == submitter.current_call_ &&
      owner.call != 0)
    last_ordinal_ = submitter.dispatches_++;
  else if (owner.stream == last_owner_.stream && owner.call == last_owner_.call) ++last_ordinal_;
  else last_ordinal_ = 0;
  last_owner_ = owner;
  return last_ordinal_;
}

const amd::Signal* Queue::take_signal(const Operation& operation, uint64_t stands_for) {
  if (slab_.is_crowded()) slab_.harvest();  // the helper thread is behind
  return slab_.take(operation, stands_for);
}

// Sees to it that the packet's completion will be known; `barrier` gets a header when it must
// follow.
bool Queue::time_packet(uint64_t* signal, const Operation& operation, amd::BarrierPacket* barrier) {
  if (barrier != nullptr) barrier->header = 0;
  if (*signal == 0) {
    const amd::Signal* own = take_signal(operation, 0);
    if (own == nullptr) return false;
    *signal = reinterpret_cast<uint64_t>(own);
    return true;
  }
  switch (g_program_signals.submit_packet(*signal, operation, agent_)) {
    case ProgramSignals::Timing::kOwn: return true;
    case ProgramSignals::Timing::kUnknown:
    case ProgramSignals::Timing::kGrouped: return false;
    case ProgramSignals::Timing::kSubstitute: break;
  }
  if (barrier == nullptr) return false;
  const amd::Signal* own = take_signal(operation, *signal);
  if (own == nullptr) return false;
  *barrier = {};
  barrier->header = static_cast<uint16_t>(PacketType::kBarrierAnd) | kBarrierBit;
  barrier->completion_signal = *signal;
  *signal = reinterpret_cast<uint64_t>(own);
  return true;
}

void Queue::prepare_other(amd::BarrierPacket& packet, uint64_t index) {
  const PacketType type = type_of(packet.header);
  const bool is_barrier = type == PacketType::kBarrierAnd || type == PacketType::kBarrierOr;
  if (!is_barrier || !recording() || (g_state.load(std::memory_order_relaxed) & kBarriers) == 0) {
    if (packet.completion_signal != 0) g_program_signals.submit_other(packet.completion_signal);
    return;
  }
  const Operation operation{.id = next_operation(),
                            .kind = format::Kind::kBarrier,
                            .queue = number_,
                            .kernel_object = 0,
                            .time = ticks()};
  if (!time_packet(&packet.completion_signal, operation, nullptr)) {
    count_loss(format::Loss::kUntimed);
  }
  Stream* out = stream();
  auto* record = out == nullptr ? nullptr : out->reserve<format::BarrierRecord>();
  if (record == nullptr) return count_loss(format::Loss::kOther);
  record->id = operation.id;
  record->time = operation.time;
  record->owner = owner_of(index);
  record->queue = number_;
  record->packet_header = packet.header;
  record->dependencies = 0;
  for (const uint64_t dependency : packet.dep_signal) record->dependencies += dependency != 0;
  out->commit(record, format::Kind::kBarrier);
}

}  // namespace wavetap::agent
