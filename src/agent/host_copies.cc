#include "agent/host_copies.h"

#include <atomic>

#include "agent/image_walk.h"

namespace wavetap::agent {
namespace {

using Began = uint64_t (*)();
using Copied = void (*)(uint64_t number, const void* to, const void* from, size_t bytes);

// Functions of libwavetap_gpu.so, which is there from the start or not at all.
struct Listener {
  Began began = nullptr;
  Copied copied = nullptr;
};

const Listener& listener() {
  static constinit Listener found;
  static constinit std::atomic<int> state{0};  // 1: somebody looks, 2: known
  static constexpr Listener kNobody;
  if (state.load(std::memory_order_acquire) == 2) return found;
  int expected = 0;
  if (!state.compare_exchange_strong(expected, 1, std::memory_order_acq_rel)) return kNobody;
  find_image([&](const Image& image) {
    void* const began = find_symbol(image, "wavetap_host_copy_began_v1");
    void* const copied = find_symbol(image, "wavetap_host_copied_v1");
    if (began == nullptr || copied == nullptr) return false;
    found = {reinterpret_cast<Began>(began), reinterpret_cast<Copied>(copied)};
    return true;
  });
  state.store(2, std::memory_order_release);
  return found;
}

}  // namespace

uint64_t host_copy_began() {
  const Began began = listener().began;
  return began == nullptr ? 0 : began();
}

void host_copied(uint64_t number, const void* to, const void* from, size_t bytes) {
  if (number != 0) listener().copied(number, to, from, bytes);
}

}  // namespace wavetap::agent
