#include "vgpu/queues.h"

#include <errno.h>

#include <bit>
#include <bitset>
#include <map>
#include <memory>
#include <mutex>

#include "vgpu/dispatch_hook.h"
#include "vgpu/gpu.h"
#include "vgpu/queue_engine.h"
#include "vgpu/queue_scheduler.h"
#include "vgpu/queue_state.h"

namespace wavetap::vgpu {
namespace {

constexpr uint64_t kMinRingBytes = 256;
constexpr uint64_t kMaxRingBytes = uint64_t{1} << 32;
constexpr int kSuspendPatienceMs = 100;

bool is_ring_size(uint64_t bytes) {
  return std::has_single_bit(bytes) && bytes >= kMinRingBytes && bytes <= kMaxRingBytes;
}

std::unique_ptr<PacketProcessor> make_processor(Queue& queue) {
  switch (queue.type) {
    case QueueType::kComputeAql: return make_aql_processor(queue);
    case QueueType::kComputePm4: return make_pm4_processor(queue);
    case QueueType::kSdma:
    case QueueType::kSdmaXgmi:
    case QueueType::kSdmaByEngine: return make_sdma_processor(queue);
  }
  return nullptr;
}

// Both ends of the range are mapped. What lies between may come from several allocations and is
// looked at when it is used.
bool is_reachable(Gpu& gpu, GpuAddr address, uint64_t size_bytes, bool write) {
  return gpu.space.host_pointer(address, 1, write) != nullptr &&
         gpu.space.host_pointer(address + (size_bytes - 1), 1, write) != nullptr;
}

}  // namespace

struct QueueTable::State {
  std::mutex mutex;
  std::map<uint32_t, std::shared_ptr<Queue>> queues;
  std::map<const Gpu*, std::bitset<kDoorbellSlotsPerGpu>> doorbells;
  uint32_t next_id = 1;
  uint32_t next_slot = 0;
  // Threads of removed queues may still hold it for a moment, so it is never freed.
  QueueScheduler* scheduler = new QueueScheduler;

  std::shared_ptr<Queue> find(uint32_t id) {
    const std::lock_guard lock(mutex);
    const auto it = queues.find(id);
    return it == queues.end() ? nullptr : it->second;
  }

  // Slots are handed out round robin: a program that rings the doorbell of a queue it has just
  // destroyed does not reach the next one. Caller holds mutex.
  int take_slot(const Gpu& gpu) {
    std::bitset<kDoorbellSlotsPerGpu>& used = doorbells[&gpu];
    for (uint32_t tried = 0; tried < kDoorbellSlotsPerGpu; ++tried) {
      const uint32_t slot = next_slot;
      next_slot = (next_slot + 1) % kDoorbellSlotsPerGpu;
      if (!used[slot]) {
        used[slot] = true;
        return static_cast<int>(slot);
      }
    }
    return -1;
  }
};

QueueTable::QueueTable(EventTable& events, const QueueHooks& hooks)
    : events_(events), hooks_(hooks), state_(new State) {
  if (hooks_.run == nullptr) hooks_.run = run_on_engine;
  if (hooks_.invalidate_code == nullptr) hooks_.invalidate_code = invalidate_engine_code;
}

QueueTable::~QueueTable() {
  shutdown();
  delete state_;
}

int QueueTable::create(const QueueParams& params, Gpu& gpu, QueueHandle* handle) {
  if (!is_ring_size(params.ring_bytes) || params.percentage > 100 || params.priority > 15)
    return EINVAL;
  if (params.type > QueueType::kSdmaByEngine || gpu.doorbells == nullptr) return EINVAL;
  if (!is_reachable(gpu, params.ring, params.ring_bytes, /*write=*/true) ||
      !is_reachable(gpu, params.read_pointer, 8, /*write=*/true) ||
      !is_reachable(gpu, params.write_pointer, 8, /*write=*/false) ||
      params.read_pointer.value % 8 != 0 || params.write_pointer.value % 8 != 0) {
    return EINVAL;
  }

  State& s = *state_;
  auto queue = std::make_shared<Queue>();
  queue->type = params.type;
  queue->gpu = &gpu;
  queue->read_pointer = params.read_pointer;
  queue->write_pointer = params.write_pointer;
  queue->events = &events_;
  queue->hooks = &hooks_;
  queue->context_save = params.context_save;
  queue->report_exceptions = &report_exceptions_;
  queue->scheduler = s.scheduler;
  queue->ring.store(params.ring.value, std::memory_order_relaxed);
  queue->ring_bytes.store(params.ring_bytes, std::memory_order_relaxed);
  queue->priority.store(params.priority, std::memory_order_relaxed);
  queue->percentage.store(params.percentage, std::memory_order_relaxed);
  queue->suspended.store(params.percentage == 0, std::memory_order_relaxed);

  const std::lock_guard lock(s.mutex);
  if (s.queues.size() >= kQueueLimitPerProcess) return ENOSPC;
  const int slot = s.take_slot(gpu);
  if (slot < 0) return ENOSPC;
  queue->doorbell_slot = static_cast<uint32_t>(slot);
  __atomic_store_n(&gpu.doorbells[slot], uint64_t{0}, __ATOMIC_RELEASE);
  while (s.next_id == 0 || s.queues.count(s.next_id) != 0) ++s.next_id;
  queue->id = s.next_id++;
  queue->processor = make_processor(*queue);
  for (DispatchHook* hook : hooks_.dispatch) hook->queue_added(*queue);
  const int error = s.scheduler->add(queue);
  if (error != 0) {
    s.doorbells[&gpu][queue->doorbell_slot] = false;
    return error;
  }
  *handle = {queue->id, queue->doorbell_slot};
  s.queues[queue->id] = std::move(queue);
  return 0;
}

int QueueTable::update(uint32_t id, const QueueUpdate& update) {
  const std::shared_ptr<Queue> queue = state_->find(id);
  if (queue == nullptr || update.percentage > 100 || update.priority > 15) return EINVAL;
  const bool has_ring = update.ring.value != 0 && update.ring_bytes != 0;
  if (has_ring && (!is_ring_size(update.ring_bytes) ||
                   !is_reachable(*queue->gpu, update.ring, update.ring_bytes, /*write=*/true))) {
    return EINVAL;
  }
  queue->priority.store(update.priority, std::memory_order_relaxed);
  queue->percentage.store(update.percentage, std::memory_order_relaxed);

  const bool same_ring = update.ring.value == queue->ring.load(std::memory_order_relaxed) &&
                         update.ring_bytes == queue->ring_bytes.load(std::memory_order_relaxed);
  if (has_ring && !same_ring) {
    // Base and size change together only while the queue stands still.
    queue->suspended.store(true, std::memory_order_release);
    queue->scheduler->suspension_changed(*queue, kSuspendPatienceMs);
    queue->ring.store(update.ring.value, std::memory_order_relaxed);
    queue->ring_bytes.store(update.ring_bytes, std::memory_order_relaxed);
  }
  // Pairs with the acquire load in QueueScheduler::run().
  queue->suspended.store(update.percentage == 0 || !has_ring, std::memory_order_release);
  queue->scheduler->suspension_changed(*queue, kSuspendPatienceMs);
  return 0;
}

int QueueTable::destroy(uint32_t id) {
  State& s = *state_;
  std::shared_ptr<Queue> queue;
  {
    const std::lock_guard lock(s.mutex);
    const auto it = s.queues.find(id);
    if (it == s.queues.end()) return EINVAL;
    queue = std::move(it->second);
    s.queues.erase(it);
  }
  const bool gone = s.scheduler->remove(*queue);
  // The slot of a thread that was left behind is not given to anybody else.
  if (gone) {
    const std::lock_guard lock(s.mutex);
    s.doorbells[queue->gpu][queue->doorbell_slot] = false;
  }
  return 0;
}

int QueueTable::set_cu_mask(uint32_t id, std::span<const uint32_t> mask) {
  const std::shared_ptr<Queue> queue = state_->find(id);
  if (queue == nullptr) return EINVAL;
  uint32_t enabled = 0;
  for (const uint32_t word : mask) enabled += static_cast<uint32_t>(std::popcount(word));
  if (!mask.empty() && enabled == 0) return EINVAL;
  const uint32_t all = queue->gpu->model.compute_units;
  queue->enabled_cus.store(enabled >= all ? 0 : enabled, std::memory_order_relaxed);
  return 0;
}

int QueueTable::set_cooperative(uint32_t id, bool cooperative) {
  const std::shared_ptr<Queue> queue = state_->find(id);
  if (queue == nullptr || queue->type != QueueType::kComputeAql) return EINVAL;
  queue->cooperative.store(cooperative, std::memory_order_relaxed);
  return 0;
}

void QueueTable::nudge() noexcept { state_->scheduler->nudge(); }

std::vector<QueueSnapshot> QueueTable::snapshot() {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  std::vector<QueueSnapshot> all;
  all.reserve(s.queues.size());
  for (const auto& [id, queue] : s.queues) {
    QueueSnapshot shot;
    shot.id = id;
    shot.type = queue->type;
    shot.gpu_index = queue->gpu->index;
    shot.doorbell_slot = queue->doorbell_slot;
    shot.activity = queue->activity.load(std::memory_order_relaxed);
    const bool suspended = queue->suspended.load(std::memory_order_relaxed);
    if (suspended && shot.activity == QueueActivity::kIdle)
      shot.activity = QueueActivity::kSuspended;
    shot.read_index = queue->read_index.load(std::memory_order_relaxed);
    shot.write_index = queue->processor->write_index();
    shot.kernel_object = {queue->kernel_object.load(std::memory_order_relaxed)};
    shot.dispatches = queue->dispatches.load(std::memory_order_relaxed);
    shot.priority = queue->priority.load(std::memory_order_relaxed);
    shot.percentage = queue->percentage.load(std::memory_order_relaxed);
    all.push_back(shot);
  }
  return all;
}

uint32_t QueueTable::live_count() {
  const std::lock_guard lock(state_->mutex);
  return static_cast<uint32_t>(state_->queues.size());
}

Gpu* QueueTable::gpu_of(uint32_t id) {
  const std::shared_ptr<Queue> queue = state_->find(id);
  return queue == nullptr ? nullptr : queue->gpu;
}

void QueueTable::shutdown() {
  State& s = *state_;
  std::map<uint32_t, std::shared_ptr<Queue>> leaving;
  {
    const std::lock_guard lock(s.mutex);
    leaving.swap(s.queues);
  }
  // All are told first, so that they stop side by side.
  for (const auto& [id, queue] : leaving) queue->stop.store(true, std::memory_order_release);
  for (const auto& [id, queue] : leaving) {
    if (!s.scheduler->remove(*queue)) continue;
    const std::lock_guard lock(s.mutex);
    s.doorbells[queue->gpu][queue->doorbell_slot] = false;
  }
}

void QueueTable::after_fork_in_child() {
  report_exceptions_.store(false);
  state_ = new State;
}

}  // namespace wavetap::vgpu
