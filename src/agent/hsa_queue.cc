#include "agent/hsa_queue.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

#include "agent/hsa_facts.h"
#include "agent/hsa_queue_arena.h"
#include "agent/hsa_table.h"
#include "agent/probe_policy.h"
#include "agent/recording.h"
#include "record/layout.h"

namespace wavetap::agent {
namespace {

using amd::PacketType;

constexpr uint16_t kInvalidHeader = static_cast<uint16_t>(PacketType::kInvalid);
constexpr uint64_t kMinReservations = 1024;
constexpr uint32_t kMinSlab = 1024;
constexpr uint32_t kMaxSlab = 16384;

char* map_zeroed(size_t bytes) {
  return sys::map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

}  // namespace

constinit QueueArena<Queue> g_arena{};

Queue* Queue::from(const HsaQueue* queue) {
  return g_arena.find(reinterpret_cast<uint64_t>(queue));
}
Queue* Queue::from_doorbell(uint64_t signal) { return g_arena.find_doorbell(signal); }

// ---- creation ----------------------------------------------------------------------------------

HsaStatus Queue::create(uint64_t agent, uint32_t size, uint32_t type, ErrorCallback callback,
                        void* data, uint32_t private_bytes, uint32_t group_bytes,
                        HsaQueue** result) {
  const auto create_real = [&](uint32_t packets, ErrorCallback function, void* argument,
                               HsaQueue** queue) {
    return hsa().hsa_queue_create(agent, packets, type, reinterpret_cast<void*>(function), argument,
                                  private_bytes, group_bytes, queue);
  };
  Queue* queue = nullptr;
  if (result != nullptr && size != 0 && (size & (size - 1)) == 0) {
    Locked locked(g_arena.lock);
    queue = g_arena.take();
    if (queue != nullptr) {
      queue->callback_ = callback;
      queue->callback_data_ = data;
      queue->live_.store(true, std::memory_order_release);  // ours while it is being made
    }
  }
  if (queue == nullptr) return create_real(size, callback, data, result);

  // Without a callback the runtime's own handler is to act.
  const ErrorCallback function = callback == nullptr ? nullptr : &Queue::on_error;
  uint32_t most = 0;
  hsa().hsa_agent_get_info(agent, amd::kAgentQueueMaxSize, &most);
  HsaQueue* real = nullptr;
  HsaStatus status = kHsaError;
  if (size * 2 <= most) status = create_real(size * 2, function, queue, &real);
  if (status != kHsaSuccess) status = create_real(size, function, queue, &real);
  if (status != kHsaSuccess) {
    Locked locked(g_arena.lock);
    g_arena.release(queue);
    return status;
  }
  if (!queue->open(real, agent, size)) {
    // No memory for our side: the program gets the plain queue, its dispatches are not recorded.
    hsa().hsa_queue_destroy(real);
    {
      Locked locked(g_arena.lock);
      g_arena.release(queue);
    }
    count_loss(format::Loss::kNoMemory);
    return create_real(size, callback, data, result);
  }
  *result = &queue->handle();
  return kHsaSuccess;
}

bool Queue::open(HsaQueue* real, uint64_t agent, uint32_t size) {
  uint64_t doorbell = 0;
  close();
  if (hsa().hsa_amd_signal_create(0, 0, nullptr, kSignalGpuOnly, &doorbell) != kHsaSuccess)
    return false;
  ring_ = map_zeroed(size_t{size} * amd::kAqlPacketBytes);
  const uint64_t reservations = std::max(uint64_t{size} * 4, kMinReservations);
  reservations_ = reinterpret_cast<Reservation*>(map_zeroed(reservations * sizeof(Reservation)));
  reservations_mask_ = reservations - 1;
  contexts_.open(reservations);
  const uint64_t tracked = uint64_t{real->size} * 2;
  consumed_ = reinterpret_cast<std::atomic<uint64_t>*>(map_zeroed(tracked * sizeof(uint64_t)));
  mask_ = size - 1;
  consumed_mask_ = tracked - 1;
  real_ = real;
  std::memcpy(public_, real, sizeof public_);
  handle().doorbell_signal = doorbell;
  if (ring_ == nullptr || reservations_ == nullptr || consumed_ == nullptr) {
    hsa().hsa_signal_destroy(doorbell);
    close();
    return false;
  }
  for (size_t i = 0; i < size; ++i)
    std::memcpy(ring_ + i * amd::kAqlPacketBytes, &kInvalidHeader, 2);
  handle().base_address = ring_;
  handle().size = size;
  write_index().store(0, std::memory_order_relaxed);
  *reinterpret_cast<uint64_t*>(at(amd::kQueueReadDispatchId)) = 0;

  rings_.store(0, std::memory_order_relaxed);
  rung_.store(0, std::memory_order_relaxed);
  next_.store(0, std::memory_order_relaxed);
  real_ring_ = static_cast<char*>(real->base_address);
  real_mask_ = real->size - 1;
  room_until_ = 0;
  last_real_.store(0, std::memory_order_relaxed);
  may_insert_ = real->size >= size * 2;
  agent_ = agent;
  agent_number_ = agent_number(agent);
  number_ = next_queue();
  last_owner_ = {};
  last_ordinal_ = 0;
  own_signal_ = 0;
  broken_.store(false, std::memory_order_relaxed);
  // Without a slab only the program's own signals can be timed; the rest is counted as untimed.
  slab_.open(agent, shared_pool(), std::clamp(size * 4, kMinSlab, kMaxSlab));
  hsa().hsa_amd_profiling_set_profiler_enabled(real, 1);
  {
    Locked locked(g_arena.lock);
    g_arena.add_doorbell(doorbell, this);
  }
  ready_.store(true, std::memory_order_release);
  write_fact(1);
  return true;
}

void Queue::write_fact(uint8_t flags) {
  const format::QueueFact queue{.header = {},
                                .time = ticks(),
                                .address = reinterpret_cast<uint64_t>(&handle()),
                                .number = number_,
                                .agent = agent_number_,
                                .size = handle().size,
                                .reserved = 0};
  fact(queue, format::Kind::kQueue, flags);
}

void Queue::close() {
  if (ring_ != nullptr) sys::unmap(ring_, (mask_ + 1) * amd::kAqlPacketBytes);
  if (reservations_ != nullptr)
    sys::unmap(reservations_, (reservations_mask_ + 1) * sizeof(Reservation));
  if (consumed_ != nullptr) sys::unmap(consumed_, (consumed_mask_ + 1) * sizeof(uint64_t));
  contexts_.close();
  ring_ = nullptr;
  reservations_ = nullptr;
  consumed_ = nullptr;
}

HsaStatus Queue::destroy() {
  const HsaStatus status = hsa().hsa_queue_destroy(real_);
  if (status != kHsaSuccess || !is_hsa_loaded()) return status;
  Locked locked(g_arena.lock);
  ready_.store(false, std::memory_order_release);
  g_arena.remove_doorbell(handle().doorbell_signal);
  // What has not finished now never will, except on the one queue behind all cooperative ones,
  // which goes on: its kernels must find their signals.
  const uint32_t in_flight = slab_.harvest();
  if (in_flight != 0 && handle().type == kQueueCooperative) {
    slab_.abandon();
  } else {
    slab_.close();
  }
  write_fact(2);
  hsa().hsa_signal_destroy(handle().doorbell_signal);
  if (own_signal_ != 0) hsa().hsa_signal_destroy(own_signal_);
  close();
  g_arena.release(this);
  return status;
}

void Queue::on_error(HsaStatus status, HsaQueue*, void* data) {
  Queue* queue = static_cast<Queue*>(data);
  queue->broken_.store(true, std::memory_order_release);
  const char* text = nullptr;
  hsa().hsa_status_string(status, &text);
  const format::FaultFact fault{.header = {},
                                .time = ticks(),
                                .address = 0,
                                .agent = queue->agent_number_,
                                .reason = status,
                                .queue = queue->number_,
                                .reserved = 0};
  fact(fault, format::Kind::kFault, 0, {text == nullptr ? "queue error" : text});
  // HIP ends the process: what the kernel had told is worth knowing.
  drain_probes(/*faulted=*/true);
  queue->callback_(status, &queue->handle(), queue->callback_data_);
}

// ---- the program's side ------------------------------------------------------------------------

uint64_t Queue::read_index() const {
  // Beyond our last packet there may be those of another queue of ours.
  const uint64_t written = last_real_.load(std::memory_order_acquire);
  const uint64_t real = std::min(hsa().hsa_queue_load_read_index_scacquire(real_), written);
  return real == 0 ? 0 : consumed_[(real - 1) & consumed_mask_].load(std::memory_order_acquire);
}

void Queue::reserved(uint64_t first, uint64_t count) {
  const Stream* in = recording() ? stream() : nullptr;
  uint64_t owner = 0;
  if (in != nullptr) {
    const format::Owner call = in->owner();
    std::memcpy(&owner, &call, sizeof owner);
  }
  if (count > mask_ + 1) count = mask_ + 1;
  if (are_contexts_wanted()) [[unlikely]]
    contexts_.note(first, count);
  for (uint64_t i = first; i < first + count; ++i) {
    Reservation& reservation = reservations_[i & reservations_mask_];
    reservation.packet.store(0, std::memory_order_relaxed);
    reservation.owner.store(owner, std::memory_order_release);
    reservation.packet.store(i + 1, std::memory_order_release);
  }
}

format::Owner Queue::owner_of(uint64_t index) const {
  const Reservation& reservation = reservations_[index & reservations_mask_];
  format::Owner owner{};
  if (reservation.packet.load(std::memory_order_acquire) != index + 1) return owner;
  const uint64_t found = reservation.owner.load(std::memory_order_acquire);
  // Still the same packet's after it was read: else nobody's, rather than somebody else's.
  if (reservation.packet.load(std::memory_order_relaxed) == index + 1)
    std::memcpy(&owner, &found, sizeof owner);
  return owner;
}

bool Queue::launch_context(uint64_t real_queue, uint64_t packet, format::LaunchContext* context) {
  bool found = false;
  g_arena.each([&](Queue& queue) {
    if (found || !queue.ready_.load(std::memory_order_acquire) ||
        reinterpret_cast<uint64_t>(queue.real_) != real_queue)
      return;
    const format::LaunchContext* const known = queue.contexts_.find_by_place(packet);
    if (known == nullptr) return;
    *context = *known;
    found = true;
  });
  return found;
}

void Queue::ring(uint64_t last) {
  uint64_t rung = rung_.load(std::memory_order_relaxed);
  while (last + 1 > rung &&
         !rung_.compare_exchange_weak(rung, last + 1, std::memory_order_relaxed)) {
  }
  // Release: the packets this thread made valid are seen by whoever takes the note. Acquire: theirs
  // by us.
  if (rings_.fetch_add(1, std::memory_order_acq_rel) != 0) return;
  GateScope gate;
  uint64_t answered;
  do {
    answered = rings_.load(std::memory_order_acquire);
    move(gate);
  } while (!rings_.compare_exchange_strong(answered, 0, std::memory_order_acq_rel));
  if (next_.load(std::memory_order_relaxed) < rung_.load(std::memory_order_relaxed))
    note_in_flight();
}

// ---- the helper's side -------------------------------------------------------------------------

bool Queue::harvest_all(bool patiently) {
  uint32_t left = 0;
  if (!g_arena.lock.try_lock_for(patiently ? 100 : 0)) return true;
  g_arena.each([&left](Queue& queue) {
    if (!queue.ready_.load(std::memory_order_acquire)) return;
    left += queue.slab_.harvest();
    if (queue.next_.load(std::memory_order_relaxed) < queue.rung_.load(std::memory_order_relaxed)) {
      queue.ring(0);
      ++left;
    }
  });
  left += g_program_signals.harvest();
  g_arena.lock.unlock();
  return left != 0;
}

void Queue::write_facts() {
  g_arena.each([](Queue& queue) {
    if (queue.ready_.load(std::memory_order_acquire)) queue.write_fact(1);
  });
}

size_t Queue::write_status(char* buffer, size_t size) {
  struct InFlight {
    uint32_t queue;
    uint64_t kernel_object;
    uint64_t time;
  };
  constexpr size_t kMost = 32;
  constexpr int kStatusPatience = 100;  // ms; whoever holds the lock has little to do
  InFlight oldest[kMost];
  size_t count = 0;
  const auto add = [&](uint32_t queue, uint64_t object, uint64_t time) {
    size_t at = count < kMost ? count++ : kMost;
    for (; at > 0 && oldest[at - 1].time > time; --at) {
      if (at < kMost) oldest[at] = oldest[at - 1];
    }
    if (at < kMost) oldest[at] = {queue, object, time};
  };
  if (is_hsa_loaded() && g_arena.lock.try_lock_for(kStatusPatience)) {
    g_arena.each([&](Queue& queue) {
      if (!queue.ready_.load(std::memory_order_acquire)) return;
      queue.slab_.each_in_flight(
          [&](uint64_t object, uint64_t time) { add(queue.number_, object, time); });
    });
    g_arena.lock.unlock();
    g_program_signals.each_in_flight(add);
  }
  size_t used = 0;
  for (size_t i = 0; i < count; ++i) {
    char name[256];
    kernel_name(oldest[i].kernel_object, name, sizeof name);
    const int length = snprintf(buffer + used, size - used, "kernel %u %s %.6f\n", oldest[i].queue,
                                name, record::seconds_since(oldest[i].time));
    if (length < 0 || static_cast<size_t>(length) >= size - used) break;
    used += static_cast<size_t>(length);
  }
  return used;
}

void Queue::unlock_after_fork() { new (&g_arena.lock) LockWord; }

void Queue::abandon_all() {
  Locked locked(g_arena.lock);
  g_arena.each([](Queue& queue) {
    queue.ready_.store(false, std::memory_order_release);
    g_arena.remove_doorbell(queue.handle().doorbell_signal);
    queue.slab_.abandon();
    g_arena.release(&queue);  // its memory goes when the place is taken again
  });
}

}  // namespace wavetap::agent
