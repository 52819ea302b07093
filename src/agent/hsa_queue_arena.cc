#include "agent/hsa_queue_arena.h"

#include "agent/sys.h"

namespace wavetap::agent {
namespace {

char* map(size_t bytes) {
  return sys::map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

}  // namespace

Queue* QueueArena::take() {
  if (base_.load(std::memory_order_relaxed) == nullptr) {
    char* base = map(kPlaces * kPlaceBytes);
    char* doorbells = map(kDoorbells * sizeof(Doorbell));
    if (base == nullptr || doorbells == nullptr) {
      if (base != nullptr) sys::unmap(base, kPlaces * kPlaceBytes);
      return nullptr;
    }
    doorbells_.store(reinterpret_cast<Doorbell*>(doorbells), std::memory_order_release);
    base_.store(base, std::memory_order_release);
  }
  const size_t used = used_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < used; ++i) {
    if (!place(i)->live_.load(std::memory_order_acquire)) return place(i);
  }
  if (used == kPlaces) return nullptr;
  used_.store(used + 1, std::memory_order_release);
  return place(used);
}

}  // namespace wavetap::agent
