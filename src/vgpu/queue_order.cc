#include "vgpu/queue_order.h"

#include <algorithm>

#include "vgpu/queue_state.h"

namespace wavetap::vgpu {
namespace {

// Signals are used again, so this is far more than are in use.
constexpr size_t kMostSignals = 4096;

void join(QueueCounts& into, const QueueCounts& more) {
  for (const auto& [queue, count] : more) into[queue] = std::max(into[queue], count);
}

}  // namespace

void QueueOrder::add(Queue& queue) {
  if (queue.type == QueueType::kComputePm4) return;
  const std::lock_guard lock(mutex_);
  queues_[queue.id] = queue.weak_from_this();
  // A number may have been another queue's before.
  before_.erase(queue.id);
  finished_.erase(queue.id);
}

bool QueueOrder::has_several() {
  const std::lock_guard lock(mutex_);
  const auto runs_kernels = [](const auto& entry) {
    const std::shared_ptr<Queue> queue = entry.second.lock();
    return queue != nullptr && queue->type == QueueType::kComputeAql;
  };
  std::erase_if(queues_, [](const auto& entry) { return entry.second.expired(); });
  return std::count_if(queues_.begin(), queues_.end(), runs_kernels) > 1;
}

QueueCounts QueueOrder::over_before(const Queue& queue) {
  const std::lock_guard lock(mutex_);
  return before_[queue.id];
}

QueueCounts QueueOrder::submitted() {
  const std::lock_guard lock(mutex_);
  return submitted_locked();
}

QueueCounts QueueOrder::finished() {
  const std::lock_guard lock(mutex_);
  return finished_;
}

QueueCounts QueueOrder::submitted_locked() {
  QueueCounts counts;
  for (const auto& [id, weak] : queues_)
    if (const std::shared_ptr<Queue> queue = weak.lock(); queue != nullptr)
      counts[id] = queue->processor->write_index();
  return counts;
}

void QueueOrder::waited(const Queue& queue, uint64_t index, std::span<const uint64_t> signals) {
  const std::lock_guard lock(mutex_);
  for (const uint64_t signal : signals) {
    if (signal == 0) continue;
    const auto known = signals_.find(signal);
    // Nobody arms a signal anew while a packet that was submitted waits for it, so the completion that
    // came after that is the one.
    const auto was_submitted = [&](const Completion& completion) {
      const auto then = completion.submitted.find(queue.id);
      return then != completion.submitted.end() && index < then->second;
    };
    if (known != signals_.end() && was_submitted(known->second))
      join(before_[queue.id], known->second.over);
    else join(before_[queue.id], finished_);
  }
}

void QueueOrder::packet_finished(const Queue& queue, uint64_t index, uint64_t signal) {
  const std::lock_guard lock(mutex_);
  finished_[queue.id] = index + 1;
  before_[queue.id][queue.id] = index + 1;
  if (signal == 0) return;
  if (signals_.size() >= kMostSignals) signals_.clear();
  signals_[signal] = {before_[queue.id], submitted_locked()};
}

}  // namespace wavetap::vgpu
