// Where queues (hsa_queue.h) live, and the doorbells by which they are found.
//
// All in one stretch of memory, so that a pointer is known to be ours by a comparison; places are
// used again after a queue is destroyed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/recording.h"

namespace wavetap::agent {

// Queue has an atomic `live_`: its place is taken. Memory of zeros is a queue that is not there.
template <class Queue>
class QueueArena {
 public:
  static constexpr size_t kPlaceBytes = 1024;
  static constexpr size_t kPlaces = 4096;

  // A free place; null: there is none. Under `lock`.
  Queue* take() {
    static_assert(sizeof(Queue) <= kPlaceBytes);
    if (base_.load(std::memory_order_relaxed) == nullptr && !map_places()) return nullptr;
    const size_t used = used_.load(std::memory_order_relaxed);
    for (size_t i = 0; i < used; ++i) {
      if (!place(i)->live_.load(std::memory_order_acquire)) return place(i);
    }
    if (used == kPlaces) return nullptr;
    used_.store(used + 1, std::memory_order_release);
    return place(used);
  }
  void release(Queue* queue) { queue->live_.store(false, std::memory_order_release); }

  Queue* find(uint64_t address) const {
    const char* base = base_.load(std::memory_order_acquire);
    const uint64_t offset = address - reinterpret_cast<uint64_t>(base);
    if (base == nullptr || offset >= kPlaces * kPlaceBytes || offset % kPlaceBytes != 0)
      return nullptr;
    Queue* queue = reinterpret_cast<Queue*>(address);
    return queue->live_.load(std::memory_order_acquire) ? queue : nullptr;
  }

  template <class Do>
  void each(Do what) {
    const size_t count = used_.load(std::memory_order_acquire);
    for (size_t i = 0; i < count; ++i) {
      Queue* queue = place(i);
      if (queue->live_.load(std::memory_order_acquire)) what(*queue);
    }
  }

  // Doorbells: an open-addressed table of signal handles; 1 marks a place that was used.
  static constexpr size_t kDoorbells = 8192;
  struct Doorbell {
    std::atomic<uint64_t> signal;
    std::atomic<Queue*> queue;
  };
  static size_t hash(uint64_t signal) { return (signal >> 6) * 0x9e3779b97f4a7c15 >> 51; }

  Queue* find_doorbell(uint64_t signal) const {
    const Doorbell* doorbells = doorbells_.load(std::memory_order_acquire);
    if (doorbells == nullptr) return nullptr;
    for (size_t i = hash(signal);; ++i) {
      const Doorbell& doorbell = doorbells[i % kDoorbells];
      const uint64_t held = doorbell.signal.load(std::memory_order_acquire);
      if (held == signal) return doorbell.queue.load(std::memory_order_acquire);
      if (held == 0) return nullptr;
    }
  }
  void add_doorbell(uint64_t signal, Queue* queue) {
    Doorbell* doorbells = doorbells_.load(std::memory_order_acquire);
    for (size_t i = hash(signal);; ++i) {
      Doorbell& doorbell = doorbells[i % kDoorbells];
      if (doorbell.signal.load(std::memory_order_relaxed) > 1) continue;
      doorbell.queue.store(queue, std::memory_order_release);
      doorbell.signal.store(signal, std::memory_order_release);
      return;
    }
  }
  void remove_doorbell(uint64_t signal) {
    Doorbell* doorbells = doorbells_.load(std::memory_order_acquire);
    for (size_t i = hash(signal);; ++i) {
      Doorbell& doorbell = doorbells[i % kDoorbells];
      const uint64_t held = doorbell.signal.load(std::memory_order_relaxed);
      if (held == 0) return;
      if (held != signal) continue;
      // A table without empty places would make every search long: a mark before an empty place is
      // not needed.
      const bool last = doorbells[(i + 1) % kDoorbells].signal.load(std::memory_order_relaxed) == 0;
      doorbell.signal.store(last ? 0 : 1, std::memory_order_release);
      return;
    }
  }

  LockWord lock;  // creating, destroying and harvesting

 private:
  bool map_places() {
    char* const base = map(kPlaces * kPlaceBytes);
    char* const doorbells = map(kDoorbells * sizeof(Doorbell));
    if (base == nullptr || doorbells == nullptr) {
      if (base != nullptr) sys::unmap(base, kPlaces * kPlaceBytes);
      return false;
    }
    doorbells_.store(reinterpret_cast<Doorbell*>(doorbells), std::memory_order_release);
    base_.store(base, std::memory_order_release);
    return true;
  }
  static char* map(size_t bytes) {
    return sys::map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  }
  Queue* place(size_t i) const {
    return reinterpret_cast<Queue*>(base_.load(std::memory_order_relaxed) + i * kPlaceBytes);
  }

  std::atomic<char*> base_{nullptr};
  std::atomic<Doorbell*> doorbells_{nullptr};
  std::atomic<size_t> used_{0};
};

}  // namespace wavetap::agent
