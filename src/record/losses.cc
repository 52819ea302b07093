#include "record/losses.h"

#include <atomic>

namespace wavetap::record {
namespace {

std::atomic<uint64_t> g_counted[kLossKinds];
std::atomic<uint64_t> g_taken[kLossKinds];

}  // namespace

void count_loss(format::Loss reason, uint64_t events) {
  g_counted[static_cast<int>(reason)].fetch_add(events, std::memory_order_relaxed);
}

void count_written_loss(format::Loss reason) {
  g_taken[static_cast<int>(reason)].fetch_add(1, std::memory_order_relaxed);
  g_counted[static_cast<int>(reason)].fetch_add(1, std::memory_order_relaxed);
}

uint64_t losses_so_far() {
  uint64_t sum = 0;
  for (const auto& loss : g_counted) sum += loss.load(std::memory_order_relaxed);
  return sum;
}

uint64_t take_new_losses(format::Loss reason) {
  const auto i = static_cast<int>(reason);
  const uint64_t now = g_counted[i].load(std::memory_order_relaxed);
  const uint64_t before = g_taken[i].load(std::memory_order_relaxed);
  if (now <= before) return 0;
  g_taken[i].fetch_add(now - before, std::memory_order_relaxed);
  return now - before;
}

void forget_losses() {
  for (int i = 0; i < kLossKinds; ++i) {
    g_counted[i].store(0, std::memory_order_relaxed);
    g_taken[i].store(0, std::memory_order_relaxed);
  }
}

}  // namespace wavetap::record
