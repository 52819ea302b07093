#include "agent/virtual_gpu.h"

#include <atomic>

#include "agent/image_walk.h"

namespace wavetap::agent {
namespace {

// Functions of libwavetap_gpu.so, which is there from the start or not at all.
struct Listener {
  uint64_t (*copy_began)() = nullptr;
  void (*copied)(uint64_t number, const void* to, const void* from, size_t bytes) = nullptr;
  bool (*wants_blocks)() = nullptr;
  void (*block_began)(const void* address, size_t bytes) = nullptr;
  void (*block_ended)(const void* address) = nullptr;
};

template <class Function>
bool find(const Image& image, const char* name, Function& function) {
  function = reinterpret_cast<Function>(find_symbol(image, name));
  return function != nullptr;
}

const Listener& listener() {
  static constinit Listener found;
  static constinit std::atomic<int> state{0};  // 1: somebody looks, 2: known
  static constexpr Listener kNobody;
  if (state.load(std::memory_order_acquire) == 2) return found;
  int expected = 0;
  if (!state.compare_exchange_strong(expected, 1, std::memory_order_acq_rel)) return kNobody;
  find_image([&](const Image& image) {
    Listener here;
    if (!find(image, "wavetap_host_copy_began_v1", here.copy_began) ||
        !find(image, "wavetap_host_copied_v1", here.copied) ||
        !find(image, "wavetap_wants_pool_blocks_v1", here.wants_blocks) ||
        !find(image, "wavetap_pool_block_began_v1", here.block_began) ||
        !find(image, "wavetap_pool_block_ended_v1", here.block_ended))
      return false;
    found = here;
    return true;
  });
  state.store(2, std::memory_order_release);
  return found;
}

}  // namespace

uint64_t host_copy_began() {
  const auto began = listener().copy_began;
  return began == nullptr ? 0 : began();
}

void host_copied(uint64_t number, const void* to, const void* from, size_t bytes) {
  if (number != 0) listener().copied(number, to, from, bytes);
}

bool is_told_of_pools() {
  const auto wants = listener().wants_blocks;
  return wants != nullptr && wants();
}

void pool_block_began(const void* address, size_t bytes) {
  if (const auto began = listener().block_began) began(address, bytes);
}

void pool_block_ended(const void* address) {
  if (const auto ended = listener().block_ended) ended(address);
}

}  // namespace wavetap::agent
